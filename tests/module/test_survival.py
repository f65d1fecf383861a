"""Acknowledged writes survive: a restart, a failover, a copy."""
import random
import time

import pytest
from conftest import refused

SPECS = ["recent memory=64K", "recent memory=64K span=10s", "recent memory=32K importance=log", "bloom memory=64K",
             "counting memory=64K", "sbf memory=64K", "ibf-mc memory=64K", "rlbsbf memory=64K", "bsbf memory=64K",
             "two-buffer memory=64K", "apbf memory=64K"]


def fill(r, seed=1, n=300):
    """Keys of every family, in states that differ."""
    rng = random.Random(seed)
    commands = []
    for i, spec in enumerate(SPECS):
        r("WEIR.CREATE", f"filter{i}", spec, "NX")
    for i in range(3):
        r.raw("CMS.INITBYDIM", f"counts{i}", 100, 4)
        r.raw("TOPK.RESERVE", f"top{i}", 10, 20, 3, .8)
    for i in range(n):
        key = f"filter{rng.randrange(len(SPECS))}"
        words = [f"i{rng.randrange(5000)}" for _ in range(rng.randrange(1, 40))]
        once = ["ONCE", f"p{rng.randrange(5)}", i] if rng.random() < .2 else []
        commands.append(["WEIR.OBSERVE", key, *once, *words])
        if rng.random() < .05:
            commands.append(["WEIR.FORGET", "filter4", *words])
        weighed = [x for word in words for x in (word, rng.randrange(50))]
        commands.append(["CMS.INCRBY", f"counts{rng.randrange(2)}", *weighed])
        commands.append(["TOPK.INCRBY", f"top{rng.randrange(2)}", *weighed])
        commands.append(["TOPK.ADD", "top0", *words])
        commands.append(["CF.INSERT", f"cuckoo{rng.randrange(2)}", "CAPACITY", 64, "ITEMS", *words])
        commands.append(["CF.INSERTNX", "cuckoo1", "ITEMS", *words])
        commands.append(["CF.DEL", f"cuckoo{rng.randrange(2)}", words[0]])
        if i % 20 == 0:
            commands.append(["CMS.MERGE", "counts2", 2, "counts0", "counts1", "WEIGHTS", 2, 1])
        commands.append(["BF.MADD", f"bloom{rng.randrange(3)}", *words])
        if i % 100 == 0:
            commands.append(["BF.RESERVE", f"fixed{i}", .01, 30, "NONSCALING"])
        commands.append(["BF.INSERT", "fixed0", "ERROR", .001, "ITEMS", *words])
    r.pipeline(commands)


def digests(r):
    keys = sorted(r("KEYS", "*"))
    return dict(zip(keys, r("DEBUG", "DIGEST-VALUE", *keys)))


def wait(condition, seconds=30):
    """Counted in attempts, so a suspended machine does not shorten the wait."""
    for _ in range(seconds * 50):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")


def test_rdb(start):
    server = start()
    r = server.client()
    fill(r)
    before = digests(r)
    assert len(set(before.values())) == len(before)
    r("DEBUG", "RELOAD")
    assert digests(r) == before
    r("SAVE")
    server.kill()
    server.options = ("--dbfilename", "dump.rdb")
    server.start()
    r = server.client()
    assert digests(r) == before


def test_chains_of_a_thousand_filters_are_loaded_again(r):
    """The error rate of each is half of the one before, but not 0."""
    r("CONFIG", "SET", "weir.cf-max-expansions", 2000)
    r("BF.RESERVE", "b", .01, 1, "EXPANSION", 1)
    r("CF.RESERVE", "c", 4)
    r("BF.RESERVE", "small", 5e-324, 1)
    for i in range(0, 5000, 500):
        r("CF.INSERT", "c", "ITEMS", *range(i, i + 500))
    for i in range(0, 1200, 200):
        r("BF.MADD", "b", *range(i, i + 200))
    r("CONFIG", "SET", "weir.cf-max-expansions", 32)
    assert len(r("BF.DEBUG", "b")) == 1025 and b"filters:1250 " in r("CF.DEBUG", "c")
    before = digests(r)
    r("DEBUG", "RELOAD")
    assert digests(r) == before and len(before) == 3
    assert r("CF.MEXISTS", "c", *range(5000)) == [1] * 5000


@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_aof(start, preamble):
    server = start(options=("--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", preamble))
    r = server.client()
    fill(r)
    before = digests(r)
    server.kill()
    server.start()
    r = server.client()
    assert digests(r) == before
    r("BGREWRITEAOF")
    wait(lambda: b"aof_rewrite_in_progress:0" in r("INFO", "persistence")
         and b"aof_rewrite_scheduled:0" in r("INFO", "persistence"))
    assert b"aof_last_bgrewrite_status:ok" in r("INFO", "persistence")
    fill(r, seed=2, n=50)
    before = digests(r)
    server.kill()
    server.start()
    assert digests(server.client()) == before


def test_a_replica_has_the_same_bytes(start):
    master, replica = start(), start()
    r, s = master.client(), replica.client()
    fill(r)
    s("REPLICAOF", "127.0.0.1", master.port)
    wait(lambda: b"master_link_status:up" in s("INFO", "replication"))
    fill(r, seed=2, n=600)
    r("WEIR.OBSERVE", "by default", "a", "b", "a")
    r("WEIR.CREATE", "no seed", "recent memory=4K span=5s")
    r("WEIR.OBSERVE", "no seed", *range(100))
    r("WEIR.MERGE", "merged", 1, "filter3")
    assert r("WAIT", 1, 10000) == 1
    assert digests(s) == digests(r)
    assert s("DBSIZE") == r("DBSIZE")


def test_copy_rename_ttl_dump(r):
    r("WEIR.CREATE", "f", "recent memory=16K")
    r("WEIR.OBSERVE", "f", "ONCE", "p", 1, "a", "b")
    digest = r("DEBUG", "DIGEST-VALUE", "f")
    assert r("COPY", "f", "g") == 1
    assert r("RENAME", "f", "h") == "OK"
    assert r("DEBUG", "DIGEST-VALUE", "g") == r("DEBUG", "DIGEST-VALUE", "h") == digest
    r("WEIR.OBSERVE", "g", "c")
    assert r("DEBUG", "DIGEST-VALUE", "g") != digest
    assert r("RESTORE", "back", 0, r("DUMP", "h")) == "OK"
    assert r("DEBUG", "DIGEST-VALUE", "back") == digest
    assert r("PEXPIRE", "h", 20) == 1
    time.sleep(0.1)
    assert r("EXISTS", "h") == 0
    assert r("OBJECT", "ENCODING", "g") == b"raw"
    assert 16384 <= r("MEMORY", "USAGE", "g") <= 40000
    assert r("UNLINK", "g", "back") == 2


def test_migrate(start):
    here, there = start(), start()
    r, s = here.client(), there.client()
    fill(r, n=50)
    before = digests(r)
    for key in before:
        assert r("MIGRATE", "127.0.0.1", there.port, key, 0, 5000) == "OK"
    assert r("DBSIZE") == 0
    assert digests(s) == before


def chunks(r, command, key, *more):
    """Pairs for the command that loads."""
    iterator, pairs = 0, []
    while True:
        iterator, data = r(command, key, iterator, *more)
        if command != "WEIR.SAVE" and iterator == 0:
            return pairs
        pairs.append((iterator, data))
        if iterator == b"0":
            return pairs


def test_chunks_are_replicated_and_saved(start):
    """Half of them before the server is killed, half after it."""
    master = start(options=("--appendonly", "yes", "--appendfsync", "always"))
    replica = start()
    r, s = master.client(), replica.client()
    r("WEIR.CREATE", "f", "recent memory=16K")
    r("WEIR.OBSERVE", "f", *range(500))
    r("BF.INSERT", "b", "CAPACITY", 100, "ITEMS", *range(500))
    r("CF.INSERT", "u", "CAPACITY", 100, "ITEMS", *range(500))
    transfers = {"f": ("WEIR.LOAD", chunks(r, "WEIR.SAVE", "f", "CHUNK", 3000)),
                 "b": ("BF.LOADCHUNK", chunks(r, "BF.SCANDUMP", "b")),
                 "u": ("CF.LOADCHUNK", chunks(r, "CF.SCANDUMP", "u"))}
    for key, (command, pairs) in transfers.items():
        for pair in pairs[:len(pairs) // 2]:
            assert r(command, key + "2", *pair) == "OK"
    before = digests(r)
    master.kill()
    master.start()
    r = master.client()
    assert digests(r) == before
    s("REPLICAOF", "127.0.0.1", master.port)
    wait(lambda: b"master_link_status:up" in s("INFO", "replication"))
    assert digests(s) == before
    for key, (command, pairs) in transfers.items():
        for pair in pairs[len(pairs) // 2:]:
            assert r(command, key + "2", *pair) == "OK"
    assert r("WAIT", 1, 30000) == 1
    for key in transfers:
        values = r("DEBUG", "DIGEST-VALUE", key, key + "2")
        assert values[0] == values[1] and s("DEBUG", "DIGEST-VALUE", key, key + "2") == values


def test_transactions_and_scripts(start):
    master, replica = start(), start()
    r, s = master.client(), replica.client()
    s("REPLICAOF", "127.0.0.1", master.port)
    wait(lambda: b"master_link_status:up" in s("INFO", "replication"))
    r("MULTI")
    r("WEIR.CREATE", "f", "recent memory=16K span=1s")
    r("WEIR.OBSERVE", "f", "a", "b")
    r("WEIR.OBSERVE", "g", "a", "a")
    assert r("EXEC") == ["OK", [0, 0], [0, 1]]
    script = "redis.call('WEIR.OBSERVE', KEYS[1], 'c'); return redis.call('WEIR.OBSERVE', KEYS[1], ARGV[1], 'a')"
    assert r("EVAL", script, 1, "f", "c") == [1, 1]
    r("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('seen', function(k, a) "
      "return redis.call('WEIR.OBSERVE', k[1], unpack(a)) end)")
    assert r("FCALL", "seen", 1, "f", "d", "d") == [0, 1]
    r("WAIT", 1, 10000)
    assert digests(s) == digests(r)
    refused(s, "WEIR.OBSERVE", "f", "x", saying="READONLY")
    assert s("WEIR.ASK", "f", "d", "x") == [1, 0]


@pytest.mark.parametrize("reserve", [["CF.RESERVE", "k", 700, "EXPANSION", 0], ["CF.RESERVE", "k", 64, "EXPANSION", 2]])
def test_replicas_get_the_items_that_were_added(start, reserve):
    """One command with several batches of items, of which some exist and some find the filter full."""
    master, replica = start(), start("LARGEST", "0")
    r, s = master.client(), replica.client()
    s("REPLICAOF", "127.0.0.1", master.port)
    while b"master_link_status:up" not in s("INFO", "replication"):
        time.sleep(.02)
    items = [i * i % 1009 for i in range(2000)]
    r("CONFIG", "SET", "weir.cf-max-expansions", 3)
    r(*reserve)
    replies = [r("CF.INSERTNX", "k", "ITEMS", *items), r("CF.INSERT", "k", "ITEMS", *items)]
    assert set(replies[0]) | set(replies[1]) == {-1, 0, 1}
    r("WAIT", 1, 60000)
    assert r("CF.INFO", "k") == s("CF.INFO", "k")
    assert r("DEBUG", "DIGEST-VALUE", "k") == s("DEBUG", "DIGEST-VALUE", "k")
