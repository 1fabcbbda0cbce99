"""The pipeline of a row: channel, weight and filter; a policy and a rule; settings in files."""

from ..support.imports import public
from .channel import Channel, Channels, beta_from_confusion
from .expected import Expected
from .heads import corrected_row, of_head, weight_text
from .pipeline import DEFAULT_SOURCE, MAX_SOURCES, Observation, Pipeline
from .reader import from_settings, load, parse_settings
from .settings import differing, from_builtin, options, prepared, to_builtin, to_json
from .smoothing import has_temperature, smooth, smoothed_by, tempered, under_rule

__all__ = [
    "DEFAULT_SOURCE",
    "MAX_SOURCES",
    "Channel",
    "Channels",
    "Expected",
    "Observation",
    "Pipeline",
    "beta_from_confusion",
    "corrected_row",
    "differing",
    "from_builtin",
    "from_settings",
    "has_temperature",
    "load",
    "of_head",
    "options",
    "parse_settings",
    "prepared",
    "smooth",
    "smoothed_by",
    "tempered",
    "to_builtin",
    "to_json",
    "under_rule",
    "weight_text",
]

public(Pipeline, Channel)
public(Observation, module=__name__)
