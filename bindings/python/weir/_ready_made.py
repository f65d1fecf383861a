"""Functions of the package: build(), unique() and plan()."""
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from . import _weir
from ._support import ConfigError, UnsupportedError
from ._weir import Builder, Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    from ._support import Prediction
    from ._weir import _Array, _Key, _Keys

    T = TypeVar("T")

_PLAN_MEMORY = 64 << 20  # the default of weir plan
_FAR_MORE = 4  # times the memory of the best: larger ones are not searched for
_FIRST_MEMORY = 4 << 20  # first filter of unique(); it holds
_FIRST_KEYS = 1 << 20  # this many keys, at an error below 1e-5
_BATCH = 1024  # items of a list that are observed together


def build(spec: str, keys: _Keys | _Array, *, size: int | None = None) -> Filter:
    """Build a filter of a set whose keys are all known.

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
    """Yield the items of an iterable whose key occurs for the first time, in their order.

    key: a function that returns the key of an item: bytes, str or int. Default: the item.
    memory: maximum memory of the filter; a few megabytes are used for the first million keys.
    filter: use this filter instead and keep the keys in it. Each item of a generator is
    yielded before the next one is taken.

    >>> list(unique(["a", "b", "a"]))
    ['a', 'b']
    >>> list(unique([1, 2, 11], key=lambda n: n % 10))
    [1, 2]
    """
    if hasattr(iterable, "__dataframe__"):
        raise TypeError('iterating a DataFrame yields its column names; use unique(df["id"]) or df[~seen.observe_many(df["id"])]')
    if filter is not None:
        if not isinstance(filter, Filter):
            raise TypeError(f"filter is {filter!r}, not a weir.Filter")
        return _one_by_one(iter(iterable), key, filter)
    size = _weir._size(memory) if isinstance(memory, str) else memory
    grows = size > 2 * _FIRST_MEMORY
    seen = _Growing(Filter(memory=_FIRST_MEMORY if grows else size), size - _FIRST_MEMORY if grows else 0)
    if key is None and type(iterable) in (list, tuple):
        return itertools.chain.from_iterable(_in_batches(iterable, seen))  # type: ignore[arg-type]
    return _one_by_one(iter(iterable), key, seen)


class _Growing:
    """The filter of unique(): a small one, which fits into the cache. After _FIRST_KEYS new keys it is only looked up, and
    a larger one records the keys that it does not contain."""

    def __init__(self, first: Filter, more: int) -> None:
        self.first, self.more, self.left = first, more, _FIRST_KEYS
        self.larger: Filter | None = None

    def _count_new(self, n: int) -> None:
        self.left -= n
        if self.left <= 0 and self.more and self.larger is None:
            seed = next(word for word in self.first.config.split() if word.startswith("seed="))
            self.larger = Filter(f"memory={self.more} {seed}")

    def observe(self, key: _Key) -> bool:
        if self.larger is not None:
            return self.first.ask(key) or self.larger.observe(key)
        seen = self.first.observe(key)
        if not seen:
            self._count_new(1)
        return seen

    def new_of(self, keys: Sequence[Any]) -> Iterator[Any]:
        """The keys of a batch that were not seen."""
        if self.larger is not None:
            keys = list(itertools.compress(keys, (~self.first.ask_many(keys)).tobytes()))
            return itertools.compress(keys, (~self.larger.observe_many(keys)).tobytes())
        new = (~self.first.observe_many(keys)).tobytes()
        self._count_new(new.count(1))
        return itertools.compress(keys, new)


def _one_by_one(items: Iterator[T], key: Callable[[T], _Key] | None, seen: Filter | _Growing) -> Iterator[T]:
    """Take an item only when it is requested."""
    observe = seen.observe
    for item in items:
        if not observe(item if key is None else key(item)):  # type: ignore[arg-type]
            yield item


def _in_batches(items: Sequence[T], seen: _Growing) -> Iterator[Iterator[T]]:
    """The new items of each batch."""
    at = 0
    while batch := items[at : at + _BATCH]:
        at += len(batch)
        try:
            new = seen.new_of(batch)
        except (TypeError, BufferError):  # the items before one that is not a key are yielded first
            new = _one_by_one(iter(batch), None, seen)
        yield new


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
    filter: str | None = None,
) -> list[Prediction]:
    """Recommend filters for a stream: predictions, the best first, each with its best parameters.

    memory: the limit, 64M by default. fpr, fnr: maximum rates, 0.1 % and 5 % by default; if one is
    given without memory, find the least memory that satisfies them. Filters that exceed a limit
    come last; their rank is above 1. filter: only this one, with parameters that must not change.

    >>> best = plan("uniform:n=1M,distinct=60%", memory="1M")[0]
    >>> best.memory <= 1 << 20
    True
    """
    ceilings = _rate(fpr, "fpr"), _rate(fnr, "fnr")
    sizing = memory is None and any(ceilings)
    room = _weir._size(memory) if isinstance(memory, str) else memory or (0 if sizing else _PLAN_MEMORY)
    if filter is not None:
        return [_weir._choose(filter, stream, room, *ceilings, sizing)]
    found: list[Prediction] = []
    why: Exception | None = None
    for about in _weir.algorithms("filter"):
        if "for tables" in about.traits or "observe" not in about.traits:
            continue
        try:
            found.append(_weir._choose(about.name, stream, room, *ceilings, sizing))
        except (UnsupportedError, ConfigError) as error:
            why = why or error
        if sizing and found:
            room = _FAR_MORE * min(p.memory for p in found)
    if not found:
        raise why or ValueError("no filter fits")
    return sorted(found, key=lambda p: p.memory if sizing else p.rank)
