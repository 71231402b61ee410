"""Configuration: compose, check, identify. Imports nothing heavy."""

from normexp.config.compose import compose
from normexp.config.config import Config, flat
from normexp.config.options import config_dir, groups, option, options

__all__ = ["Config", "compose", "config_dir", "flat", "groups", "option", "options"]
