"""WEIR.SAVE and WEIR.LOAD: values in chunks, as files of weir."""
import os
import subprocess
import time

import pytest
from conftest import refused

WEIR = os.environ.get("WEIR")


def save(r, key, chunk=None):
    """The pairs that WEIR.LOAD takes."""
    cursor, pairs = 0, []
    while True:
        cursor, data = r("WEIR.SAVE", key, cursor, *(["CHUNK", chunk] if chunk else []))
        pairs.append((cursor, data))
        if cursor == b"0":
            return pairs


@pytest.mark.parametrize("chunk", [1, 64, 1000, 4096, None])
def test_there_and_back(r, chunk):
    r("WEIR.CREATE", "f", "recent memory=1K" if chunk == 1 else "recent memory=16K")
    r("WEIR.OBSERVE", "f", "ONCE", "p", 1, *range(300))
    pairs = save(r, "f", chunk)
    assert chunk is None or all(len(data) == chunk for _, data in pairs[:-1])
    replies = r.pipeline([["WEIR.LOAD", "g", cursor, data] for cursor, data in pairs])
    assert replies == ["OK"] * len(pairs)
    assert r("DEBUG", "DIGEST-VALUE", "f") == r("DEBUG", "DIGEST-VALUE", "g")
    refused(r, "WEIR.LOAD", "g", *pairs[0], saying="WEIREXISTS")


def chunks_of(r, key, size):
    cursor, chunks = 0, []
    while True:
        cursor, data = r("WEIR.SAVE", key, cursor, "CHUNK", size)
        chunks.append(data)
        if cursor == b"0":
            return chunks


def test_every_chunk_is_a_piece_of_the_same_file(r):
    """Of each family, also where a chunk begins in the second filter of a chain or among the sums."""
    r("WEIR.CREATE", "filter", "bloom memory=3M")
    r("WEIR.OBSERVE", "filter", "ONCE", "p", 1, *range(100))
    r("BF.INSERT", "chain", "CAPACITY", 1000, "ITEMS", *range(20000))
    r("CF.INSERT", "cuckoo", "CAPACITY", 1000, "ITEMS", *range(5000))
    r("CMS.INITBYDIM", "counts", 50000, 3)
    r("TOPK.RESERVE", "top", 50, 10000, 3, .9)
    for i in range(200):
        r("CMS.INCRBY", "counts", i, i)
        r("TOPK.INCRBY", "top", i, i)
    for key in "filter", "chain", "cuckoo", "counts", "top":
        whole, = chunks_of(r, key, 1 << 24)
        for size in 777, 4096, 100_000:
            if len(whole) / size < 1000:
                assert b"".join(chunks_of(r, key, size)) == whole, (key, size)


def test_a_key_that_changes_meanwhile(r):
    r("WEIR.CREATE", "f", "recent memory=16K")
    cursor, _ = r("WEIR.SAVE", "f", 0, "CHUNK", 1000)
    r("WEIR.SAVE", "f", cursor)
    r("WEIR.OBSERVE", "f", "a")
    refused(r, "WEIR.SAVE", "f", cursor, saying="WEIRRESTART")
    r("DEL", "f")
    r("WEIR.CREATE", "f", "recent memory=16K")
    refused(r, "WEIR.SAVE", "f", cursor, saying="WEIRRESTART")


def test_until_the_last_chunk_there_is_no_filter(r):
    r("WEIR.CREATE", "f", "recent memory=4K")
    r("WEIR.OBSERVE", "f", *range(30))
    pairs = save(r, "f", 1000)
    for cursor, data in pairs[:-1]:
        r("WEIR.LOAD", "g", cursor, data)
        for command in ["WEIR.OBSERVE", "g", "a"], ["WEIR.ASK", "g", "a"], ["WEIR.SAVE", "g", 0], ["WEIR.INFO", "g"]:
            refused(r, *command, saying="WEIRBUSY")
    refused(r, "WEIR.LOAD", "g", *pairs[1], saying="WEIRRESTART")
    assert r("TYPE", "g") == "weir-load"
    r("COPY", "g", "h")
    r("DEBUG", "RELOAD")
    for key in "g", "h":
        assert r("WEIR.LOAD", key, *pairs[-1]) == "OK"
        assert r("DEBUG", "DIGEST-VALUE", key) == r("DEBUG", "DIGEST-VALUE", "f")


def test_a_transfer_that_begins_again(r):
    r("WEIR.CREATE", "f", "recent memory=4K")
    pairs = save(r, "f", 1000)
    r("WEIR.LOAD", "g", *pairs[0])
    r("WEIR.LOAD", "g", *pairs[1])
    r("WEIR.OBSERVE", "f", "a")
    pairs = save(r, "f", 900)
    refused(r, "WEIR.LOAD", "h", *pairs[1], saying="WEIRRESTART")
    for pair in pairs:
        r("WEIR.LOAD", "g", *pair)
    assert r("DEBUG", "DIGEST-VALUE", "f") == r("DEBUG", "DIGEST-VALUE", "g")


def test_what_is_no_file_leaves_no_key(r):
    for data in b"", b"x", b"WEIR", os.urandom(1000), b"WEIR\3\0\1\0" + b"\xff" * 200:
        refused(r, "WEIR.LOAD", "g", 0, data, saying="WEIRUNSUPPORTED" if len(data) == 208 else "WEIRDATA")
        assert r("EXISTS", "g") == 0
    for cursor in "x", "-1", "1-", "1-2-3-4-5", "", "99999999999999999999999":
        refused(r, "WEIR.LOAD", "g", cursor, b"abc", saying="ERR invalid cursor")
        refused(r, "WEIR.SAVE", "g", cursor, saying="ERR invalid cursor")
    refused(r, "WEIR.SAVE", "g", 0, saying="WEIRNOKEY")
    r("WEIR.CREATE", "f", "recent memory=4K")
    for chunk in 0, -1, "x", 1 << 40:
        refused(r, "WEIR.SAVE", "f", 0, "CHUNK", chunk, saying="ERR invalid CHUNK")


def test_files_of_the_command(r, tmp_path):
    """A file of weir build can be loaded, and a saved file can be read by weir ask."""
    keys = "".join(f"key{i}\n" for i in range(2000))
    file = tmp_path / "f.weir"
    subprocess.run([WEIR, "build", "-o", file, "-"], input=keys.encode(), check=True)
    data = file.read_bytes()
    r("WEIR.LOAD", "f", 1000, data[:1000])
    r("WEIR.LOAD", "f", 0, data[1000:])
    assert r("WEIR.ASK", "f", *[f"key{i}" for i in range(2000)]) == [1] * 2000
    r("WEIR.CREATE", "g", "bloom memory=64K k=8")
    r("WEIR.OBSERVE", "g", "ONCE", "p", 1, "apple", "pear")
    (tmp_path / "g.weir").write_bytes(b"".join(data for _, data in save(r, "g")))
    asked = subprocess.run([WEIR, "ask", tmp_path / "g.weir"], input=b"apple\nplum\npear\n",
                           stdout=subprocess.PIPE, check=False)
    assert asked.stdout == b"seen\tapple\nnew\tplum\nseen\tpear\n"


def test_a_fixed_set_is_asked_and_never_changed(r, tmp_path):
    file = tmp_path / "f.weir"
    keys = [f"key{i}" for i in range(3000)]
    subprocess.run([WEIR, "build", "--fixed", "-o", file, "-"], input="\n".join(keys).encode(), check=True)
    r("WEIR.LOAD", "f", 0, file.read_bytes())
    assert r("WEIR.ASK", "f", *keys) == [1] * 3000
    assert sum(r("WEIR.ASK", "f", *[f"other{i}" for i in range(3000)])) < 100
    refused(r, "WEIR.OBSERVE", "f", "a", saying="WEIRUNSUPPORTED")
    refused(r, "WEIR.FORGET", "f", "a", saying="WEIRUNSUPPORTED")
    refused(r, "WEIR.MERGE", "f", 1, "f", saying="WEIRUNSUPPORTED")
    digest = r("DEBUG", "DIGEST-VALUE", "f")
    r("DEBUG", "RELOAD")
    assert r("DEBUG", "DIGEST-VALUE", "f") == digest
    refused(r, "WEIR.CREATE", "g", "fuse", saying="WEIRUNSUPPORTED")


def test_a_file_of_shards_is_refused_plainly(r, tmp_path):
    file = tmp_path / "f.weir"
    subprocess.run([WEIR, "build", "--shards", "4", "-o", file, "-"], input=b"a\nb\n", check=True)
    refused(r, "WEIR.LOAD", "f", 0, file.read_bytes(), saying="WEIRUNSUPPORTED")
    assert r("EXISTS", "f") == 0


def test_the_server_counts_every_byte(r):
    used = lambda: int(dict(x.split(b":") for x in r("INFO", "memory").split(b"\r\n") if b":" in x)[b"used_memory"])
    before = used()
    r("WEIR.CREATE", "f", "recent memory=30M")  # fits a size class of the server's allocator, of 32M
    assert 30 << 20 <= used() - before < 33 << 20
    assert 30 << 20 <= r("MEMORY", "USAGE", "f") < 33 << 20
    r("COPY", "f", "g")
    while used() - before < 60 << 20:  # a thread copies the value
        time.sleep(.01)
    r("DEL", "f", "g")
    while used() - before > 1 << 20:
        time.sleep(.01)


def test_kept_replies_are_counted(r):
    used = lambda: int(dict(x.split(b":") for x in r("INFO", "memory").split(b"\r\n") if b":" in x)[b"used_memory"])
    before = used()
    r("WEIR.CREATE", "f", "memory=64K")
    for i in range(1000):
        for number in range(1 + i % 20):
            r("WEIR.OBSERVE", "f", "ONCE", f"producer {i}", number, *range(20 * (i % 9)), "x")
    buffers = 64 << 10  # of this client
    assert used() - before - buffers < 1.05 * r("MEMORY", "USAGE", "f") < 1.1 * (used() - before)
