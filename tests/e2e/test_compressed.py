"""Compressed input equals plain input, or ends with a message; compared with Python's decompression."""
import functools
import gzip
import json
import lzma
import os
import random
import resource
import subprocess
import time
import zlib

import pytest

from conftest import EXACT, QUICK, SANITIZED, WEIR, refused, run, unique


def zstd(data, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=data, check=True, capture_output=True).stdout


PACK = {"gz": functools.partial(gzip.compress, mtime=0), "zst": zstd, "xz": lzma.compress}
NAMES = {"gz": "gzip", "zst": "zstd", "xz": "xz"}
kinds = pytest.mark.parametrize("kind", PACK)


@functools.cache
def lines(n=60000, keys=9000, seed=1):
    r = random.Random(seed)
    return tuple(f"key{r.randrange(keys)} of many" for _ in range(n))


def text(items):
    return "".join(item + "\n" for item in items).encode()


@functools.cache
def packed_lines(kind, **which):
    return PACK[kind](text(lines(**which)))


def on_one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


# ---- equal to plain input ----

@kinds
@pytest.mark.parametrize("threads", ["-j1", "-j3"])
@pytest.mark.parametrize("start", [None, on_one_processor])
def test_files_and_pipes_are_decompressed(here, kind, threads, start):
    items = lines()
    packed = packed_lines(kind)
    (here / "log").write_bytes(packed)  # regardless of the file name
    want = text(unique(items))
    assert run("dedup", *EXACT, threads, "log", preexec_fn=start).out == want
    assert run("dedup", *EXACT, threads, input=packed, preexec_fn=start).out == want
    with open("log") as regular:
        assert run("dedup", *EXACT, threads, stdin=regular, preexec_fn=start).out == want


@kinds
def test_concatenated_and_mixed_files_are_read_completely(here, kind):
    first, second, third = lines(), lines(seed=2), lines(seed=3)
    packed = packed_lines(kind) + PACK[kind](b"") + packed_lines(kind, seed=2)
    (here / "joined").write_bytes(packed)
    (here / "plain").write_bytes(text(third))
    (here / "other").write_bytes(PACK["gz"](text(first[:10])))
    got = run("dedup", *EXACT, "joined", "plain", "other")
    assert got.out == text(unique(first + second + third))


def test_padding_and_skippable_frames_are_skipped(here):
    (here / "gz").write_bytes(PACK["gz"](b"a\n") + bytes(5000))
    (here / "xz").write_bytes(PACK["xz"](b"b\n") + bytes(8))
    (here / "zst").write_bytes(b"\x5e\x2a\x4d\x18\x04\0\0\0text" + PACK["zst"](b"c\n"))
    assert run("dedup", *EXACT, "gz", "xz", "zst").lines == ["a", "b", "c"]


@kinds
def test_a_line_may_span_members_and_lack_its_end(here, kind):
    (here / "log").write_bytes(PACK[kind](b"one\ntw") + PACK[kind](b"o\nthree"))
    assert run("dedup", *EXACT, "log").lines == ["one", "two", "three"]


@kinds
def test_every_reader_of_records_and_keys_decompresses(here, kind):
    items, keys = lines(5000, 900), [f"key{i} of many" for i in range(0, 900, 3)]
    for name, content in ("log", items), ("keys", keys):
        (here / name).write_bytes(text(content))
        (here / f"{name}.{kind}").write_bytes(PACK[kind](text(content)))
    eval_ = ["eval", "-q", "--seed", "1", "-m", "64K", "-a", "bloom,recent", "--format", "json"]
    for command in (["build", "-q", "--seed", "1", "-o", "F", "keys"], ["filter", "F", "log"],
                    ["filter", "--seed", "1", "--keys", "keys", "log"], ["ask", "F", "log"],
                    ["top", "--seed", "1", "-n", "5", "log"], ["count", "-q", "--seed", "1", "log"],
                    ["count", "-q", "--seed", "1", "--query", "keys", "log"],
                    ["check", "-q", "--store", "keys:keys", "log"], ["add", "F", "log"], ["ask", "F", "keys"]):
        before = (here / "F").read_bytes() if (here / "F").exists() else b""
        plain = run(*command)
        saved = (here / "F").read_bytes()
        (here / "F").write_bytes(before)
        packed = run(*[f"{word}.{kind}" if word in ("log", "keys") else word for word in command])
        assert packed.out == plain.out and (here / "F").read_bytes() == saved, command
    # the same figures, except for times
    rows = [[{k: v for k, v in row.items() if "ns" not in k and "second" not in k and "time" not in k}
             for row in json.loads(run(*eval_, name).out)] for name in ("log", f"log.{kind}")]
    assert rows[0] == rows[1] and len(rows[0]) == 2


@kinds
def test_a_set_is_sized_by_its_compressed_files(here, kind):
    keys = text([f"k{i}" for i in range(54321)])
    (here / "keys").write_bytes(PACK[kind](keys))
    (here / "plain").write_bytes(keys)
    for name in "keys", "plain":
        run("build", "--seed", "1", "-o", name + ".weir", name)
    assert (here / "keys.weir").read_bytes() == (here / "plain.weir").read_bytes()
    assert " capacity=545" in run("info", "keys.weir").out.decode()  # plus its square root, see build


@kinds
def test_plain_disables_decompression(here, kind):
    packed = PACK[kind](text(lines(3000)))
    (here / "log").write_bytes(packed)
    want = b"".join(line + b"\n" for line in unique(packed.removesuffix(b"\n").split(b"\n")))
    assert run("dedup", *EXACT, "--plain", "log").out == want
    assert run("dedup", *EXACT, "--plain", input=packed).out == want


def feed_slowly(pieces, *args):
    """Writes each piece separately; its records are printed before the input ends."""
    process = subprocess.Popen([WEIR, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for piece, lines_due in pieces:
        process.stdin.write(piece)
        process.stdin.flush()
        for line in lines_due:
            yield process.stdout.readline(), line
    process.stdin.close()
    yield process.stdout.read(), b""
    assert process.wait() == 0


def test_compressed_pipes_are_read_without_delay():
    packer = zlib.compressobj(wbits=31)
    pieces = [(packer.compress(b"%d\n" % i) + packer.flush(zlib.Z_SYNC_FLUSH), [b"%d\n" % i]) for i in range(20)]
    for got, want in feed_slowly(pieces + [(packer.flush(), [])], "dedup", *EXACT):
        assert got == want


@pytest.mark.parametrize("first", [b"(a", b"PK", b"SQLite f", b"W", b"BZh9", b"\x1f", b"\xfd7z", b"P*M", b"\x1f\x8b"])
def test_text_that_begins_like_a_magic_number_is_text(here, first):
    (here / "log").write_bytes(first)
    assert run("dedup", "log").out == first + b"\n"
    pieces = [(bytes([byte]), []) for byte in first] + [(b"x\n", [first + b"x\n"])]
    for got, want in feed_slowly(pieces, "dedup", *EXACT):
        assert got == want


# ---- truncated and damaged files ----

@kinds
@pytest.mark.parametrize("share", [0.001, 0.2, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_reported(here, kind, share):
    items = lines()
    packed = packed_lines(kind)
    cut = packed[: max(14, int(len(packed) * share))]
    (here / "cut").write_bytes(cut)
    for got in run("dedup", *EXACT, "cut", ok=False), run("dedup", *EXACT, input=cut, ok=False):
        assert got.status == 2 and "is truncated" in got.err and NAMES[kind] in got.err, got.err
        assert text(unique(items)).startswith(got.out) and got.out[-1:] in (b"", b"\n")
    assert "cut is truncated" in run("dedup", "cut", ok=False).err
    assert "standard input is truncated" in got.err
    refused("build", "-o", "F", "cut", saying="cut is truncated")
    assert not (here / "F").exists()


@kinds
def test_a_damaged_file_never_exits_with_0(here, kind):
    items = lines(4000)
    packed = PACK[kind](text(items)) if kind != "zst" else zstd(text(items), "--check")
    r, told = random.Random(7), 0
    flips = 20 if QUICK else 60
    for _ in range(flips):
        at = r.randrange(len(packed))
        damaged = packed[:at] + bytes([packed[at] ^ 1 << r.randrange(8)]) + packed[at + 1:]
        (here / "log").write_bytes(damaged)
        got = run("dedup", *EXACT, "log", ok=False)
        told += got.status == 2
        assert got.status in (0, 2)
        if got.status == 0:  # a time, a name or a size that weir does not use; or no magic number any more
            assert got.out == text(unique(items)) or at < 6
        else:
            assert "log is damaged" in got.err or "log is truncated" in got.err, got.err
    assert told > 0.65 * flips


@kinds
def test_other_data_after_the_end_is_reported(here, kind):
    (here / "log").write_bytes(PACK[kind](b"a\n") + b"and then some text\n")
    got = run("dedup", *EXACT, "log", ok=False)
    assert got.status == 2 and got.out == b"a\n" and "log is damaged" in got.err, got.err


# ---- memory ----

def in_little_memory():
    resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))


@kinds
def test_decompression_uses_little_memory(here, kind):
    if SANITIZED:
        pytest.skip("sanitizers take memory of their own")
    size = 350_000_000  # more than it may use
    pack = {"gz": "gzip -1", "zst": "zstd -q", "xz": "xz -0"}[kind]
    subprocess.run(f"yes spam and more of it | head -c {size} | {pack} > bomb", shell=True, check=True)
    assert (here / "bomb").stat().st_size < size / 100
    assert run("dedup", "-m", "1M", "--count-only", "bomb", preexec_fn=in_little_memory).out == b"1\n"


def test_a_window_that_is_too_large_is_refused(here):
    packed = bytearray(PACK["xz"](b"a\n"))
    size = 4 * (packed[12] + 1)  # of the block header; its dictionary becomes 1.5 GiB
    at = packed.index(b"\x21\x01", 12) + 2
    packed[at] = 37
    packed[12 + size - 4: 12 + size] = zlib.crc32(packed[12: 12 + size - 4]).to_bytes(4, "little")
    (here / "wide.xz").write_bytes(packed)
    refused("dedup", "wide.xz", saying=["wide.xz is damaged", "256 MiB"])
    (here / "wide.zst").write_bytes(zstd(text(lines(3000)), "--long=30"))
    refused("dedup", "wide.zst", saying=["wide.zst is damaged", "memory"])


# ---- resume ----

LOG = ["dedup", *EXACT, "--state", "s", "--resume"]


@kinds
def test_a_file_with_a_new_member_is_resumed(here, kind):
    first, more = lines(20000, seed=1), lines(20000, 20000, seed=2)
    (here / "log").write_bytes(PACK[kind](text(first)))
    assert run(*LOG, "log").out == text(unique(first))
    assert run(*LOG, "log").out == b""
    with open("log", "ab") as log:
        log.write(PACK[kind](text(more)))
    got = run(*LOG, "--stats", "json", "log")
    known = set(first)
    assert got.out == text(unique(item for item in more if item not in known))
    assert f'"records": {len(more)},' in got.err


@kinds
def test_a_truncated_file_is_resumed_when_it_is_complete(here, kind):
    items = lines()
    packed = packed_lines(kind)
    (here / "log").write_bytes(packed[: len(packed) * 2 // 3])
    first = run(*LOG, "log", ok=False)
    assert first.status == 2 and "is truncated" in first.err
    with open("log", "ab") as log:
        log.write(packed[len(packed) * 2 // 3:])
    assert first.out + run(*LOG, "log").out == text(unique(items))


@kinds
def test_a_log_compressed_at_rotation_is_found(here, kind):
    (here / "log").write_bytes(text(["a", "b"]))
    assert run(*LOG, "log").lines == ["a", "b"]
    (here / f"log.1.{kind}").write_bytes(PACK[kind](text(["a", "b", "c", "a"])))
    (here / "log").unlink()
    (here / "log").write_bytes(text(["c", "d"]))
    (here / "log.2.gz").write_bytes(PACK["gz"](text(["x", "y"])))
    os.utime("log.2.gz", (0, 0))
    got = run(*LOG, "log")
    assert got.lines == ["c", "d"] and f"reading log.1.{kind} to its end" in got.err


def test_another_file_is_not_resumed(here):
    (here / "log").write_bytes(PACK["gz"](text(lines(5000, seed=1))))
    run(*LOG, "log")
    (here / "log").unlink()
    (here / "log").write_bytes(PACK["gz"](text(lines(5000, seed=2))))
    refused(*LOG, "log", saying="log: not the file that s had read")
    (here / "log").write_bytes(PACK["gz"](text(lines(500, seed=1))))  # the same beginning, but too short
    refused(*LOG, "log", saying="log: not the file that s had read")


@kinds
def test_a_table_is_resumed_after_its_header(here, kind):
    (here / "t").write_bytes(PACK[kind](b"id,k\n1,a\n2,b"))  # the last row lacks its end
    run(*LOG, "--csv", "-k", "k", "-o", "out", "t")
    with open("t", "ab") as table:
        table.write(PACK[kind](b"b\n3,a\n4,c\n"))
    run(*LOG, "--csv", "-k", "k", "-o", "out", "t")
    assert (here / "out").read_bytes() == b"id,k\n1,a\n2,bb\n4,c\n"


@kinds
def test_an_incomplete_last_line_is_read_again(here, kind):
    (here / "log").write_bytes(PACK[kind](b"a\nb"))
    assert run("dedup", *EXACT, "--state", "s", "log").lines == ["a", "b"]
    with open("log", "ab") as log:
        log.write(PACK[kind](b"c\nd\n"))
    got = run(*LOG, "log")
    assert got.lines == ["bc", "d"] and "it was read again from its start" in got.err
    (here / "log").write_bytes(PACK[kind](b"a\nb"))
    (here / "s").unlink()
    run("dedup", *EXACT, "--state", "s", "log")
    with open("log", "ab") as log:
        log.write(PACK[kind](b"\nd\n"))
    assert run(*LOG, "log").lines == ["d"]


@kinds
def test_a_signal_ends_the_run_while_a_pipe_is_silent(here, kind):
    packed = PACK[kind](text(lines(3000)))
    process = subprocess.Popen([WEIR, "dedup", *EXACT, "--state", "s"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    process.stdin.write(packed[: len(packed) // 2])
    process.stdin.flush()
    time.sleep(0.2)
    process.terminate()
    assert process.wait(10) == -15
    process.stdin.close()
