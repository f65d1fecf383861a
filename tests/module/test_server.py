"""The module's declarations to the server: settings, commands, keys, categories, events."""
import os
import time

import pytest
from conftest import refused
from resp import ReplyError
from servers import free_port

FAMILIES = {"weir.": 8, "bf.": 12, "cf.": 14, "cms.": 6, "topk.": 7}


def commands(r):
    return [name for name in (row[0].decode() for row in r("COMMAND")) if name.startswith(tuple(FAMILIES))]


def version(r):
    line = next(x for x in r("INFO", "server").split(b"\r\n") if x.startswith((b"redis_version:", b"valkey_version:")))
    return tuple(int(x) for x in line.split(b":")[1].split(b".")[:2])


def test_all_commands_are_there_and_described(r):
    names = commands(r)
    for family, n in FAMILIES.items():
        assert sum(name.startswith(family) for name in names) == n, family
    docs = r("COMMAND", "DOCS", *names)
    assert len(docs) == 2 * len(names)
    for name, doc in zip(docs[::2], docs[1::2]):
        told = dict(zip(doc[::2], doc[1::2]))
        assert told[b"summary"] and told[b"complexity"] and told[b"arguments"], name
        first = dict(zip(told[b"arguments"][0][::2], told[b"arguments"][0][1::2]))
        assert first[b"name"] == b"key" and first[b"type"] == b"key" and first[b"key_spec_index"] == 0


def described(r, name):
    """Arguments by name."""
    docs = r("COMMAND", "DOCS", name)[1]
    rows = [dict(zip(row[::2], row[1::2])) for row in dict(zip(docs[::2], docs[1::2]))[b"arguments"]]
    return {row[b"name"].decode(): row for row in rows}


def test_words_that_stand_together_are_described_so(r):
    for command, name, parts in [("cms.incrby", "item", ["item", "increment"]), ("topk.incrby", "item", ["item", "increment"]),
                                 ("topk.reserve", "width", ["width", "depth", "decay"]),
                                 ("weir.observe", "producer", ["producer", "number"])]:
        block = described(r, command)[name]
        assert block[b"type"] == b"block"
        assert [dict(zip(p[::2], p[1::2]))[b"name"].decode() for p in block[b"arguments"]] == parts
    assert described(r, "weir.observe")["producer"][b"token"] == b"ONCE"
    assert described(r, "cms.incrby")["item"][b"flags"] == ["multiple"]
    assert described(r, "weir.info")["key"][b"flags"] == ["optional"] and b"flags" not in described(r, "weir.ask")["key"]


def test_flags_and_arity(r):
    rows = r("COMMAND", "INFO", *commands(r))
    assert len(rows) == sum(FAMILIES.values())
    for row in rows:
        name, arity, flags = row[0].decode(), row[1], set(row[2])
        assert ("write" in flags) != ("readonly" in flags), name
        assert "movablekeys" in flags if name.endswith("merge") else "movablekeys" not in flags
        assert abs(arity) >= 2 or name == "weir.info"  # without a key: the protocol
        if version(r) >= (7, 2):  # before, a module's commands are of no category
            assert ("@write" if "write" in flags else "@read") in row[6], name
        grows = {"weir.create", "weir.observe", "weir.merge", "weir.load", "bf.reserve", "bf.add", "bf.madd", "bf.insert",
                 "bf.loadchunk", "bf.load", "cf.reserve", "cf.add", "cf.addnx", "cf.insert", "cf.insertnx", "cf.loadchunk", "cms.initbydim", "cms.initbyprob", "cms.incrby", "cms.merge", "topk.reserve", "topk.add",
                 "topk.incrby"}
        assert ("denyoom" in flags) == (name in grows), name


def test_which_arguments_are_keys(r):
    assert r("COMMAND", "GETKEYS", "WEIR.MERGE", "to", 2, "a", "b") == [b"to", b"a", b"b"]
    assert r("COMMAND", "GETKEYS", "CMS.MERGE", "to", 2, "a", "b", "WEIGHTS", 1, 2) == [b"to", b"a", b"b"]
    assert r("COMMAND", "GETKEYS", "WEIR.OBSERVE", "k", "ONCE", "p", 1, "i") == [b"k"]
    assert r("COMMAND", "GETKEYS", "BF.INSERT", "k", "CAPACITY", 5, "ITEMS", "i") == [b"k"]


def test_a_user_reads_no_key_that_is_not_his(server, r):
    r("ACL", "SETUSER", "u", "on", ">p", "+@all", "~mine*", "%R~read*")
    r("WEIR.CREATE", "mine", "bloom memory=1K seed=1")
    for key in "read", "other":
        r("COPY", "mine", key)
    u = server.client()
    u("AUTH", "u", "p")
    assert u("WEIR.MERGE", "mine", 1, "read") == "OK"
    refused(u, "WEIR.MERGE", "mine", 1, "other", saying="NOPERM")
    refused(u, "WEIR.MERGE", "mine", 2, "read", "other", saying="NOPERM")
    refused(u, "WEIR.OBSERVE", "read", "a", saying="NOPERM")
    assert u("WEIR.ASK", "read", "a") == [0]
    r("ACL", "DELUSER", "u")


def test_categories(server, r):
    if version(r) < (7, 2):
        pytest.skip("before 7.2 a module's commands are of no ACL category")
    r("ACL", "SETUSER", "v", "on", ">p", "-@all", "+@read", "~*")
    v = server.client()
    v("AUTH", "v", "p")
    assert v("BF.EXISTS", "b", "a") == 0
    refused(v, "BF.ADD", "b", "a", saying="NOPERM")
    r("ACL", "DELUSER", "v")


def test_settings(start):
    server = start("DEFAULT", "sbf memory=16K", "LARGEST", "1mb")
    r = server.client()
    r("WEIR.OBSERVE", "f", "a")
    assert r("WEIR.INFO", "f", "spec").startswith(b"sbf memory=16384 ")
    refused(r, "WEIR.CREATE", "g", "recent memory=2M", saying="WEIRMEMORY")
    flat = r("CONFIG", "GET", "weir.*")
    assert dict(zip(flat[::2], flat[1::2])) == {
        b"weir.default": b"sbf memory=16K", b"weir.largest": b"1048576", b"weir.dialect": b"redis",
        b"weir.bf-error-rate": b"0.01", b"weir.bf-initial-size": b"100", b"weir.bf-expansion-factor": b"2",
        b"weir.cf-initial-size": b"1024", b"weir.cf-bucket-size": b"2", b"weir.cf-max-iterations": b"20",
        b"weir.cf-expansion-factor": b"1", b"weir.cf-max-expansions": b"32"}
    r("CONFIG", "SET", "weir.bf-error-rate", ".001", "weir.bf-initial-size", 500, "weir.bf-expansion-factor", 0)
    r("BF.ADD", "defaults", "a")
    assert r("BF.INFO", "defaults", "CAPACITY") == [500] and r("BF.INFO", "defaults", "EXPANSION") == [None]
    refused(r, "CONFIG", "SET", "weir.bf-error-rate", "1", saying="above 0 and below 1")
    r("CONFIG", "SET", "weir.cf-initial-size", 64, "weir.cf-bucket-size", 4)
    r("CF.ADD", "cuckoo", "a")
    assert r("CF.INFO", "cuckoo")[2:4] == [b"Number of buckets", 16] or r("CF.INFO", "cuckoo")[2:4] == ["Number of buckets", 16]
    r("CONFIG", "SET", "weir.largest", "4mb", "weir.default", "bloom memory=8K")
    r("WEIR.CREATE", "g", "recent memory=2M")
    r("WEIR.OBSERVE", "h", "a")
    assert r("WEIR.INFO", "h", "spec").startswith(b"bloom memory=8192 ")
    refused(r, "CONFIG", "SET", "weir.default", "nothing", saying="nothing")
    refused(r, "CONFIG", "SET", "weir.default", "fuse capacity=10", saying="cannot add keys")
    refused(r, "CONFIG", "SET", "weir.dialect", "latin")
    assert r("CONFIG", "GET", "weir.default") == [b"weir.default", b"bloom memory=8K"]
    refused(r, "BF.RESERVE", "b", .0001, 10_000_000, saying="Insufficient memory")


@pytest.mark.parametrize("arguments, why", [
    (["NAME"], "has no value"), (["COLOUR", "red"], "unknown module argument"), (["LARGEST", "much"], "LARGEST: invalid size"),
    (["DEFAULT", "nothing"], "DEFAULT: invalid spec"), (["DIALECT", "latin"], "DIALECT: expected")])
def test_arguments_that_are_wrong(start, arguments, why):
    with pytest.raises(AssertionError):
        start(*arguments)


def test_the_limit_is_for_clients_only(start):
    """Commands that a master accepted are executed by its replicas, and loaded again."""
    master, replica = start(), start("LARGEST", "64kb")
    r, s = master.client(), replica.client()
    r("WEIR.CREATE", "before", "recent memory=1M")
    s("REPLICAOF", "127.0.0.1", master.port)
    while b"master_link_status:up" not in s("INFO", "replication"):
        time.sleep(.02)
    r("WEIR.CREATE", "after", "recent memory=1M")
    r("BF.RESERVE", "b", .01, 1000000)
    r("RESTORE", "restored", 0, r("DUMP", "before"))
    r("WAIT", 1, 10000)
    keys = ["before", "after", "b", "restored"]
    assert s("DEBUG", "DIGEST-VALUE", *keys) == r("DEBUG", "DIGEST-VALUE", *keys)
    s("REPLICAOF", "NO", "ONE")
    s("DEBUG", "RELOAD")
    assert s("DEBUG", "DIGEST-VALUE", *keys) == r("DEBUG", "DIGEST-VALUE", *keys)
    refused(s, "WEIR.CREATE", "mine", "recent memory=1M", saying="WEIRMEMORY")
    refused(s, "RESTORE", "mine", 0, r("DUMP", "before"))


def test_growth_that_the_limit_stops_is_not_replicated(start):
    master, replica = start("LARGEST", "20kb"), start()
    r, s = master.client(), replica.client()
    s("REPLICAOF", "127.0.0.1", master.port)
    while b"master_link_status:up" not in s("INFO", "replication"):
        time.sleep(.02)
    reply = r("BF.MADD", "b", *range(20000))
    assert reply[-1] == "ERR Insufficient memory to create filter" and len(reply) < 20000
    assert r.pipeline([["BF.ADD", "b", "x"]]) == ["ERR Insufficient memory to create filter"]
    r("WAIT", 1, 10000)
    assert s("DEBUG", "DIGEST-VALUE", "b") == r("DEBUG", "DIGEST-VALUE", "b")


def test_replicas_receive_times_and_ttls(start):
    """Also those that the master chose: its bytes and the replica's are equal."""
    master, replica = start(), start()
    r, s = master.client(), replica.client()
    s("REPLICAOF", "127.0.0.1", master.port)
    while b"master_link_status:up" not in s("INFO", "replication"):
        time.sleep(.02)
    r("WEIR.CREATE", "f", "recent memory=2K ttl=4ms-900ms importance=log")
    for i in range(600):
        r("WEIR.OBSERVE", "f", "TTL", i * 7 % 950, i * i % 97)
        r("WEIR.OBSERVE", "f", "TTLS", "WEIGHTED", i, i, f"a{i}", 3 * i % 600, 9, i * i % 89)
        r("WEIR.OBSERVE", "f", "plain", i)
    r("WAIT", 1, 10000)
    assert s("DEBUG", "DIGEST-VALUE", "f") == r("DEBUG", "DIGEST-VALUE", "f")
    assert s("DUMP", "f") == r("DUMP", "f")


def test_maxmemory(start):
    server = start(options=("--maxmemory", "8mb"))
    r = server.client()
    r("WEIR.CREATE", "f", "recent memory=7M")
    refused(r, "WEIR.CREATE", "g", "recent memory=1K", saying="OOM")
    refused(r, "WEIR.OBSERVE", "f", "a", saying="OOM")
    assert r("WEIR.ASK", "f", "a") == [0]
    r("DEL", "f")
    assert r("WEIR.CREATE", "g", "recent memory=1K") == "OK"


def test_keyspace_events(server, r):
    r("CONFIG", "SET", "notify-keyspace-events", "KEAd")
    listener = server.client()
    listener("SUBSCRIBE", "__keyspace@0__:k")
    r("WEIR.CREATE", "k", "recent memory=1K")
    r("WEIR.OBSERVE", "k", "a")
    r("DEL", "k")
    r("BF.ADD", "k", "a")
    r("BF.ADD", "k", "a")  # changes nothing
    r("BF.MADD", "k", "a", "b")
    events = [listener.read()[2] for _ in range(5)]
    assert events == [b"weir.create", b"weir.observe", b"del", b"bf.add", b"bf.add"]
    r("CONFIG", "SET", "notify-keyspace-events", "")


def test_watch_sees_a_change(server, r):
    r("WEIR.CREATE", "k", "bloom memory=1K")
    r("WATCH", "k")
    server.client()("WEIR.OBSERVE", "k", "a")
    r("MULTI")
    r("PING")
    assert r("EXEC") is None


def test_a_cluster_of_one_node(start):
    server = start(options=("--cluster-enabled", "yes", "--cluster-port", str(free_port())))
    r = server.client()
    r("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    while b"cluster_state:ok" not in r("CLUSTER", "INFO"):
        time.sleep(.05)
    r("WEIR.CREATE", "{t}a", "bloom memory=1K seed=1")
    r("WEIR.OBSERVE", "{t}a", "x")
    assert r("WEIR.MERGE", "{t}b", 1, "{t}a") == "OK"
    refused(r, "WEIR.MERGE", "{t}b", 2, "{t}a", "{u}a", saying="CROSSSLOT")
    assert r("BF.ADD", "any", "x") == 1


def test_the_dialect_of_valkey(start):
    r = start("DIALECT", "valkey").client(3)
    assert r("BF.ADD", "b", "a") == 1 and r("BF.ADD", "b", "a") is not False
    assert r("BF.MEXISTS", "b", "a", "x") == [1, 0]
    assert r("BF.INFO", "b", "CAPACITY") == 100
    assert r("BF.INFO", "b", "ERROR") == b"0.01"
    assert r("BF.INFO", "b", "TIGHTENING") == b"0.5"
    assert r("BF.INFO", "b", "MAXSCALEDCAPACITY") > 1000000
    assert r("BF.INSERT", "c", "CAPACITY", 5) == []
    assert r("BF.INFO", "c", "CAPACITY") == 5
    assert r("BF.INSERT", "d") == [] and r("BF.CARD", "d") == 0
    refused(r, "BF.INSERT", "d", "ITEMS", saying="wrong number of arguments")
    all_fields = ["Capacity", "Size", "Number of filters", "Number of items inserted", "Error rate", "Expansion rate",
                  "Tightening ratio", "Max scaled capacity"]
    assert list(r("BF.INFO", "b")) == all_fields
    r("BF.RESERVE", "fixed", .01, 10, "NONSCALING")
    assert list(r("BF.INFO", "fixed")) == all_fields[:6], "what is said of growth is of filters that grow"
    refused(r, "BF.INFO", "fixed", "TIGHTENING", saying="invalid information value")
    r("SET", "s", "x")
    refused(r, "BF.EXISTS", "s", "a", saying="WRONGTYPE")


def test_errors_in_the_words_of_valkey(start):
    r = start("DIALECT", "valkey").client()
    r("BF.RESERVE", "b", .01, 1, "NONSCALING")
    for command, text in [("BF.RESERVE k 2 100", "ERR (0 < error rate range < 1)"), ("BF.RESERVE k x 100", "ERR bad error rate"),
                          ("BF.RESERVE k 0.1 0", "ERR (capacity should be larger than 0)"),
                          ("BF.RESERVE k 0.1 -1", "ERR bad capacity"), ("BF.INSERT k CAPACITY x ITEMS a", "ERR bad capacity"),
                          ("BF.INSERT k EXPANSION 0.9 ITEMS a", "ERR bad expansion"),
                          ("BF.RESERVE k 0.1 9 EXPANSION 99999", "ERR bad expansion"),
                          ("BF.INSERT k COLOUR red", "ERR unknown argument received"),
                          ("BF.INFO b colour", "ERR invalid information value"),
                          ("BF.RESERVE k 0.00001 1000000000", "ERR operation exceeds bloom object memory limit"),
                          ("BF.RESERVE b 0.1 9", "ERR item exists"), ("BF.INFO none", "ERR not found")]:
        assert refused(r, *command.split()) == text
    assert r("BF.INSERT", "b", "NONSCALING", "EXPANSION", 1, "ITEMS", "a") == [1]
    assert r("BF.INSERT", "b", "ITEMS", "c")[0] == "ERR non scaling filter is full"


def test_two_of_them(server, r):
    """A second module with the same commands is rejected, and the server keeps running."""
    with pytest.raises(ReplyError):
        r("MODULE", "LOAD", os.environ["WEIR_MODULE"], "NAME", "other")
    assert r("BF.ADD", "b", "a") == 1


def section(r, name):
    lines = r("INFO", name).decode().split("\r\n")
    return {k: int(v) for k, v in (line.split(":") for line in lines if ":" in line)}


def test_info(start):
    r = start().client()
    assert section(r, "weir_stats") == {"weir_values": 0, "weir_evictions": 0, "weir_merges": 0, "weir_background_jobs": 0,
                                        "weir_longest_call_usec": 0}
    used = section(r, "weir_memory")["weir_bytes"]
    r("WEIR.CREATE", "a", "bloom memory=1M seed=1")
    r("COPY", "a", "b")
    r("WEIR.MERGE", "a", 1, "b")
    r("TOPK.RESERVE", "t", 1)
    r("TOPK.ADD", "t", "x", "y", "y")
    r("BF.MADD", "f", *range(5000))
    stats, memory = section(r, "weir_stats"), section(r, "weir_memory")
    assert (stats["weir_values"], stats["weir_evictions"], stats["weir_merges"]) == (4, 1, 1)
    assert stats["weir_longest_call_usec"] > 0
    keys = r("KEYS", "*")
    usage = sum(r("MEMORY", "USAGE", key) for key in keys)
    assert used == 0 and .95 * usage < memory["weir_bytes"] <= usage and memory["weir_largest"] == 1 << 30
    r("FLUSHALL")
    assert section(r, "weir_memory")["weir_bytes"] == 0 == section(r, "weir_stats")["weir_values"]


def used_memory(r):
    return int(r("INFO", "memory").split(b"used_memory:")[1].split(b"\r")[0])


def test_memory_usage_is_what_the_allocator_counts(start):
    r = start("LARGEST", "0").client()
    for command in ["WEIR.CREATE", "k", "recent memory=9M"], ["BF.RESERVE", "k", .001, 700_000], ["CF.RESERVE", "k", 900_000], \
            ["CMS.INITBYDIM", "k", 300_000, 5], ["TOPK.RESERVE", "k", 1000, 40_000, 5, .9], \
            ["BF.INSERT", "k", "CAPACITY", 1000, "EXPANSION", 1, "ITEMS", *range(200_000)]:
        r("FLUSHALL")
        r("MEMORY", "PURGE")
        empty = used_memory(r)
        r(*command)
        taken = used_memory(r) - empty
        assert taken < 1.05 * r("MEMORY", "USAGE", "k") + 200_000, command[0]


def test_the_name_bf(start):
    """Clients look for this name, and skip what the version does not have."""
    r = start("NAME", "bf").client()
    module = r("MODULE", "LIST")[0]
    assert module[3] == 20820
    assert section(r, "bf_stats")["bf_values"] == 0
    assert r("CONFIG", "GET", "bf.bf-initial-size") == [b"bf.bf-initial-size", b"100"]
