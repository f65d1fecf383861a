"""weir.Filter with single keys: what is a key, verdicts, errors."""
import array
import copy
import datetime
import random
import time
import warnings
import weakref

import pytest

import weir

SPEC = "memory=64K seed=1"


def test_a_key_is_new_once():
    f = weir.Filter(SPEC)
    assert [f.observe(k) for k in ("a", "b", "a")] == [False, False, True]
    assert "a" in f and "c" not in f
    assert f.ask("b") is True and f.ask("c") is False
    assert f.stats().observed == 3 and f.stats().seen == 1


def test_text_is_its_utf8():
    f = weir.Filter(SPEC)
    for text in ("plain", "naïve", "日本語", "🎈", "", "a\0b", "\x7f", "\x80", "\u07ff", "\u0800", "\uffff", "\U0010ffff"):
        assert not f.observe(text)
        assert text.encode() in f and text in f


def test_long_text_is_its_utf8():
    random.seed(5)
    f = weir.Filter(SPEC)
    for n in (63, 64, 65, 255, 256, 257, 100_000):
        text = "".join(chr(random.choice((random.randrange(1, 128), random.randrange(0x800, 0xD000)))) for _ in range(n))
        assert not f.observe(text)
        assert text.encode() in f


def test_surrogateescape_round_trips():
    f = weir.Filter(SPEC)
    raw = b"caf\xe9 \xff\x80"
    f.observe(raw.decode("utf-8", "surrogateescape"))
    assert raw in f


def test_other_lone_surrogates_are_keys_too():
    f = weir.Filter(SPEC)
    for text in ("\ud800", "x\udfff", "\udc7f", "\udd00"):
        assert not f.observe(text)
        assert text in f and text.encode("utf-8", "surrogatepass") in f


def test_nul_bytes_and_length_count():
    f = weir.Filter(SPEC)
    f.observe(b"a\0")
    assert b"a" not in f and b"a\0\0" not in f and b"" not in f and "a\0" in f


def test_anything_with_a_buffer_is_a_key():
    f = weir.Filter(SPEC)
    block = bytearray(b"abc")
    f.observe(memoryview(b"xabcx")[1:4])
    assert block in f
    block.append(1)  # the buffer was given back


@pytest.mark.parametrize("key", [True, None, 1.5, ["a"], ("a",), object(), array.array("I", [1])])
def test_other_types_are_refused(key):
    f = weir.Filter(SPEC)
    for call in (f.observe, f.ask, f.count, f.__contains__, lambda k: f.observe_many([k])):
        with pytest.raises(TypeError, match="a key is bytes, str or int, not " + type(key).__name__ + "|missing value"):
            call(key)
    assert f.stats().observed == 0


def test_strided_views_are_refused():
    with pytest.raises(BufferError):
        weir.Filter(SPEC).observe(memoryview(b"abcd")[::2])


def test_a_wrong_spec_raises_a_clear_error():
    with pytest.raises(weir.ConfigError, match="blom") as caught:
        weir.Filter("blom memory=1M")
    assert isinstance(caught.value, weir.Error) and isinstance(caught.value, ValueError)
    with pytest.raises(weir.ConfigError):
        weir.Filter("memory=0")


def test_more_memory_than_allowed_is_refused():
    with pytest.raises(weir.NoMemoryError) as caught:
        weir.Filter("memory=64M", max_bytes=1 << 20)
    assert isinstance(caught.value, MemoryError)


def test_config_opens_an_equal_one():
    f = weir.Filter("rlbsbf memory=64K")
    g = weir.Filter(f.config)
    for key in range(1000):
        assert f.observe(str(key % 300)) == g.observe(str(key % 300))
    assert f.tobytes() == g.tobytes()
    assert repr(f) == f"<weir.Filter '{f.config}'>"


def test_importance_is_heeded():
    """importance= keeps important keys longer."""
    kept = {}
    for importance in (1, 1000):
        f = weir.Filter("ibf-mc memory=4K seed=3 importance=log")
        for i in range(200):
            f.observe(f"old {i}", importance=importance)
        for i in range(1000):
            f.observe(f"new {i}", importance=10)
        kept[importance] = sum(f.ask_many([f"old {i}" for i in range(200)]))
    assert kept[1000] > kept[1] + 50


@pytest.mark.parametrize("number", [-1, 1 << 32, 10**30])
def test_importance_out_of_range_is_refused(number):
    f = weir.Filter(SPEC)
    for call in (lambda: f.observe("a", importance=number), lambda: f.observe_many(["a"], importance=number),
                 lambda: f.observe_many(["a"], importance=[number])):
        with pytest.raises(ValueError, match="importance is out of range; use a whole number from 0 to 4294967295"):
            call()
    assert f.stats().observed == 0


@pytest.mark.parametrize("number", [-1, 1 << 64, 10**30])
def test_times_out_of_range_are_refused(number):
    f = weir.Filter("memory=64K span=1h")
    with pytest.raises(ValueError, match="time is out of range"):
        f.observe("a", time=number)
    with pytest.raises(ValueError, match="time is out of range"):
        f.advance(number)


def test_one_wrong_date_evicts_nothing():
    f = weir.Filter("memory=64K span=1h seed=1")
    now = int(time.time() * 1000)
    f.observe("a", time=now)
    for date in now + 2 * 86_400_000, now * 1000:  # the day after tomorrow; microseconds
        with pytest.raises(ValueError, match="at most a day ahead of this machine's clock"):
            f.observe("b", time=date)
        for times in ([now, date], array.array("Q", [now, date]), date):
            with pytest.raises(ValueError, match="at most a day ahead"):
                f.observe_many(["b", "c"], times=times)
    assert f.observe("a", time=now + 60_000)
    with pytest.raises(ValueError, match="at most a day ahead"):
        weir.Sketch("top half-life=1h memory=64K").add_many(["a"], times=[now * 1000])
    f.advance(now + 2 * 86_400_000)  # but that is an order
    assert "a" not in f


def test_time_passes():
    f = weir.Filter("memory=64K span=10s seed=1")
    assert not f.observe("a", time=1000)
    assert f.observe("a", time=5000)
    f.advance(60_000)
    assert "a" not in f


def test_arguments_are_checked():
    f = weir.Filter(SPEC)
    for call in (lambda: f.observe(), lambda: f.observe("a", "b"), lambda: f.observe("a", weight=1),
                 lambda: f.observe("a", importance=1.5), lambda: weir.Filter(1), lambda: weir.Filter("a\0b"),
                 lambda: f.merge("x"), lambda: weir.Filter("", shards=3)):
        with pytest.raises((TypeError, ValueError)):
            call()


def test_forget_and_count():
    f = weir.Filter("cuckoo memory=64K seed=1")
    f.observe("a"), f.observe("a")
    assert f.count("a") == 2
    assert f.forget("a") and f.forget("a") and not f.forget("a")
    with pytest.raises(weir.UnsupportedError):
        weir.Filter("rlbsbf memory=64K").forget("a")


def test_clear_resets_the_filter():
    f = weir.Filter(SPEC)
    empty = f.tobytes()
    f.observe_many(map(str, range(1000)))
    f.clear()
    assert f.tobytes() == empty


def test_copies_are_independent():
    f = weir.Filter(SPEC)
    f.observe("a")
    for g in (f.copy(), copy.copy(f), copy.deepcopy([f])[0]):
        assert "a" in g
        g.observe("b")
        assert "b" not in f


def test_merge():
    a, b = weir.Filter("bloom memory=64K seed=1"), weir.Filter("bloom memory=64K seed=1")
    a.observe("a"), b.observe("b")
    a.merge(b)
    assert "a" in a and "b" in a and "a" not in b
    a.merge(a)
    assert "a" in a
    with pytest.raises(weir.MismatchError, match="seed"):
        a.merge(weir.Filter("bloom memory=64K seed=2"))
    with pytest.raises(weir.UnsupportedError):
        weir.Filter("rlbsbf memory=64K seed=1").merge(weir.Filter("rlbsbf memory=64K seed=1"))


def test_calls_on_a_closed_filter_raise():
    with weir.Filter("bloom memory=64K seed=1") as f:
        assert not f.closed
    other = weir.Filter("bloom memory=64K seed=1")
    assert f.closed and repr(f) == "<weir.Filter, closed>"
    f.close()
    for call in (lambda: f.observe("a"), lambda: f.ask("a"), lambda: "a" in f, lambda: f.observe_many(["a"]), lambda: f.ask_many([]),
                 f.clear, f.copy, f.stats, lambda: f.config, f.tobytes, lambda: f.save("/dev/null"), lambda: f.merge(other),
                 lambda: other.merge(f), lambda: f.advance(1), lambda: f.forget("a"), lambda: f.count("a"), f.__enter__,
                 lambda: list(weir.unique(["a"], filter=f))):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_build_makes_a_fixed_filter():
    keys = [f"key {i}" for i in range(20_000)]
    f = weir.build("fuse fpr=0.4% seed=1", keys)
    assert f.ask_many(keys) == b"\1" * len(keys)
    assert sum(f.ask_many(f"other {i}" for i in range(20_000))) < 20_000 * 0.008
    assert f.tobytes() == weir.build("fuse fpr=0.4% seed=1", keys[::-1]).tobytes()
    for call in (lambda: f.observe("a"), lambda: f.observe_many(["a"]), lambda: list(weir.unique(["a"], filter=f))):
        with pytest.raises(weir.UnsupportedError, match="cannot be changed"):
            call()


def test_an_error_has_a_code():
    for code, spec in (("unknown-algorithm", "blom"), ("unknown-parameter", "bloom memry=1M"), ("needs-builder", "fuse capacity=9")):
        with pytest.raises(weir.Error) as caught:
            weir.Filter(spec)
        assert caught.value.code == code
    with pytest.raises(weir.UnsupportedError) as caught:
        weir.Filter("recent memory=4K").forget("a")
    assert caught.value.code == "unsupported"
    with pytest.raises(weir.DataError) as caught:
        weir.Filter.load(b"not a filter")
    assert caught.value.code == "not-weir"


def test_a_builder_is_used_once():
    b = weir.Builder("fuse seed=1")
    b.add("a")
    b.add_many(b"bbcc", size=2)
    f = b.finish()
    assert f.ask_many(["a", "bb", "cc"]) == b"\1\1\1"
    for call in (b.finish, lambda: b.add("x"), lambda: b.add_many(["x"]), b.__enter__):
        with pytest.raises(ValueError, match="finished"):
            call()
    b.cancel()
    with pytest.raises(weir.FullError):
        weir.build("fuse memory=64 seed=1", map(str, range(10_000)))


def test_a_cancelled_builder_is_closed():
    with pytest.raises(KeyError):
        with weir.Builder("fuse") as b:
            raise KeyError
    with pytest.raises(ValueError):
        b.add("a")


# ---- construction by keywords, and what a set has ----

@pytest.mark.parametrize("spec,parameters,same", [
    ("", {"memory": "64K", "fpr": 0.001}, "memory=64K fpr=0.001"),
    ("", {"memory": 65536, "fpr": "0.1%"}, "memory=64K fpr=0.001"),
    ("bloom", {"capacity": "1k", "fpr": 1e-6}, "bloom capacity=1000 fpr=0.000001"),
    ("bloom capacity=1k", {"fpr": "1%"}, "bloom capacity=1k fpr=1%"),
    ("", {"span": datetime.timedelta(minutes=90)}, "span=5400s"),
])
def test_parameters_are_keywords(spec, parameters, same):
    expected = weir.complete(same + " seed=3")
    assert weir.Filter(spec, **parameters, seed=3).config == weir.Filter(spec=spec, **parameters, seed=3).config == expected
    assert weir.Shared(spec, shards=1, **parameters, seed=3).config == expected


def test_all_classes_take_keywords():
    assert weir.Sketch("count-min", memory="64K", half_life="1h").config.startswith("count-min memory=65536 ")
    assert "half-life=3600000ms" in weir.Sketch("count-min", half_life=datetime.timedelta(hours=1)).config
    assert weir.Sketch(memory="64K").config.startswith("top memory=65536 ")
    assert "memory=65536 " in weir.Screen(memory="64K", store=lambda keys: []).config
    with weir.Builder("fuse", fpr="0.4%", seed=1) as builder:
        builder.add("a")
        assert "a" in builder.finish()


@pytest.mark.parametrize("parameters,error,text", [
    ({"mem": 1}, weir.ConfigError, "no parameter 'mem'"), ({"memory": None}, TypeError, "memory: invalid value None"),
    ({"memory": True}, TypeError, "True"), ({"memory": "1M fpr=1%"}, ValueError, "use one word"), ({"memory": ""}, ValueError, "one word"),
    ({"spec": "memory=1M", "memory": "1M"}, weir.ConfigError, "memory"), ({"spec": 5}, TypeError, "not a str"),
    ({"spec": "a\0b"}, ValueError, "NUL"), ({"spec": "x" * 2000}, weir.ConfigError, "no filter 'xxx"), ({"shards": 2}, weir.ConfigError, "shards"),
])
def test_wrong_parameters_are_refused(parameters, error, text):
    with pytest.raises(error, match=text):
        weir.Filter(**parameters)


def test_a_filter_behaves_as_a_set():
    f = weir.Filter("bloom", memory="64K", seed=1)
    assert len(f) == 0 and f  # true also when empty
    assert f.add("a") is None and f.update(["a", "b", 3]) is None and f.update(b"xxyy", size=2) is None
    assert len(f) == 5 and "xx" in f and 3 in f
    g = f.copy()
    g.add("new")
    before = f
    f |= g
    assert f is before and "new" in f
    with pytest.raises(TypeError):
        f |= {"a"}
    shared = weir.Shared(memory="64K")
    shared.add("a"), shared.update(["b"])
    assert len(shared) == 2 and shared and shared.observe("a", importance=1)


def test_weak_references():
    for kind in (weir.Filter, weir.Shared, weir.Sketch, weir.Screen):
        made = kind(memory="64K")
        reference = weakref.ref(made)
        assert reference() is made
        cache = weakref.WeakValueDictionary({"a": made})
        del made
        assert reference() is None and not cache


def test_a_filter_that_exceeds_its_error_warns_once():
    f = weir.Filter("bloom", capacity=1000, fpr="1%", seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f.update(range(1000))
    with pytest.warns(weir.SaturationWarning, match="the limit is 1 %"):
        f.update(range(10_000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f.update(range(100_000))
        forgetting = weir.Filter(memory="4K", fpr="1%", seed=1)
        forgetting.update(range(100_000))  # keeps its rate
    f.clear()
    with pytest.warns(weir.SaturationWarning):
        for n in range(10_000):
            f.add(n)
    shared = weir.Shared("bloom", capacity=1000, fpr="1%", seed=1)
    with pytest.warns(weir.SaturationWarning):
        shared.update(range(10_000))
    with pytest.warns(weir.SaturationWarning, match="the filter is full: [0-9]+ keys were not recorded"):
        weir.Filter("cuckoo", capacity=1000, seed=1).update(range(5000))


def test_the_warning_can_be_an_error():
    f = weir.Filter("bloom", capacity=1000, fpr="1%", seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", weir.SaturationWarning)
        with pytest.raises(weir.SaturationWarning):
            f.update(range(10_000))
    assert f.stats().observed == 10_000  # recorded before it was raised


# ---- TTLs ----

@pytest.mark.parametrize("kind", [weir.Filter, weir.Shared])
def test_keys_have_a_ttl_each(kind):
    f = kind("memory=64K ttl=1m-2h importance=1-50 seed=1")
    ttls = [60_000 + 1000 * i for i in range(1000)]
    for form in (list, tuple, iter, lambda x: array.array("Q", x)):
        f = kind("memory=64K ttl=1m-2h importance=1-50 seed=1")
        keys = [str(i) for i in range(1000)]
        assert sum(f.observe_many(keys, times=1000, ttl=form(ttls), importance=7)) == 0
        assert list(f.observe_many(keys, times=1000 + 44_000, ttl=0)) == [True] * 1000
        seen = list(f.observe_many(keys, times=1000 + 500_000, ttl=0))
        assert not any(seen[:441]) and all(seen[620:])
        assert not any(f.observe_many(keys, times=1000 + 1_060_000, ttl=0))


def test_one_key_has_a_ttl():
    one, many = (weir.Filter("memory=4K ttl=1m-2h seed=1") for _ in range(2))
    for i in range(2000):
        key, time, ttl = str(i * i % 97), 1000 * i, i * 7919 % 8_000_000
        assert one.observe(key, time=time, ttl=ttl) == many.observe_many([key], times=[time], ttl=[ttl])[0]
    assert one.tobytes() == many.tobytes()
    assert one.observe("new") is False and one.observe("new", ttl=0) is True


def test_wrong_ttls_raise():
    f = weir.Filter("memory=4K ttl=1m-2h seed=1")
    before = f.tobytes()
    for bad, error in (-1, (OverflowError, ValueError)), (1.5, TypeError), ("1h", TypeError), (2**64, (OverflowError, ValueError)):
        with pytest.raises(error):
            f.observe("a", ttl=bad)
        with pytest.raises(error):
            f.observe_many(["a"], ttl=[bad])
    with pytest.raises(ValueError):
        f.observe_many(["a", "b"], ttl=[1])
    plain = weir.Filter("memory=4K seed=1")
    for call in (lambda: plain.observe("a", ttl=1), lambda: plain.observe_many(["a"], ttl=1), lambda: plain.update(["a"], ttl=[1])):
        with pytest.raises(weir.Error, match="the filter has no TTLs; open it with ttl="):
            call()
    assert plain.stats().observed == 0
