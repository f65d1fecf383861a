"""TOPK.*: the most frequent items, compatible with clients of RedisBloom."""
import collections
import random

import pytest
from conftest import refused
from resp import Error

STREAM = "A B C D E A A B C G D B D A E E 1".split()


def reserve(r, key, *words):
    """Large enough that no two items share all buckets, for counts that are exact."""
    r("DEL", key)
    assert r("TOPK.RESERVE", key, *words, "SEED", 5) == "OK"


def test_who_is_expelled(r, r3):
    reserve(r, "t", 3, 50, 4, .9)
    expelled = r("TOPK.ADD", "t", *STREAM)
    assert [x and x.decode() for x in expelled] == \
        [None, None, None, "A", "C", "D", None, None, "E", None, "B", "C", None, None, None, "D", None]
    assert r("TOPK.QUERY", "t", *"ABCDEG", "none") == [1, 1, 0, 0, 1, 0, 0]
    assert r("TOPK.COUNT", "t", *"ABCDEG", "none") == [4, 3, 2, 3, 3, 1, 0]
    assert r("TOPK.LIST", "t") == [b"A", b"B", b"E"]
    assert r("TOPK.LIST", "t", "WITHCOUNT") == [b"A", 4, b"B", 3, b"E", 3]
    assert r3("TOPK.QUERY", "t", "A", "none") == [True, False]
    assert r3("TOPK.INFO", "t") == {"k": 3, "width": 50, "depth": 4, "decay": .9}


def test_small_sketches_give_what_clients_expect(r):
    """As the tests of public clients have it, without a seed of their own: rows of ten buckets, where items meet."""
    r("TOPK.RESERVE", "t", 3, 10, 3, 1)
    assert r("TOPK.INCRBY", "t", "bar", 3, "baz", 6, "42", 2) == [None, None, None]
    assert r("TOPK.INCRBY", "t", "42", 8, "xyzzy", 4) == [None, b"bar"]
    assert r("TOPK.COUNT", "t", "bar", "baz", "42", "xyzzy", 4) == [3, 6, 10, 4, 0]
    r("TOPK.RESERVE", "u", 3, 50, 3, .9)
    r("TOPK.ADD", "u", *STREAM)
    assert r("TOPK.LIST", "u", "WITHCOUNT") == [b"A", 4, b"B", 3, b"E", 3]
    r("TOPK.RESERVE", "v", 3)
    r("TOPK.ADD", "v", *"foo bar baz 42 foo bar baz foo baz 42 foo foo bar baz foo".split())
    assert r("TOPK.LIST", "v", "WITHCOUNT") == [b"foo", 6, b"baz", 4, b"bar", 3]


def test_many_are_found_among_many(r):
    """Against a plain model: with k larger than all items there are, the list is exact."""
    rng = random.Random(4)
    reserve(r, "t", 2000, 100000, 4, .9)
    counts = collections.Counter()
    for _ in range(40):
        items = [f"i{int(rng.paretovariate(.7)) % 3000}" for _ in range(500)]
        counts.update(items)
        r("TOPK.ADD", "t", *items)
    assert len(counts) < 2000
    listed = r("TOPK.LIST", "t", "WITHCOUNT")
    assert dict(zip((x.decode() for x in listed[::2]), listed[1::2])) == counts
    assert r("TOPK.QUERY", "t", *counts, "none") == [1] * len(counts) + [0]


def test_who_is_expelled_is_not_found_any_more(r):
    """TOPK.LIST and TOPK.QUERY agree after thousands of items were inserted and evicted."""
    reserve(r, "t", 100, 5000, 4, .9)
    rng = random.Random(5)
    inside = set()
    for _ in range(30):
        items = [f"i{rng.randrange(400)}" for _ in range(300)]
        expelled = r("TOPK.ADD", "t", *items)
        assert len(expelled) == 300
        inside = set(r("TOPK.LIST", "t"))
        asked = [f"i{i}" for i in range(400)]
        assert [x.encode() for x, there in zip(asked, r("TOPK.QUERY", "t", *asked)) if there] == \
            [x.encode() for x in asked if x.encode() in inside]
    assert len(inside) == 100
    copied = r("COPY", "t", "u"), r("DEBUG", "RELOAD")
    assert copied == (1, "OK") and r("TOPK.LIST", "u") == r("TOPK.LIST", "t")
    assert r("TOPK.ADD", "u", *asked) == r("TOPK.ADD", "t", *asked)


def test_incrby(r):
    reserve(r, "t", 3, 100, 3, 1)
    assert r("TOPK.INCRBY", "t", "bar", 3, "baz", 6, "42", 4) == [None, None, None]
    assert r("TOPK.INCRBY", "t", "42", 8, "xyzzy", 4) == [None, b"bar"]
    assert r("TOPK.COUNT", "t", "bar", "baz", "42", "xyzzy", "4") == [3, 6, 12, 4, 0]
    reply = r("TOPK.INCRBY", "t", "a", 100000, "b", 100001, "c", 5)
    assert len(reply) == 2 and isinstance(reply[1], Error) and reply[1].startswith("TopK: increment must be")
    assert r("TOPK.COUNT", "t", "a", "b", "c") == [100000, 0, 0]
    for bad in -1, "x", 1.5:
        assert isinstance(r("TOPK.INCRBY", "t", "z", bad)[0], Error)
    assert r("TOPK.INCRBY", "t", "z", 0) == [None]
    assert r("TOPK.QUERY", "t", "z") == [0]


def test_reserve(r):
    r("TOPK.RESERVE", "t", 10)
    flat = r("TOPK.INFO", "t")
    told = dict(zip(flat[::2], flat[1::2]))
    assert (told["k"], told["width"], told["depth"], float(told["decay"])) == (10, 8, 7, .9)
    assert refused(r, "TOPK.RESERVE", "t", 10) == "TopK: key already exists"
    for words, text in [(["x"], "k"), ([0], "k"), ([-1], "k"), ([5, 0, 7, .9], "width"), ([5, "x", 7, .9], "width"),
                        ([5, 8, 0, .9], "depth"), ([5, 8, 1 << 40, .9], "depth"), ([5, 8, 7, 0], "decay"),
                        ([5, 8, 7, 1.1], "decay"), ([5, 8, 7, "x"], "decay"), ([5, 8, 7, "nan"], "decay")]:
        assert refused(r, "TOPK.RESERVE", "u", *words) == "TopK: invalid " + text
    assert refused(r, "TOPK.RESERVE", "u", (1 << 32) - 1) == "TopK: Insufficient memory to create the key"
    assert refused(r, "TOPK.RESERVE", "u", 5, (1 << 32) - 1, 16, .9) == "TopK: Insufficient memory to create the key"
    refused(r, "TOPK.RESERVE", "u", 5, 8, saying="wrong number of arguments")
    assert r("EXISTS", "u") == 0


def test_errors(r):
    for command in ["ADD", "a"], ["INCRBY", "a", 1], ["QUERY", "a"], ["COUNT", "a"], ["LIST"], ["INFO"]:
        assert refused(r, "TOPK." + command[0], "none", *command[1:]) == "TopK: key does not exist"
    r("SET", "s", "x")
    for command in ["ADD", "a"], ["INCRBY", "a", 1], ["QUERY", "a"], ["COUNT", "a"], ["LIST"], ["INFO"]:
        refused(r, "TOPK." + command[0], "s", *command[1:], saying="WRONGTYPE")
    assert refused(r, "TOPK.RESERVE", "s", 3) == "TopK: key already exists"
    r("TOPK.RESERVE", "t", 3)
    assert refused(r, "TOPK.LIST", "t", "x") == "WITHCOUNT keyword expected"
    refused(r, "TOPK.INCRBY", "t", "a", saying="wrong number of arguments")


def test_items_are_bytes(r):
    reserve(r, "t", 5, 100, 4, .9)
    items = [b"", b"\0", b"a\0b", b"a\0c", b"x" * 100000]
    r("TOPK.ADD", "t", *items)
    assert sorted(r("TOPK.LIST", "t")) == sorted(items)
    assert r("TOPK.QUERY", "t", *items, b"a", b"a\0") == [1] * 5 + [0, 0]


class Model:
    """The heap as it is described, over exact counts."""

    def __init__(self, k):
        self.heap = [[0, None] for _ in range(k)]
        self.counts = collections.Counter()

    def sift(self, at):
        heap, n, first = self.heap, len(self.heap), True
        while 2 * at + 1 < n:
            child = 2 * at + 1
            if child + 1 < n and heap[child][0] > heap[child + 1][0]:
                child += 1
            if heap[child][0] > heap[at][0] or (not first and heap[child][0] == heap[at][0]):
                return
            heap[at], heap[child] = heap[child], heap[at]
            at, first = child, False

    def add(self, item):
        self.counts[item] += 1
        count = self.counts[item]
        if count < self.heap[0][0]:
            return None
        for i, kept in enumerate(self.heap):
            if kept[1] == item:
                kept[0] = count
                self.sift(i)
                return None
        expelled = self.heap[0][1]
        self.heap[0] = [count, item]
        self.sift(0)
        return expelled

    def list(self):
        return [x for c, x in sorted(self.heap, key=lambda e: -e[0]) if x is not None]


@pytest.mark.parametrize("k", [1, 2, 3, 7, 20])
def test_ties_are_as_described(r, k):
    """Buckets for all: counts are exact, so that every step is known."""
    reserve(r, "t", k, 5000, 6, .9)
    rng, model = random.Random(k), Model(k)
    for _ in range(60):
        items = [b"i%d" % min(int(rng.paretovariate(1)), 60) for _ in range(10)]
        assert r("TOPK.ADD", "t", *items) == [model.add(i) for i in items]
        assert r("TOPK.LIST", "t") == model.list()


def test_the_frequent_are_found(r):
    rng = random.Random(1)
    r("TOPK.RESERVE", "t", 20, 2000, 5, .9)
    stream = [f"i{int(rng.paretovariate(.9))}" for _ in range(30000)]
    for i in range(0, len(stream), 1000):
        r("TOPK.ADD", "t", *stream[i:i + 1000])
    true = [x.encode() for x, _ in collections.Counter(stream).most_common(10)]
    assert set(true) <= set(r("TOPK.LIST", "t"))
