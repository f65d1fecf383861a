"""CMS.*: count-min sketches, compatible with clients of RedisBloom."""
import random

import pytest
from conftest import refused
from resp import Error


def info(r, key):
    flat = r("CMS.INFO", key)
    return dict(zip(flat[::2], flat[1::2]))


def test_counts(r, r3):
    assert r("CMS.INITBYDIM", "c", 1000, 5) == "OK"
    assert r("CMS.INCRBY", "c", "a", 5) == [5]
    assert r("CMS.INCRBY", "c", "a", 5, "b", 15, "a", 1, b"x\0y", 2) == [10, 15, 11, 2]
    assert r("CMS.QUERY", "c", "a", "b", b"x\0y", b"x", "none") == [11, 15, 2, 0, 0]
    assert info(r, "c") == {"width": 1000, "depth": 5, "count": 28}
    assert r3("CMS.INFO", "c") == info(r, "c")
    assert r3("CMS.QUERY", "c", "a") == [11]
    assert r("TYPE", "c") == "weircount"


def test_init(r):
    r("CMS.INITBYPROB", "p", .01, .01)
    assert info(r, "p") == {"width": 200, "depth": 7, "count": 0}
    r("CMS.INITBYPROB", "q", .001, 1e-9)
    assert info(r, "q") == {"width": 2000, "depth": 30, "count": 0}
    r("CMS.INITBYDIM", "one", 1, 1)
    assert info(r, "one") == {"width": 1, "depth": 1, "count": 0}
    assert r("CMS.INCRBY", "one", "a", 2, "b", 3) == [2, 5]
    assert refused(r, "CMS.INITBYDIM", "p", 10, 5) == "CMS: key already exists"
    assert refused(r, "CMS.INITBYPROB", "p", .1, .1) == "CMS: key already exists"


@pytest.mark.parametrize("words, text", [
    (["INITBYDIM", "x", 5], "CMS: invalid width"),
    (["INITBYDIM", 0, 5], "CMS: invalid width"),
    (["INITBYDIM", -1, 5], "CMS: invalid width"),
    (["INITBYDIM", 10, "x"], "CMS: invalid depth"),
    (["INITBYDIM", 10, 0], "CMS: invalid depth"),
    (["INITBYDIM", 10, 1 << 40], "CMS: invalid depth"),
    (["INITBYDIM", (1 << 63) - 1, 5], "CMS: Insufficient memory to create the key"),
    (["INITBYDIM", 1 << 30, 5], "CMS: Insufficient memory to create the key"),
    (["INITBYPROB", "x", .1], "CMS: invalid overestimation value"),
    (["INITBYPROB", 0, .1], "CMS: invalid overestimation value"),
    (["INITBYPROB", 1, .1], "CMS: invalid overestimation value"),
    (["INITBYPROB", "nan", .1], "CMS: invalid overestimation value"),
    (["INITBYPROB", .1, "x"], "CMS: invalid prob value"),
    (["INITBYPROB", .1, 0], "CMS: invalid prob value"),
    (["INITBYPROB", .1, 1], "CMS: invalid prob value"),
    (["INITBYPROB", 1e-300, .1], "CMS: Insufficient memory to create the key"),
])
def test_errors_of_init(r, words, text):
    assert refused(r, "CMS." + words[0], "c", *words[1:]) == text
    assert r("EXISTS", "c") == 0


def test_errors(r):
    for command in ["INCRBY", "c", "a", 1], ["QUERY", "c", "a"], ["INFO", "c"], ["MERGE", "c", 1, "d"]:
        assert refused(r, "CMS." + command[0], *command[1:]) == "CMS: key does not exist"
    r("CMS.INITBYDIM", "c", 10, 5)
    assert refused(r, "CMS.INCRBY", "c", "a", "x") == "CMS: Cannot parse number"
    assert refused(r, "CMS.INCRBY", "c", "a", 1, "b", "x") == "CMS: Cannot parse number"
    assert refused(r, "CMS.INCRBY", "c", "a", 1, "b", -1) == "CMS: Number cannot be negative"
    assert r("CMS.QUERY", "c", "a") == [0]
    refused(r, "CMS.INCRBY", "c", "a", saying="wrong number of arguments")
    refused(r, "CMS.INCRBY", "c", "a", 1, "b", saying="wrong number of arguments")
    r("SET", "s", "x")
    for command in ["INCRBY", "s", "a", 1], ["QUERY", "s", "a"], ["INFO", "s"], ["MERGE", "s", 1, "c"], \
            ["MERGE", "c", 1, "s"]:
        refused(r, "CMS." + command[0], *command[1:], saying="WRONGTYPE")
    assert refused(r, "CMS.INITBYDIM", "s", 1, 1) == "CMS: key already exists"


def test_overflow(r):
    r("CMS.INITBYDIM", "c", 100, 5)
    reply = r("CMS.INCRBY", "c", "a", (1 << 32) - 2, "b", 1 << 40, "a", 5, "c", 1)
    assert reply[0] == (1 << 32) - 2 and reply[3] == 1
    assert [str(x) for x in reply[1:3]] == ["CMS: INCRBY overflow"] * 2
    assert isinstance(reply[1], Error)
    r("CMS.INITBYDIM", "d", 100, 5)
    assert refused(r, "CMS.MERGE", "d", 2, "c", "c") == "CMS: MERGE overflow"
    assert r("CMS.QUERY", "d", "a") == [0]


def test_merge(r):
    for key in "abcd":
        r("CMS.INITBYDIM", key, 1000, 5)
    r("CMS.INCRBY", "a", "foo", 1, "bar", 10)
    r("CMS.INCRBY", "b", "foo", 5, "baz", 42)
    assert r("CMS.MERGE", "c", 2, "a", "b") == "OK"
    assert r("CMS.QUERY", "c", "foo", "bar", "baz") == [6, 10, 42]
    assert r("CMS.MERGE", "c", 2, "a", "b", "WEIGHTS", 3, 2) == "OK"
    assert r("CMS.QUERY", "c", "foo", "bar", "baz") == [13, 30, 84]
    assert info(r, "c")["count"] == 3 * 11 + 2 * 47
    assert r("CMS.MERGE", "c", 2, "c", "a", "weights", 1, -1) == "OK"
    assert r("CMS.QUERY", "c", "foo", "bar", "baz") == [12, 20, 84]
    assert refused(r, "CMS.MERGE", "c", 1, "a", "WEIGHTS", -1) == "CMS: MERGE overflow"
    assert refused(r, "CMS.MERGE", "c", 2, "a", "b", "WEIGHTS", 1 << 62, 1 << 62) == "CMS: MERGE overflow"
    assert r("CMS.QUERY", "c", "foo") == [12]
    for words, text in [(["x", "a"], "CMS: invalid numkeys"), ([0, "a"], "CMS: invalid numkeys"),
                        ([-1, "a"], "CMS: invalid numkeys"), ([3, "a", "b"], "CMS: wrong number of keys"),
                        ([1, "a", "b"], "CMS: wrong number of keys"),
                        ([1 << 60, "a"], "CMS: wrong number of keys"),
                        ([2, "a", "b", "WEIGHTS", 1], "CMS: wrong number of keys/weights"),
                        ([2, "a", "b", "WEIGHTS", 1, 2, 3], "CMS: wrong number of keys/weights"),
                        ([1, "a", "WEIGHTS", "x"], "CMS: invalid weight value")]:
        assert refused(r, "CMS.MERGE", "c", *words) == text
    r("CMS.INITBYDIM", "narrow", 999, 5)
    assert refused(r, "CMS.MERGE", "c", 2, "a", "narrow") == "CMS: width/depth is not equal"


def test_counts_are_never_too_low(r):
    rng = random.Random(3)
    r("CMS.INITBYPROB", "c", .001, .01)
    truth = {}
    for _ in range(40):
        words = []
        for _ in range(200):
            item = f"i{int(rng.paretovariate(.7)) % 3000}"
            truth[item] = truth.get(item, 0) + 3
            words += [item, 3]
        r("CMS.INCRBY", "c", *words)
    items = list(truth)
    total = sum(truth.values())
    counts = dict(zip(items, r("CMS.QUERY", "c", *items)))
    assert all(counts[i] >= truth[i] for i in items)
    assert sum(counts[i] > truth[i] + .001 * total for i in items) <= .01 * len(items)
