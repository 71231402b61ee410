"""What people call our options and keys elsewhere: the hint at the end of an error."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from normexp.config.options import option, options
from normexp.config.text import shortened
from normexp.errors import UserError, did_you_mean, nearest, nearest_path

_BUILDER = re.compile(r"^@register_model\(.*?\)\n(?:@.*\n)*def (\w+)\(", re.MULTILINE)
_CODE = re.compile(r"([\w./]+?)(?:\.py)?[:/](\w+)$")  # my_nets:Net, as diagnose takes it; my_nets/wide.py:Net
_OPTIMIZER = re.compile(r"^class (\w+)\(Optimizer\)", re.MULTILINE)
KEYS = {  # what other programs call our keys
    "learning_rate": "optim.lr", "wd": "optim.weight_decay", "bs": "batch_size", "batchsize": "batch_size",
    "iterations": "steps", "iters": "steps", "max_iter": "steps", "optimizer": "optim", "grad_clip": "clip_norm",
    "gradient_clip_val": "clip_norm", "max_norm": "clip_norm", "random_seed": "seed", "random_state": "seed",
    "output_dir": "results_dir", "out": "results_dir", "outdir": "results_dir", "into": "results_dir",
    "num_threads": "threads",
    "normalization": "norm", "scheme": "norm", "data": "dataset", "lr_scheduler": "schedule", "scheduler": "schedule",
    "network": "model", "net": "model", "arch": "model", "initialization": "init", "dtype": "precision",
    "val": "dataset.validation", "val_split": "dataset.validation", "hidden": "model.widths", "depth": "model.layers",
    "filters": "model.widths", "beta1": "optim.betas", "beta2": "optim.betas",
    **dict.fromkeys(("label", "labels", "y"), "dataset.target"), "na": "dataset.missing",
    **dict.fromkeys(("drop", "exclude"), "'dataset.features=[...]', the columns to keep"),
    "act": "model.activation", "nonlinearity": "model.activation",
    **dict.fromkeys(("context_length", "block_size", "seq_len"), "dataset.context"), "seeds": "seed",
    **dict.fromkeys(("augment", "augmentation", "data_augmentation"), "dataset.crop or dataset.flip"),
}  # fmt: skip
WHOLE = {"gpu": "device=cuda", "cuda": "device=cuda", "cpu": "device=cpu", "amp": "precision=bf16"}
WHOLE |= {"tf32": "precision=tf32"} | dict.fromkeys(("bf16", "fp16", "half"), "precision=bf16")
WHOLE["pretrained"] = "model=torchvision model.name=resnet18 model.weights=IMAGENET1K_V1"
NOTHING = ("none", "null")
_DECORATIONS = re.compile(r"^(num|n|nb|max|use|train)_(?=.)|(?<=.)_(size|dim|rate|steps|prob|p|name)$")
SHORT = {
    "bn": "batch", "ln": "layer", "gn": "group", "in": "instance", "wn": "weight", "ws": "weight_standard",
    "sn": "spectral", "frn": "filter_response", "dyt": "dynamic_tanh", "brn": "batch_renorm", "gbn": "ghost_batch",
}  # fmt: skip
CELLS = ("gru", "rnn")  # of the one recurrent network
PLACES = ("file", "path", "archive", "folder", "root", "dir", "data_dir", "csv")  # say where data lie
DATA = {".csv": "csv", ".tsv": "csv", ".txt": "text"}  # the end of a file's name -> its data set
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")  # may hold images
TABLES = ("parquet", "npy", "npz", "xlsx", "feather", "json", "h5", "numpy")  # files of tables that no data set reads
_AS_CSV = (
    "; save a table as CSV (dataset=csv dataset.file=...), or read it in a data set of your own (docs/own_parts.md)"
)
OTHERS = {  # what other programs call our options of other groups, and values
    "kaiming": "he", "xavier": "glorot", "normalize": "standardize", "zscore": "standardize", "whiten": "zca",
    "gpu": "cuda", "fp16": "bf16", "float16": "bf16", "half": "bf16", "16": "bf16", "float32": "fp32", "32": "fp32",
}  # fmt: skip


def no_option(key: str, name: str, allowed: Iterable[str], hint: str) -> UserError:
    """Build the one-line error for a name that is no option of a key, as it is typed: KEY=NAME."""
    return UserError(f"{key}={shortened(name)} does not exist; allowed: {', '.join(allowed)}{hint}")


def must_be_named(given: str, target: str, meant: str = "") -> UserError:
    """Build the one-line error for code that no plugin names, as `my_nets.Net` is by its module.

    Args:
        given: what the line begins with.
        meant: what may have been meant instead.
    """
    module = target.rpartition(".")[0]
    is_module = re.fullmatch(r"[^\W\d]\w*(\.\w+)*", module)
    of_file = "give MODULE.NAME and 'plugins=[MODULE]', of MODULE.py in the current folder or of what is installed"
    way_out = f"add 'plugins=[{module}]'" if is_module else of_file
    return UserError(f"{given}: code outside normexp must be named{meant or f': {way_out}'}")


def word_hint(word: str, allowed: Iterable[str]) -> str:
    """Return which of a few allowed words may have been meant; nothing where none is near."""
    words = list(allowed)
    if word.casefold() in NOTHING:  # however near another word is
        return did_you_mean("none" if "none" in words else None)
    meant = OTHERS.get(word.casefold())
    return did_you_mean(meant if meant in words else nearest(word, words))


def option_hint(group: str, name: str) -> str:
    """Return how an option that does not exist may have been meant; nothing where nothing is near."""
    for known in (name, name.casefold().replace("-", "")) if group == "model" else ():
        if known in torchvision_names():
            return did_you_mean(f"model=torchvision model.name={known}")
    if name in ("all", "*"):
        return did_you_mean(f"'{group}=glob(*)', in a sweep")
    if there := path_hint(group, name):
        return there
    plain = SHORT.get(name.lower(), _plain(name)) if group == "norm" else _plain(name)
    for candidate in sorted(options(group), key=lambda each: _spelled(each) != _spelled(name)):  # MNIST-1D is not mnist
        if plain in (candidate, _plain(candidate), _plain(option(group, candidate)["_target_"].rpartition(".")[2])):
            return did_you_mean(f"{group}={candidate}")
    if group == "optim" and (optimizer := _of_torch(name)):
        return did_you_mean(f"optim=torch.optim.{optimizer} optim.lr=NUMBER")
    if name in CELLS and group == "model":
        return did_you_mean(f"model=lstm_classifier model.cell={name}")
    having = [candidate for candidate in options(group) if name.casefold() in candidate.split("_")]
    return did_you_mean(having[0]) if len(having) == 1 else word_hint(name, options(group))


def path_hint(group: str, name: str) -> str:
    """Return how data are given that were named in the place of a data set, or code by its file; else nothing."""
    if group == "dataset" and (data := data_hint(name)):
        return data
    code = _CODE.match(name)
    if code and code[1] != group and (module := _module(code[1])):
        return did_you_mean(f"{group}={module}.{code[2]} 'plugins=[{module}]'")
    module = _module(name.removesuffix(".py")) if name.endswith(".py") and os.path.isfile(name) else ""
    return _named_in(group, module) if module else ""


def data_hint(name: str) -> str:
    """Return how a file or a folder of data is given that was named in the place of a data set; else nothing."""
    path, code = Path(name), _CODE.match(name)
    if os.path.isdir(path) or (name.endswith(ARCHIVES) and os.path.isfile(path)):
        return did_you_mean(f"dataset=image_folder {shlex.quote(f'dataset.path={name}')}")
    if path.suffix in DATA:
        return did_you_mean(f"dataset={DATA[path.suffix]} {shlex.quote(f'dataset.file={name}')}")
    if (path.suffix[1:] or name) in TABLES:
        return _AS_CSV
    if "/" not in name or os.path.lexists(name) or (code and _source(_module(code[1]))):
        return ""
    return f"; no such file or folder{nearest_path(path)}"


def _module(path: str) -> str:
    """Return the name of the module in a file that is named without its .py: a.b of a/b; nothing where it has none."""
    name = path.removeprefix("./").replace("/", ".")
    return name if all(part.isidentifier() for part in name.split(".")) else ""


def _source(module: str) -> str:
    """Return the file of a module of the current folder, a package's __init__.py; nothing where there is none."""
    path = module.replace(".", "/")
    return next(filter(os.path.isfile, (f"{path}.py", f"{path}/__init__.py")), "")  # which takes names of any length


def modules_here() -> list[str]:
    """Return the names of the modules and packages of the current folder."""
    return [path.stem for path in Path().glob("*.py")] + [path.parent.name for path in Path().glob("*/__init__.py")]


def _named_in(group: str, module: str) -> str:
    return did_you_mean(f"{group}={module}.NAME 'plugins=[{module}]'")


def code_hint(group: str, name: str, plugins: Iterable[str]) -> str:
    """Return what a plugin of the current folder defines or imports under a name that was given without its module.

    Of a module that was given without a name, what is missing.
    """
    if name.isidentifier() and _source(name):
        return _named_in(group, name)
    word = rf"\b{re.escape(name)}\b"
    defined = re.compile(rf"^((class|def) {word}|(from \S+ )?import (\([^)]*|.*){word})", re.MULTILINE)
    for plugin in plugins:
        path = _source(plugin)
        if path and defined.search(Path(path).read_text(encoding="utf-8", errors="replace")):
            return did_you_mean(f"{group}={plugin}.{name}")
    return ""


def place_hint(key: str, names: Iterable[str]) -> str | None:
    """Return the key that says where the data lie, where another word for that was typed."""
    group, _, last = key.rpartition(".") if "." in key else ("dataset", "", key)
    there = (name for name in names if name in {f"{group}.{word}" for word in PLACES})
    return next(there, None) if last.lower() in PLACES else None


def key_hint(word: str, text: str = "") -> str | None:
    """Return what a key of other programs stands for here; None where it is not known."""
    if word == "seeds" and (seeds := so_many_seeds(text)):
        return f"`normexp sweep {seeds}`"
    return KEYS.get(word)


def so_many_seeds(text: str) -> str | None:
    """Return what trains with as many seeds as a number says, as it is typed; None where it is no such number."""
    count = int(text) if text.isdecimal() and len(text) < 10 else 0
    return f"'seed=range({count})'" if count > 1 else None


def undecorated(word: str) -> str:
    """Return a key without what other programs put around it: `layers` of `num_layers`, `hidden` of `hidden_size`."""
    return _DECORATIONS.sub("", word)


@cache
def torchvision_names() -> frozenset[str]:
    """Return the names of torchvision's classification networks, read from its source: its import takes seconds."""
    found = find_spec("torchvision")
    folders = [Path(root) / "models" for root in (found.submodule_search_locations or [])] if found else []
    sources = [path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("*.py")]
    return frozenset(name for source in sources for name in _BUILDER.findall(source))


def no_such_network(name: str, known: Collection[str]) -> str:
    """Return what is said of a network that torchvision lacks."""
    return (
        f"model.name={name} does not exist; allowed: the {len(known)} classification networks of torchvision, "
        f"among them resnet18, vgg11, densenet121, mobilenet_v2, vit_b_16{did_you_mean(nearest(name, sorted(known)))}"
    )


def _plain(name: str) -> str:
    """Return a name without case, underscores, `Norm` and the number of dimensions: BatchNorm2d is batch."""
    return re.sub(r"(norm(alization)?)?(\dd)?$", "", _spelled(name))


def _spelled(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _of_torch(name: str) -> str | None:
    """Return the optimizer of torch with this name in any case; torch is not imported for it."""
    found = find_spec("torch")
    for folder in (found and found.submodule_search_locations) or ():
        path = Path(folder, "optim", f"{name.casefold()}.py")
        if name.isidentifier() and path.is_file() and (defined := _OPTIMIZER.search(path.read_text(encoding="utf-8"))):
            return defined[1]
    return None
