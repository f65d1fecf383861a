"""BF.*, compatible with clients of RedisBloom: replies in RESP2 and RESP3, error texts, scaling."""
import pytest
from conftest import refused
from resp import Error


def names(n, what="item"):
    return [f"{what}{i}" for i in range(n)]


def info(r, key):
    flat = r("BF.INFO", key)
    return dict(zip(flat[::2], flat[1::2]))


def test_add_and_exists(r, r3):
    assert r("BF.ADD", "b", "a") == 1
    assert r("BF.ADD", "b", "a") == 0
    assert r("BF.MADD", "b", "a", "b", "c", "b") == [0, 1, 1, 0]
    assert r("BF.EXISTS", "b", "c") == 1
    assert r("BF.EXISTS", "b", "d") == 0
    assert r("BF.MEXISTS", "b", "a", "d", "b") == [1, 0, 1]
    assert r("BF.CARD", "b") == 3
    assert r("TYPE", "b") == "weirbloom"
    assert r3("BF.ADD", "b", "new") is True
    assert r3("BF.ADD", "b", "new") is False
    assert r3("BF.MADD", "b", "a", "x") == [False, True]
    assert r3("BF.EXISTS", "b", "x") is True
    assert r3("BF.MEXISTS", "b", "x", "y") == [True, False]
    assert r3("BF.INSERT", "b", "ITEMS", "x", "z") == [False, True]


def test_a_key_that_is_not_there(r):
    assert r("BF.EXISTS", "none", "a") == 0
    assert r("BF.MEXISTS", "none", "a", "b") == [0, 0]
    assert r("BF.CARD", "none") == 0
    for command in ["BF.INFO", "none"], ["BF.DEBUG", "none"], ["BF.SCANDUMP", "none", 0], \
            ["BF.INSERT", "none", "NOCREATE", "ITEMS", "a"]:
        assert refused(r, *command) == "ERR not found"


def test_a_key_of_another_kind(r):
    r("SET", "s", "text")
    assert r("BF.EXISTS", "s", "a") == 0
    assert r("BF.MEXISTS", "s", "a", "b") == [0, 0]
    for command in ["BF.ADD", "s", "a"], ["BF.MADD", "s", "a"], ["BF.CARD", "s"], ["BF.INFO", "s"], ["BF.DEBUG", "s"], \
            ["BF.RESERVE", "s", .1, 10], ["BF.INSERT", "s", "ITEMS", "a"], ["BF.SCANDUMP", "s", 0], \
            ["BF.LOADCHUNK", "s", 1, "x"]:
        refused(r, *command, saying="WRONGTYPE")


@pytest.mark.parametrize("words, text", [
    (["x", 100], "ERR bad error rate"),
    ([0, 100], "ERR error rate must be in the range (0.000000, 1.000000)"),
    ([1, 100], "ERR error rate must be in the range (0.000000, 1.000000)"),
    ([-.1, 100], "ERR error rate must be in the range (0.000000, 1.000000)"),
    (["nan", 100], "ERR bad error rate"),
    (["inf", 100], "ERR error rate must be in the range (0.000000, 1.000000)"),
    ([.01, "x"], "ERR bad capacity"),
    ([.01, 1.5], "ERR bad capacity"),
    ([.01, 0], "ERR capacity must be in the range [1, 1073741824]"),
    ([.01, -5], "ERR capacity must be in the range [1, 1073741824]"),
    ([.01, (1 << 30) + 1], "ERR capacity must be in the range [1, 1073741824]"),
    ([.01, 1 << 63], "ERR bad capacity"),
    ([.01, 100, "EXPANSION"], "ERR no expansion"),
    ([.01, 100, "EXPANSION", "x"], "ERR bad expansion"),
    ([.01, 100, "EXPANSION", -1], "ERR expansion must be in the range [0, 32768]"),
    ([.01, 100, "EXPANSION", 32769], "ERR expansion must be in the range [0, 32768]"),
    ([.01, 100, "NONSCALING", "EXPANSION", 2], "Nonscaling filters cannot expand"),
    ([.01, 100, "EXPANSION", 2, "NONSCALING"], "Nonscaling filters cannot expand"),
    ([.01, 100, "COLOUR"], "Unknown argument received"),
    ([1e-300, 1 << 30], "ERR Insufficient memory to create filter"),
])
def test_errors_of_reserve(r, words, text):
    assert refused(r, "BF.RESERVE", "b", *words) == text
    assert r("EXISTS", "b") == 0


@pytest.mark.parametrize("words, text", [
    (["ERROR", "x", "ITEMS", "a"], "Bad error rate"),
    (["CAPACITY", "x", "ITEMS", "a"], "Bad capacity"),
    (["EXPANSION", "x", "ITEMS", "a"], "Bad expansion"),
    (["COLOUR", "x", "ITEMS", "a"], "Unknown argument received"),
    (["NOCREATE", "CAPACITY"], "Unknown argument received"),
    (["ERROR", 2, "ITEMS", "a"], "ERR error rate must be in the range (0.000000, 1.000000)"),
])
def test_errors_of_insert(r, words, text):
    assert refused(r, "BF.INSERT", "b", *words) == text
    assert r("EXISTS", "b") == 0


@pytest.mark.parametrize("command", [["BF.ADD", "b"], ["BF.ADD", "b", "a", "c"], ["BF.MADD", "b"], ["BF.RESERVE", "b", .1],
                                     ["BF.EXISTS", "b"], ["BF.MEXISTS", "b"], ["BF.CARD"], ["BF.INFO"],
                                     ["BF.INSERT", "b"], ["BF.INSERT", "b", "ITEMS"], ["BF.INSERT", "b", "CAPACITY"], ["BF.INSERT", "b", "CAPACITY", 10],
                                     ["BF.SCANDUMP", "b"], ["BF.LOADCHUNK", "b", 1], ["BF.DEBUG"]])
def test_arity(r, command):
    refused(r, *command, saying="wrong number of arguments")


def test_reserve_and_info(r, r3):
    assert r("BF.RESERVE", "b", .001, 1000) == "OK"
    assert refused(r, "BF.RESERVE", "b", .001, 1000) == "ERR item exists"
    told = info(r, "b")
    assert list(told) == ["Capacity", "Size", "Number of filters", "Number of items inserted", "Expansion rate"]
    assert told["Capacity"] == 1000 and told["Number of filters"] == 1 and told["Expansion rate"] == 2
    assert told["Number of items inserted"] == 0
    assert 1797 < told["Size"] < 4400
    assert r3("BF.INFO", "b") == told
    for field, name in [("capacity", "Capacity"), ("SIZE", "Size"), ("Filters", "Number of filters"),
                        ("ITEMS", "Number of items inserted"), ("EXPANSION", "Expansion rate")]:
        assert r("BF.INFO", "b", field) == [told[name]]
        assert r3("BF.INFO", "b", field) == {name: told[name]}
    assert refused(r, "BF.INFO", "b", "colour") == "Invalid information value"
    r("BF.RESERVE", "n", .01, 10, "NONSCALING")
    assert info(r, "n")["Expansion rate"] is None
    r("BF.RESERVE", "z", .01, 10, "EXPANSION", 0)
    assert info(r, "z")["Expansion rate"] is None


def test_it_scales(r):
    r("BF.RESERVE", "b", .01, 100, "EXPANSION", 4, "SEED", 5)
    items = names(3000)
    added = sum(r("BF.MADD", "b", *items))
    assert added > 2940
    assert r("BF.MEXISTS", "b", *items) == [1] * 3000
    told = info(r, "b")
    assert told["Number of filters"] == 4 and told["Capacity"] == 100 + 400 + 1600 + 6400
    assert told["Number of items inserted"] == added == r("BF.CARD", "b")
    wrong = sum(r("BF.MEXISTS", "b", *names(20000, "other")))
    assert 0 < wrong < 200, "of 20000, at an error of 1 %"
    lines = r("BF.DEBUG", "b")
    assert lines[0] == b"size:%d" % added
    assert lines[1].startswith(b"bytes:") and b"hashwidth:64 capacity:100 size:100 ratio:0.005" in lines[1]
    assert len(lines) == 5


def test_a_chain_has_a_maximum_length(r):
    r("BF.RESERVE", "b", .0001, 1, "EXPANSION", 1)
    reply = r("BF.MADD", "b", *names(4000))
    assert reply[-1].startswith("ERR the filter has its maximum of 1024 sub-filters")
    assert info(r, "b")["Number of filters"] == 1024 == r("BF.CARD", "b")
    refused(r, "BF.ADD", "b", "another", saying="maximum of 1024")
    assert r("BF.ADD", "b", "item0") == 0


def test_one_by_one_and_at_once_are_the_same(r):
    for key in "ab":
        r("BF.RESERVE", key, .01, 50, "SEED", 7)
    items = [f"i{(i * 7919) % 700}" for i in range(2000)]
    r.pipeline([["BF.ADD", "a", item] for item in items])
    for i in range(0, 2000, 333):
        r("BF.MADD", "b", *items[i:i + 333])
    assert r("DEBUG", "DIGEST-VALUE", "a") == r("DEBUG", "DIGEST-VALUE", "b")


def test_a_full_filter_that_does_not_scale(r):
    r("BF.RESERVE", "b", .001, 10, "NONSCALING")
    reply = r("BF.MADD", "b", *names(15))
    assert reply[:10] == [1] * 10 and len(reply) == 11 and reply[10] == "ERR non scaling filter is full"
    assert isinstance(reply[10], Error)
    assert refused(r, "BF.ADD", "b", "more") == "ERR non scaling filter is full"
    assert r("BF.ADD", "b", "item3") == 0
    assert r("BF.CARD", "b") == 10
    reply = r("BF.INSERT", "b", "ITEMS", "item1", "more", "item2")
    assert reply[0] == 0 and reply[1] == "ERR non scaling filter is full" and len(reply) == 2


def test_insert(r):
    assert r("BF.INSERT", "b", "CAPACITY", 200, "ERROR", .1, "EXPANSION", 3, "ITEMS", "a", "ITEMS") == [1, 1]
    assert info(r, "b")["Capacity"] == 200 and info(r, "b")["Expansion rate"] == 3
    assert r("BF.INSERT", "b", "NOCREATE", "ITEMS", "a", "b") == [0, 1]
    assert r("BF.INSERT", "n", "NONSCALING", "CAPACITY", 1, "ITEMS", "a")[0] == 1
    assert r("BF.INSERT", "f", "NONSCALING", "EXPANSION", 2, "ITEMS", "a") == [1]
    assert info(r, "f")["Expansion rate"] is None
    assert r("BF.INSERT", "v", "SEED", b"x" * 32, "TIGHTENING", .6, "VALIDATESCALETO", 10000, "ITEMS", "a") == [1]
    refused(r, "BF.INSERT", "w", "VALIDATESCALETO", 1 << 40, "ITEMS", "a", saying="memory limit")
    refused(r, "BF.INSERT", "w", "NONSCALING", "VALIDATESCALETO", 1000, "ITEMS", "a", saying="nonscaling")


@pytest.mark.parametrize("rate", [.99, .9999999999999999])
@pytest.mark.parametrize("more", [[], ["NONSCALING"]])
def test_an_error_rate_next_to_one(r, rate, more):
    assert r("BF.RESERVE", "b", rate, 100, *more) == "OK"
    assert r("BF.ADD", "b", "a") == 1 and r("BF.EXISTS", "b", "a") == 1


def test_error_is_below_what_was_asked_for(r):
    for rate in .05, .001:
        r("DEL", "b")
        r("BF.RESERVE", "b", rate, 20000)
        r("BF.MADD", "b", *names(20000))
        wrong = sum(r("BF.MEXISTS", "b", *names(50000, "other")))
        assert wrong < 50000 * rate, (rate, wrong)


def dump(r, key):
    iterator, chunks = 0, []
    while True:
        iterator, data = r("BF.SCANDUMP", key, iterator)
        if iterator == 0:
            assert data == b""
            return chunks
        assert 0 < iterator < 1 << 53, "clients in JavaScript"
        chunks.append((iterator, data))


def test_scandump_and_loadchunk(r):
    r("BF.RESERVE", "b", .0001, 1000)
    r("BF.MADD", "b", *names(3000))
    told = r("BF.DEBUG", "b")
    digest = r("DEBUG", "DIGEST-VALUE", "b")
    chunks = dump(r, "b")
    r("DEL", "b")
    for iterator, data in chunks:
        assert r("BF.LOADCHUNK", "b", iterator, data) == "OK"
    assert r("BF.DEBUG", "b") == told
    assert r("DEBUG", "DIGEST-VALUE", "b") == digest
    assert r("BF.MEXISTS", "b", *names(3000)) == [1] * 3000
    assert refused(r, "BF.LOADCHUNK", "b", *chunks[0]) == "ERR item exists"


def test_load(r):
    """A whole filter in one chunk, as in valkey-bloom."""
    r("BF.RESERVE", "b", .001, 50)
    r("BF.MADD", "b", *names(500))
    cursor, data = r("WEIR.SAVE", "b", 0)
    assert cursor == b"0" and r("BF.LOAD", "c", data) == "OK"
    assert r("DEBUG", "DIGEST-VALUE", "c") == r("DEBUG", "DIGEST-VALUE", "b")
    assert refused(r, "BF.LOAD", "c", data) == "BUSYKEY Target key name already exists."
    r("CF.ADD", "u", "a")
    for wrong in b"", b"x", data[:-1], data + b"x", data[:100] + b"x" + data[101:], r("WEIR.SAVE", "u", 0)[1]:
        assert refused(r, "BF.LOAD", "d", wrong) == "ERR bloom object decoding failed"
    refused(r, "BF.LOAD", "u", data, saying="WRONGTYPE")
    refused(r, "BF.LOAD", "d", saying="wrong number of arguments")
    assert r("EXISTS", "d") == 0


def test_large_dump_of_several_chunks(r):
    r("BF.RESERVE", "b", .0001, 15_000_000)
    r("BF.MADD", "b", *names(1000))
    chunks = dump(r, "b")
    assert len(chunks) >= 4
    for iterator, data in chunks[:-1]:
        r("BF.LOADCHUNK", "c", iterator, data)
        refused(r, "BF.ADD", "c", "a", saying="being loaded")
    r("BF.LOADCHUNK", "c", *chunks[-1])
    assert r("DEBUG", "DIGEST-VALUE", "b") == r("DEBUG", "DIGEST-VALUE", "c")
    r("BF.ADD", "b", "changed")
    refused(r, "BF.SCANDUMP", "b", chunks[1][0], saying="has changed")


def test_bad_chunks(r):
    r("BF.ADD", "b", "a")
    chunks = dump(r, "b")
    assert refused(r, "BF.LOADCHUNK", "c", "x", b"") == "Second argument must be numeric"
    assert refused(r, "BF.SCANDUMP", "b", "x") == "Second argument must be numeric"
    for iterator, data in [(1, b"x"), (1, b""), (2, chunks[1][1]), (-1, b"x"), (chunks[1][0], chunks[1][1]),
                           (1, b"weirbf1\0" + b"\0" * 8)]:
        assert refused(r, "BF.LOADCHUNK", "c", iterator, data) == "received bad data"
    assert refused(r, "BF.LOADCHUNK", "c", 1, b"weirbf1\0" + b"\xff" * 8) == "ERR Insufficient memory to create filter"
    assert r("EXISTS", "c") == 0
    r("BF.LOADCHUNK", "c", *chunks[0])
    refused(r, "BF.LOADCHUNK", "c", chunks[1][0], b"x" * len(chunks[1][1]))
    assert r("EXISTS", "c") == 0
