"""Typed settings and where each value came from; the only reader of environment and config file.

Defaults < config.toml < environment < arguments. A name that nobody knows is an error that names its nearest
neighbour, so that a typing mistake never becomes a silent default.
"""

from memorycore.settings.declared import Origin, Settings, Shown, variables
from memorycore.settings.load import absolute, config_path, load_settings, readable_settings, user_home

__all__ = [
    "Origin", "Settings", "Shown", "absolute", "config_path", "load_settings", "readable_settings", "user_home",
    "variables",
]  # fmt: skip
