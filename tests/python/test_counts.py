"""Sketches, screens and plans."""
import collections
import copy
import pickle
import random

import pytest

import weir


def stream(n=20_000):
    rng = random.Random(4)
    return [f"key {int(rng.paretovariate(0.8))}" for _ in range(n)]


def test_a_sketch_counts():
    these = stream()
    truth = collections.Counter(these)
    s = weir.Sketch("top memory=1M seed=1")
    s.add_many(these)
    assert [(h.key.decode(), h.count) for h in s.top(5)] == truth.most_common(5)
    assert s.count("key 1") == truth["key 1"] == s.estimate("key 1").count
    assert s.stats().total == len(these) and s.stats().keys == len(truth)
    assert len(s.top(10**9)) == len(truth) and s.top(0) == []
    with pytest.raises(ValueError):
        s.top(-1)
    with pytest.raises(weir.UnsupportedError, match="lists none"):
        weir.Sketch("count-min memory=64K").top()


@pytest.mark.parametrize("spec", ["top memory=8K seed=1", "count-min memory=8K seed=1", "heavykeeper memory=8K seed=1"])
def test_batches_of_a_sketch_are_one_by_one(spec):
    these = stream(9000)
    amounts = [i % 5 for i in range(9000)]
    a, b, c = (weir.Sketch(spec) for _ in range(3))
    for key, amount in zip(these, amounts):
        a.add(key, amount)
    b.add_many(these, amounts)
    c.add_many(iter(these), iter(amounts))
    assert a.tobytes() == b.tobytes() == c.tobytes()


def test_amounts_and_times():
    s = weir.Sketch("count-min memory=64K seed=1 half-life=10s")
    s.add_many(["a", "a"], times=[1000, 2000])
    s.advance(1_000_000)
    assert s.count("a") <= 1
    s = weir.Sketch("count-min memory=64K seed=1 update=plain")
    s.add("a", 1000)
    s.take("a", amount=1)
    assert s.count("a") == 999
    for wrong in (-1, 1 << 64, 1.5):
        with pytest.raises((ValueError, TypeError), match="amount"):
            s.add("a", wrong)
    with pytest.raises(ValueError, match="fewer"):
        s.add_many(["a", "b"], [1])
    with pytest.raises(weir.UnsupportedError):
        weir.Sketch("top memory=64K").take("a")


def test_a_sketch_of_a_buffer():
    s = weir.Sketch("top memory=64K seed=1")
    s.add_many(b"aabbaa", size=2)
    assert s.top(1)[0] == (b"aa", 2, 0)


def test_keys_before_a_failure_are_counted():
    def failing():
        yield from ["a"] * 5000
        raise KeyError

    s = weir.Sketch("top memory=64K seed=1")
    with pytest.raises(KeyError):
        s.add_many(failing())
    assert s.count("a") == 5000
    with pytest.raises(TypeError):
        s.add_many(k for k in ["a", 7.5])
    assert s.count("a") == 5001
    with pytest.raises(TypeError, match=r"keys\[1\]"):
        s.add_many(["a", 7.5])  # a list is checked before anything is counted
    assert s.count("a") == 5001


def test_no_bound_is_none():
    s = weir.Sketch("heavykeeper memory=64K seed=1")
    s.add("a")
    assert s.estimate("a").error is None and s.top()[0].error is None


def test_a_sketch_is_saved_copied_merged(tmp_path):
    s = weir.Sketch("top memory=64K seed=1")
    s.add_many(stream(1000))
    s.save(tmp_path / "s")
    for t in (weir.Sketch.load(tmp_path / "s"), weir.Sketch.load(s.tobytes()), pickle.loads(pickle.dumps(s)), s.copy(), copy.deepcopy(s),
              copy.copy(s)):
        assert t.tobytes() == s.tobytes() and t.config == s.config
    t.merge(s)
    assert t.count("key 1") == 2 * s.count("key 1")
    with pytest.raises(weir.MismatchError):
        t.merge(weir.Sketch("top memory=64K seed=2"))
    with pytest.raises(TypeError):
        t.merge(weir.Filter("memory=64K"))
    t.clear()
    assert t.top() == []
    with t:
        pass
    for call in (lambda: t.add("a"), lambda: t.add_many(["a"]), t.top, t.stats, t.tobytes, lambda: t.count("a"), t.copy, t.clear,
                 lambda: s.merge(t), lambda: t.merge(s), lambda: t.config):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert t.closed and "closed" in repr(t)


# ---- screens ----


class Store:
    def __init__(self, members):
        self.members, self.asked = set(members), []

    def __call__(self, keys):
        self.asked += keys
        return [k in self.members for k in keys]


def test_a_screen_asks_its_store_once():
    store = Store(b"%d" % i for i in range(0, 1000, 2))
    s = weir.Screen("memory=1M seed=1", store)
    these = [str(i % 500) for i in range(40_000)]
    assert s.check_many(these) == [int(k) % 2 == 0 for k in these]
    assert sorted(store.asked) == sorted(set(k.encode() for k in these))
    assert s.check("2") is True and s.check("3") is False
    assert s.stats().asked == 500 and s.stats().saved == 39_502


def test_a_screen_asks_again_after_its_span():
    asked = []
    s = weir.Screen("memory=64K span=1h seed=1", lambda keys: asked.extend(keys) or [True for _ in keys])
    for hour in 0, 0.1, 2, 2:
        s.advance(1_600_000_000_000 + int(hour * 3_600_000))
        assert s.check("a")
    assert len(asked) in (2, 3)  # its part of the memory may be swept between the first two
    with pytest.raises(ValueError, match="time is out of range"):
        s.advance(-1)


def test_a_screen_that_holds_the_set():
    store = Store([b"a", b"b"])
    s = weir.Screen("strict memory=64K seed=1", store)
    assert s.needs_set
    s.add_members(["a", "b"])
    assert not s.needs_set
    assert s.check_many(["a", "x", "b"]) == [True, False, True]
    assert b"x" not in store.asked
    s.clear_set()
    assert s.needs_set


def test_a_store_that_cannot_tell():
    s = weir.Screen("memory=64K seed=1", lambda keys: [None for _ in keys])
    assert s.check_many(["a", "b"]) == [None, None] and s.check("a") is None
    assert s.stats().unanswered == 3


def test_an_exception_of_the_store_ends_the_check():
    calls = []

    def store(keys):
        calls.append(keys)
        if b"bad" in keys:
            raise ConnectionError("down")
        return [True] * len(keys)

    s = weir.Screen("memory=1M seed=1", store)
    with pytest.raises(ConnectionError, match="down"):
        s.check_many(["bad", "a"])
    assert len(calls) == 1
    assert s.check("a") is True and s.stats().asked == 1
    with pytest.raises(ConnectionError):
        s.check("bad")


@pytest.mark.parametrize("wrong", [lambda keys: [True], lambda keys: [True] * 3, lambda keys: None, lambda keys: 5, lambda: [],
                                   set, dict.fromkeys, lambda keys: "no", lambda keys: dict.fromkeys(keys, False).keys()])
def test_answers_must_be_one_for_each_key(wrong):
    s = weir.Screen("memory=64K seed=1", wrong)
    with pytest.raises((ValueError, TypeError)):
        s.check_many(["a", "b"])
    assert s.stats().asked == 0


def test_answers_that_raise():
    class Odd:
        def __bool__(self):
            raise ZeroDivisionError

    def failing(keys):
        yield True
        raise KeyError

    for store, error in ((lambda keys: [Odd()] * len(keys), ZeroDivisionError), (failing, KeyError)):
        with pytest.raises(error):
            weir.Screen("memory=64K seed=1", store).check_many(["a", "b"])


def test_a_store_cannot_use_its_own_screen():
    s = weir.Screen("memory=64K seed=1", lambda keys: [s.check(k) for k in keys])
    with pytest.raises(RuntimeError, match="screen that is asking"):
        s.check("a")
    t = weir.Screen("memory=64K seed=1", lambda keys: t.close())
    with pytest.raises(RuntimeError):
        t.check("a")
    assert not t.closed


def test_a_screen_without_a_store():
    s = weir.Screen("1bf memory=64K seed=1")
    s.add_members(b"aabb", size=2)
    assert s.check_many(["aa", "cc"]) == [True, False]
    with pytest.raises(TypeError, match="no store"):
        weir.Screen("memory=64K").check("a")
    with pytest.raises(TypeError, match="a store is a function"):
        weir.Screen("memory=64K", {b"a"})


def the_store(keys):
    return [k < b"m" for k in keys]


def test_a_screen_is_saved_copied_merged(tmp_path):
    s = weir.Screen("dabf memory=64K seed=1", the_store)
    s.check_many(["a", "z"])
    s.save(tmp_path / "s")
    for t in (weir.Screen.load(tmp_path / "s", the_store), weir.Screen.load(s.tobytes(), store=the_store), pickle.loads(pickle.dumps(s)),
              s.copy(), copy.deepcopy(s)):
        assert t.tobytes() == s.tobytes() and t.config == s.config
        assert t.check("a") is True and t.check("b") is True
    other = weir.Screen("dabf memory=64K seed=1", the_store)
    other.merge(s)
    before = other.stats().asked
    assert other.check("a") is True and other.stats().asked == before
    s.clear()
    assert s.stats().checked == 0
    s.close()
    for call in (lambda: s.check("a"), lambda: s.check_many(["a"]), s.stats, s.tobytes, lambda: s.add_members(["a"]), s.copy, lambda: other.merge(s)):
        with pytest.raises(ValueError, match="closed"):
            call()


# ---- plans ----


def test_plan_and_predict():
    p = weir.predict("rlbsbf memory=256K k=2", "uniform:n=1M,distinct=60%")
    assert p.config.startswith("rlbsbf") and p.memory == 262144
    assert 0 < p.fpr < 1 and 0 < p.fnr < 1
    best = weir.plan("uniform:n=1M,distinct=60%", memory="256K")
    assert len(best) > 5 and best == sorted(best, key=lambda p: p.rank)
    assert best[0].rank <= min(p.rank for p in best)
    assert weir.Filter(best[0].config).stats().memory <= 262144
    least = weir.plan("uniform:n=1M,distinct=60%", fpr="1%", fnr=0.05)
    assert len(least) > 5 and all(p.fpr <= 0.0101 and p.fnr <= 0.0505 for p in least)
    assert [p.memory for p in least] == sorted(p.memory for p in least)
    (one,) = weir.plan("uniform:n=1M,distinct=60%", memory=1 << 18, filter="rlbsbf")
    assert one.config.startswith("rlbsbf")


def test_plans_that_cannot_be():
    for call in (lambda: weir.plan("nonsense"), lambda: weir.plan(memory="lots"), lambda: weir.plan(fpr=0), lambda: weir.plan(fpr=2), lambda: weir.plan(fpr="x%"),
                 lambda: weir.predict("nonsense"), lambda: weir.plan(filter="nonsense"), lambda: weir.algorithms("nonsense"),
                 lambda: weir.complete("nonsense")):
        with pytest.raises(ValueError):
            call()


def test_what_is_listed_can_be_opened():
    makers = {"filter": weir.Filter, "sketch": weir.Sketch, "screen": weir.Screen}
    for kind, make in makers.items():
        for about in weir.algorithms(kind):
            assert about.idea
            spec = weir.complete(f"{about.name} memory=64K" if about.name != "none" else "none", kind)
            if kind != "filter" or "observe" in about.traits:
                assert make(spec).config == make(make(spec).config).config
