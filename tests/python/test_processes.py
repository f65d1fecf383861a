"""Processes: a filter is a copy after fork and under spawn; views of one file and merges are shared."""
import multiprocessing

import pytest

import weir

KEYS = [str(n) for n in range(1000)]


def observe(f, keys):
    f.update(keys)
    return f


def look_up(path):
    with weir.Filter.view(path) as f:
        return sum(f.ask_many(KEYS))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_copies_diverge_and_are_merged(method, tmp_path):
    context = multiprocessing.get_context(method)
    f = weir.Filter("bloom", memory="64K", seed=1)
    f.add("before")
    with context.Pool(2) as pool:
        parts = pool.starmap(observe, [(f, KEYS[:500]), (f, KEYS[500:])])
        assert len(f) == 1 and "7" not in f
        for part in parts:
            assert "before" in part
            f |= part
        assert f.ask_many(KEYS).count(True) == 1000
        f.save(tmp_path / "f")
        assert pool.map(look_up, [tmp_path / "f"] * 2) == [1000, 1000]


def test_a_forked_process_has_its_own_copy():
    f = weir.Filter(memory="64K", seed=1)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=f.update, args=(KEYS,))
    child.start()
    child.join()
    assert child.exitcode == 0 and len(f) == 0
