"""A study, measured in this process and recorded nowhere."""

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.studies.base import Outcome, StudyContext

FREE = ("norm=batch", "norm.affine=false", "norm.eps=1e-30")


def measured(*overrides: str) -> Outcome:
    config = compose(list(overrides))
    return instantiate(config["study"]).measure(StudyContext(config))
