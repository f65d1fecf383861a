"""Under load: a replica, a full synchronisation, a background save, a crash."""
import random
import re
import threading

from conftest import LONG
from test_survival import SPECS, digests, wait

COMMANDS = 100_000 if LONG else 20_000


def mixed(rng, n):
    """Commands of all families, some of them wrong."""
    for i in range(n):
        key = rng.randrange(4)
        items = [f"i{rng.randrange(20000)}" for _ in range(rng.choice((1, 1, 2, 5, 20)))]
        weighed = [x for item in items for x in (item, rng.randrange(100))]
        yield rng.choice([
            ["WEIR.OBSERVE", f"w{rng.randrange(len(SPECS))}", *items],
            ["WEIR.OBSERVE", f"w{rng.randrange(len(SPECS))}", "WEIGHTED", *[x for item in items for x in (5, item)]],
            ["WEIR.OBSERVE", f"w{key}", "ONCE", f"p{rng.randrange(3)}", i // 2, *items],
            ["WEIR.OBSERVE", f"default{key}", *items],
            ["WEIR.FORGET", "w4", *items], ["WEIR.ASK", f"w{key}", *items],
            ["BF.MADD", f"b{key}", *items], ["BF.ADD", f"b{key}", items[0]],
            ["BF.INSERT", f"b{key}", "CAPACITY", 50, "ITEMS", *items], ["BF.RESERVE", f"b{key}", .01, 20, "NONSCALING"],
            ["CMS.INITBYDIM", f"c{key}", 50, 3], ["CMS.INCRBY", f"c{key}", *weighed], ["CMS.MERGE", "c0", 2, "c1", "c2"],
            ["CF.RESERVE", f"u{key}", 50, "EXPANSION", key], ["CF.INSERT", f"u{key}", "ITEMS", *items],
            ["CF.ADDNX", f"u{key}", items[0]], ["CF.DEL", f"u{key}", items[0]], ["CF.ADD", f"u{key}", "same"],
            ["TOPK.RESERVE", f"t{key}", 5], ["TOPK.ADD", f"t{key}", *items], ["TOPK.INCRBY", f"t{key}", *weighed],
            ["DEL", f"{rng.choice('bctu')}{key}"] if i % 50 == 0 else ["BF.EXISTS", f"b{key}", items[0]],
        ])


def prepare(r):
    for i, spec in enumerate(SPECS):
        r("WEIR.CREATE", f"w{i}", spec)


def send(r, commands):
    for i in range(0, len(commands), 500):
        r.pipeline(commands[i:i + 500])


def written(seed):
    return list(mixed(random.Random(seed), COMMANDS))


def caught_up(r, s):
    """The replica has all keys of the master. (WAIT covers only writes of its own connection.)"""
    def offset(client, name):
        return re.search(name + rb":(\d+)", client("INFO", "replication")).group(1)

    return offset(r, b"master_repl_offset") == offset(s, b"slave_repl_offset")


def test_replica_after_many_commands(start):
    master, replica = start(), start()
    r, s = master.client(), replica.client()
    s("REPLICAOF", "127.0.0.1", master.port)
    wait(lambda: b"master_link_status:up" in s("INFO", "replication"))
    prepare(r)
    send(r, written(1))
    wait(lambda: caught_up(r, s), 120)
    assert len(digests(r)) > 20 and digests(s) == digests(r)


def test_full_synchronisation_under_load(start):
    """The writer goes on until the replica is up, and a while longer. A machine that is busy may hold up a server for
    longer than it would wait for the other."""
    options = ("--repl-timeout", "600", "--repl-diskless-sync-delay", "0")
    master, replica = start(options=options), start(options=options)
    r, s = master.client(), replica.client()
    prepare(r)
    r("BF.RESERVE", "large", .001, 2_000_000)
    commands, up, rounds = written(2), threading.Event(), []

    def write(client):
        while not up.is_set() or len(rounds) < 2:
            send(client, commands)
            rounds.append(1)

    writer = threading.Thread(target=write, args=(master.client(),))
    writer.start()
    try:
        wait(lambda: r("DBSIZE") > 20)
        s("REPLICAOF", "127.0.0.1", master.port)
        wait(lambda: b"master_link_status:up" in s("INFO", "replication"), 120)
    finally:
        up.set()
        writer.join()
    wait(lambda: caught_up(r, s), 120)
    assert digests(s) == digests(r)


def test_background_save_under_load(start):
    server = start()
    r = server.client()
    prepare(r)
    writer = threading.Thread(target=send, args=(server.client(), written(3)))
    writer.start()
    for _ in range(3):
        r("BGSAVE")
        wait(lambda: b"rdb_bgsave_in_progress:0" in r("INFO", "persistence"))
        assert b"rdb_last_bgsave_status:ok" in r("INFO", "persistence")
    writer.join()
    before = digests(r)
    r("SAVE")
    server.kill()
    server.start()
    assert digests(server.client()) == before


def test_no_acknowledged_command_is_lost(start):
    server = start(options=("--appendonly", "yes", "--appendfsync", "always"))
    r = server.client()
    r("WEIR.CREATE", "w", "bloom memory=1M k=8")
    acknowledged = []

    def write():
        client = server.client()
        try:
            for i in range(100_000):
                client("WEIR.OBSERVE", "w", f"i{i}")
                client("BF.ADD", "b", f"i{i}")
                acknowledged.append(f"i{i}")
        except (ConnectionError, OSError):
            pass

    writer = threading.Thread(target=write)
    writer.start()
    wait(lambda: len(acknowledged) > 500)
    server.kill()
    writer.join()
    server.start()
    r = server.client()
    assert len(acknowledged) > 500
    assert r("WEIR.ASK", "w", *acknowledged) == [1] * len(acknowledged)
    assert r("BF.MEXISTS", "b", *acknowledged) == [1] * len(acknowledged)
