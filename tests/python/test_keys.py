"""The bytes of a key: integers, text, bytes; arrays, pandas columns, missing values; and times."""
import array
import datetime
import json
import random

import pytest

import weir

SPEC = "memory=64K seed=1"
UTC = datetime.timezone.utc


def vectors(source):
    """The rows of tests/vectors/keys.tsv: value, bytes of the key, verdict."""
    for line in (source / "tests/vectors/keys.tsv").read_text().splitlines()[1:]:
        kind, value, key, _, _, seen = line.split("\t")
        raw = bytes.fromhex(value) if kind != "int" else int(value)
        yield raw.decode() if kind == "text" else raw, bytes.fromhex(key), seen == "1"


def test_the_shared_vectors(source):
    rows = list(vectors(source))
    values, keys, seen = zip(*rows)
    single, batch, raw = (weir.Filter("recent memory=4K seed=7") for _ in range(3))
    assert tuple(map(single.observe, values)) == seen
    assert batch.observe_many(values) == list(seen)
    assert raw.observe_many(keys) == list(seen)
    expected = (source / "tests/vectors/keys.weir").read_bytes()
    assert single.tobytes() == batch.tobytes() == raw.tobytes() == expected
    assert all(value in weir.Filter.load(expected) for value in values)


def test_integers_are_their_decimal_text():
    f = weir.Filter(SPEC)
    for n in (0, -1, 42, 2**63, -(2**63), 2**64, -(10**40), 10**300):
        assert not f.observe(n)
        assert n in f and str(n) in f and str(n).encode() in f
    with pytest.raises(TypeError, match="not bool"):
        f.observe(True)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i2", ">u4", ">i8", "<i4"])
def test_arrays_of_integers_are_their_decimal_texts(dtype):
    numpy = pytest.importorskip("numpy")
    limits = numpy.iinfo(dtype)
    rng = random.Random(1)
    numbers = [limits.min, limits.max, 0, *(rng.randint(limits.min, limits.max) for _ in range(3000))]
    f, g = weir.Filter(SPEC), weir.Filter(SPEC)
    numbers_seen = f.observe_many(numpy.array(numbers, dtype=dtype))
    assert numbers_seen.tolist() == list(g.observe_many([str(n) for n in numbers]))
    assert f.tobytes() == g.tobytes()
    assert all(n in f for n in numpy.array(numbers, dtype=dtype)[:50])


def test_arrays_of_the_standard_library():
    f = weir.Filter(SPEC)
    for code in "bBhHiIlLqQ":
        f.update(array.array(code, [7, 8]))
    assert f.stats().new_keys == 2 and 7 in f
    f.update(memoryview(array.array("q", [-5, 6])))
    assert -5 in f


def test_results_are_masks():
    numpy = pytest.importorskip("numpy")
    f = weir.Filter(SPEC)
    ids = numpy.array([5, 6, 5, 7])
    seen = f.observe_many(ids)
    assert seen.dtype == bool and ids[~seen].tolist() == [5, 6, 7]
    verdicts = f.ask_many(["5", "nothing"])
    assert numpy.asarray(verdicts).dtype == bool and numpy.asarray(verdicts).tolist() == [True, False]
    assert numpy.array([1, 2])[verdicts].tolist() == [1]
    assert f.ask_many(numpy.array([], dtype="i4")).shape == (0,)


def test_verdicts_are_a_sequence():
    v = weir.Filter(SPEC).observe_many(["a", "b", "a", "a"])
    assert list(v) == [False, False, True, True] and v == [False, False, True, True] == list(v)
    assert v[2] is True and v[-1] is True and v[1:3] == (False, True) and len(v) == 4
    assert ~v == [True, True, False, False] and v != ~v and v == v[:]
    assert v.count(True) == 2 and sum(v) == 2 and v.tobytes() == b"\0\0\1\1" == bytes(v)
    assert memoryview(v).format == "?" and memoryview(v).readonly
    assert json.dumps(list(v)) == "[false, false, true, true]"
    with pytest.raises(IndexError):
        v[4]
    with pytest.raises(TypeError):
        hash(v)
    with pytest.raises(TypeError):
        type(v)()


def test_arrays_that_are_no_keys():
    numpy = pytest.importorskip("numpy")
    f = weir.Filter(SPEC)
    for wrong, text in ((numpy.array([1.5]), "float values"), (numpy.array([True]), "format"), (numpy.array([[1, 2]]), "2 dimensions"),
                        (numpy.array(["2020"], dtype="M8[D]"), "datetime64"), (numpy.array(5), "0 dimensions")):
        with pytest.raises(TypeError, match=text):
            f.observe_many(wrong)
    assert f.stats().observed == 0


def test_values_that_are_not_keys_are_refused_before_anything_is_recorded():
    """numpy's scalars and arrays have buffers, but only buffers of bytes are keys."""
    numpy = pytest.importorskip("numpy")
    wrong = [(1.5, "str"), (True, "str"), ((1, 2), "observe_many"), ([], "observe_many"), (datetime.date(2026, 1, 1), "time="),
             (array.array("d", [1]), "observe_many"), (memoryview(b"abcd").cast("i"), ""), (numpy.float32(1.5), ""), (numpy.bool_(True), ""),
             (numpy.datetime64("2026"), "time="), (numpy.timedelta64(5, "D"), "time="), (numpy.array([1, 2]), "observe_many"), (object(), "")]
    f = weir.Filter(SPEC)
    for value, fix in wrong:
        with pytest.raises(TypeError, match=f"a key is bytes, str or int, not .*{fix}"):
            f.observe(value)
        with pytest.raises(TypeError, match=rf"keys\[1\]: a key is bytes, str or int, not .*{fix}"):
            f.observe_many(["a", value])
    assert len(f) == 0
    for value in (bytearray(b"b"), memoryview(b"b"), array.array("B", b"b"), numpy.bytes_(b"b"), numpy.str_("b"), numpy.array([98], "u1")):
        assert f.ask_many(["c", value]) == [False, f.observe(value)]


# ---- missing values ----

@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize("form", [list, tuple])
def test_missing_values_are_refused_before_anything_is_recorded(missing, form):
    f = weir.Filter(SPEC)
    with pytest.raises(TypeError, match=r"keys\[2\]: .* missing value"):
        f.observe_many(form(["a", "b", missing, "c"]))
    assert f.stats().observed == 0
    with pytest.raises(TypeError, match=r"keys\[1\]: a key is bytes, str or int, not float"):
        f.observe_many(form(["a", 1.5]))
    assert f.stats().observed == 0


@pytest.mark.parametrize("form", [list, tuple, iter])
@pytest.mark.parametrize("n", [5, 20_000])
def test_skipped_values_have_the_verdict_false(form, n):
    rng = random.Random(n)
    keys = [rng.choice([None, float("nan"), rng.randrange(n // 2 + 1)]) for _ in range(n)]
    real = [k for k in keys if isinstance(k, int)]
    f, g = weir.Filter("memory=1M seed=1"), weir.Filter("memory=1M seed=1")
    expected = iter(g.observe_many(real))
    assert list(f.observe_many(form(keys), skipna=True)) == [isinstance(k, int) and next(expected) for k in keys]
    assert f.tobytes() == g.tobytes()


def test_numbers_of_skipped_values_are_skipped_too():
    f = weir.Filter("memory=64K span=10s seed=1")
    assert list(f.observe_many(["a", None, "a"], times=[0, 1_000_000, 5000], skipna=True)) == [False, False, True]


# ---- pandas ----

def test_pandas():
    pandas = pytest.importorskip("pandas")
    df = pandas.DataFrame({"id": [1, 5, 5, 9], "text": ["a", None, "b", "a"], "float": [1.0, None, 2.0, 2.0],
                           "at": pandas.to_datetime(["2020-01-01 00:00", "2020-01-01 00:30", "2020-01-01 02:00", "2020-01-01 02:01"])})
    f = weir.Filter(SPEC)
    assert df[~f.observe_many(df["id"])]["id"].tolist() == [1, 5, 9]
    assert "9" in f and f.ask_many(df["id"]).all()
    with pytest.raises(TypeError, match=r'unique\(df\["id"\]\)'):
        weir.unique(df)
    with pytest.raises(TypeError, match=r'a DataFrame .* observe_many\(df\["id"\]\)'):
        f.observe_many(df)
    with pytest.raises(TypeError, match="missing value"):
        f.observe_many(df["text"])
    assert f.observe_many(df["text"], skipna=True).tolist() == [False, False, False, True]
    with pytest.raises(TypeError, match="Int64"):
        f.observe_many(df["float"])
    assert f.observe_many(df["float"].astype("Int64"), skipna=True).tolist() == [True, False, False, True]
    with pytest.raises(TypeError, match="datetime64"):
        f.observe_many(df["at"])
    g = weir.Filter("memory=64K span=1h seed=1")
    assert g.observe_many(df["id"], times=df["at"]).tolist() == [False, False, False, False]
    assert g.observe(9, time=df["at"][3]) and not g.observe(9, time=df["at"][3] + pandas.Timedelta(hours=2))
    assert list(g.observe_many(["x", "x"], times=df["at"][:2].dt.tz_localize("UTC"))) == [False, True]
    s = weir.Sketch("top", memory="64K", seed=1)
    s.add_many(df["id"])
    assert s.top(1)[0] == (b"5", 2, 0)
    builder = weir.Builder("bloom", capacity=10, seed=1)
    builder.add_many(df["id"], importance=df["id"])
    assert 5 in builder.finish()


# ---- times ----

def test_times_are_milliseconds_datetime_or_datetime64():
    """All forms of one time are equal to the millisecond."""
    moment = datetime.datetime(2026, 1, 1, 12, 0, 0, 1000, tzinfo=UTC)
    ms = int(moment.timestamp() * 1000)
    forms = [ms, moment, moment.replace(tzinfo=None), moment.astimezone(datetime.timezone(datetime.timedelta(hours=5)))]
    try:
        import numpy
        forms += [numpy.datetime64(moment.replace(tzinfo=None)), numpy.int64(ms)]
    except ImportError:
        pass
    for time in forms:
        f = weir.Filter("memory=64K span=10s seed=1")
        f.observe("a", time=ms - 10_000)
        g = f.copy()
        f.observe("b", time=time), g.observe("b", time=ms)
        assert f.tobytes() == g.tobytes(), time
        f, g = f.copy(), f.copy()
        assert list(f.observe_many(["c"], times=[time])) == list(g.observe_many(["c"], times=time)) == [False]
        f.advance(time), g.advance(ms)
        assert f.tobytes() == g.tobytes(), time
    for wrong in ("noon", 1.5, datetime.date(2026, 1, 1), None):
        if wrong is not None:
            with pytest.raises(TypeError, match="time"):
                f.observe("a", time=wrong)
        with pytest.raises(TypeError, match="time"):
            f.advance(wrong)


def test_arrays_of_times():
    numpy = pytest.importorskip("numpy")
    times = numpy.array(["2020-01-01T00:00", "2020-01-01T00:00:05", "2020-01-01T01:00"], dtype="M8[s]")
    for form in (times, times.astype("M8[ns]"), times.astype("M8[ms]").astype("i8"), times.tolist(), list(times)):
        f = weir.Filter("memory=64K span=10s seed=1")
        assert list(f.observe_many(["a", "a", "a"], times=form)) == [False, True, False]
    with pytest.raises(ValueError, match="time"):
        f.observe_many(["a"], times=numpy.array(["NaT"], dtype="M8[s]"))
