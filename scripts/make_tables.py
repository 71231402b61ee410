"""Tables from the metrics.csv files of a folder: python scripts/make_tables.py results/runs tables

Writes table.md, .csv, .tex and .html (last evaluation, mean and standard deviation over seeds), and best.csv: the
best value of every metric of every run, made with pandas. Change it to make the table that you need.
"""

import sys
from pathlib import Path

import normexp


def main(folder: str, out: str) -> None:
    results = normexp.load(folder)
    Path(out).mkdir(parents=True, exist_ok=True)
    for format in ("md", "csv", "tex", "html"):
        (Path(out) / f"table.{format}").write_text(results.table(format), encoding="utf-8")
    values = results.curves.groupby(["run", "arm", "seed", "metric"], sort=False)["value"]
    best = values.agg(["min", "max"]).unstack("metric")
    best.to_csv(Path(out) / "best.csv")
    print(results.table(), *results.left_out, sep="\n")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except (TypeError, normexp.UserError) as error:
        sys.exit(f"{error}\nusage: python scripts/make_tables.py FOLDER OUT")
