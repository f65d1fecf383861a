"""Have I seen this before? On a stream without end, in memory that never grows.

>>> import weir
>>> with weir.open("memory=1M seed=1") as seen:
...     [word for word in "to be or not to be".split() if not seen.observe(word)]
['to', 'be', 'or', 'not']

Keys are bytes or str (whose UTF-8 counts: "a" and b"a" are the same key). A filter can
take a new key for seen, or forget one, at rates that its spec bounds.
docs/python.md tells all of it.
"""
from ._weir import (
    About,
    Builder,
    ConfigError,
    DataError,
    Error,
    Estimate,
    Filter,
    FullError,
    Heavy,
    MismatchError,
    NoMemoryError,
    Prediction,
    Screen,
    ScreenStats,
    Shared,
    Sketch,
    SketchStats,
    Stats,
    UnsupportedError,
    WriteError,
    __version__,
    complete,
    listed,
    predict,
)
from ._ready_made import build, load, open, plan, screen, shared, sketch, unique, view

__all__ = [
    "About",
    "Builder",
    "ConfigError",
    "DataError",
    "Error",
    "Estimate",
    "Filter",
    "FullError",
    "Heavy",
    "MismatchError",
    "NoMemoryError",
    "Prediction",
    "Screen",
    "ScreenStats",
    "Shared",
    "Sketch",
    "SketchStats",
    "Stats",
    "UnsupportedError",
    "WriteError",
    "build",
    "complete",
    "listed",
    "load",
    "open",
    "plan",
    "predict",
    "screen",
    "shared",
    "sketch",
    "unique",
    "view",
]
