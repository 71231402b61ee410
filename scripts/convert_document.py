"""The text of docs/convert.md, from the measurements in results/convert/pairs.csv."""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from networks import NETWORKS, SAMPLE

Row = Mapping[str, str]
LETTERS = string.ascii_lowercase
WRONG = "WRONG"
REASONS = "| | why a pair is refused (the first reason that is met) | pairs | networks | schemes |"
HEAD = """# Schemes in networks of others

`normexp.convert(model, norm)` puts a scheme into a network that somebody else wrote, or refuses before anything is
changed and says which module and why. `norm` is a scheme of `normexp.norms`, as `normexp.norms.GroupNorm(num_groups=4)`
([an example](python.md#networks)). `strict=False` leaves what cannot be converted and lists it in
`model.not_converted`. `normexp.fold(model)` takes normalizations out for evaluation where the result is the same.
A batch normalization next to a Linear layer is folded for (N, C); behind a layer of tokens it would normalize L of
(N, L, C): a network that was folded refuses these, unless `normexp.fold(model, batch)` has shown that they come.
Torch's `weight_norm` and `spectral_norm` are taken away as other normalizations are, and leave the weights that they
compute; other parametrizations and pruning stay. Layers that are no modules of the network are refused where they are
found: in lists, dicts, functions and their closures, and wherever the forward can be traced; in other objects of a
network that cannot be traced they are not seen, and stay.

Written by `python scripts/make_convert_table.py` from `results/convert/pairs.csv`: {networks} networks of torchvision
and timm under {schemes} schemes, {pairs} pairs. **{works} work, {refused} are refused, {wrong} are wrong.**

A pair works if a converted, untrained network

- is no affine map where the original is none, and calls as many nonlinear functions as before, but for those that the
  scheme replaces, one for one (EvoNorm's gates, the thresholds of filter response normalization);
- has the parameters of its layers, of the scheme at every place, and no others but biases that convert explains;
- gets a finite gradient in every parameter that got one before, and no gradient of zeros where there was none, but in a
  weight that is alone in its unit and whose length the scheme takes out (a 1 x 1 convolution of one channel): it has no
  direction to learn, and the scheme's own gain stands for it;
- folds to the same numbers: at most 1e-12 of the largest output away, in float64{beyond}.

Batch normalization in place of batch normalization changes no output, in training and in evaluation, in all
{batch} networks that have it; eps and momentum become the scheme's. Images have 64 x 64 pixels, twice as many where
the scheme needs more, or what the network asks for. `weight_standard` is tested with group normalization behind it:
nothing trains through a dozen layers of it alone, as its authors say. `pytest -m networks` measures all of it again
(about an hour on one core); CI does so for {sample} pairs.

"""


LOOP = """## A loop of your own

Some schemes do more than a forward pass shows. `normexp run` does that for them; in a loop of your own it is for you to
call. `WeightNorm` and `NormProp` set weights before training (`initialize`), `NormProp` and `RepBatchNorm` act after
every update (`step_hook`), `SpectralPenalty` adds to the loss (`penalty`), and `estimates="population"` computes what
evaluation needs (`before_evaluation`). With the other schemes these do nothing, so this loop is right for all:

```python
norm = normexp.norms.RepBatchNorm(layer_steps=10)
normexp.convert(model, norm)
norm.initialize(model.train(), inputs)  # a batch
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)  # of the parameters that there are now
hook = norm.step_hook(model)
for x, y in batches:
    optimizer.zero_grad()
    loss, penalty = torch.nn.functional.cross_entropy(model(x), y), norm.penalty(model)
    (loss if penalty is None else loss + penalty).backward()
    optimizer.step()
    if hook is not None:
        hook()
norm.before_evaluation(model, lambda count: inputs[:count])  # the first training inputs, in training mode
model.eval()
```

"""


def document(rows: Sequence[Row]) -> str:
    rows = sorted(rows, key=lambda row: NETWORKS.index(row["network"]))
    pairs = [row for row in rows if row["scheme"]]
    outcomes = Counter(row["outcome"] for row in pairs)
    originals = [row for row in rows if not row["scheme"]]
    head = HEAD.format(
        networks=len(originals),
        schemes=len({row["scheme"] for row in pairs}),
        pairs=of_all(len(pairs), len(originals) * len({row["scheme"] for row in pairs})),
        works=outcomes["works"],
        refused=outcomes["refused"],
        wrong=sum(row["outcome"] == "wrong" for row in rows),
        beyond=beyond(pairs),
        batch=sum(row["batch_for_batch"] == "same" for row in originals),
        sample=len(SAMPLE),
    )
    return f"{head}{LOOP}{refusals(pairs)}\n{matrix(pairs)}\n{folding(originals)}"


def of_all(measured: int, all_of_them: int) -> str:
    return str(measured) if measured == all_of_them else f"{measured} of {all_of_them}"


def beyond(pairs: Iterable[Row]) -> str:
    """Say what is further away than 1e-12."""
    errors = [float(row["error"]) for row in pairs if row["error"]]
    large = [error for error in errors if error > 1e-12]
    if not large:
        return f" (at worst {max(errors, default=0):.0e})"
    return (
        f"; {len(large)} pairs up to {max(large):.0e}.\n"
        "  There, too, every folded layer alone is within (2 k + 16) u (|W| |x| + |b|) of its pair, k products a sum,\n"
        "  u the unit of rounding: this shows that fold is exact. The outputs are within the sum of these bounds over\n"
        "  all layers, each times the output's gradient, a worst case that is loose by four digits and more. What\n"
        "  amplifies roundings are the networks: the maps of squeeze-and-excitation grow from block to block, and its\n"
        "  gates are sigmoids of them. The figures are the processor's"
    )


def verdict(row: Row) -> str:
    """Return why a pair does not work, without the names of one network's modules, or nothing."""
    if row["outcome"] == "works":
        return ""
    message = row["reason"]
    if row["outcome"] == "wrong":
        return f"{WRONG}: {message}"
    if message.startswith("first batch: "):
        return (
            "in the first batch: its smallest maps (one pixel behind a global pool) hold too few values for the scheme"
        )
    message = message.partition(": ")[2].rpartition("; strict=False")[0]
    message = re.sub(r" \(and \d+ more\)$", "", message)
    message = message.partition("): ")[2] or message
    message = re.sub(r"its activation \S+ is", "its activation is", message)
    return re.sub(r" \(.*|, input has shape.*|: \d.*| \w+\(\)", "", message)


def refusals(pairs: Sequence[Row]) -> str:
    """Return the table of reasons: how many pairs and networks, which schemes."""
    lines = [REASONS, "|---|---|---:|---:|---|"]
    everything = len({row["scheme"] for row in pairs})
    for reason, mark in marks(pairs).items():
        of_it = [row for row in pairs if verdict(row) == reason]
        schemes = dict.fromkeys(row["scheme"] for row in of_it)
        named = "all" if len(schemes) == everything else ", ".join(schemes)
        networks = len({row["network"] for row in of_it})
        lines.append(f"| {mark} | {reason} | {len(of_it)} | {networks} | {named} |")
    return "\n".join(["## Reasons", "", *lines, ""])


def marks(pairs: Iterable[Row]) -> dict[str, str]:
    """Return reason -> its letter, the most frequent first."""
    counted = Counter(why for row in pairs if (why := verdict(row))).most_common()
    return {why: letter for (why, _), letter in zip(counted, LETTERS[: len(counted)], strict=True)}


def matrix(pairs: Sequence[Row]) -> str:
    """Return networks x schemes, with equal rows and equal columns as one."""
    marked = {"": "·", **marks(pairs)}
    cells = {(row["network"], row["scheme"]): marked[verdict(row)] for row in pairs}
    networks, schemes = (list(dict.fromkeys(key[axis] for key in cells)) for axis in (0, 1))
    columns = grouped(schemes, lambda scheme: tuple(cells.get((network, scheme), "") for network in networks))
    lines = [["networks", *(", ".join(names) for names in columns)], ["---", *[":-:"] * len(columns)]]
    for names in grouped(networks, lambda network: tuple(cells.get((network, scheme), "") for scheme in schemes)):
        lines.append([", ".join(in_short(names)), *(cells.get((names[0], column[0]), "") for column in columns)])
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    meaning = "A dot: it works. A letter: the reason above. Nothing: not measured yet."
    return f"## Networks and schemes\n\n{meaning}\n\n{text}\n"


def grouped(names: Iterable[str], key: Callable[[str], object]) -> list[list[str]]:
    """Return the names in groups of one key, the largest group first."""
    groups: dict[object, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return sorted(groups.values(), key=len, reverse=True)


def in_short(networks: Iterable[str]) -> list[str]:
    """Return the names of torchvision's networks as they are, of timm's with their library."""
    return [name.removeprefix("torchvision ").replace("timm ", "timm:") for name in networks]


def folding(originals: Sequence[Row]) -> str:
    """Return what `fold` does with the networks as they are."""
    kinds: dict[str, list[str]] = {}
    for row in originals:
        kinds.setdefault(fold_kind(row), []).append(row["network"])
    lines = [f"| {kind} | {len(names)} | {', '.join(in_short(names))} |" for kind, names in kinds.items()]
    return "\n".join(
        ["## fold", "", "| the normalizations of the network as it is | | networks |", "|---|---:|---|", *lines, ""]
    )


def fold_kind(row: Row) -> str:
    if row["not_folded"]:
        return "refused: torch.fx cannot trace its forward, nothing is changed"
    none_left, none_folded = row["unfolded"] == "0", row["folded"] == "0"
    if none_folded:
        return "it has none" if none_left else "none is folded: each is one with its activation, or group normalization"
    return "every one is folded" if none_left else "some are folded, others are one with their activation or alone"
