"""Values of RedisBloom: every reply and every byte equals the model's (redisbloom.py), and the replies that real servers
gave (redisbloom/ in the directory that WEIR_TRACES names)."""
import json
import lzma
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import time

import pytest
from conftest import LONG, MODULE, refused
from forge import crc64, payload
from redisbloom import Bloom, Counts, Cuckoo, Top, body, double, number, string
from resp import Client, Error
from servers import free_port

RECORDED = pathlib.Path(os.environ.get("WEIR_TRACES", "/nowhere")) / "redisbloom"
VERSIONS = ["2.8.20", "head"]
needs_recordings = pytest.mark.skipif(not RECORDED.is_dir(), reason="WEIR_TRACES names no directory with redisbloom/")


def items(n, seed=0):
    """Of all lengths, so that every tail of the hash functions occurs."""
    rng = random.Random(seed)
    return [rng.randbytes(rng.randrange(40)) + b"%d" % i for i in range(n)]


def filled_bloom(**parameters):
    bloom = Bloom(**parameters)
    for item in items(600):
        bloom.add(item)
    return bloom


def filled_cuckoo(**parameters):
    cuckoo = Cuckoo(**parameters)
    for item in items(400):
        cuckoo.add(item)
    for item in items(400)[::9]:
        cuckoo.delete(item)
    return cuckoo


def filled_counts(width=50, depth=4):
    counts, rng = Counts(width, depth), random.Random(1)
    for item in items(300):
        counts.add(item, rng.randrange(1000))
    return counts


def filled_top(k=20, decay=1.0):
    top, rng = Top(k, decay=decay), random.Random(2)
    for _ in range(2000):
        top.add(b"item%d" % int(rng.paretovariate(.8)), rng.randrange(1, 4))
    return top


BLOOMS = [{"capacity": 100, "error": .01}, {"capacity": 50, "error": .1, "growth": 1}, {"capacity": 700, "options": 13},
          {"capacity": 64, "options": 0}, {"capacity": 33, "options": 1, "error": .001}, {"capacity": 80, "options": 4, "growth": 4},
          {"capacity": 900, "options": 12}, {"capacity": 1, "error": 1e-9, "growth": 8}]
CUCKOOS = [{}, {"capacity": 64}, {"capacity": 64, "slots": 1, "growth": 2}, {"capacity": 30, "slots": 5, "iterations": 3},
           {"capacity": 2000, "growth": 0}]
ANY = {"bloom": filled_bloom, "cuckoo": filled_cuckoo, "counts": filled_counts, "top": filled_top}


def check_bloom(r, key, bloom, asked=None):
    asked = asked or items(600) + items(600, 9)
    assert r("BF.MEXISTS", key, *asked) == [bloom.exists(x) for x in asked]
    assert r("BF.CARD", key) == bloom.size
    flat = r("BF.INFO", key)
    assert flat[1] == sum(layer.entries for layer in bloom.layers) and flat[5] == len(bloom.layers)
    assert flat[3] == 32 + sum(64 + len(layer.cells) for layer in bloom.layers)


def check_cuckoo(r, key, cuckoo):
    asked = items(400) + items(300, 9)
    counts = [cuckoo.count(x) for x in asked]
    assert r.pipeline([["CF.COUNT", key, x] for x in asked]) == counts
    assert r("CF.MEXISTS", key, *asked) == [int(c > 0) for c in counts]
    flat = r("CF.INFO", key)
    assert flat[3:10:2] == [cuckoo.buckets, len(cuckoo.filters), cuckoo.items, cuckoo.deletes]


def dumped(r, key, family):
    iterator, found = 0, []
    while (reply := r(family + ".SCANDUMP", key, iterator))[0]:
        iterator = reply[0]
        found.append(tuple(reply))
    return found


# ---- against the model ----

@pytest.mark.parametrize("parameters", BLOOMS)
def test_bloom_filters(r, parameters):
    bloom = filled_bloom(**parameters)
    assert r("RESTORE", "b", 0, bloom.dump()) == "OK"
    assert r("TYPE", "b") == "MBbloom--"
    check_bloom(r, "b", bloom)
    assert dumped(r, "b", "BF") == bloom.chunks()


@pytest.mark.parametrize("parameters", BLOOMS)
def test_bloom_filters_grow_as_in_redisbloom(r, parameters):
    bloom = Bloom(**parameters)
    r("RESTORE", "b", 0, bloom.dump())
    new = items(1500, 3)
    for at in range(0, 1500, 50):
        expected = [bloom.add(x) for x in new[at:at + 50]]
        if None in expected:
            expected = expected[:expected.index(None)] + ["ERR non scaling filter is full"]
        assert r("BF.MADD", "b", *new[at:at + 50]) == expected
        if isinstance(expected[-1], str):
            break
    assert dumped(r, "b", "BF") == bloom.chunks()
    check_bloom(r, "b", bloom)


@pytest.mark.parametrize("parameters", CUCKOOS)
def test_cuckoo_filters(r, parameters):
    cuckoo = filled_cuckoo(**parameters)
    assert r("RESTORE", "c", 0, cuckoo.dump()) == "OK"
    check_cuckoo(r, "c", cuckoo)
    assert dumped(r, "c", "CF") == cuckoo.chunks()


@pytest.mark.parametrize("parameters", CUCKOOS)
def test_cuckoo_filters_change_as_in_redisbloom(r, parameters):
    cuckoo, rng, new = Cuckoo(**parameters), random.Random(4), items(250, 5)
    r("RESTORE", "c", 0, cuckoo.dump())
    for _ in range(900):
        item = rng.choice(new)
        if rng.random() < .6:
            assert r.raw("CF.ADD", "c", item) == (cuckoo.add(item) or "Filter is full")
        else:
            assert r("CF.DEL", "c", item) == cuckoo.delete(item)
    assert dumped(r, "c", "CF") == cuckoo.chunks()
    assert r("CF.COMPACT", "c") == "OK"
    cuckoo.compact()
    assert dumped(r, "c", "CF") == cuckoo.chunks()
    check_cuckoo(r, "c", cuckoo)


def test_counts(r):
    counts = filled_counts()
    assert r("RESTORE", "c", 0, counts.dump()) == "OK"
    asked = items(300) + items(100, 9)
    assert r("CMS.QUERY", "c", *asked) == [counts.query(x) for x in asked]
    assert r("CMS.INFO", "c")[5] == counts.counter
    for item in asked:
        assert r("CMS.INCRBY", "c", item, 7) == [counts.add(item, 7)]
    reply = r("CMS.INCRBY", "c", "a", (1 << 32) - 1, "b", 1 << 40)
    assert [str(x) for x in reply] == ["CMS: INCRBY overflow"] * 2
    assert counts.add(b"a", (1 << 32) - 1) == counts.add(b"b", 1 << 40) == (1 << 32) - 1
    assert r("CMS.QUERY", "c", *asked) == [counts.query(x) for x in asked]


def test_counts_are_merged(r):
    """Sketches of one layout; those that are empty may have another."""
    one, two = filled_counts(), Counts(50, 4)
    two.add(b"x", 5)
    for key, counts in ("a", one), ("b", two), ("to", filled_counts()):
        r("RESTORE", key, 0, counts.dump())
    for into in "to", "new":
        if into == "new":
            r("CMS.INITBYDIM", into, 50, 4)
        assert r("CMS.MERGE", into, 2, "a", "b", "WEIGHTS", 2, 3) == "OK"
        assert r("CMS.QUERY", into, "x") == [2 * one.query(b"x") + 15 if one.query(b"x") else 15]
        assert r("CMS.INFO", into)[5] == 2 * one.counter + 15
        assert r("TYPE", into) == "CMSk-TYPE"
    assert refused(r, "CMS.MERGE", "to", 1, "a", "WEIGHTS", -1) == "CMS: MERGE overflow"
    r("CMS.INITBYDIM", "ours", 50, 4)
    r("CMS.INCRBY", "ours", "x", 1)
    before = r("DEBUG", "DIGEST-VALUE", "to")
    refused(r, "CMS.MERGE", "to", 2, "a", "ours", saying="cannot merge")
    assert r("DEBUG", "DIGEST-VALUE", "to") == before
    assert r("CMS.MERGE", "to", 1, "ours") == "OK" and r("CMS.QUERY", "to", "x") == [1]


@pytest.mark.parametrize("decay", [1.0, 0.0])
def test_top_lists(r, decay):
    top = filled_top(decay=decay)
    assert r("RESTORE", "t", 0, top.dump()) == "OK"
    asked = [b"item%d" % i for i in range(300)]
    assert r("TOPK.QUERY", "t", *asked) == [int(top.place(x) is not None) for x in asked]
    assert r("TOPK.COUNT", "t", *asked) == [top.count(x) for x in asked]
    rng = random.Random(8)
    for _ in range(600):
        item = b"item%d" % int(rng.paretovariate(.5))
        assert r("TOPK.INCRBY", "t", item, 2) == [top.add(item, 2)]
    flat = r("TOPK.LIST", "t", "WITHCOUNT")
    assert list(zip(flat[::2], flat[1::2])) == top.list()
    assert r("TOPK.COUNT", "t", *asked) == [top.count(x) for x in asked]


@pytest.mark.parametrize("family", ANY)
def test_a_dump_has_the_same_bytes_again(r, family):
    """So RedisBloom can load what weir saves."""
    value = ANY[family]()
    r("CONFIG", "SET", "rdbcompression", "no")
    r("RESTORE", "k", 0, value.dump())
    again = r("DUMP", "k")
    r("CONFIG", "SET", "rdbcompression", "yes")
    r("RESTORE", "copy", 0, again)
    assert r("DEBUG", "DIGEST-VALUE", "k") == r("DEBUG", "DIGEST-VALUE", "copy")
    assert len(again) <= len(value.dump())


@pytest.mark.parametrize("family", ANY)
def test_persistence_and_replication(start, family):
    master, replica = start(), start()
    r, s = master.client(), replica.client()
    s("REPLICAOF", "127.0.0.1", master.port)
    while b"master_link_status:up" not in s("INFO", "replication"):
        time.sleep(.02)
    r("RESTORE", "k", 0, ANY[family]().dump())
    commands = {"bloom": ["BF.MADD", "k", *items(900, 6)], "cuckoo": ["CF.INSERT", "k", "ITEMS", *items(900, 6)],
                "counts": ["CMS.INCRBY", "k", *(x for item in items(50, 6) for x in (item, 3))],
                "top": ["TOPK.ADD", "k", *items(500, 6)]}
    r(*commands[family])
    digest = r("DEBUG", "DIGEST-VALUE", "k")
    r("WAIT", 1, 10000)
    assert s("DEBUG", "DIGEST-VALUE", "k") == digest
    assert r("COPY", "k", "copy") == 1 and r("DEBUG", "DIGEST-VALUE", "copy") == digest
    r("DEBUG", "RELOAD")
    assert r("DEBUG", "DIGEST-VALUE", "k") == digest
    r("CONFIG", "SET", "aof-use-rdb-preamble", "no", "appendonly", "yes")
    while b"aof_rewrite_in_progress:1" in r("INFO", "persistence") or b"scheduled:1" in r("INFO", "persistence"):
        time.sleep(.02)
    r("DEBUG", "LOADAOF")
    assert r("DEBUG", "DIGEST-VALUE", "k") == digest
    data = r("WEIR.SAVE", "k", 0)[1]
    assert r("WEIR.LOAD", "loaded", 0, data) == "OK" and r("DEBUG", "DIGEST-VALUE", "loaded") == digest
    assert 0 < r("MEMORY", "USAGE", "k") < 200_000


def test_a_server_starts_with_a_database_of_redisbloom(start):
    """A whole RDB file, written here."""
    values = {b"bloom": filled_bloom(), b"cuckoo": filled_cuckoo(), b"counts": filled_counts(), b"top": filled_top()}
    server = start()
    directory = pathlib.Path(server.directory)
    server.kill()
    rdb = b"REDIS0010\xfe\0" + b"".join(
        b"\7" + bytes([len(key)]) + key + value.body()[1:] for key, value in values.items()) + b"\xff"
    (directory / "dump.rdb").write_bytes(rdb + struct.pack("<Q", crc64(rdb)))
    server.start()
    r = server.client()
    check_bloom(r, "bloom", values[b"bloom"])
    check_cuckoo(r, "cuckoo", values[b"cuckoo"])
    asked = items(300)
    assert r("CMS.QUERY", "counts", *asked) == [values[b"counts"].query(x) for x in asked]
    flat = r("TOPK.LIST", "top", "WITHCOUNT")
    assert list(zip(flat[::2], flat[1::2])) == values[b"top"].list()


# ---- chunks ----

@pytest.mark.parametrize("family, value", [("BF", filled_bloom()), ("CF", filled_cuckoo(capacity=64, growth=2))])
def test_chunks_are_loaded(r, family, value):
    for cursor, data in value.chunks():
        assert r(family + ".LOADCHUNK", "k", cursor, data) == "OK"
    assert dumped(r, "k", family) == value.chunks()
    assert refused(r, family + ".LOADCHUNK", "k", *value.chunks()[0]) == "ERR item exists"
    (check_bloom if family == "BF" else check_cuckoo)(r, "k", value)


def test_chunks_may_be_pieces_of_a_filter(r):
    value = filled_bloom(capacity=700)
    (_, head), (end, cells) = value.chunks()
    r("BF.LOADCHUNK", "k", 1, head)
    for at in range(0, len(cells), 100):
        piece = cells[at:at + 100]
        assert r("BF.LOADCHUNK", "k", 1 + at + len(piece), piece) == "OK"
    check_bloom(r, "k", value)


@pytest.mark.parametrize("family, value", [("BF", filled_bloom()), ("CF", filled_cuckoo())])
def test_bad_chunks(r, family, value):
    (_, head), (end, cells), *rest = value.chunks()
    for wrong in b"", head[:-1], head + b"\0", b"\xff" * len(head):
        assert refused(r, family + ".LOADCHUNK", "k", 1, wrong) == "received bad data"
    assert r("EXISTS", "k") == 0
    r(family + ".LOADCHUNK", "k", 1, head)
    total = sum(len(c) for _, c in value.chunks()[1:])
    for cursor in -1, 0, len(cells), end + total + 1, 1 << 62:
        refused(r, family + ".LOADCHUNK", "k", cursor, cells)
    refused(r, family + ".LOADCHUNK", "k", 2, b"")
    assert r(family + ".SCANDUMP", "k", 1 + total) == [0, b"" if family == "BF" else None]
    r(family + ".LOADCHUNK", "k", end, cells)
    assert r("PING") == "PONG"


# ---- untrusted input ----

def test_other_versions_are_refused(start):
    server = start(options=("--logfile", "server.log"))
    r = server.client()
    for value, versions in (filled_bloom(), (0, 1, 2, 3, 5)), (filled_cuckoo(), (1, 3, 5)), (filled_counts(), (1,)), \
            (filled_top(), (1,)):
        for version in versions:
            refused(r, "RESTORE", "k", 0, value.dump(version))
            text = f"type {value.name} with encoding version {version}; only version {value.version}"
            assert text in (pathlib.Path(server.directory) / "server.log").read_text()


USES = [["BF.MEXISTS", "k", "a", "b"], ["BF.MADD", "k", *range(20)], ["BF.INFO", "k"], ["BF.DEBUG", "k"],
        ["BF.SCANDUMP", "k", 0], ["BF.SCANDUMP", "k", 1], ["CF.ADD", "k", "a"], ["CF.COUNT", "k", "a"], ["CF.DEL", "k", "a"],
        ["CF.INSERT", "k", "ITEMS", *range(20)], ["CF.COMPACT", "k"], ["CF.INFO", "k"], ["CF.SCANDUMP", "k", 0],
        ["CMS.INCRBY", "k", "a", 5], ["CMS.QUERY", "k", "a"], ["CMS.MERGE", "k", 1, "k"], ["TOPK.ADD", "k", *range(9)],
        ["TOPK.COUNT", "k", "item1"], ["TOPK.QUERY", "k", "item1"], ["TOPK.LIST", "k", "WITHCOUNT"], ["WEIR.SAVE", "k", 0],
        ["DUMP", "k"], ["COPY", "k", "l", "REPLACE"], ["DEBUG", "DIGEST-VALUE", "k"], ["MEMORY", "USAGE", "k"]]


def restored(r, dump):
    replies = r.pipeline([["DEL", "k"], ["RESTORE", "k", 0, dump], *USES])
    return not isinstance(replies[1], Error)


SMALL = {"bloom": lambda: Bloom(capacity=5, error=.1), "cuckoo": lambda: Cuckoo(capacity=8, growth=2),
         "counts": lambda: Counts(3, 2), "top": lambda: filled_top(k=3)}


@pytest.mark.parametrize("family", SMALL)
def test_forged_dumps(r, family):
    """Every byte changed, and every number replaced by extreme ones, with a correct checksum."""
    whole = SMALL[family]().dump()[:-8]
    rng, taken = random.Random(7), 0
    numbers = [i for i in range(10, len(whole) - 9) if whole[i] == 2 and whole[i + 1] == 0x81]
    assert restored(r, payload(whole)) and len(numbers) > 2
    for at in numbers:
        for value in 0, 1, 3, 255, 1 << 16, (1 << 31) - 1, 1 << 32, 1 << 56, 1 << 61, (1 << 63) - 1, (1 << 64) - 1:
            taken += restored(r, payload(whole[:at + 2] + struct.pack(">Q", value) + whole[at + 10:]))
    places = range(1, len(whole)) if LONG else sorted(rng.sample(range(1, len(whole)), min(250, len(whole) - 1)))
    for at in places:
        for change in 0xff, 1 << rng.randrange(8):
            taken += restored(r, payload(whole[:at] + bytes([whole[at] ^ change]) + whole[at + 1:]))
        assert not restored(r, payload(whole[:at] + whole[-2:])) or at > len(whole) - 14, "what follows may be read as the end"
    assert r("PING") == "PONG" and taken > 0


@pytest.mark.parametrize("family, value", [("BF", Bloom(capacity=5)), ("CF", Cuckoo(capacity=8, growth=2))])
def test_forged_headers(r, family, value):
    head, rng = value.chunks()[0][1], random.Random(9)
    for _ in range(6000 if LONG else 1500):
        changed = bytearray(head)
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.randrange(len(head))
            some = rng.choice((b"\xff", b"\0", b"\1", bytes(8), b"\xff" * 8, struct.pack("<Q", 1 << rng.randrange(64))))
            changed[at:at + len(some)] = some
        changed = bytes(changed[:len(head)])
        r.pipeline([["DEL", "k"], [family + ".LOADCHUNK", "k", 1, changed], *USES])
    assert r("PING") == "PONG"
    assert int(r("MEMORY", "STATS")[1]) < 1 << 31, "peak memory"


def test_sizes_are_checked_before_memory_is_taken(start):
    r = start("LARGEST", "1mb").client()
    large = Bloom(capacity=10, error=.01)
    large.layers[0].cells = bytearray(4 << 20)
    refused(r, "RESTORE", "k", 0, large.dump())
    head = large.chunks()[0][1]
    assert refused(r, "BF.LOADCHUNK", "k", 1, head) == "ERR Insufficient memory to create filter"
    lie = body("CMSk-TYPE", 0, number(1 << 30), number(1 << 20), number(0), string(b"1234"))
    refused(r, "RESTORE", "k", 0, payload(lie + struct.pack("<H", 10)))
    for width, depth in (1 << 40, 1 << 24), (1 << 32, 1 << 32), (1 << 62, 4):  # 2^64 cells
        lie = body("CMSk-TYPE", 0, number(width), number(depth), number(0), string(b""))
        refused(r, "RESTORE", "k", 0, payload(lie + struct.pack("<H", 10)))
    for width, depth in (1 << 32, 1 << 32), (1 << 31, 1 << 33), ((1 << 32) - 1, (1 << 32) - 1):
        lie = body("TopK-TYPE", 0, number(1), number(width), number(depth), double(.9), string(b""), string(bytes(24)),
                   string(b"\0"))
        refused(r, "RESTORE", "k", 0, payload(lie + struct.pack("<H", 10)))
    lie = body("MBbloomCF", 4, *map(number, (65535, 1 << 55, 0, 0, 255, 20, 1)))
    refused(r, "RESTORE", "k", 0, payload(lie + struct.pack("<H", 10)))


# ---- against what servers of RedisBloom replied ----

def recorded(version, name):
    return lzma.open(RECORDED / version / (name + ".xz")).read()


def as_redis_7(dump):
    """With the RDB version of Redis 7.0; later servers write the same values with another number."""
    return payload(dump[:-10] + struct.pack("<H", 10))


FAMILIES = {"bf": "BF", "cf": "CF", "cms": "CMS", "topk": "TOPK"}


def replies(r, key, asked):
    family = key.split(":")[0]
    if family == "bf":
        return r("BF.MEXISTS", key, *asked)
    if family == "cf":
        counts = r.pipeline([["CF.COUNT", key, x] for x in asked])
        assert [int(c > 0) for c in counts] == r("CF.MEXISTS", key, *asked)
        return counts
    if family == "cms":
        return r("CMS.QUERY", key, *asked)
    return [list(pair) for pair in zip(r("TOPK.QUERY", key, *asked), r("TOPK.COUNT", key, *asked))]


def plain(reply):
    """INFO as it was recorded: text, with doubles as text."""
    reply = [x.decode() if isinstance(x, bytes) else x for x in reply]
    return [str(float(x)) if isinstance(x, str) and x.startswith("0.") else x for x in reply]


def check_recorded(r, version):
    """Returns the number of replies compared."""
    keys, compared = {}, 0
    for line in recorded(version, "answers.tsv").decode().splitlines():
        key, item, answer = line.split("\t")
        keys.setdefault(key, []).append((bytes.fromhex(item), json.loads(answer)))
    info = json.loads(recorded(version, "info.json"))
    for key, rows in keys.items():
        if not r("EXISTS", key):
            continue
        for at in range(0, len(rows), 1000):
            some = rows[at:at + 1000]
            assert replies(r, key, [item for item, _ in some]) == [answer for _, answer in some], key
            compared += len(some)
        assert plain(r(FAMILIES[key.split(":")[0]] + ".INFO", key)) == plain(info["info"][key]), key
        if key in info["topk"]:
            listed = r("TOPK.LIST", key, "WITHCOUNT")
            assert [x.decode(errors="backslashreplace") if isinstance(x, bytes) else x for x in listed] == \
                info["topk"][key]
    return compared


@needs_recordings
@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_dumps(r, version):
    for key, dump in json.loads(recorded(version, "dump.json")).items():
        assert r("RESTORE", key, 0, as_redis_7(bytes.fromhex(dump))) == "OK"
    assert check_recorded(r, version) == 122280
    r("DEBUG", "RELOAD")
    assert check_recorded(r, version) == 122280


@needs_recordings
@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_chunks(r, version):
    for key, some in json.loads(recorded(version, "scandump.json")).items():
        family = FAMILIES[key.split(":")[0]]
        loaded = [[cursor, data] for cursor, data in some if cursor]
        for cursor, data in loaded:
            assert r(family + ".LOADCHUNK", key, cursor, bytes.fromhex(data)) == "OK"
        assert [[cursor, data.hex()] for cursor, data in (dumped(r, key, family) if loaded else [])] == loaded
    assert check_recorded(r, version) > 100000


@needs_recordings
@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_aof(start, version):
    """An AOF of commands is read as it is; in one that begins with an RDB, that has the version of its server."""
    server = start()
    r = server.client()
    data = recorded(version, "rewritten.aof")
    words, at = [], 0
    assert data[:1] == b"*"
    while at < len(data):
        end = data.index(b"\r\n", at)
        count, at, command = int(data[at + 1:end]), end + 2, []
        for _ in range(count):
            end = data.index(b"\r\n", at)
            size = int(data[at + 1:end])
            command.append(data[end + 2:end + 2 + size])
            at = end + 4 + size
        words.append([command[0], *command[1:3], as_redis_7(command[3])] if command[0] == b"RESTORE" else command)
    assert all(reply == "OK" for reply in r.pipeline(words))
    assert check_recorded(r, version) == 122280


@needs_recordings
@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_rdb(start, version):
    server = start()
    server.kill()
    data = recorded(version, "dump.rdb")
    data = b"REDIS0010" + data[9:-8]
    (pathlib.Path(server.directory) / "dump.rdb").write_bytes(data + struct.pack("<Q", crc64(data)))
    server.start()
    assert check_recorded(server.client(), version) == 122280


# ---- the steps of docs/moving-from-redisbloom.md ----

PAGE = pathlib.Path(os.environ["WEIR_SOURCE"]) / "docs/moving-from-redisbloom.md"


def steps(old, new, port):
    """Every block of commands, with the ports and directories of the test."""
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.M | re.S):
        block = block.replace(" 6379", f" {old.port}").replace(" 6380", f" {port}")
        block = block.replace("old/dump.rdb", f"{old.directory}/dump.rdb").replace("new/", f"{new}/")
        yield block.replace("--dir new", f"--dir {new}").replace("/usr/lib/redis/modules/weir.so", MODULE)


def follow(start, fill, check, tmp_path):
    """The part of RedisBloom is played by a server with weir.so, which saves moved keys in RedisBloom's format."""
    old, port, outputs = start(options=("--dbfilename", "dump.rdb")), free_port(), []
    fill(old.client())
    try:
        for block in steps(old, tmp_path, port):
            done = subprocess.run(["sh", "-e", "-c", block], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0 and "ERR" not in done.stdout, (block, done.stdout, done.stderr)
            outputs.append(done.stdout)
            for _ in range(500 if "redis-server" in block else 0):
                if subprocess.run(["redis-cli", "-p", str(port), "PING"], capture_output=True, text=True).stdout == "PONG\n":
                    break
                time.sleep(.02)
        old_keys, new_keys, *infos = outputs[2].splitlines()
        assert old_keys == new_keys and infos[:len(infos) // 2] == infos[len(infos) // 2:]
        assert outputs[-1] == "OK\n"
        client = Client(port)
        check(client)
        client.close()
    finally:
        subprocess.run(["redis-cli", "-p", str(port), "SHUTDOWN", "NOSAVE"], capture_output=True)


@pytest.mark.skipif(not shutil.which("redis-cli"), reason="redis-cli is missing; scripts/setup test installs it")
def test_the_steps_of_the_page(start, tmp_path):
    values = {"bloom": filled_bloom(), "cuckoo": filled_cuckoo(), "counts": filled_counts(), "top": filled_top()}

    def fill(r):
        for key, value in values.items():
            r("RESTORE", key, 0, value.dump())

    def check(r):
        check_bloom(r, "bloom", values["bloom"])
        check_cuckoo(r, "cuckoo", values["cuckoo"])
        assert r("CMS.QUERY", "counts", *items(300)) == [values["counts"].query(x) for x in items(300)]
        assert r("TOPK.LIST", "top") == [item for item, _ in values["top"].list()]

    follow(start, fill, check, tmp_path)


@needs_recordings
@pytest.mark.parametrize("version", VERSIONS)
def test_the_steps_of_the_page_with_recorded_databases(start, version, tmp_path):
    dumps = json.loads(recorded(version, "dump.json"))
    renamed = {"bloom": "bf:grown:exp2", "cuckoo": "cf:grown", "counts": "cms:dim", "top": "topk:10"}

    def fill(r):
        for key, dump in dumps.items():
            r("RESTORE", key, 0, as_redis_7(bytes.fromhex(dump)))
        for name, key in renamed.items():
            r("RESTORE", name, 0, as_redis_7(bytes.fromhex(dumps[key])))

    follow(start, fill, lambda r: check_recorded(r, version), tmp_path)
