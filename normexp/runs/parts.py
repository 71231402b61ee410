"""The parts of one configuration, built and tried without a record: what its run would be refused for is said now."""

from __future__ import annotations

import torch

from normexp.config import Config
from normexp.config.instantiate import has_own, locate, own_parts
from normexp.data.loading import Loader
from normexp.errors import RAISED_BY, UserError, kind_and_line
from normexp.evidence.curves import PROBE
from normexp.runs.optimizer_state import check_own_optimizer
from normexp.runs.situation import situation
from normexp.training.build import build, build_norm, initialize_from_data
from normexp.training.checks.fitting import fitting
from normexp.training.checks.own_part import name_own_part
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.process import process_settings


def check_parts(config: Config, loader: Loader, probed: bool = False) -> list[str] | None:
    """Build the parts of a run, and try those of the user's own; return the metrics of its probe where that was tried.

    Args:
        probed: try a probe of ours, too, which takes as long as at an evaluation.

    Raises: UserError for what the run would be refused for, or would fail with in its first step, in code of the
        user's own.
    """
    try:
        if config.choices["study"] != "none":
            _of_study(config, loader)
            return None
        with process_settings(config["compile"], config["precision"]):
            return _tried(config, loader, probed)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        name_own_part(error, config)
        if any(note.startswith(RAISED_BY) for note in getattr(error, "__notes__", ())):
            raise UserError(kind_and_line(error)) from error
        if not has_own(config, "model", "norm", "init"):
            raise
        with fitting(config):  # torch met it, in a backward pass of theirs, where no line of theirs is left
            raise


def _tried(config: Config, loader: Loader, probed: bool) -> list[str] | None:
    components = build(config, loader.load(config), loader.examples)
    check_own_optimizer(components.optimizer)
    torch.set_num_threads(components.threads)
    with fitting(config):
        initialize_from_data(components)
    own = own_parts(config)
    names = _probed(config, components) if probed or "probe" in own else None
    if own and not config["compile"]:  # which would take longer than all else
        components.before_evaluation()
        next(fit(components, stop=1))
    return names


def _probed(config: Config, components: Components) -> list[str]:
    """Return `probe/LAYER/STATISTIC` of all that the probe measures of the network as it begins."""
    rows = components.probe.rows(config.choices["probe"], situation(components, step=0))
    return list(dict.fromkeys(f"{PROBE}{layer}/{statistic}" for _, layer, statistic, _ in rows))


def _of_study(config: Config, loader: Loader) -> None:
    """Build the parts of the user's own that a study gets; what becomes of them is the study's business."""
    own = own_parts(config)
    for target in own.values():
        locate(target, config["plugins"])
    if has_own(config, "norm"):
        build_norm(config)
    if "dataset" in own:
        loader.load(config)
