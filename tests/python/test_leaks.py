"""References and memory do not leak."""
import array
import gc
import pickle
import sys
import weakref

import pytest

import weir


def failing(n):
    yield from ["a"] * n
    raise KeyError


def attempt(call):
    try:
        call()
    except Exception:
        pass


KEYS = [f"key number {i}" for i in range(50)] + ["naïve", "\ud800", b"bytes", bytearray(b"block")]
NUMBERS = list(range(1000, 1000 + len(KEYS)))


def everything():
    f = weir.Filter("memory=1K seed=1 span=1h")
    f.observe_many(KEYS, importance=NUMBERS, times=array.array("Q", NUMBERS))
    f.ask_many(iter(KEYS))
    f.observe_many(b"aabb", size=2)
    attempt(lambda: f.observe_many(failing(2000)))
    attempt(lambda: f.observe_many(KEYS, importance=[1]))
    attempt(lambda: f.observe_many([1]))
    attempt(lambda: f.observe(1))
    attempt(lambda: f.observe("a", importance=-1))
    attempt(lambda: weir.Filter("nonsense"))
    attempt(lambda: weir.Filter.load(b"nonsense"))
    attempt(lambda: weir.Filter.load("/nonsense"))
    attempt(lambda: f.save("/nonsense/x"))
    attempt(lambda: f.forget("a"))
    v = weir.Filter.view(f.tobytes())
    attempt(lambda: v.observe("a"))
    v.close()
    weir.Filter.view(bytearray(f.tobytes())).ask("a")
    pickle.loads(pickle.dumps(f)).copy().stats()
    repr(f), f.config, f.closed
    with weir.Shared("memory=4K seed=1") as s:
        s.observe_many(KEYS)
        pickle.loads(pickle.dumps(s))
        weir.Shared.view(s.tobytes()).ask("a")
    attempt(lambda: weir.build("fuse memory=64 seed=1", map(str, range(1000))))
    weir.build("bloom memory=1K seed=1", KEYS).merge(weir.Filter("bloom memory=1K seed=1"))
    k = weir.Sketch("top memory=4K seed=1")
    k.add_many(KEYS, NUMBERS)
    attempt(lambda: k.add_many(failing(10), 2))
    attempt(lambda: k.add_many(KEYS, [1]))
    k.top(5), k.estimate("a"), k.stats(), pickle.loads(pickle.dumps(k))
    r = weir.Screen("memory=4K seed=1", lambda keys: [True for _ in keys])
    r.check_many(KEYS), r.check("a"), r.stats(), r.copy()
    attempt(lambda: weir.Screen("memory=4K", lambda keys: 1 // 0).check_many(KEYS))
    attempt(lambda: weir.Screen("memory=4K", lambda keys: []).check_many(KEYS))
    list(weir.unique(KEYS, memory="4K"))
    next(weir.unique(KEYS, memory="4K"))
    list(weir.unique(iter(KEYS), key=lambda k: k, memory="4K"))
    attempt(lambda: list(weir.unique(KEYS + [5], memory="4K")))
    weir.predict("bloom memory=1K", "uniform:n=1k,distinct=60%")
    weir.algorithms(), weir.complete("memory=1K")


def grown(times):
    """Allocated blocks added by these rounds. The first rounds also fill Python's free lists."""
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(times):
        everything()
    gc.collect()
    return sys.getallocatedblocks() - blocks


def test_no_object_leaks():
    types = (weir.Filter, weir.Shared, weir.Sketch, weir.Screen, weir.Builder, weir.Stats, weir.Heavy)
    watched = (*KEYS, *NUMBERS, *types)
    grown(5)
    counts = [sys.getrefcount(k) for k in watched]
    assert any(grown(200) < 100 for _ in range(8))  # one each time would be 200, in all of them
    assert all(abs(sys.getrefcount(k) - n) <= 2 for k, n in zip(watched, counts))


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def test_no_handle_memory_leaks():
    def handles():
        f = weir.Filter("memory=1M seed=1")
        f.observe_many(KEYS)
        weir.Filter.view(f.tobytes()).ask("a")
        weir.Filter.load(f.tobytes()).copy().close()
        weir.Sketch("count-min memory=1M seed=1").add("a")
        weir.Screen("memory=1M", the_store).check_many(KEYS)
        weir.build("fuse", KEYS)

    for _ in range(20):
        handles()
    before = resident()
    for _ in range(100):
        handles()
    assert resident() - before < 64 << 20  # 100 MB if one of them stayed


def the_store(keys):
    return [True] * len(keys)


def test_utf8_is_not_cached_in_its_str():
    """CPython would keep the UTF-8 of each str that is not ASCII."""
    text = "é" * 1000
    before = sys.getsizeof(text)
    f = weir.Filter("memory=4K")
    f.observe(text), f.observe_many([text, text]), list(weir.unique([text]))
    assert sys.getsizeof(text) == before


def test_cycles_are_collected():
    class Store:
        def __call__(self, keys):
            return [True for _ in keys]

    store = Store()
    store.screen = weir.Screen("memory=4K", store)
    gone = weakref.ref(store)
    del store
    gc.collect()
    assert gone() is None

    class Key:
        def __call__(self, item):
            return item

    key = Key()
    key.unique = weir.unique(["a", "b"], key=key)
    gone = weakref.ref(key)
    del key
    gc.collect()
    assert gone() is None


def test_types_cannot_be_changed_or_made_wrong():
    with pytest.raises(TypeError):
        weir.Filter.observe = None
    with pytest.raises(TypeError):
        object.__new__(weir.Filter)
    with pytest.raises(TypeError):
        type("Mine", (weir.Filter,), {})
