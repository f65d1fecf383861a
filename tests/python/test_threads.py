"""Threads: calls on a Filter are serialized, Shared is concurrent, and closing is safe."""
import random
import threading

import pytest

import weir


def in_threads(n, work):
    errors = []

    def run(i):
        try:
            work(i)
        except BaseException as error:  # noqa: B902: whatever it is, it is the test's
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return errors


def test_calls_on_a_filter_are_serialized():
    """Each key is new in exactly one thread."""
    these = [str(i) for i in range(30_000)]
    f = weir.Filter("bloom memory=1M seed=1")
    fresh = []
    batches = [random.Random(i).sample(these, len(these)) for i in range(4)]
    assert in_threads(4, lambda i: fresh.append(f.observe_many(batches[i]).count(0))) == []
    alone = weir.Filter("bloom memory=1M seed=1")
    alone.observe_many(these)
    assert f.stats().observed == 120_000 and abs(sum(fresh) - 30_000) <= 3
    assert f.ask_many(these) == b"\1" * 30_000


def test_shared_runs_batches_concurrently():
    raw = [random.Random(i % 2).randbytes(16 * 20_000) for i in range(4)]
    f = weir.Shared("memory=4M seed=1", shards=8)
    fresh = []
    assert in_threads(4, lambda i: fresh.append(f.observe_many(raw[i], size=16).count(0))) == []
    assert f.stats().observed == 80_000 and sum(fresh) == 40_000
    assert f.ask_many(raw[0], size=16) == b"\1" * 20_000


def test_shared_equals_filter_in_one_thread():
    these = [str(random.Random(9).randrange(500)) for _ in range(1)] + [str(i % 700) for i in range(3000)]
    f, g = weir.Shared("memory=1M seed=1", shards=1), weir.Filter("memory=1M seed=1")
    assert f.observe_many(these) == g.observe_many(these) == bytes(int(k in these[:i]) for i, k in enumerate(these))
    assert f.observe("zz") is False and f.ask("zz") is True and "zz" in f and "zzz" not in f
    assert f.shards == 1 and "memory=" in f.config and "weir.Shared" in repr(f)
    with pytest.raises(weir.ConfigError):
        weir.Shared("memory=1M", shards=257)


def test_shared_is_saved(tmp_path):
    import pickle

    f = weir.Shared("memory=1M seed=1", shards=4)
    f.observe_many(map(str, range(1000)))
    f.save(tmp_path / "f")
    for g in (weir.Shared.load(tmp_path / "f"), weir.Shared.load(f.tobytes()), weir.Shared.view(f.tobytes()), pickle.loads(pickle.dumps(f))):
        assert g.shards == 4 and g.tobytes() == f.tobytes() and g.ask_many(map(str, range(1000))) == b"\1" * 1000
    g = weir.Shared("counting memory=1M seed=1 ")
    g.observe("a")
    assert g.forget("a") and "a" not in g
    h = weir.Shared("memory=1M span=10s seed=1")
    h.observe_many(["a", "b"], times=[1000, 2000])
    h.advance(100_000)
    assert "a" not in h


@pytest.mark.parametrize("make", [lambda: weir.Filter("memory=8M seed=1"), lambda: weir.Shared("memory=8M seed=1")])
def test_closing_during_calls_of_other_threads(make):
    raw = random.Random(1).randbytes(16 * 200_000)
    these = [str(i) for i in range(100_000)]
    for round in range(6):
        f = make()
        began = threading.Barrier(4)

        def work(i):
            began.wait()
            if i == 0:
                f.close()
            elif i == 1:
                f.observe_many(these)
            else:
                for _ in range(3):
                    f.observe_many(raw, size=16)

        for error in in_threads(4, work):
            assert isinstance(error, ValueError) and "closed" in str(error)
        assert f.closed


def test_merging_each_other_does_not_hang():
    a, b = weir.Filter("bloom memory=1M seed=1"), weir.Filter("bloom memory=1M seed=1")
    a.observe("a"), b.observe("b")
    s, t = weir.Sketch("count-min memory=64K seed=1"), weir.Sketch("count-min memory=64K seed=1")

    def work(i):
        for _ in range(50):
            (a.merge(b), s.merge(t)) if i % 2 else (b.merge(a), t.merge(s))

    assert in_threads(4, work) == []
    assert "b" in a and "a" in b


def test_other_threads_run_while_a_store_is_asked():
    """The screen releases the GIL while it checks."""
    inside, go_on = threading.Event(), threading.Event()

    def store(keys):
        inside.set()
        assert go_on.wait(60)
        return [True] * len(keys)

    s = weir.Screen("memory=64K seed=1", store)

    def work(i):
        if i == 0:
            assert s.check("a") is True
        else:
            assert inside.wait(60)
            go_on.set()
            assert s.check("a") is True  # waits for the first

    assert in_threads(2, work) == []
    assert s.stats().asked == 1


def test_saving_while_others_observe(tmp_path):
    f = weir.Filter("memory=1M seed=1")
    raw = random.Random(1).randbytes(16 * 50_000)

    def work(i):
        if i == 0:
            for n in range(5):
                f.save(tmp_path / "f")
                assert weir.Filter.load(tmp_path / "f").stats().observed % 50_000 == 0
        else:
            for _ in range(3):
                f.observe_many(raw, size=16)

    assert in_threads(3, work) == []
