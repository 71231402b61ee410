"""`normexp new experiment NAME`: a commented YAML that passes its check, to be filled in."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import yaml

from normexp.errors import UserError
from normexp.experiments.folders import folder_problem
from normexp.experiments.load import content, is_taken, read, usual_scale
from normexp.records import write_atomically

TEXT = """\
# An experiment of your own. docs/experiments.md explains every key; `normexp list experiments --schema` is for editors.
#     normexp reproduce {name}.yaml scale=smoke     seconds: shows that it works
#     normexp reproduce {name}.yaml scale=cpu       trains it; the same command continues it
paper: Our own comparison
item: batch and layer normalization
title: Batch and layer normalization on handwritten digits
about: >-
  The set-up in a paragraph: a network of two hidden layers learns 8 x 8 digits in 300 steps of plain SGD.

common: {{dataset: digits, model: mlp, steps: 300, eval_every: 50}}  # overrides of every run
arms:  # rows of the table, curves of the figure
  none: {{norm: none}}
  batch: {{norm: batch}}
  layer: {{norm: layer}}
grid: {{seed: [0, 1, 2, 3, 4]}}  # every combination is run for every arm; five seeds or more decide something
select:  # the rate of every arm, on the validation split, with seeds of its own
  search: {{optim.lr: [0.01, 0.03, 0.1, 0.3]}}
  seeds: [100, 101, 102]
  metric: validation/accuracy

scales:
  smoke:
    common: {{steps: 20, eval_every: 10}}
    grid: {{seed: [0, 1]}}
    select: {{search: {{optim.lr: [0.1]}}, seeds: [100]}}
    deviations: ["Preview: 20 steps, 2 seeds"]
  cpu: {{}}  # `desk` for hours; `paper` is for a published set-up only

table:
  columns: [test/accuracy, train/loss]
figures:
  - {{name: accuracy, kind: curves, metric: test/accuracy}}
claims:  # written before the first run, which freezes them
  - text: Batch normalization ends with a higher test accuracy than no normalization
    source: our own expectation
    kind: own
    compare: difference
    metric: test/accuracy
    of: batch
    than: none
    in: "> 0"
deviations: []  # what differs from a paper
"""

LIKE_ANOTHER = """\
# Another experiment with an arm of your own: what that one says holds where this file says nothing; null takes a key of
# it away (`arms: {{NAME: null}}`), another value replaces it. docs/experiments.md explains every key.
#     normexp reproduce {name}.yaml scale=smoke     seconds: shows that it works
# A scheme of yours, a class in my_norms.py: `{own}: {{norm: my_norms.Scale}}`; type 'plugins=[my_norms]', too.
like: {base}
title: {title}
arms:
  {own}: {overrides}  # as {last} has it, to be changed
# claims are your own, too, and are written before the first run, which freezes them:
# claims:
#   - {{text: Mine ends ahead, source: our own expectation, kind: own,
#      compare: difference, metric: {metric}, of: {own}, than: {arm}, in: "> 0"}}
"""


def write_skeleton(name: str, like: str | None = None) -> Path:
    """Write NAME.yaml into the current folder; return its path.

    Args:
        like: the experiment, by name or by file, to which it adds an arm; by default it stands by itself.

    Raises: UserError for a name of ours, one that no file or folder may have, a file in its place, and for what is
        no experiment to be like.
    """
    path = Path(f"{name.removesuffix('.yaml')}.yaml")
    if not path.stem.replace("_", "").replace("-", "").isalnum() or path.parent != Path():
        raise UserError(f"new experiment: {name!r} is no name; letters, digits, _ and -")
    if is_taken(path.stem):
        raise UserError(f"new experiment: {path.stem} is one of ours; give it another name")
    if problem := folder_problem(path.stem):
        raise UserError(f"new experiment: results lie in a folder of this name: {problem}; give it another one")
    if path.exists():
        raise UserError(f"{path}: is there already")
    write_atomically(path, TEXT.format(name=path.stem) if like is None else _like(like, path.stem))
    return path


def _like(base: str, name: str) -> str:
    there = read(base, usual_scale(base))
    last, overrides = list(content(base)["arms"].items())[-1]
    arms = {arm.casefold() for arm in (*there.arms, *there.refused)}  # on some file systems mine is Mine
    texts = {
        "base": base,
        "title": f"{there.title}, and one of your own",
        "last": last,
        "metric": there.table.metric or there.table.looks[0].metric,
        "arm": next(iter(there.arms)),
    }
    words = {key: json.dumps(text, ensure_ascii=False) for key, text in texts.items()}
    words["own"] = next(word for number in count(1) if (word := f"mine{number if number > 1 else ''}") not in arms)
    written = yaml.safe_dump(overrides, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True)
    return LIKE_ANOTHER.format(name=name, overrides=written.strip(), **words)
