"""What is trained, but probably not meant: said when a run begins, and in part kept in its record for the tables."""

from __future__ import annotations

from normexp.config import Config
from normexp.data.base import Data
from normexp.records import IGNORED, UNREACHED
from normexp.training.checks.ignored_norm import ignored_norm
from normexp.training.checks.own_network import mixes_in_evaluation, without_gradient
from normexp.training.checks.probabilities import gives_probabilities
from normexp.training.checks.short_run import unreached, unsettled
from normexp.training.checks.small_inputs import small_inputs
from normexp.training.components import Components
from normexp.training.taken_out import taken_out


def doubts(config: Config, components: Components, data: Data) -> tuple[list[str], dict[str, str]]:
    """Return a line for each doubt, and what environment.json keeps of them: that a scheme is another than its name."""
    kept = {IGNORED: ignored_norm(config, components, data), UNREACHED: unreached(config, components)}
    of_network = (gives_probabilities, without_gradient, mixes_in_evaluation)
    others = [taken_out(config, components), *(each(config, components, data) for each in of_network)]
    said = [*kept.values(), unsettled(config, components), small_inputs(config, components, data), *others]
    return [each for each in said if each], {key: each.partition(";")[0] for key, each in kept.items() if each}
