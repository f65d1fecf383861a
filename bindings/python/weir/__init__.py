"""Deduplicate unbounded streams in constant memory; test membership; count frequent items.

>>> import weir
>>> with weir.Filter(memory="1M", seed=1) as seen:
...     [word for word in "to be or not to be".split() if not seen.observe(word)]
['to', 'be', 'or', 'not']

Keys are bytes, str or int ("a" and b"a" are the same key, and so are "7" and 7). A filter can report a new key as
seen (false positive) or forget a key (false negative), at rates that its spec bounds.
docs/python.md has the rest.
"""
from ._support import (
    Algorithm,
    ConfigError,
    DataError,
    Error,
    Estimate,
    FullError,
    Heavy,
    MismatchError,
    NearMatch,
    NearStats,
    NoMemoryError,
    Prediction,
    SaturationWarning,
    ScreenStats,
    SketchStats,
    Stats,
    UnsupportedError,
    WriteError,
)
from ._weir import Builder, Filter, Near, Screen, Shared, Sketch, Verdicts, __version__, algorithms, complete, predict
from ._ready_made import build, plan, unique

__all__ = [
    "Algorithm",
    "Builder",
    "ConfigError",
    "DataError",
    "Error",
    "Estimate",
    "Filter",
    "FullError",
    "Heavy",
    "MismatchError",
    "Near",
    "NearMatch",
    "NearStats",
    "NoMemoryError",
    "Prediction",
    "SaturationWarning",
    "Screen",
    "ScreenStats",
    "Shared",
    "Sketch",
    "SketchStats",
    "Stats",
    "UnsupportedError",
    "Verdicts",
    "WriteError",
    "build",
    "complete",
    "algorithms",
    "plan",
    "predict",
    "unique",
]
