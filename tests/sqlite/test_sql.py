"""The functions of weirsql.so, compared with exact sets and counts."""
import collections
import json
import os
import pathlib
import random
import sqlite3
import time

import pytest

from conftest import EXTENSION, connect, failure, one, weir

LEARNING = "bloom capacity=10k fpr=1e-6 seed=1"
FIXED = "fuse bits=32 seed=1"  # error rate 2^-32: no false positives here


def fill(db, keys, table="t"):
    db.execute(f"CREATE TABLE {table} (k)")
    db.executemany(f"INSERT INTO {table} VALUES (?)", [(k,) for k in keys])


def built(db, *spec):
    """weir_agg() of all keys of t."""
    return one(db, f"SELECT weir_agg(k{', ?' * len(spec)}) FROM t", *spec)


# ---- weir_agg, weir_has ----

@pytest.mark.parametrize("spec", [(), (FIXED,), (LEARNING,), ("counting capacity=10k fpr=1e-6",), ("cuckoo capacity=10k bits=32",)])
def test_aggregated_keys_are_found(db, spec):
    keys = [f"member {i}" for i in range(5000)]
    fill(db, keys)
    blob = built(db, *spec)
    assert one(db, "SELECT count(*) FROM t WHERE weir_has(?, k)", blob) == 5000
    fill(db, [f"other {i}" for i in range(20000)], "others")
    wrong = one(db, "SELECT count(*) FROM others WHERE weir_has(?, k)", blob)
    if spec:
        assert wrong <= 1  # of 20000 at 1e-6: two have a chance of 2e-4 for a random seed
    else:
        assert 20 <= wrong <= 160  # 8 bits: 78 expected, 8.8 their deviation


def test_one_statement_builds_and_asks(db):
    fill(db, ["a", "b"])
    fill(db, ["a", "c", "b", "d"], "others")
    sql = "SELECT k FROM others WHERE NOT weir_has((SELECT weir_agg(k, ?) FROM t), k)"
    assert db.execute(sql, (FIXED,)).fetchall() == [("c",), ("d",)]


def test_a_filter_for_each_group(db):
    db.execute("CREATE TABLE t (g, k)")
    rows = [(i % 3, str(i)) for i in range(300)]
    db.executemany("INSERT INTO t VALUES (?, ?)", rows)
    db.execute("CREATE TABLE f AS SELECT g, weir_agg(k, ?) AS blob FROM t GROUP BY g", (FIXED,))
    found = db.execute("SELECT f.g, t.k FROM t, f WHERE weir_has(f.blob, t.k)").fetchall()
    assert sorted(found) == sorted(rows)
    found = db.execute("SELECT f.g, t.k FROM f CROSS JOIN t WHERE weir_has(f.blob, t.k)").fetchall()
    assert sorted(found) == sorted(rows)


def test_no_rows_make_an_empty_filter(db):
    fill(db, [])
    for blob in (built(db), built(db, LEARNING)):
        assert one(db, "SELECT weir_has(?, 'a')", blob) == 0
    assert db.execute("SELECT * FROM weir_top(?)", [built(db, "top")]).fetchall() == []


def test_the_same_seed_gives_the_same_bytes(db):
    fill(db, [str(i) for i in range(1000)])
    assert built(db, FIXED) == built(db, FIXED)
    assert built(db, LEARNING) == built(db, LEARNING)


# ---- what a key is ----

def test_null_is_no_key(db):
    fill(db, ["a", None, "b", None])
    blob = built(db, LEARNING)
    assert one(db, "SELECT weir_has(?, NULL)", blob) is None
    assert one(db, "SELECT weir_has(NULL, 'a')") is None
    assert one(db, "SELECT weir_observe('recent memory=64K', NULL)") is None
    fill(db, ["a", "b"], "without")
    assert blob == one(db, "SELECT weir_agg(k, ?) FROM without", LEARNING)


def test_a_number_is_its_text_and_a_blob_its_bytes(db):
    fill(db, [42, -7, "text", b"blob", 1.5, "", 10**18])
    blob = built(db, FIXED)
    for key in ("42", 42, b"42", "-7", -7, "text", b"text", b"blob", "blob", "1.5", 1.5, "", b"", str(10**18)):
        assert one(db, "SELECT weir_has(?, ?)", blob, key) == 1, key
    for key in ("4", 43, "42.0", 42.0, " ", b"\0"):
        assert one(db, "SELECT weir_has(?, ?)", blob, key) == 0, key


def test_bytes_after_a_nul_count(db):
    fill(db, [b"a\0b"])
    assert one(db, "SELECT weir_has(?, ?)", built(db, FIXED), b"a\0b") == 1
    assert one(db, "SELECT weir_has(?, ?)", built(db, FIXED), b"a") == 0


def test_text_of_a_database_in_utf16_is_utf8(here):
    db = connect("wide.db")
    db.execute("PRAGMA encoding = 'UTF-16le'")
    fill(db, ["größe", "b"])
    (here / "wide.weir").write_bytes(built(db, FIXED))
    db.close()
    assert weir("ask", "wide.weir", input="größe\nb\ngroesse\n".encode()).decode() == "seen\tgröße\nseen\tb\nnew\tgroesse\n"


# ---- files ----

def test_the_command_opens_a_blob(db, here):
    fill(db, [f"k{i}" for i in range(1000)] + list(range(1000)))
    for spec in (FIXED, LEARNING):
        (here / "f.weir").write_bytes(built(db, spec))
        lines = [*(f"k{i}" for i in range(2000)), *map(str, range(2000))]
        out = weir("ask", "f.weir", input="".join(f"{line}\n" for line in lines).encode())
        seen = [line[5:] for line in out.decode().splitlines() if line.startswith("seen\t")]
        assert seen == [*(f"k{i}" for i in range(1000)), *map(str, range(1000))]


@pytest.mark.parametrize("options", [["--fixed", "-S", "bits=32"], ["-e", "1e-6"], ["-a", "counting", "-m", "1M"],
                                     ["-j", "2", "--shards", "5", "-e", "1e-6"]])
def test_a_blob_may_be_a_file_of_the_command(db, here, options):
    weir("build", "-o", "f.weir", *options, "--seed", 3, input="".join(f"k{i}\n" for i in range(3000)).encode())
    fill(db, [f"k{i}" for i in range(9000)])
    got = db.execute("SELECT k FROM t WHERE weir_has(?, k) ORDER BY rowid", ((here / "f.weir").read_bytes(),))
    assert [k for (k,) in got] == [f"k{i}" for i in range(3000)]


def test_a_state_file_too(db, here):
    """A state file begins with a note of the command."""
    weir("dedup", "--state", "seen.weir", "-a", "bloom", "-m", "1M", "--seed", 1, input=b"a\nb\na\n")
    blob = (here / "seen.weir").read_bytes()
    assert [one(db, "SELECT weir_has(?, ?)", blob, k) for k in "abc"] == [1, 1, 0]


# ---- bytes that are no filter ----

def test_blobs_without_a_filter_are_errors(db):
    assert "no filter of this name" in failure(db, "SELECT weir_has('text', 'a')")
    assert "number" in failure(db, "SELECT weir_has(5, 'a')")
    assert "empty" in failure(db, "SELECT weir_has(x'', 'a')")
    for blob in (b"\0", b"WEIR", b"x" * 100, random.Random(1).randbytes(5000)):
        assert failure(db, "SELECT weir_has(?, 'a')", blob).startswith("weir_has: ")
    fill(db, ["a"])
    assert "contains a sketch" in failure(db, "SELECT weir_has(?, 'a')", built(db, "top"))
    assert "several filters" in failure(db, "SELECT weir_has(?, 'a')", built(db) + built(db))


@pytest.mark.parametrize("spec", [FIXED, LEARNING])
def test_damage_anywhere_is_an_error(db, spec):
    """Also if the undamaged file was used just before, at the same address."""
    fill(db, [str(i) for i in range(2000)])
    good = built(db, spec)
    rng = random.Random(7)
    for at in [*range(0, 256, 5), *(rng.randrange(len(good)) for _ in range(100)), len(good) - 1]:
        bad = bytearray(good)
        bad[at] ^= 1 << rng.randrange(8)
        assert one(db, "SELECT weir_has(?, '5')", good) == 1
        assert failure(db, "SELECT weir_has(?, '5')", bytes(bad)).startswith("weir_has: "), at
    for size in (1, 63, 64, 200, len(good) // 2, len(good) - 64, len(good) - 1):
        assert "weir_has: " in failure(db, "SELECT weir_has(?, '5')", good[:size])


def test_a_damaged_filter_in_a_table_of_sound_ones(db):
    """Small blobs are compared whole, although all have the same address."""
    fill(db, [str(i) for i in range(300)])
    good = built(db, "fuse seed=1")
    assert len(good) < 4096
    bad = bytearray(good)
    bad[len(good) // 2] ^= 1
    fill(db, [good, good, bytes(bad)], "f")
    assert failure(db, "SELECT weir_has(k, '5') FROM f").startswith("weir_has: ")


def test_many_filters_in_turn(db):
    """More filters than a connection caches."""
    db.execute("CREATE TABLE f (n, blob)")
    for n in range(9):
        fill(db, [f"{n} {i}" for i in range(100)], f"t{n}")
        db.execute(f"INSERT INTO f SELECT ?, weir_agg(k, ?) FROM t{n}", (n, f"bloom memory={n % 2 + 1}K k=8 seed=1"))
    for _ in range(3):
        got = db.execute("SELECT n, m.value FROM f, (SELECT value FROM json_each('[0,1,2,3,4,5,6,7,8]')) m "
                         "WHERE weir_has(blob, m.value || ' 7')").fetchall()
        assert [(n, m) for n, m in got if n == m] == [(n, n) for n in range(9)] and len(got) == 9


# ---- specs ----

def test_wrong_specs_are_errors(db):
    fill(db, ["a", "b"])
    assert failure(db, "SELECT weir_agg(k, 'blom') FROM t").startswith("weir_agg: ")
    assert "blom" in failure(db, "SELECT weir_agg(k, 'blom') FROM t")
    assert "memory" in failure(db, "SELECT weir_agg(k, 'bloom memory=x') FROM t")
    assert "weir_agg: " in failure(db, "SELECT weir_agg(k, 'bloom memory=100G') FROM t")
    assert "NULL" in failure(db, "SELECT weir_agg(k, NULL) FROM t")
    for spec in "x'00'", "x''", "x'626c6f6f6d'", "7", "1.5", "'bloom' || char(0) || 'k=3'", "char(0)":
        assert "weir_agg: the filter spec is NULL or not text" in failure(db, f"SELECT weir_agg(k, {spec}) FROM t")
        assert "weir_observe: the name is NULL or not text" in failure(db, f"SELECT weir_observe({spec}, 'a')")
    assert "differs" in failure(db, "SELECT weir_agg(k, 'bloom memory=' || rowid || 'K') FROM t")
    assert failure(db, "SELECT weir_observe('bloom memory=x', 'a')").startswith("weir_observe: ")
    assert "weir_agg" in failure(db, "SELECT weir_observe('fuse', 'a')")
    assert "unixepoch" in failure(db, "SELECT weir_observe('recent span=1h', 'a')")
    assert "name is NULL" in failure(db, "SELECT weir_observe(NULL, 'a')")
    assert one(db, "SELECT 1") == 1


def test_a_set_that_is_full_says_so(db):
    fill(db, [str(i) for i in range(5000)])
    assert failure(db, "SELECT weir_agg(k, 'cuckoo capacity=100') FROM t").startswith("weir_agg: ")


# ---- weir_observe ----

def test_observed_once_is_new_then_seen(db):
    keys = [str(i * i % 701) for i in range(5000)]
    fill(db, keys)
    got = db.execute("SELECT k FROM t WHERE NOT weir_observe('bloom capacity=10k fpr=1e-6 seed=1', k)").fetchall()
    assert [k for (k,) in got] == list(dict.fromkeys(keys))
    again = db.execute("SELECT k FROM t WHERE NOT weir_observe('bloom capacity=10k fpr=1e-6 seed=1', k)").fetchall()
    assert again == got  # a filter without a name ends with the statement
    named = "SELECT count(*) FROM t WHERE NOT weir_observe('seen: bloom capacity=10k fpr=1e-6 seed=1', k)"
    assert [one(db, named), one(db, named)] == [351, 0]


def test_names_are_filters_of_the_connection(db):
    say = "SELECT weir_observe(?, ?)"
    assert [one(db, say, "a: bloom memory=1K", "x"), one(db, say, "a: bloom memory=1K", "x"), one(db, say, "a", "x")] == [0, 1, 1]
    assert [one(db, say, "b: bloom memory=1K", "x"), one(db, say, "b", "x")] == [0, 1]
    assert [one(db, say, "c", "x"), one(db, say, "c", "x"), one(db, say, "bloom", "x"), one(db, say, "bloom", "x")] == [0, 1, 0, 0]
    assert "another spec" in failure(db, say, "a: bloom memory=2K", "x")
    other = connect()
    assert one(other, say, "a", "x") == 0
    other.close()


def test_has_uses_named_filters(db):
    one(db, "SELECT weir_observe('v: bloom memory=1K', 'x')")
    assert [one(db, "SELECT weir_has('v', ?)", k) for k in "xyx"] == [1, 0, 1]
    one(db, "SELECT weir_observe('bloom memory=1K', 'y')")
    assert "no filter of this name" in failure(db, "SELECT weir_has('bloom memory=1K', 'y')")


# ---- weir_keep ----

def test_kept_filters_are_used_by_name(db):
    fill(db, ["a", "b"])
    fill(db, ["c", "b", "a", "d"], "others")
    sql = "SELECT k FROM others WHERE NOT weir_has((SELECT weir_keep('bad', weir_agg(k, ?)) FROM t), k)"
    assert db.execute(sql, (FIXED,)).fetchall() == [("c",), ("d",)]
    assert [one(db, "SELECT weir_has('bad', ?)", k) for k in ("a", "c", None)] == [1, 0, None]
    assert one(db, "SELECT weir_keep('bad', weir_agg(k, ?)) FROM others WHERE k > 'b'", FIXED) == "bad"
    assert [one(db, "SELECT weir_has('bad', ?)", k) for k in "ac"] == [0, 1]
    other = connect()
    assert "no filter of this name" in failure(other, "SELECT weir_has('bad', 'a')")
    other.close()


def test_wrong_arguments_of_keep(db):
    fill(db, ["a"])
    one(db, "SELECT weir_keep('bad', weir_agg(k, ?)) FROM t", FIXED)
    assert failure(db, "SELECT weir_keep('bad', x'00')").startswith("weir_keep: ")
    assert one(db, "SELECT weir_has('bad', 'a')") == 1  # as it was
    assert one(db, "SELECT weir_keep('bad', NULL)") is None
    assert "not a blob" in failure(db, "SELECT weir_keep('bad', 'x')")
    assert "not text" in failure(db, "SELECT weir_keep(NULL, x'00')")
    assert "cannot be changed" in failure(db, "SELECT weir_observe('bad', 'x')")
    one(db, "SELECT weir_observe('v', 'x')")
    assert "weir_observe() uses" in failure(db, "SELECT weir_keep('v', weir_agg(k)) FROM t")


def test_a_view_of_the_schema_may_not_observe(db):
    db.execute("CREATE VIEW v AS SELECT weir_observe('bloom', 'a')")
    assert "unsafe" in failure(db, "SELECT * FROM v")
    db.execute("CREATE VIEW h AS SELECT weir_has(x'', 'a')")
    assert "empty" in failure(db, "SELECT * FROM h")  # allowed to ask


# ---- weir_top ----

def counted(db):
    rng = random.Random(5)
    keys = [f"k{int(rng.paretovariate(1))}" for _ in range(20000)]
    fill(db, keys)
    return collections.Counter(keys)


def test_top_lists_counts_within_their_bounds(db):
    truth = counted(db)
    rows = db.execute("SELECT key, count, error FROM weir_top((SELECT weir_agg(k, 'top keys=100') FROM t)) LIMIT 20").fetchall()
    assert len(rows) == 20 and [c for _, c, _ in rows] == sorted((c for _, c, _ in rows), reverse=True)
    for key, count, error in rows:
        assert count - error <= truth[key] <= count, key
    assert {k for k, _, _ in rows[:10]} == {k for k, _ in truth.most_common(10)}


def test_a_sketch_with_room_for_all_is_exact(db):
    truth = counted(db)
    blob = built(db, "top memory=4M")
    rows = db.execute("SELECT key, count FROM weir_top(?) WHERE error = 0 ORDER BY count DESC", (blob,)).fetchall()
    assert dict(rows) == truth
    assert "USE TEMP B-TREE" not in str(db.execute("EXPLAIN QUERY PLAN SELECT key FROM weir_top(?) ORDER BY count DESC", (blob,)).fetchall())
    assert [c for _, c in rows] == sorted(truth.values(), reverse=True)
    lowest = db.execute("SELECT count FROM weir_top(?) ORDER BY count LIMIT 1", (blob,)).fetchall()
    assert lowest == [(min(truth.values()),)]


def test_heavykeeper_has_no_bound(db):
    counted(db)
    rows = db.execute("SELECT key, error FROM weir_top(?) LIMIT 3", (built(db, "heavykeeper memory=64K"),)).fetchall()
    assert rows[0] == ("k1", None)


def test_top_joins_a_table_of_sketches(db):
    db.execute("CREATE TABLE t (g, k)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [("one", "a"), ("two", "b"), ("two", "b"), ("one", "c"), ("one", "c")])
    db.execute("CREATE TABLE s AS SELECT g, weir_agg(k, 'top keys=8') AS blob FROM t GROUP BY g")
    rows = db.execute("SELECT g, key, count FROM s, weir_top(s.blob) ORDER BY g, count DESC").fetchall()
    assert rows == [("one", "c", 2), ("one", "a", 1), ("two", "b", 2)]


def test_keys_that_are_not_text_are_returned_as_blobs(db):
    keys = ["größe", "", b"\xff", b"a\0b", "\U0001f600", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80"]
    fill(db, keys)
    rows = db.execute("SELECT key FROM weir_top(?)", (built(db, "top keys=20"),)).fetchall()
    assert {k for (k,) in rows} == set(keys)


def test_a_state_of_weir_top_is_listed(db, here):
    weir("top", "--state", "top.weir", input=b"a\nb\na\n")
    rows = db.execute("SELECT key, count FROM weir_top(?)", ((here / "top.weir").read_bytes(),)).fetchall()
    assert rows == [("a", 2), ("b", 1)]


def test_the_command_reads_the_counts_of_a_blob(db, here):
    fill(db, ["a", "b", "a"])
    (here / "top.weir").write_bytes(built(db, "top"))
    out = weir("top", "--state", "top.weir", input=b"b\nb\n").decode()
    assert [line.split("\t")[:2] for line in out.splitlines()] == [["b", "3"], ["a", "2"]]


def test_top_leaves_out_what_is_not_certain(db):
    """Without frequent keys, the stored keys are arbitrary and their counts mostly error."""
    fill(db, [f"k{i % 5000}" for i in range(40000)])
    blob = built(db, "top keys=100")
    assert db.execute("SELECT * FROM weir_top(?)", (blob,)).fetchall() == []
    every = db.execute("SELECT key, count, error FROM weir_top(?, 'all')", (blob,)).fetchall()
    assert len(every) == 100 and all(count - error <= 8 <= count for _, count, error in every)
    db.execute("INSERT INTO t SELECT 'often' FROM t LIMIT 3000")
    certain = db.execute("SELECT key, count, error FROM weir_top((SELECT weir_agg(k, 'top keys=100') FROM t))").fetchall()
    assert [key for key, _, _ in certain] == ["often"] and certain[0][1] - certain[0][2] <= 3000 <= certain[0][1]
    for wrong in ("'most'", "1", "NULL"):
        assert "use 'all'" in failure(db, f"SELECT * FROM weir_top(?, {wrong})", blob)


def test_blobs_without_a_sketch_are_errors(db):
    fill(db, ["a"])
    assert "sketch is missing" in failure(db, "SELECT * FROM weir_top")
    assert "not a blob" in failure(db, "SELECT * FROM weir_top('x')")
    assert "no sketch" in failure(db, "SELECT * FROM weir_top(?)", built(db))
    assert "no sketch" in failure(db, "SELECT * FROM weir_top(x'')")
    assert "cannot list" in failure(db, "SELECT * FROM weir_top(?)", built(db, "count-min"))
    assert db.execute("SELECT * FROM weir_top(NULL)").fetchall() == []
    good = built(db, "top keys=4")
    for at in range(0, len(good), 3):
        bad = bytearray(good)
        bad[at] ^= 4
        assert failure(db, "SELECT * FROM weir_top(?)", bytes(bad)).startswith("weir_top: "), at


# ---- connections and statements that end early ----

def test_a_statement_that_ends_early(db):
    fill(db, [str(i) for i in range(100)])
    blob = built(db)
    rows = db.execute("SELECT k FROM t WHERE weir_has(?, k)", (blob,))
    assert next(rows) == ("0",)
    rows.close()
    rows = db.execute("SELECT weir_agg(k), sqlite_version() FROM t GROUP BY k")
    next(rows)
    rows.close()
    rows = db.execute("SELECT key FROM weir_top(?)", (built(db, "top"),))
    next(rows)
    rows.close()


def test_connections_share_nothing():
    a, b = connect(), connect()
    fill(a, ["x"])
    blob = built(a, FIXED)
    a.close()
    assert one(b, "SELECT weir_has(?, 'x')", blob) == 1
    b.close()


def test_it_can_be_loaded_twice(db):
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    fill(db, ["x"])
    assert one(db, "SELECT weir_has(?, 'x')", built(db)) == 1


def test_a_blob_that_would_be_too_long_is_refused(db):
    fill(db, ["x"])
    if hasattr(db, "setlimit"):
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 5000)
        assert "weir_agg: " in failure(db, "SELECT weir_agg(k, 'bloom memory=8K') FROM t")
        assert one(db, "SELECT length(weir_agg(k, 'bloom memory=1K')) FROM t") < 5000


def test_a_filter_with_other_keys_is_refused_unless_allowed(db, here):
    weir("build", "-q", "--ignore-case", "-o", "folded", "-m", "4K", input=b"ABC\n")
    blob = (here / "folded").read_bytes()
    for call in ("weir_has(?, 'abc')", "weir_keep('f', ?)"):
        assert "keys were made with --ignore-case" in failure(db, f"SELECT {call}", blob)
    assert "use 'keys-differ'" in failure(db, "SELECT weir_keep('f', ?, 'yes')", blob)
    assert one(db, "SELECT weir_keep('f', ?, 'keys-differ')", blob) == "f"
    assert one(db, "SELECT weir_has('f', 'abc')") == 1


# ---- several columns, times ----

def test_several_columns_are_one_key(db, here):
    rows = [("a", 1), ("a", 2), ("b", 1), ("a", 1)]
    db.execute("CREATE TABLE p (x, y)")
    db.executemany("INSERT INTO p VALUES (?, ?)", rows)
    got = db.execute("SELECT x, y FROM p WHERE NOT weir_observe(?, weir_key(x, y))", (LEARNING,)).fetchall()
    assert got == rows[:3]
    assert one(db, "SELECT weir_key('a', 1, 'x')") == "a\x1f1\x1fx" and one(db, "SELECT weir_key(x'ff', 1)") == b"\xff\x1f1"
    assert one(db, "SELECT weir_key('a', NULL)") is None and one(db, "SELECT weir_key('')") == ""
    assert "weir_key(a, b)" in failure(db, "SELECT weir_key()")
    weir("build", "-q", "-k", "1,2", "-d", ",", "-e", "1e-6", "-o", "pairs.weir", input=b"a,1\nb,2\n")
    one(db, "SELECT weir_load('pairs', 'pairs.weir', 'keys-differ')")
    assert [k for (k,) in db.execute("SELECT weir_has('pairs', weir_key(x, y)) FROM p")] == [1, 0, 0, 1]


def test_each_key_lives_as_long_as_its_ttl(db):
    sql = "SELECT weir_observe('t: recent memory=64K ttl=1s-100s seed=1', ?, ?, ?)"

    def observe(key, time, ttl):
        return db.execute(sql, (key, time, ttl)).fetchone()[0]

    assert [observe("short", 1000, 8), observe("long", 1000, 80.5), observe("longest", 1000, None)] == [0, 0, 0]
    assert [observe("none", 1000, 0), observe("none", 1000, 0)] == [0, 0]
    assert observe("short", 1005, 0) == 1
    assert observe("short", 1008, 0) == 0
    assert [observe("long", 1060, 0), observe("longest", 1074, 0)] == [1, 1]
    assert [observe("long", 1081, 0), observe("longest", 1101, 0)] == [0, 0]
    assert observe("short", None, 8) is None
    assert db.execute("SELECT weir_observe('t', 'default', 1200)").fetchone()[0] == 0
    assert db.execute("SELECT weir_observe('t', 'default', 1270)").fetchone()[0] == 1
    for ttl in "'1h'", "-1", "x'00'":
        assert "use seconds" in failure(db, f"SELECT weir_observe('t', 'a', 1300, {ttl})")
    assert "ttl=1m-2h" in failure(db, "SELECT weir_observe('recent span=1h', 'a', 5, 5)")
    assert "unixepoch" in failure(db, "SELECT weir_observe('recent ttl=1h', 'a')")


def test_keys_are_forgotten_after_their_span(db):
    times = [("a", 0), ("a", 1800), ("b", 1800), ("a", 9000), ("b", 9000.5), ("a", 9001)]
    db.execute("CREATE TABLE e (k, t)")
    db.executemany("INSERT INTO e VALUES (?, ?)", times)
    sql = "SELECT weir_observe('recent memory=64K span=1h seed=1', k, t) FROM e ORDER BY t, rowid"
    assert [v for (v,) in db.execute(sql)] == [0, 1, 0, 0, 0, 1]
    say = "SELECT weir_observe('recent span=1h', 'a', ?)"
    assert one(db, say, None) is None
    for wrong, text in (("2020-01-01", "unixepoch"), (-1, "1970"), (time.time() * 1000, "more than a day ahead"), (float("inf"), "ahead")):
        assert text in failure(db, say, wrong)
    assert one(db, say, time.time()) == 0
    assert "add span=" in failure(db, "SELECT weir_observe('recent memory=64K', 'a', 5)")
    assert "use weir_key(a, b) for several columns" in failure(db, "SELECT weir_observe('recent memory=64K', 'a', 'b')")


# ---- files, drop, merge, info, count ----

def test_a_filter_is_saved_loaded_and_dropped(db, here):
    fill(db, [str(i) for i in range(1000)])
    assert one(db, "SELECT sum(weir_observe('v: recent memory=64K seed=1', k)) FROM t") == 0
    size = one(db, "SELECT weir_save('v', 'v.weir')")
    assert size == (here / "v.weir").stat().st_size
    assert weir("ask", "v.weir", input=b"999\nx\n") == b"seen\t999\nnew\tx\n"
    other = connect()
    assert one(other, "SELECT weir_load('w', 'v.weir')") == "w"
    assert [one(other, "SELECT weir_observe('w', ?)", k) for k in ("999", "x", "x")] == [1, 0, 1]
    other.close()
    assert [one(db, "SELECT weir_drop('v')"), one(db, "SELECT weir_drop('v')")] == [1, 0]
    assert one(db, "SELECT weir_observe('v: bloom memory=1K', '999')") == 0
    weir("build", "--fixed", "-o", "f.weir", input=b"a\nb\n")
    assert one(db, "SELECT weir_load('f', 'f.weir')") == "f" and one(db, "SELECT weir_has('f', 'a')") == 1
    assert "cannot be changed" in failure(db, "SELECT weir_observe('f', 'a')")
    weir("build", "-q", "--ignore-case", "-o", "folded", "-m", "4K", input=b"ABC\n")
    assert "--ignore-case" in failure(db, "SELECT weir_load('g', 'folded')")
    assert one(db, "SELECT weir_load('g', 'folded', 'keys-differ')") == "g" and one(db, "SELECT weir_has('g', 'abc')") == 1


def test_files_that_cannot_be_used(db, here):
    one(db, "SELECT weir_observe('v: bloom memory=1K', 'a')")
    (here / "text").write_text("not a filter")
    assert "none.weir: No such file" in failure(db, "SELECT weir_load('x', 'none.weir')")
    assert failure(db, "SELECT weir_load('x', 'text')").startswith("weir_load: ")
    assert failure(db, "SELECT weir_load('x', '.')").startswith("weir_load: ")
    assert "not text" in failure(db, "SELECT weir_load('x', 5)")
    assert failure(db, "SELECT weir_save('v', 'no/folder')").startswith("weir_save: ")
    assert "no filter" in failure(db, "SELECT weir_save('none', 'f')")
    assert "no filter" in failure(db, "SELECT weir_has('x', 'a')")
    db.execute("CREATE VIEW s AS SELECT weir_save('v', 'from-a-view')")
    assert "unsafe" in failure(db, "SELECT * FROM s") and not (here / "from-a-view").exists()


def test_merged_filters_contain_all_keys(db):
    db.execute("CREATE TABLE t (g, k)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(i % 4, str(i)) for i in range(2000)])
    merged = one(db, "SELECT weir_merge(f) FROM (SELECT weir_agg(k, ?) AS f FROM t GROUP BY g UNION ALL SELECT NULL)", LEARNING)
    assert one(db, "SELECT sum(weir_has(?, k)) FROM t", merged) == 2000
    assert one(db, "SELECT weir_count(?)", merged) == 2000
    counts = one(db, "SELECT weir_merge(f) FROM (SELECT weir_agg(k % 3, 'top keys=9 seed=1') AS f FROM t GROUP BY g)")
    assert dict(db.execute("SELECT key, count FROM weir_top(?)", (counts,))) == {"0": 667, "1": 667, "2": 666}
    assert one(db, "SELECT weir_count(?, 1)", counts) == 667 and one(db, "SELECT weir_count(?, 'x')", counts) == 0
    assert one(db, "SELECT weir_merge(k) FROM t WHERE 0") is None
    for wrong, text in ((f"weir_agg(k, 'bloom memory=1K seed=' || {{}})", "seed"), ("weir_agg(k)", "fuse"), ("'text'", "not a blob")):
        sql = f"SELECT weir_merge(f) FROM (SELECT {wrong.format('g')} AS f FROM t GROUP BY g)"
        assert failure(db, sql).startswith("weir_merge: ") and text in failure(db, sql)
    assert "sketch" in failure(db, "SELECT weir_merge(f) FROM (SELECT weir_agg(k, 'top') AS f FROM t UNION ALL SELECT weir_agg(k, ?) FROM t)", LEARNING)


def test_info_and_count(db):
    fill(db, [str(i % 700) for i in range(1000)])
    about = json.loads(one(db, "SELECT weir_info(?)", built(db, LEARNING)))
    assert about["kind"] == "filter" and about["spec"].startswith("bloom ") and about["new"] == 700
    sketch = json.loads(one(db, "SELECT weir_info(?)", built(db, "top keys=1000")))
    assert (sketch["kind"], sketch["total"], sketch["keys"], sketch["error"]) == ("sketch", 1000, 700, 0)
    assert json.loads(one(db, "SELECT weir_info(?)", built(db, "heavykeeper")))["error"] is None
    one(db, "SELECT sum(weir_observe('v: bloom memory=64K', k)) FROM t")
    named = json.loads(one(db, "SELECT weir_info('v')"))
    assert named["observed"] == 1000 and one(db, "SELECT weir_count('v')") == named["new"] == 700
    assert one(db, "SELECT weir_count(?)", built(db)) == 700
    assert one(db, "SELECT weir_info(NULL)") is None and one(db, "SELECT weir_count(NULL)") is None
    for call in ("weir_info('none')", "weir_count('none')", "weir_info(5)", "weir_count(x'00')", "weir_count('v', 'k')"):
        assert failure(db, f"SELECT {call}").startswith("weir_")
    assert "weir_count(sketch, key)" in failure(db, "SELECT weir_count(?)", built(db, "top"))


def test_two_calls_of_one_statement_share_a_filter_of_their_spec(db):
    assert db.execute("SELECT weir_observe('bloom memory=1K', 'a'), weir_observe('bloom memory=1K', 'a'), "
                      "weir_observe('bloom memory=2K', 'a')").fetchall() == [(0, 1, 0)]


def test_the_shared_vectors(db):
    folder = pathlib.Path(os.environ["WEIR_SOURCE"]) / "tests/vectors"
    rows = [line.split("\t") for line in (folder / "keys.tsv").read_text().splitlines()[1:]]
    values = [int(v) if kind == "int" else bytes.fromhex(v).decode() if kind == "text" else bytes.fromhex(v) for kind, v, *_ in rows]
    seen = [one(db, "SELECT weir_observe('v: recent memory=4K seed=7', ?)", v) for v in values]
    assert seen == [int(row[-1]) for row in rows]
    saved = (folder / "keys.weir").read_bytes()
    assert all(one(db, "SELECT weir_has(?, ?)", saved, v) for v in values)
