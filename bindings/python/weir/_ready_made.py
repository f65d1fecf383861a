"""What weir offers beside its types: short names for them, unique() and plan()."""
from __future__ import annotations

from typing import TYPE_CHECKING

from . import _weir
from ._weir import Builder, Filter, Screen, Shared, Sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from ._weir import Prediction, _Key, _Keys, _Source, _Store

    T = TypeVar("T")

_PLAN_MEMORY = 64 << 20  # as weir plan has it
_FAR_MORE = 4  # times the memory of the best: what needs more is not looked for


def open(spec: str = "", *, most: int = 0) -> Filter:
    """Open a filter: weir.Filter(spec).

    >>> seen = open("rlbsbf memory=64K seed=1")
    >>> seen.observe("a"), seen.observe("a")
    (False, True)
    """
    return Filter(spec, most=most)


def shared(spec: str = "", *, shards: int = 0, most: int = 0) -> Shared:
    """Open a filter for many threads: weir.Shared(spec)."""
    return Shared(spec, shards=shards, most=most)


def sketch(spec: str, *, most: int = 0) -> Sketch:
    """Open a sketch, which counts: weir.Sketch(spec)."""
    return Sketch(spec, most=most)


def screen(spec: str = "", store: _Store | None = None, *, most: int = 0) -> Screen:
    """Open a screen before a store: weir.Screen(spec, store)."""
    return Screen(spec, store, most=most)


def load(source: _Source, *, keys_differ: bool = False) -> Filter:
    """Load a saved filter, from a path or from bytes: weir.Filter.load(source)."""
    return Filter.load(source, keys_differ=keys_differ)


def view(source: _Source, *, keys_differ: bool = False) -> Filter:
    """Ask a saved filter where it lies, in a file or in bytes: weir.Filter.view(source)."""
    return Filter.view(source, keys_differ=keys_differ)


def build(spec: str, keys: _Keys, *, size: int | None = None) -> Filter:
    """Make a filter of a set that is known whole.

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
    """The items of an iterable whose key comes for the first time, in their order.

    key: a function that gives the key of an item, bytes or str; without it the item is
    the key. memory: what the filter may take. filter: one to use (and to keep) instead.
    Each item of a generator is given before the next is taken.

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
        raise ValueError(f"{name}={rate} does not fit: it takes a rate above 0 and up to 1: 0.01 or '1%'")
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
    """What to open for a stream: predictions, the best filter first, each with its best settings.

    memory: what there is, 64M if nothing else is said. fpr, fnr: ceilings; without memory,
    the least memory that keeps them is looked for. fp, fn: what each error costs. filter:
    only this one, and parameters that are to stay.

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
    for about in _weir.listed("filter"):
        if "tables" in about.traits or "learn" not in about.traits:
            continue
        try:
            found.append(_weir._choose(about.name, stream, room, fp, fn, *ceilings, sizing))
        except (_weir.UnsupportedError, _weir.ConfigError) as error:
            why = why or error
        if sizing and found:
            room = _FAR_MORE * min(p.memory for p in found)
    if not found:
        raise why or ValueError("there is no filter")
    return sorted(found, key=lambda p: p.memory if sizing else p.cost)
