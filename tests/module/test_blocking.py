"""Work on large values: other clients are served meanwhile, and nothing is lost or differs on a replica."""
import threading
import time

import pytest
from conftest import refused
from resp import Error, ReplyError

LARGE = "bloom memory=40M seed=1"  # above what is done at once


def fill(r, key, n=200, spec=LARGE):
    r("WEIR.CREATE", key, spec)
    r("WEIR.OBSERVE", key, *(f"{key}{i}" for i in range(n)))


def items(key, n=200):
    return [f"{key}{i}" for i in range(n)]


@pytest.fixture
def pair(start):
    master, replica = start("LARGEST", "0"), start("LARGEST", "0")
    r, s = master.client(), replica.client()
    s("REPLICAOF", "127.0.0.1", master.port)
    while b"master_link_status:up" not in s("INFO", "replication"):
        time.sleep(.02)
    return master, r, s


def alike(r, s, *keys):
    r("WAIT", 1, 60000)
    return r("DEBUG", "DIGEST-VALUE", *keys) == s("DEBUG", "DIGEST-VALUE", *keys)


def test_merge_of_large_filters(pair):
    _, r, s = pair
    fill(r, "a")
    fill(r, "b")
    for into, n in ("a", 1), ("new", 2):
        assert r("WEIR.MERGE", into, n, *"ba"[:n]) == "OK"
        assert r("WEIR.ASK", into, *items("a"), *items("b")) == [1] * 400
    assert alike(r, s, "a", "b", "new")
    fill(r, "c", spec="bloom memory=40M seed=2")
    refused(r, "WEIR.MERGE", "a", 1, "c", saying="WEIRMISMATCH")
    refused(r, "WEIR.MERGE", "a", 1, "none", saying="WEIRNOKEY")


def test_merge_of_large_sketches(pair):
    _, r, s = pair
    for key in "abc":
        r("CMS.INITBYDIM", key, 500_000, 4)
    r("CMS.INCRBY", "a", "x", 3)
    r("CMS.INCRBY", "b", "x", 4)
    assert r("CMS.MERGE", "c", 2, "a", "b", "WEIGHTS", 1, 2) == "OK" and r("CMS.QUERY", "c", "x") == [11]
    assert r("CMS.MERGE", "a", 1, "b") == "OK" and r("CMS.QUERY", "a", "x") == [4]
    assert refused(r, "CMS.MERGE", "c", 1, "a", "WEIGHTS", -1) == "CMS: MERGE overflow"
    assert alike(r, s, "a", "b", "c")


def test_load_of_a_large_filter(pair):
    _, r, s = pair
    fill(r, "a")
    cursor, chunks = b"0", []
    while True:
        cursor, data = r("WEIR.SAVE", "a", cursor)
        chunks.append((cursor, data))
        if cursor == b"0":
            break
    for cursor, data in chunks:
        assert r("WEIR.LOAD", "b", cursor, data) == "OK"
    assert alike(r, s, "a", "b")
    assert r("DEBUG", "DIGEST-VALUE", "a") == r("DEBUG", "DIGEST-VALUE", "b")
    for cursor, data in chunks[:-1]:
        r("WEIR.LOAD", "bad", cursor, data)
    refused(r, "WEIR.LOAD", "bad", 0, b"x" * len(chunks[-1][1]), saying="WEIRDATA")
    r("WAIT", 1, 60000)
    assert r("EXISTS", "bad") == s("EXISTS", "bad") == 0


@pytest.mark.parametrize("family, key_made", [("BF", ["BF.RESERVE", "a", .01, 20_000_000]), ("CF", ["CF.RESERVE", "a", 10_000_000])])
def test_dump_of_a_large_filter(pair, family, key_made):
    """The chunk with the checksums is made in a thread."""
    _, r, s = pair
    r(*key_made)
    r(family + ".INSERT", "a", "ITEMS", *items("a"))
    iterator = 0
    while True:
        iterator, data = r(family + ".SCANDUMP", "a", iterator)
        if iterator == 0:
            break
        assert r(family + ".LOADCHUNK", "b", iterator, data) == "OK"
    assert r(family + ".MEXISTS", "b", *items("a")) == [1] * 200
    assert b"weir_background_jobs:2" in r("INFO", "weir_stats"), "the chunk, and loading the last one"
    assert r("DEBUG", "DIGEST-VALUE", "a") == r("DEBUG", "DIGEST-VALUE", "b")
    assert alike(r, s, "a", "b")
    assert saved(s, "a") == saved(r, "a"), "a replica can be saved too"


def saved(client, key):
    cursor, data = b"0", b""
    while True:
        cursor, chunk = client("WEIR.SAVE", key, cursor, "CHUNK", 16 << 20)
        data += chunk
        if cursor == b"0":
            return data


def during(master, command, others):
    """Send a long command, and the others while it runs; the replies of both."""
    one, two = master.client(), master.client()
    replies = []
    one.send(*command)
    for words in others:
        replies.append(two.raw(*words))
    return one.read(), replies


def test_others_may_read_but_not_change_the_keys(pair):
    master, r, s = pair
    for key in "ab":
        fill(r, key, spec="bloom memory=48M seed=1")
    reply, others = during(master, ["WEIR.MERGE", "a", 1, "b"],
                           [["WEIR.OBSERVE", "b", "late"], ["WEIR.OBSERVE", "a", "late"], ["WEIR.ASK", "b", "b1"], ["PING"]])
    assert reply == "OK"
    assert others[0].startswith("WEIRBUSY") and others[1].startswith("WEIRBUSY"), "or the merge has finished before"
    assert others[2:] == [[1], "PONG"]
    assert r("WEIR.OBSERVE", "a", "late") == [0] == r("WEIR.OBSERVE", "b", "late")
    assert alike(r, s, "a", "b")


@pytest.mark.parametrize("family", ["filter", "counts"])
def test_a_merge_ends_while_its_destination_is_copied(pair, family):
    """The copies have the state before or after it. Producers and TTL of the destination stay."""
    master, r, s = pair
    for words in LARGE_KEYS[family]:
        r(*words)
    assert r("COPY", "a", "b") == 1
    for key in "ab":
        settled(r, *change(family, key))
    if family == "filter":
        r("WEIR.OBSERVE", "a", "ONCE", "producer", 7, "x")
    r("EXPIRE", "a", 1000)
    before = r("DEBUG", "DIGEST-VALUE", "a")
    merging, copies = master.client(), []
    assert merging("PING") == "PONG"  # otherwise the first COPY may precede the merge
    merging.send("WEIR.MERGE" if family == "filter" else "CMS.MERGE", "a", 1, "b")
    for i in range(8):
        copies.append(f"copy{i}")
        r("COPY", "a", copies[-1])
        time.sleep(.01)
    reply = merging.read()
    assert reply == "OK" or reply.startswith("WEIRBUSY another command"), reply
    assert r("TTL", "a") > 900 and s("TTL", "a") > 900
    if family == "filter":
        assert r("WEIR.INFO", "a", "producers") == 1
    assert all(r("DEBUG", "DIGEST-VALUE", key) in (before, r("DEBUG", "DIGEST-VALUE", "a")) for key in copies)
    assert alike(r, s, "a", "b", *copies)


@pytest.mark.parametrize("meanwhile", [["DEL", "b"], ["DEL", "a"], ["FLUSHALL"], ["RENAME", "b", "c"], ["SET", "b", "x"],
                                       ["UNLINK", "b"]])
def test_a_key_that_is_deleted_meanwhile(pair, meanwhile):
    master, r, s = pair
    for key in "ab":
        fill(r, key, spec="bloom memory=48M seed=1")
    reply, _ = during(master, ["WEIR.MERGE", "a", 1, "b"], [meanwhile])
    assert reply.startswith("WEIRBUSY a key of this command was changed or deleted"), reply
    keys = r("KEYS", "*")
    assert alike(r, s, *keys) if keys else s("DBSIZE") == 0
    assert r("PING") == "PONG"


def test_a_client_that_hangs_up(pair):
    master, r, s = pair
    for key in "ab":
        fill(r, key, spec="bloom memory=48M seed=1")
    client = master.client()
    client.send("WEIR.MERGE", "a", 1, "b")
    client.send("PING")
    time.sleep(.01)
    client.close()
    master.clients.remove(client)
    while True:
        try:
            r("WEIR.OBSERVE", "a", "x")
            break
        except ReplyError:
            time.sleep(.05)
    assert alike(r, s, "a", "b")


LARGE_KEYS = {
    "filter": [["WEIR.CREATE", "a", "recent memory=40M seed=1"], ["WEIR.OBSERVE", "a", *items("a")]],
    "bloom": [["BF.RESERVE", "a", .01, 20_000_000], ["BF.MADD", "a", *items("a")]],
    "cuckoo": [["CF.RESERVE", "a", 10_000_000], ["CF.INSERT", "a", "ITEMS", *items("a")]],
    "counts": [["CMS.INITBYDIM", "a", 2_000_000, 5], ["CMS.INCRBY", "a", *(w for i in items("a") for w in (i, 3))]],
    "top": [["TOPK.RESERVE", "a", 100, 1_000_000, 5, .9], ["TOPK.ADD", "a", *items("a")]],
}
CHANGES = {"filter": "WEIR.OBSERVE", "bloom": "BF.MADD", "cuckoo": "CF.ADD", "counts": "CMS.INCRBY", "top": "TOPK.ADD"}


def change(family, key):
    return [CHANGES[family], key, "late", *([1] if family == "counts" else [])]


def settled(client, *words):
    """The reply, once no thread works on the keys."""
    while (reply := client.raw(*words)).__class__ is Error and reply.startswith("WEIRBUSY"):
        time.sleep(.02)
    return reply


@pytest.mark.parametrize("family", LARGE_KEYS)
def test_copy_of_a_large_value(pair, family):
    """The copy equals its origin at the time of COPY, whatever happens to either while a thread works."""
    master, r, s = pair
    for words in LARGE_KEYS[family]:
        r(*words)
    before = r("DEBUG", "DIGEST-VALUE", "a")
    assert r("COPY", "a", "b") == 1 == r("COPY", "b", "c")
    assert before == r("DEBUG", "DIGEST-VALUE", "b") == r("DEBUG", "DIGEST-VALUE", "c")
    assert r("MEMORY", "USAGE", "a") == r("MEMORY", "USAGE", "b")
    settled(r, *change(family, "a"))
    settled(r, *change(family, "c"))
    changed = r("DEBUG", "DIGEST-VALUE", "a")
    assert before == r("DEBUG", "DIGEST-VALUE", "b") != changed == r("DEBUG", "DIGEST-VALUE", "c")
    assert alike(r, s, "a", "b", "c")


@pytest.mark.parametrize("meanwhile", [["DEL", "a"], ["UNLINK", "b"], ["RENAME", "b", "a"], ["SET", "a", "x"], ["FLUSHALL"],
                                       ["WEIR.OBSERVE", "a", "late"], ["WEIR.OBSERVE", "b", "late"], ["BGSAVE"],
                                       ["EXPIREAT", "a", 1], ["COPY", "b", "a", "REPLACE"], ["COPY", "a", "b", "REPLACE"]])
def test_commands_during_a_copy(pair, meanwhile):
    master, r, s = pair
    fill(r, "a", spec="recent memory=48M seed=1")
    before = r("DEBUG", "DIGEST-VALUE", "a")
    copied, reply = r.pipeline([["COPY", "a", "b"], meanwhile])
    assert copied == 1
    if meanwhile[0] == "WEIR.OBSERVE":
        assert reply.startswith("WEIRBUSY another command is working on the key"), "or the copy has finished before"
        assert settled(r, *meanwhile) == [0]
    keys = [key for key in ("a", "b") if r("TYPE", key) == "weir-filt"]
    untouched = [key for key in keys if meanwhile != ["WEIR.OBSERVE", key, "late"]]
    assert all(r("DEBUG", "DIGEST-VALUE", key) == before for key in untouched)
    assert alike(r, s, *keys) if keys else True
    assert all(settled(r, "WEIR.OBSERVE", key, "later") == [0] for key in keys)
    while b"weir_values:%d" % len(keys) not in r("INFO", "weir_stats"):  # until the thread has ended
        time.sleep(.02)


@pytest.mark.parametrize("saving, options", [
    (["BGSAVE"], []), (["DEBUG", "RELOAD"], []), (["BGREWRITEAOF"], ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"])],
    ids=["rdb", "reload", "aof"])
def test_a_copy_is_saved_while_it_is_made(start, saving, options):
    server = start("LARGEST", "0", options=options)
    r = server.client()
    fill(r, "a", spec="bloom memory=48M seed=1")
    before = r("DEBUG", "DIGEST-VALUE", "a")[0]
    r.pipeline([["COPY", "a", "b"], ["DEL", "a"], saving])
    while b"rdb_bgsave_in_progress:1" in r("INFO", "persistence") or b"aof_rewrite_in_progress:1" in r("INFO", "persistence"):
        time.sleep(.05)
    assert r("DEBUG", "DIGEST-VALUE", "b") == [before]
    server.kill()
    server.start()
    assert server.client()("DEBUG", "DIGEST-VALUE", "b") == [before]


def test_a_server_that_ends_during_a_copy(start):
    server = start("LARGEST", "0")
    r = server.client()
    fill(r, "a", spec="bloom memory=48M seed=1")
    before = r("DEBUG", "DIGEST-VALUE", "a")[0]
    r.send("COPY", "a", "b")
    r.send("SHUTDOWN", "SAVE")
    assert server.process.wait() == 0
    server.start()
    assert server.client()("DEBUG", "DIGEST-VALUE", "a", "b") == [before] * 2


def test_databases_are_swapped_and_a_replica_begins_during_a_copy(pair, start):
    _, r, s = pair
    replica = start("LARGEST", "0")
    fill(r, "a", spec="bloom memory=48M seed=1")
    before = r("DEBUG", "DIGEST-VALUE", "a")[0]
    late = replica.client()
    late("REPLICAOF", "127.0.0.1", pair[0].port)
    copied, swapped, selected, *digests = r.pipeline(
        [["COPY", "a", "b"], ["SWAPDB", 0, 1], ["SELECT", 1], ["DEBUG", "DIGEST-VALUE", "a", "b"]])
    assert copied == 1 and digests == [[before] * 2]
    while b"master_link_status:up" not in late("INFO", "replication"):
        time.sleep(.02)
    settled(r, "WEIR.OBSERVE", "a", "late")
    r("WAIT", 2, 60000)
    for client in s, late:
        client("SELECT", 1)
        assert alike(r, client, "a", "b")


def test_transactions_and_scripts_copy_at_once(pair):
    _, r, s = pair
    fill(r, "a")
    before = r("DEBUG", "DIGEST-VALUE", "a")[0]
    asked = ["WEIR.ASK", "b", *items("a")]
    *_, replies = r.pipeline([["MULTI"], ["COPY", "a", "b"], asked, ["DEBUG", "DIGEST-VALUE", "b"], ["DEL", "a"], ["EXEC"]])
    assert replies == [1, [1] * 200, [before], 1]
    assert r("EVAL", "return redis.call('COPY', KEYS[1], KEYS[2])", 2, "b", "a") == 1
    assert alike(r, s, "a", "b")
    assert r("DEBUG", "DIGEST-VALUE", "a", "b") == [before] * 2


def test_multi_and_scripts(pair):
    """At most 64 MiB of work, because a client cannot be blocked there."""
    _, r, s = pair
    for key in "ab":
        fill(r, key, spec="bloom memory=16M seed=1")
        fill(r, "large" + key)
    r("MULTI")
    r("WEIR.MERGE", "a", 1, "b")
    r("WEIR.MERGE", "largea", 1, "largeb")
    done, refusal = r("EXEC")
    assert done == "OK" and refusal.startswith("WEIRBUSY more than 64 MiB")
    assert r("EVAL", "return redis.call('WEIR.MERGE', KEYS[1], 1, KEYS[2])", 2, "a", "b") == "OK"
    refused(r, "EVAL", "return redis.call('WEIR.MERGE', KEYS[1], 1, KEYS[2])", 2, "largea", "largeb", saying="64 MiB")
    assert alike(r, s, "a", "b", "largea")


def test_saving_during_the_work(start):
    """A child process that saves sees all values as they were."""
    server = start("LARGEST", "0")
    r = server.client()
    for key in "ab":
        fill(r, key, spec="bloom memory=48M seed=1")
    before = r("DEBUG", "DIGEST-VALUE", "a", "b")
    reply, others = during(server, ["WEIR.MERGE", "new", 2, "a", "b"], [["BGSAVE"]])
    assert reply == "OK"
    while b"rdb_bgsave_in_progress:1" in r("INFO", "persistence"):
        time.sleep(.05)
    server.kill()
    server.start()
    assert server.client()("DEBUG", "DIGEST-VALUE", "a", "b") == before


def test_many_at_once(start):
    server = start("LARGEST", "0")
    r = server.client()
    for i in range(4):
        fill(r, f"k{i}")
    replies = []

    def merge(i):
        client = server.client()
        replies.append(client.raw("WEIR.MERGE", f"to{i}", 4, *(f"k{j}" for j in range(4))))

    threads = [threading.Thread(target=merge, args=[i]) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == ["OK"] * 6
    assert len({str(r("DEBUG", "DIGEST-VALUE", f"to{i}")) for i in range(6)}) == 1
