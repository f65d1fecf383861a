"""CF.*: sets with deletion, compatible with clients of RedisBloom."""
import pytest
from conftest import refused
from resp import Error


def names(n, what="item"):
    return [f"{what}{i}" for i in range(n)]


def info(r, key):
    flat = r("CF.INFO", key)
    return dict(zip(flat[::2], flat[1::2]))


def test_add_and_delete(r, r3):
    assert r("CF.RESERVE", "c", 1000) == "OK"
    assert r("CF.ADD", "c", "a") == 1 and r("CF.ADD", "c", "a") == 1
    assert r("CF.ADDNX", "c", "a") == 0 and r("CF.ADDNX", "c", "b") == 1
    assert r("CF.COUNT", "c", "a") == 2 and r("CF.COUNT", "c", "b") == 1 and r("CF.COUNT", "c", "none") == 0
    assert r("CF.EXISTS", "c", "a") == 1
    assert r("CF.MEXISTS", "c", "a", "b", "none") == [1, 1, 0]
    assert r("CF.DEL", "c", "a") == 1 and r("CF.COUNT", "c", "a") == 1
    assert r("CF.DEL", "c", "a") == 1 and r("CF.DEL", "c", "a") == 0
    assert r("CF.MEXISTS", "c", "a", "b") == [0, 1]
    told = info(r, "c")
    assert told["Number of items inserted"] == 1 and told["Number of items deleted"] == 2
    assert told["Number of filters"] == 1 and told["Bucket size"] == 2 and told["Max iterations"] == 20
    assert told["Number of buckets"] == 512 and told["Expansion rate"] == 1
    assert r3("CF.INFO", "c") == told
    assert r3("CF.ADD", "c", "x") is True and r3("CF.ADDNX", "c", "x") is False
    assert r3("CF.INSERT", "c", "ITEMS", "y") == [True] and type(r3("CF.INSERTNX", "c", "ITEMS", "y")[0]) is int
    assert r3("CF.MEXISTS", "c", "x", "none") == [True, False] and r3("CF.DEL", "c", "x") is True
    assert r("TYPE", "c") == "weircucko"


def test_insert(r):
    assert r("CF.INSERT", "c", "ITEMS", "foo") == [1]
    assert r("CF.INSERT", "c", "CAPACITY", 1000, "ITEMS", "foo") == [1]
    assert r("CF.INSERTNX", "c", "NOCREATE", "ITEMS", "foo", "bar", "baz", "bar") == [0, 1, 1, 0]
    assert info(r, "c")["Number of items inserted"] == 4
    assert refused(r, "CF.INSERT", "none", "NOCREATE", "ITEMS", "a") == "ERR not found"
    assert refused(r, "CF.INSERT", "c", "CAPACITY", "x", "ITEMS", "a") == "Bad capacity"
    assert refused(r, "CF.INSERT", "c", "COLOUR", "ITEMS", "a") == "Unknown argument received"
    assert refused(r, "CF.INSERTNX", "c", "CAPACITY", 3, "ITEMS", "a") == "Capacity must be at least (BucketSize * 2)"
    refused(r, "CF.INSERT", "c", "CAPACITY", 5, "ITEMS", saying="wrong number of arguments")


def test_reserve(r):
    assert r("CF.RESERVE", "c", 1000, "BUCKETSIZE", 4, "MAXITERATIONS", 10, "EXPANSION", 2) == "OK"
    told = info(r, "c")
    assert (told["Bucket size"], told["Max iterations"], told["Expansion rate"]) == (4, 10, 2)
    assert refused(r, "CF.RESERVE", "c", 1000) == "ERR item exists"
    for words, text in [(["x"], "Bad capacity"), ([0], "Bad capacity"), ([-1], "Bad capacity"),
                        ([10, "BUCKETSIZE", "x"], "Couldn't parse BUCKETSIZE"),
                        ([10, "MAXITERATIONS", "x"], "Couldn't parse MAXITERATIONS"),
                        ([10, "EXPANSION", 1.5], "Couldn't parse EXPANSION"),
                        ([10, "BUCKETSIZE", 0], "BUCKETSIZE: value must be an integer between 1 and 255, inclusive."),
                        ([10, "MAXITERATIONS", 65536],
                         "MAXITERATIONS: value must be an integer between 1 and 65535, inclusive."),
                        ([10, "EXPANSION", 32769],
                         "EXPANSION: value must be an integer between 0 and 32768, inclusive."),
                        ([3], "Capacity must be at least (BucketSize * 2)"),
                        ([10, "BUCKETSIZE", 6], "Capacity must be at least (BucketSize * 2)"),
                        ([10, "COLOUR", 1], "Unknown argument received"),
                        ([1 << 40], "ERR Insufficient memory to create filter")]:
        assert refused(r, "CF.RESERVE", "d", *words) == text
    refused(r, "CF.RESERVE", "d", 10, "EXPANSION", saying="wrong number of arguments")
    assert r("EXISTS", "d") == 0


def test_errors(r):
    assert r("CF.EXISTS", "none", "a") == 0 and r("CF.MEXISTS", "none", "a", "b") == [0, 0]
    assert r("CF.COUNT", "none", "a") == 0
    assert refused(r, "CF.DEL", "none", "a") == "Not found"
    assert refused(r, "CF.INFO", "none") == "ERR not found"
    r("BF.ADD", "b", "a")
    for command in ["ADD", "b", "a"], ["INFO", "b"], ["RESERVE", "b", 5], ["SCANDUMP", "b", 0], \
            ["INSERT", "b", "ITEMS", "a"]:
        refused(r, "CF." + command[0], *command[1:], saying="WRONGTYPE")
    assert r("CF.COUNT", "b", "a") == 0
    assert refused(r, "CF.DEL", "b", "a") == "Not found"
    assert refused(r, "CF.COMPACT", "b") == "Cuckoo filter was not found"


def test_it_grows(r):
    r("CF.RESERVE", "c", 100, "EXPANSION", 2, "SEED", 5)
    assert r("CF.INSERT", "c", "ITEMS", *names(3000)) == [1] * 3000
    assert r("CF.MEXISTS", "c", *names(3000)) == [1] * 3000
    told = info(r, "c")
    assert told["Number of filters"] == 5 and told["Number of items inserted"] == 3000
    wrong = sum(r("CF.MEXISTS", "c", *names(20000, "other")))
    assert wrong < 40, "of 20000, at an error of 0.1 %"
    for item in names(3000)[::3]:
        assert r("CF.DEL", "c", item) == 1
    kept = [x for i, x in enumerate(names(3000)) if i % 3]
    assert sum(r("CF.MEXISTS", "c", *kept)) >= len(kept) - 4, "others are lost once in a thousand"
    assert info(r, "c")["Number of items deleted"] == 1000
    assert r("CF.INSERT", "c", "ITEMS", *names(1000, "again")) == [1] * 1000
    assert info(r, "c")["Number of filters"] == 5, "places that are free again are taken first"


def test_a_full_filter_that_does_not_grow(r):
    r("CF.RESERVE", "c", 50, "EXPANSION", 0)
    reply = r("CF.INSERT", "c", "ITEMS", *names(70))
    assert reply[:50] == [1] * 50 and reply[-1] == -1 and reply.count(1) <= 64, "32 buckets of two"
    assert refused(r, "CF.ADD", "c", "more") == "Filter is full"
    assert r("CF.DEL", "c", "item3") == 1 and r("CF.ADD", "c", "more") == 1


def test_one_item_many_times(r):
    r("CF.RESERVE", "c", 1000)
    assert r("CF.INSERT", "c", "ITEMS", *["a"] * 30) == [1] * 30
    # one more filter if both buckets of the item are the same in one of them
    assert r("CF.COUNT", "c", "a") == 30 and info(r, "c")["Number of filters"] in (4, 5)
    for _ in range(30):
        assert r("CF.DEL", "c", "a") == 1
    assert r("CF.EXISTS", "c", "a") == 0
    r("CF.RESERVE", "n", 1000, "EXPANSION", 0)
    reply = r("CF.INSERT", "n", "ITEMS", *["a"] * 30)
    assert reply in ([1] * 8 + [-1] * 22, [1] * 4 + [-1] * 26)


@pytest.mark.parametrize("seed", range(1, 9))
def test_one_item_many_times_takes_little_memory(r, seed):
    """A filter with free slots does not make the next one larger. With some seeds the item has one bucket, not two."""
    r("CONFIG", "SET", "weir.cf-max-expansions", 400)
    r("CF.RESERVE", "c", 50, "EXPANSION", 4, "SEED", seed)
    assert r("CF.INSERT", "c", "ITEMS", *["same"] * 1000) == [1] * 1000
    assert r("CF.COUNT", "c", "same") == 1000 and r("MEMORY", "USAGE", "c") < 400_000
    assert r("CF.INSERT", "c", "ITEMS", *names(9000)) == [1] * 9000
    assert r("CF.MEXISTS", "c", *names(9000)) == [1] * 9000
    for _ in range(1000):
        assert r("CF.DEL", "c", "same") == 1
    r("CONFIG", "SET", "weir.cf-max-expansions", 32)


def test_a_chain_has_a_maximum_length(r):
    r("CF.RESERVE", "c", 2, "BUCKETSIZE", 1, "EXPANSION", 1, "SEED", 1)
    reply = r("CF.INSERT", "c", "ITEMS", *["same"] * 10000)
    stored = reply.count(1)
    assert 0 < stored <= 32 * 8 and reply == [1] * stored + [-1] * (10000 - stored)
    assert r("CF.COUNT", "c", "same") == stored and info(r, "c")["Number of filters"] == 32
    assert refused(r, "CF.ADD", "c", "same") == "Maximum expansions reached"


@pytest.mark.parametrize("capacity, bucket, buckets", [(10, 2, 8), (200, 10, 32), (9, 2, 4), (64, 1, 64), (10000, 2, 8192)])
def test_buckets_are_reported_as_clients_expect_them(r, capacity, bucket, buckets):
    """The filters have space for that number of items."""
    r("CF.RESERVE", "c", capacity, "BUCKETSIZE", bucket, "EXPANSION", 0, "SEED", 1)
    assert info(r, "c")["Number of buckets"] == buckets
    places = max(capacity, buckets * bucket)
    assert r("CF.INSERT", "c", "ITEMS", *names(places)) == [1] * places
    assert r("CF.INSERT", "c", "ITEMS", *names(2, "more")) == [-1, -1]


def test_debug(r):
    r("CF.RESERVE", "c", 64, "BUCKETSIZE", 4, "MAXITERATIONS", 500, "EXPANSION", 2)
    r("CF.INSERT", "c", "ITEMS", *names(100))
    r("CF.DEL", "c", "item7")
    line = b"bktsize:4 buckets:16 items:99 deletes:1 filters:2 max_iterations:500 expansion:2"
    assert r("CF.DEBUG", "c") == line
    r("DEBUG", "RELOAD")
    assert r("CF.DEBUG", "c") == line
    assert refused(r, "CF.DEBUG", "none") == "ERR not found"


def test_compact(r):
    r("CF.RESERVE", "c", 64, "SEED", 1)
    r("CF.INSERT", "c", "ITEMS", *names(200))
    assert info(r, "c")["Number of filters"] == 4
    assert r("CF.COMPACT", "c") == "OK" and info(r, "c")["Number of filters"] == 4
    before = info(r, "c")["Size"]
    for item in names(200)[64:]:
        r("CF.DEL", "c", item)
    assert r("CF.COMPACT", "c") == "OK"
    told = info(r, "c")
    assert told["Number of filters"] == 1 and told["Size"] < before / 2
    assert r("CF.MEXISTS", "c", *names(64)) == [1] * 64
    assert r("CF.INSERT", "c", "ITEMS", *names(100, "again")) == [1] * 100
    assert refused(r, "CF.COMPACT", "none") == "Cuckoo filter was not found"
    refused(r, "CF.COMPACT", saying="wrong number of arguments")


def test_scandump_of_an_empty_filter_has_no_chunks(r):
    r("CF.RESERVE", "c", 4)
    assert r("CF.SCANDUMP", "c", 0) == [0, None]


def test_scandump_and_loadchunk(r):
    r("CF.INSERT", "c", "CAPACITY", 100, "ITEMS", *names(500))
    r("CF.DEL", "c", "item1")
    digest, chunks, iterator = r("DEBUG", "DIGEST-VALUE", "c"), [], 0
    while True:
        iterator, data = r("CF.SCANDUMP", "c", iterator)
        if iterator == 0:
            break
        chunks.append((iterator, data))
    r("DEL", "c")
    for chunk in chunks:
        assert r("CF.LOADCHUNK", "c", *chunk) == "OK"
    assert r("DEBUG", "DIGEST-VALUE", "c") == digest
    assert isinstance(r.raw("CF.LOADCHUNK", "c", *chunks[0]), Error)
    assert refused(r, "CF.SCANDUMP", "c", "x") == refused(r, "CF.LOADCHUNK", "d", "x", "y") == "Invalid position"
