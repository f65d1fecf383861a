"""The part of the extension that is written in Python: exceptions, records, arguments, keys that are rare or wrong,
times, files, and the warning. The extension calls it where a call may take a microsecond."""
from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
import math
import mmap
import os
import secrets
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

# ---- exceptions ----


class Error(Exception):
    """Base class of all errors that the library reports."""

    code: str


class ConfigError(Error, ValueError):
    """The spec is invalid."""


class NoMemoryError(Error, MemoryError):
    """Not enough memory, or more than max_bytes."""


class DataError(Error, ValueError):
    """The bytes are not a saved handle, or damaged."""


class MismatchError(Error, ValueError):
    """Different specs or seeds."""


class UnsupportedError(Error, TypeError):
    """This filter, sketch or screen cannot do that."""


class WriteError(Error, OSError):
    """Bytes could not be written."""


class FullError(Error, ValueError):
    """No room for a key."""


class SaturationWarning(RuntimeWarning):
    """A filter exceeds its maximum false-positive rate: it holds too many keys."""


# In the order of enum weir_status.
_ERRORS = (Error, ConfigError, NoMemoryError, DataError, MismatchError, UnsupportedError, WriteError, FullError)


def fail(status: int, code: str, text: str) -> NoReturn:
    error = (_ERRORS[status] if status < len(_ERRORS) else Error)(text)
    error.code = code
    raise error


# ---- records ----


class Stats(NamedTuple):
    """Statistics of a filter."""

    memory: int  # bytes of cells, at most memory=
    bytes: int  # all memory of the handle
    observed: int  # keys observed
    seen: int  # of these, reported as seen
    new_keys: int  # of these, reported as new
    fill: float  # share of cells in use
    error: float  # current false-positive rate
    lost: int  # keys evicted before the end of window= or span=: not enough memory
    overflow: int  # observations that a full filter could not store


class Estimate(NamedTuple):
    """The estimated count of a key."""

    count: int  # type: ignore[assignment]  # upper bound of the count
    error: int | None  # the count is at least count - error; None: no bound


class Heavy(NamedTuple):
    """A key that is kept."""

    key: bytes
    count: int  # type: ignore[assignment]  # upper bound of the count
    error: int | None  # the count is at least count - error; None: no bound


class SketchStats(NamedTuple):
    """Statistics of a sketch."""

    memory: int  # bytes of counters and keys
    bytes: int  # all memory of the handle
    total: int  # sum of what was added, minus what was taken back
    keys: int  # keys kept
    error: int | None  # by how much a count may be too high, or of a key that is not kept; None: no bound
    confidence: float  # probability that error holds
    too_long: int  # of total, what belongs to keys too long to be kept


class ScreenStats(NamedTuple):
    """Statistics of a screen."""

    memory: int  # bytes of cells
    bytes: int  # all memory of the handle
    checked: int  # keys checked
    asked: int  # of these, answered by the store
    saved: int  # of these, answered by the screen alone
    unanswered: int  # of these, not answered by the store
    members: int  # answered True
    fill: float  # share of cells in use
    error: float  # current probability that an unknown key is treated as known


class NearMatch(NamedTuple):
    """What a text resembles most."""

    seen: bool  # whether it is a near-duplicate
    number: int  # of the remembered text that it resembles most; 0: none was compared
    similarity: float  # the estimated Jaccard similarity
    error: float  # its standard error
    bands: int  # that agree, of 12


class NearStats(NamedTuple):
    """Statistics of a near-duplicate detector."""

    texts: int  # remembered now
    capacity: int  # texts that fit into memory
    evicted: int  # texts that were forgotten because memory was full
    observed: int  # texts
    seen: int  # of them: near-duplicates
    unsure: int  # of those: within one standard error of the threshold


class Prediction(NamedTuple):
    """Predicted errors of a filter; nan if there is no prediction."""

    config: str  # the filter's completed spec
    memory: int  # bytes
    fpr: float  # false-positive rate: share of new keys reported as seen
    fnr: float  # false-negative rate: share of repeats reported as new
    fill: float  # share of cells in use at the end
    error: float  # false-positive rate at the end
    stable: float  # the error at which it settles if all keys are new
    paper: float  # the error at the end by the formula of its paper
    remembered: float  # keys remembered on an endless stream of new keys
    least_fnr: float  # no filter of this memory and fpr can miss less
    lru_fnr: float  # fnr of an exact list of the latest keys
    rank: float  # of plan(): a smaller one is better; above 1: a limit is exceeded
    classes: tuple[tuple[float, float], ...]  # of importance: (share, fnr) of each, if the filter distinguishes them


class Algorithm(NamedTuple):
    """A filter, sketch or screen algorithm."""

    name: str  # first word of a spec
    idea: str  # one line
    traits: frozenset[str]  # what it can do, a set of words


_TRAITS = {  # bits of WEIR_CAN_ and WEIR_FOR_
    0: "forget", 1: "merge", 2: "window", 3: "time", 4: "importance", 5: "run forever", 6: "keep all", 7: "list",
    8: "count any", 9: "hold set", 10: "confirm", 11: "observe", 12: "one line", 16: "for importance", 17: "for tables",
}  # fmt: skip


def algorithm(name: str, idea: str, traits: int) -> Algorithm:
    return Algorithm(name, idea, frozenset(word for bit, word in _TRAITS.items() if traits >> bit & 1))


for _public in (*_ERRORS, SaturationWarning, Stats, Estimate, Heavy, SketchStats, ScreenStats, NearMatch, NearStats, Prediction, Algorithm):
    _public.__module__ = "weir"

# ---- arguments of constructors: the result is the spec, max_bytes, shards or store, and fpr= ----


def _value(name: str, value: Any) -> str:
    """A parameter as text."""
    if isinstance(value, datetime.timedelta) or hasattr(value, "total_seconds"):
        text = f"{round(value.total_seconds() * 1000)}ms"
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        text = str(value)
    else:
        raise TypeError(f"{name}: invalid value {value!r}; use a str, a number or a timedelta")
    if not text or any(c in text for c in " \t\r\n="):
        raise ValueError(f"{name}={text!r}: invalid value; use one word, such as '64M'")
    return text


def _opening(spec: Any, max_bytes: Any, extra: Any, parameters: dict[str, Any]) -> tuple[str, Any, Any, float]:
    if not isinstance(spec, str):
        raise TypeError(f"the spec is {spec!r}, not a str; use 'memory=64M', or keywords: memory='64M'")
    for name, value in parameters.items():  # half_life= is the parameter half-life=
        spec += f" {name.replace('_', '-')}={_value(name, value)}"
    if "\0" in spec:
        raise ValueError("the spec contains a NUL character; remove it")
    return spec, max_bytes, extra, rate_of(spec)


def open_plain(spec: Any = "", *, max_bytes: Any = 0, **parameters: Any) -> Any:
    return _opening(spec, max_bytes, 0, parameters)


def open_shared(spec: Any = "", *, shards: Any = 0, max_bytes: Any = 0, **parameters: Any) -> Any:
    return _opening(spec, max_bytes, shards, parameters)


def open_sketch(spec: Any = "top", *, max_bytes: Any = 0, **parameters: Any) -> Any:
    return _opening(spec or "top", max_bytes, 0, parameters)


def open_screen(spec: Any = "", store: Any = None, *, max_bytes: Any = 0, **parameters: Any) -> Any:
    return _opening(spec, max_bytes, checked_store(store), parameters)


# ---- saturation ----


def rate_of(spec: str) -> float:
    """The value of fpr=; 0 if there is none."""
    text = next((word[4:] for word in spec.split() if word.startswith("fpr=")), "0")
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return 0.0


@functools.lru_cache(64)
def _default_rate(config: str, capacity: int) -> float:
    """The error of a set that has capacity= keys, or 1 %."""
    from . import _weir

    try:
        error = _weir.predict(config, f"endless:n={capacity}").error if capacity else 0.0
    except Error:
        error = 0.0
    return error if error > 0 else 0.01


def warn_saturated(config: str, limit: float, stats: Stats) -> bool:
    """Warn if a filter exceeds its maximum error by a tenth, because it is measured. Return whether it does."""
    capacity = next((int(word[9:]) for word in config.split() if word.startswith("capacity=")), 0)
    limit = limit or rate_of(config) or _default_rate(config, capacity)
    if stats.overflow > 0:
        text = f"the filter is full: {stats.overflow} keys were not recorded, so they stay new; use more memory or capacity"
    elif stats.error > 1.1 * limit and stats.new_keys > capacity:
        text = (
            f"the filter exceeds its maximum false-positive rate: {stats.error * 100:.3g} % of new keys are reported as seen, "
            f"the limit is {limit * 100:.3g} %, after {stats.observed} keys; use more memory or capacity, or 'recent', "
            "which forgets old keys"
        )
    else:
        return False
    warnings.warn(text, SaturationWarning, stacklevel=2)
    return True


# ---- keys ----


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    name = type(value).__name__
    if isinstance(value, float) or name in ("float16", "float32", "datetime64"):
        return bool(value != value)
    return value is None or name in ("NAType", "NaTType")


def refuse_key(value: Any, at: int) -> NoReturn:
    """Raise TypeError for a value that is not a key; at: its position in a batch, or -1."""
    where, name, fix = f"keys[{at}]: " if at >= 0 else "", type(value).__name__, ""
    if at >= 0 and is_missing(value):
        raise TypeError(
            f"{where}{value!r} is a missing value; drop missing values (dropna()), or use skipna=True where it is accepted"
        )
    if isinstance(value, (float, bool)):
        fix = "; convert it with int() or str()"
    elif value is None:
        fix = "; drop missing values"
    elif name in ("datetime64", "timedelta64") or hasattr(value, "isoformat"):
        fix = "; pass a time as time=, or convert it with str()"
    elif hasattr(value, "__getitem__") and not isinstance(value, dict):
        fix = "; observe_many() takes several keys"
    raise TypeError(f"{where}a key is bytes, str or int, not {name}{fix}")


def array_of(keys: Any) -> Any:
    """The numpy array of a pandas column; other batches of keys as they are."""
    if isinstance(keys, str):
        raise TypeError("a str is one key; a batch is an iterable of keys, or an array")
    if hasattr(keys, "__dataframe__"):
        raise TypeError('a DataFrame is not a batch of keys; pass one of its columns: observe_many(df["id"])')
    return keys.__array__() if hasattr(keys, "__array__") else keys


def _size_of_keys(view: memoryview, size: int) -> int:
    """size=, if it divides the buffer and its items."""
    item = view.itemsize * math.prod((view.shape or ())[1:])
    if size <= 0 or view.nbytes % size or (item > 1 and size % item and item % size):
        raise ValueError(f"size={size}: invalid size; the buffer has {view.nbytes} bytes, in items of {item}")
    return size


def layout_of(keys: Any, size: int | None) -> tuple[memoryview | bytes, int, str] | None:
    """How a batch in a buffer is read: its bytes, the bytes of each key, and the format of integers, 's' for padded text,
    or ''. None: its items are read one by one."""
    try:
        view = memoryview(keys)
    except TypeError:
        return None
    except ValueError as error:  # datetime64 and others without a format
        raise TypeError(f"{keys.dtype} values are not keys; convert them to text or integers") from error
    kind, is_column, shape = view.format.lstrip("@=<>!"), view.ndim == 1, view.shape or ()
    if any(c in kind for c in "Owu") and "{" not in kind:  # objects and text
        return None
    block = view if view.c_contiguous else view.tobytes()
    is_integer = kind in tuple("bBhHiIlLqQnN")
    if size is not None:
        return block, _size_of_keys(view, size), ""
    if is_column and kind.lstrip("0123456789") == "s":  # numpy pads byte strings with NUL
        return block, view.itemsize, "s"
    if is_column and kind.lstrip("0123456789") == "x" and view.itemsize > 1:
        return block, view.itemsize, ""
    if is_column and is_integer and (view.itemsize > 1 or hasattr(keys, "__array__") or hasattr(keys, "typecode")):
        return block, view.itemsize, view.format
    if view.ndim == 2 and is_integer and view.itemsize == 1 and shape[1] > 0:  # rows of bytes
        return block, shape[1], ""
    if is_column and view.itemsize == 1 and kind[0] in "Bbc":
        raise TypeError("a batch of bytes needs size=, the bytes of each key; to pass one key, put it into a list")
    if is_column and any(c in kind for c in "efdg"):
        raise TypeError(
            "float values are not keys; convert them to integers or text. A pandas column of integers with missing values: "
            'df["id"].astype("Int64")'
        )
    raise TypeError(
        f"an array of {view.ndim} dimensions and format '{view.format}' is not a batch of keys; use one column of integers, "
        "text or bytes, or size= for the bytes as they are"
    )


# ---- times ----

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _kind(value: Any) -> str:
    """The dtype.kind of a numpy object: 'M' is datetime64, 'O' is objects."""
    return getattr(getattr(value, "dtype", None), "kind", "")


def milliseconds(time: Any) -> Any:
    """A datetime or datetime64 as an integer; without a time zone it is UTC. Other objects as they are."""
    if _kind(time) == "M":
        return time.astype("datetime64[ms]").astype("int64")
    if not isinstance(time, datetime.datetime):
        return time
    if time.tzinfo is None:
        time = time.replace(tzinfo=datetime.timezone.utc)
    return (time - _EPOCH) // datetime.timedelta(milliseconds=1)


def numbers_of(column: Any) -> Any:
    """The numbers of a pandas column or an array of datetime64 in a form that can be read; others as they are."""
    array = column.__array__() if hasattr(column, "__array__") else column
    return milliseconds(array) if _kind(array) == "M" else array.tolist() if _kind(array) == "O" else array


# ---- files ----


def buffer_of(source: Any) -> Any:
    """The bytes of a path, which is mapped, or of an open file. Other objects as they are."""
    if hasattr(source, "read"):
        data = source.read()
        if isinstance(data, str):
            raise TypeError("the file is open in text mode; open it with 'rb'")
        return data
    if not isinstance(source, (str, os.PathLike)):
        return source
    with open(source, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) if size else file.read()


def _replace(path: str, write: Callable[[int], None]) -> None:
    """Replace a file by what write(fd) writes: after a crash it has the old or the new content."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.weir-{secrets.token_hex(8)}")
    with open(temporary, "xb", buffering=0) as file:
        try:
            if os.path.exists(path):
                os.fchmod(file.fileno(), os.stat(path).st_mode & 0o7777)
            write(file.fileno())
            os.fsync(file.fileno())
            os.rename(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    with contextlib.suppress(OSError):  # a folder that cannot be read or synced
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def save(target: Any, tobytes: Callable[[], bytes], write: Callable[[int], None]) -> None:
    """Save to an open file or to a path. Links are followed, and a device is written in place."""
    if hasattr(target, "write"):
        target.write(tobytes())
        return
    try:
        path = os.path.realpath(target)
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb", buffering=0) as file:
                write(file.fileno())
        else:
            _replace(path, write)
    except OSError as error:
        error.filename = target
        raise


def reduce(handle: Any, keys: str, *store: Any) -> Any:
    """For pickle. keys: how the keys of its file were made, or ''."""
    load = type(handle).load
    return functools.partial(load, keys_differ=True) if keys else load, (handle.tobytes(), *store)


# ---- stores of screens ----


def checked_store(store: Any) -> Any:
    if store is not None and not callable(store):
        raise TypeError("a store is a function that takes a list of keys and returns True, False or None for each")
    return store


def _answer(answer: Any) -> int:
    if isinstance(answer, (str, bytes)):  # of a set or dictionary of keys; always true
        raise TypeError("the store returned text or bytes as an answer; return a list of True, False or None, in the order of the keys")
    return 2 if answer is None else bool(answer)


def ask(store: Any, keys: list[bytes]) -> bytes:
    """The answers of a store: 1, 0, and 2 for None."""
    if store is None:
        raise TypeError("this screen has no store; use Screen(spec, store)")
    answers = bytes(map(_answer, itertools.islice(store(keys), len(keys) + 1)))
    if len(answers) != len(keys):
        more = "fewer" if len(answers) < len(keys) else "more"
        raise ValueError(f"the store was asked for {len(keys)} keys and returned {more} answers")
    return answers
