"""Batches: every kind of iterable and buffer gives the verdicts of single calls."""
import array
import collections
import itertools
import random
import signal

import pytest

import weir

SPEC = "rlbsbf memory=16K seed=1"


def keys(n, seed=1):
    rng = random.Random(seed)
    return [f"key {rng.randrange(n // 2 + 1)}" for _ in range(n)]


def one_by_one(spec, these, **more):
    f = weir.Filter(spec)
    columns = [dict(zip(more, row)) for row in zip(*more.values())] if more else [{}] * len(these)
    return bytes(f.observe(k, **c) for k, c in zip(these, columns)), f.tobytes()


@pytest.mark.parametrize("n", [0, 1, 2, 1023, 1024, 1025, 16384, 16385, 40_000])
def test_every_iterable_gives_what_one_by_one_gives(n):
    these = keys(n)
    expected = one_by_one(SPEC, these)
    for form in (list, tuple, iter, lambda x: (k for k in x), lambda x: map(str.encode, x), collections.deque):
        f = weir.Filter(SPEC)
        assert (f.observe_many(form(these)), f.tobytes()) == expected


def test_dictionaries_and_sets_are_iterables():
    f = weir.Filter(SPEC)
    assert f.observe_many({"a": 1, "b": 2}) == bytes(2)
    assert f.ask_many({"a"}) == b"\1"
    assert f.observe_many(dict.fromkeys("ab").keys()) == b"\1\1"


def test_a_buffer_of_keys_is_cut():
    raw = random.Random(1).randbytes(16 * 5000)
    raw += raw[: 16 * 100]
    these = [raw[i : i + 16] for i in range(0, len(raw), 16)]
    expected = one_by_one(SPEC, these)
    for form in (raw, bytearray(raw), memoryview(raw), memoryview(raw).cast("B", (5100, 16))):
        f = weir.Filter(SPEC)
        assert (f.observe_many(form, size=16), f.tobytes()) == expected
    f = weir.Filter(SPEC)
    assert f.observe_many(memoryview(raw).cast("B", (5100, 16))) == expected[0]


def test_an_array_has_a_key_per_item():
    numbers = array.array("Q", [1, 2, 1, 1 << 63])
    f = weir.Filter(SPEC)
    assert list(f.observe_many(numbers)) == [0, 0, 1, 0]
    assert 2 in f and str(1 << 63) in f and numbers.tobytes()[:8] not in f
    assert list(f.ask_many(numbers, size=16)) == [0, 0]  # the bytes of two items are a key


def test_numpy_is_not_needed_but_understood():
    numpy = pytest.importorskip("numpy")
    f = weir.Filter(SPEC)
    assert list(f.observe_many(numpy.array([5, 6, 5], dtype="u4"))) == [0, 0, 1]
    assert list(f.observe_many(numpy.array([[1, 2], [3, 4], [1, 2]], dtype="u1"))) == [0, 0, 1]
    assert list(f.observe_many(numpy.array([b"ab", b"cd", b"ab"], dtype="S2"))) == [0, 0, 1]
    assert b"ab" in f
    # text and objects are keys one by one
    assert list(f.observe_many(numpy.array(["ab", "日本"]))) == [1, 0]
    assert list(f.observe_many(numpy.array(["日本", b"cd"], dtype=object))) == [1, 1]
    counted = numpy.frombuffer(f.observe_many(["p", "q", "p"]), dtype=bool)
    assert counted.sum() == 1
    with pytest.raises(TypeError):
        f.observe(numpy.array([object()]))


def test_numpy_strings_are_keys_without_padding():
    """numpy pads them with NUL bytes; size= uses the bytes as they are."""
    numpy = pytest.importorskip("numpy")
    words = numpy.array([b"fig", b"apple", b"", b"fig", b"a\0b"])
    f = weir.Filter(SPEC)
    assert list(f.observe_many(words)) == [0, 0, 0, 1, 0]
    assert all(word in f for word in words) and "fig" in f and b"fig\0\0" not in f
    assert list(f.observe_many(words, size=5)) == [0, 1, 0, 1, 0]
    assert b"fig\0\0" in f
    assert list(f.observe_many(numpy.array([b"x", b"y", b"x"]))) == [0, 0, 1]
    s = weir.Sketch("top memory=64K seed=1")
    s.add_many(words)
    assert s.top(1)[0] == (b"fig", 2, 0)


def test_arrays_that_are_not_contiguous():
    numpy = pytest.importorskip("numpy")
    table = numpy.arange(3000, dtype="u4").reshape(1000, 3) % 701
    for odd in (table[:, 1], table[::-2], table[:, ::2], numpy.asfortranarray(table), table[:, 0].astype("U")[::3]):
        f, expected = weir.Filter(SPEC), weir.Filter(SPEC)
        size = None if odd.ndim == 1 else 4 * odd.shape[1]
        assert (f.observe_many(odd, size=size) == expected.observe_many(numpy.ascontiguousarray(odd), size=size)).all()
        assert f.tobytes() == expected.tobytes() and f.stats().observed == len(odd)
    f = weir.Filter("ibf-mc memory=4K seed=3 importance=log")
    expected = weir.Filter(f.config)
    weights = numpy.arange(2000, dtype="i2")[::-2]
    seen = f.observe_many(table[:, 0], importance=weights)
    assert (seen == expected.observe_many(table[:, 0], importance=weights.tolist())).all()
    assert f.tobytes() == expected.tobytes()
    assert weir.Filter(SPEC).observe_many(memoryview(b"a.b.a.")[::2], size=1) == b"\0\0\1"


def test_numpy_importances():
    numpy = pytest.importorskip("numpy")
    these = keys(3000)
    weights = [i % 50 for i in range(3000)]
    spec = "ibf-mc memory=4K seed=3 importance=log"
    expected = one_by_one(spec, these, importance=weights)
    for kind in ("u1", "i2", "i8", "u4", "<u8"):
        f = weir.Filter(spec)
        assert (f.observe_many(these, importance=numpy.array(weights, dtype=kind)), f.tobytes()) == expected
    f = weir.Filter(spec)
    assert f.observe_many(["a"], importance=numpy.int64(7)) == b"\0"
    for wrong in (numpy.array([1.5]), numpy.array([-1]), numpy.array([[1]]), numpy.array([1 << 40])):
        with pytest.raises((TypeError, ValueError), match="importance"):
            f.observe_many(["a"], importance=wrong)


@pytest.mark.parametrize("form", [list, tuple, iter, lambda x: array.array("Q", x), lambda x: array.array("q", x)])
def test_importance_and_times_belong_to_their_keys(form):
    n = 5000
    these = keys(n)
    weights = [random.Random(i).randrange(1000) for i in range(n)]
    expected = one_by_one("ibf-mc memory=4K seed=3 importance=log", these, importance=weights)
    f = weir.Filter("ibf-mc memory=4K seed=3 importance=log")
    assert (f.observe_many(these, importance=form(weights)), f.tobytes()) == expected

    times = [1000 * i for i in range(n)]
    expected = one_by_one("memory=64K span=100s seed=1", these, time=times)
    f = weir.Filter("memory=64K span=100s seed=1")
    assert (f.observe_many(these, times=form(times)), f.tobytes()) == expected
    assert 0 < sum(expected[0]) < n / 2


def test_importances_of_a_buffer():
    raw = random.Random(1).randbytes(4 * 40_000)
    these = [raw[i : i + 4] for i in range(0, len(raw), 4)]
    weights = [i % 900 for i in range(40_000)]
    expected = one_by_one("ibf-mc memory=4K seed=3 importance=log", these, importance=weights)
    f = weir.Filter("ibf-mc memory=4K seed=3 importance=log")
    assert (f.observe_many(raw, size=4, importance=array.array("H", weights)), f.tobytes()) == expected


def test_numbers_must_be_as_many_as_keys():
    for more in ("importance", "times"):
        for form in (list, lambda x: array.array("I", x)):
            f = weir.Filter("memory=64K span=1h seed=1")
            with pytest.raises(ValueError, match=more + " has fewer"):
                f.observe_many(["a", "b"], **{more: form([1])})
            assert f.stats().observed == 1
            with pytest.raises(ValueError, match=more + " has more"):
                f.observe_many(["a", "b"], **{more: form([1, 2, 3])})


def test_one_number_for_all():
    f, g = (weir.Filter("ibf-mc memory=4K seed=3 importance=log") for _ in range(2))
    f.observe_many(keys(500), importance=9)
    g.observe_many(keys(500), importance=[9] * 500)
    assert f.tobytes() == g.tobytes()


@pytest.mark.parametrize("at", [0, 1, 500, 1024, 3000])
def test_keys_before_a_failure_have_been_observed(at):
    these = keys(5000)

    def failing():
        yield from these[:at]
        raise KeyError("mine")

    f = weir.Filter(SPEC)
    with pytest.raises(KeyError, match="mine"):
        f.observe_many(failing())
    assert f.tobytes() == one_by_one(SPEC, these[:at])[1]

    g = weir.Filter(SPEC)
    with pytest.raises(TypeError, match="not float"):
        g.observe_many(k for k in these[:at] + [7.5] + these[at:])
    assert g.tobytes() == f.tobytes()


def test_single_keys_are_refused_as_batches():
    f = weir.Filter(SPEC)
    for wrong, said in (("abc", "a str is one key"), (b"abc", "needs size="), (bytearray(2), "needs size="), (5, "not iterable")):
        with pytest.raises(TypeError, match=said):
            f.observe_many(wrong)
    for size in (0, 4, 1 << 70, -1):
        with pytest.raises((ValueError, OverflowError)):
            f.observe_many(b"abc", size=size)
    with pytest.raises(TypeError, match="size= is for a buffer"):
        f.observe_many(["a"], size=1)
    with pytest.raises(ValueError):
        f.observe_many(array.array("Q", [1, 2, 3]), size=12)
    assert f.stats().observed == 0


def test_empty_batches():
    f = weir.Filter(SPEC)
    for empty in ([], (), iter([]), array.array("Q"), {}):
        assert f.observe_many(empty) == b""
    assert f.observe_many(b"", size=4) == b""


def test_a_list_that_shrinks_while_it_is_read():
    these = ["x"] * 3000

    class Shrinks(bytes):
        pass

    def weights():
        for i in range(3000):
            if i == 10:
                del these[100:]
            yield 1

    with pytest.raises(ValueError, match="more numbers"):
        weir.Filter(SPEC).observe_many(these, importance=weights())


def test_a_generator_may_close_its_filter():
    f = weir.Filter(SPEC)

    def closing():
        yield "a"
        f.close()
        yield "b"

    with pytest.raises(ValueError, match="closed"):
        f.observe_many(closing())


def test_a_generator_may_use_its_filter():
    f = weir.Filter(SPEC)
    assert f.observe_many("a" for _ in range(3) if not f.observe("x") or True) == b"\0\1\1"


def test_buffers_are_given_back():
    block = bytearray(b"abcdef")
    numbers = array.array("I", [1, 2, 3])
    f = weir.Filter(SPEC)
    f.observe_many(block, size=2, importance=numbers)
    with pytest.raises(ValueError):
        f.observe_many(block, size=4)
    with pytest.raises(ValueError):
        f.observe_many(block, size=3, importance=numbers)
    block.append(1)
    numbers.append(1)


def test_unique():
    these = keys(5000)
    assert list(weir.unique(these)) == list(dict.fromkeys(these))
    assert list(weir.unique(iter(these), memory="1M")) == list(dict.fromkeys(these))
    assert list(weir.unique(tuple(these), memory=1 << 20)) == list(dict.fromkeys(these))
    assert list(weir.unique(these, key=str.upper)) == list(dict.fromkeys(these))
    assert list(weir.unique("hello")) == ["h", "e", "l", "o"]
    assert list(weir.unique([])) == []
    rows = [{"id": i % 7, "n": i} for i in range(50)]
    assert list(weir.unique(rows, key=lambda r: str(r["id"]))) == rows[:7]


def test_unique_does_not_wait_for_more_than_the_next_item():
    taken = []

    def endless():
        n = 0
        while True:
            taken.append(n)
            yield str(n // 2)
            n += 1

    u = weir.unique(endless(), memory="64K")
    assert next(u) == "0" and len(taken) == 1
    assert next(u) == "1" and len(taken) == 3


def test_unique_with_a_given_filter():
    f = weir.Filter(SPEC)
    f.observe("b")
    u = weir.unique(["a", "b", "c", "d"], filter=f)
    assert next(u) == "a" and next(u) == "c"
    assert "d" not in f  # not requested, so not observed
    with pytest.raises(TypeError):
        weir.unique(["a"], filter="memory=1M")


def test_unique_raises_at_the_failing_item():
    u = weir.unique(["a", "b", 7.5, "c"])
    assert [next(u), next(u)] == ["a", "b"]
    with pytest.raises(TypeError, match="not float"):
        next(u)

    def failing():
        yield "a"
        raise KeyError

    u = weir.unique(failing())
    next(u)
    with pytest.raises(KeyError):
        next(u)
    with pytest.raises(TypeError):
        list(weir.unique(["a"], key=lambda x: 1.5))
    with pytest.raises(ZeroDivisionError):
        list(weir.unique(["a"], key=lambda x: 1 // 0))
    with pytest.raises(TypeError):
        weir.unique(5)
    with pytest.raises(ValueError, match="memory=lots: invalid size"):
        weir.unique([], memory="lots")


def test_unique_within_itself_is_refused():
    u = weir.unique(["a", "b"], key=lambda x: next(u))
    with pytest.raises(ValueError, match="already"):
        next(u)


@pytest.mark.parametrize("endless", [itertools.repeat("a"), ["a"] * 3_000_000])
def test_unique_can_be_interrupted_among_repeats(endless):
    """No Python code runs between two items."""
    def ring(number, frame):
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.002)
    try:
        with pytest.raises(InterruptedError):
            list(weir.unique(endless, memory="64K"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
