"""Functions of the package: short names for the types, unique() and plan()."""
from __future__ import annotations

from typing import TYPE_CHECKING

from . import _weir
from ._weir import Builder, Filter, Screen, Shared, Sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from ._weir import Prediction, _Key, _Keys, _Source, _Store

    T = TypeVar("T")

_PLAN_MEMORY = 64 << 20  # the default of weir plan
_FAR_MORE = 4  # times the memory of the best: larger ones are not searched for


def open(spec: str = "", *, max_bytes: int = 0) -> Filter:
    """Open a filter: weir.Filter(spec).

    >>> seen = open("rlbsbf memory=64K seed=1")
    >>> seen.observe("a"), seen.observe("a")
    (False, True)
    """
    return Filter(spec, max_bytes=max_bytes)


def shared(spec: str = "", *, shards: int = 0, max_bytes: int = 0) -> Shared:
    """Open a filter for many threads: weir.Shared(spec)."""
    return Shared(spec, shards=shards, max_bytes=max_bytes)


def sketch(spec: str, *, max_bytes: int = 0) -> Sketch:
    """Open a sketch, which counts keys: weir.Sketch(spec)."""
    return Sketch(spec, max_bytes=max_bytes)


def screen(spec: str = "", store: _Store | None = None, *, max_bytes: int = 0) -> Screen:
    """Open a screen in front of a store: weir.Screen(spec, store)."""
    return Screen(spec, store, max_bytes=max_bytes)


def load(source: _Source, *, keys_differ: bool = False) -> Filter:
    """Load a saved filter, from a path or from bytes: weir.Filter.load(source)."""
    return Filter.load(source, keys_differ=keys_differ)


def view(source: _Source, *, keys_differ: bool = False) -> Filter:
    """Open a saved filter read-only, in a file or in bytes: weir.Filter.view(source)."""
    return Filter.view(source, keys_differ=keys_differ)


def build(spec: str, keys: _Keys, *, size: int | None = None) -> Filter:
    """Make a filter of a set whose keys are all known.

    >>> members = build("fuse fpr=0.4% seed=1", ["a", "b"])
    >>> "a" in members
    True
    """
    with Builder(spec) as builder:
        builder.add_many(keys, size=size)
        return builder.finish()


def unique(
    iterable: Iterable[T],
    key: Callable[[T], _Key] | None = None,
    memory: str | int = "64M",
    *,
    filter: Filter | None = None,
) -> Iterator[T]:
    """The items of an iterable whose key occurs for the first time, in their order.

    key: a function that returns the key of an item, bytes or str; without it the item is
    the key. memory: the filter's memory. filter: a filter to use instead, which keeps the
    keys. Each item of a generator is yielded before the next is taken.

    >>> list(unique(["a", "b", "a"]))
    ['a', 'b']
    >>> list(unique([1, 2, 11], key=lambda n: str(n % 10)))
    [1, 2]
    """
    if filter is None:
        return _weir.Unique(iterable, key, Filter(f"memory={memory}"), True)
    return _weir.Unique(iterable, key, filter, False)


def _rate(rate: float | str | None, name: str) -> float:
    if rate is None:
        return 0.0
    value = float(rate[:-1]) / 100 if isinstance(rate, str) and rate.endswith("%") else float(rate)
    if not 0 < value <= 1:
        raise ValueError(f"{name}={rate}: invalid rate; use a number above 0, at most 1, for example 0.01 or '1%'")
    return value


def plan(
    stream: str = "endless",
    memory: str | int | None = None,
    *,
    fpr: float | str | None = None,
    fnr: float | str | None = None,
    fp: float = 0.0,
    fn: float = 0.0,
    filter: str | None = None,
) -> list[Prediction]:
    """Recommend filters for a stream: predictions, the best first, each with its best parameters.

    memory: the limit, 64M by default. fpr, fnr: maximum rates; without memory, find the least
    memory that satisfies them. fp, fn: the cost of each error. filter: only this one, with
    parameters that must not change.

    >>> best = plan("uniform:n=1M,distinct=60%", memory="1M")[0]
    >>> best.memory <= 1 << 20
    True
    """
    ceilings = _rate(fpr, "fpr"), _rate(fnr, "fnr")
    sizing = memory is None and any(ceilings)
    room = _weir._size(memory) if isinstance(memory, str) else memory or (0 if sizing else _PLAN_MEMORY)
    if filter is not None:
        return [_weir._choose(filter, stream, room, fp, fn, *ceilings, sizing)]
    found: list[Prediction] = []
    why: Exception | None = None
    for about in _weir.algorithms("filter"):
        if "for tables" in about.traits or "observe" not in about.traits:
            continue
        try:
            found.append(_weir._choose(about.name, stream, room, fp, fn, *ceilings, sizing))
        except (_weir.UnsupportedError, _weir.ConfigError) as error:
            why = why or error
        if sizing and found:
            room = _FAR_MORE * min(p.memory for p in found)
    if not found:
        raise why or ValueError("no filter fits")
    return sorted(found, key=lambda p: p.memory if sizing else p.cost)
