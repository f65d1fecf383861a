"""weir_agg, weir_has, weir_observe and weir_top, against exact sets and counts."""
import collections
import random
import sqlite3

import pytest

from conftest import EXTENSION, connect, failure, one, weir

LEARNING = "bloom capacity=10k fpr=1e-6 seed=1"
FIXED = "fuse bits=32 seed=1"  # 2^-32: strangers are not taken for members


def fill(db, keys, table="t"):
    db.execute(f"CREATE TABLE {table} (k)")
    db.executemany(f"INSERT INTO {table} VALUES (?)", [(k,) for k in keys])


def built(db, *spec):
    """All keys of t, as weir_agg() has them."""
    return one(db, f"SELECT weir_agg(k{', ?' * len(spec)}) FROM t", *spec)


# ---- weir_agg, weir_has ----

@pytest.mark.parametrize("spec", [(), (FIXED,), (LEARNING,), ("counting capacity=10k fpr=1e-6",), ("cuckoo capacity=10k bits=32",)])
def test_what_was_aggregated_is_there(db, spec):
    keys = [f"member {i}" for i in range(5000)]
    fill(db, keys)
    blob = built(db, *spec)
    assert one(db, "SELECT count(*) FROM t WHERE weir_has(?, k)", blob) == 5000
    fill(db, [f"stranger {i}" for i in range(20000)], "others")
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


def test_of_no_rows_a_filter_that_has_nothing(db):
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
    """Which begins with what the command notes of its input."""
    weir("dedup", "--state", "seen.weir", "-a", "bloom", "-m", "1M", "--seed", 1, input=b"a\nb\na\n")
    blob = (here / "seen.weir").read_bytes()
    assert [one(db, "SELECT weir_has(?, ?)", blob, k) for k in "abc"] == [1, 1, 0]


# ---- bytes that are no filter ----

def test_what_is_no_filter_is_an_error(db):
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
    """Though the whole file was asked just before, and lies in the same place as like as not."""
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
    """Small enough to be compared whole, though all lie in the same place, one after the other."""
    fill(db, [str(i) for i in range(300)])
    good = built(db, "fuse seed=1")
    assert len(good) < 4096
    bad = bytearray(good)
    bad[len(good) // 2] ^= 1
    fill(db, [good, good, bytes(bad)], "f")
    assert failure(db, "SELECT weir_has(k, '5') FROM f").startswith("weir_has: ")


def test_many_filters_in_turn(db):
    """More than a connection keeps, with and without change of place."""
    db.execute("CREATE TABLE f (n, blob)")
    for n in range(9):
        fill(db, [f"{n} {i}" for i in range(100)], f"t{n}")
        db.execute(f"INSERT INTO f SELECT ?, weir_agg(k, ?) FROM t{n}", (n, f"bloom memory={n % 2 + 1}K k=8 seed=1"))
    for _ in range(3):
        got = db.execute("SELECT n, m.value FROM f, (SELECT value FROM json_each('[0,1,2,3,4,5,6,7,8]')) m "
                         "WHERE weir_has(blob, m.value || ' 7')").fetchall()
        assert [(n, m) for n, m in got if n == m] == [(n, n) for n in range(9)] and len(got) == 9


# ---- specs ----

def test_specs_that_cannot_be(db):
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
    assert "window=" in failure(db, "SELECT weir_observe('recent span=1h', 'a')")
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
    assert one(db, "SELECT count(*) FROM t WHERE NOT weir_observe('bloom capacity=10k fpr=1e-6 seed=1', k)") == 0


def test_names_stand_for_filters_of_the_connection(db):
    say = "SELECT weir_observe(?, ?)"
    assert [one(db, say, "a: bloom memory=1K", "x"), one(db, say, "a: bloom memory=1K", "x"), one(db, say, "a", "x")] == [0, 1, 1]
    assert [one(db, say, "b: bloom memory=1K", "x"), one(db, say, "b", "x")] == [0, 1]
    assert [one(db, say, "c", "x"), one(db, say, "c", "x"), one(db, say, "bloom", "x")] == [0, 1, 0]
    assert "another spec" in failure(db, say, "a: bloom memory=2K", "x")
    other = connect()
    assert one(other, say, "a", "x") == 0
    other.close()


def test_a_filter_of_the_connection_is_asked_by_name(db):
    one(db, "SELECT weir_observe('v: bloom memory=1K', 'x')")
    one(db, "SELECT weir_observe('bloom memory=1K', 'y')")
    assert [one(db, "SELECT weir_has('v', ?)", k) for k in "xyx"] == [1, 0, 1]
    assert [one(db, "SELECT weir_has('bloom memory=1K', ?)", k) for k in "xyx"] == [0, 1, 0]


# ---- weir_keep ----

def test_what_is_kept_is_asked_by_name(db):
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


def test_what_cannot_be_kept(db):
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


def test_heavykeeper_promises_no_bound(db):
    counted(db)
    rows = db.execute("SELECT key, error FROM weir_top(?) LIMIT 3", (built(db, "heavykeeper memory=64K"),)).fetchall()
    assert rows[0] == ("k1", None)


def test_top_joins_a_table_of_sketches(db):
    db.execute("CREATE TABLE t (g, k)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [("one", "a"), ("two", "b"), ("two", "b"), ("one", "c"), ("one", "c")])
    db.execute("CREATE TABLE s AS SELECT g, weir_agg(k, 'top keys=8') AS blob FROM t GROUP BY g")
    rows = db.execute("SELECT g, key, count FROM s, weir_top(s.blob) ORDER BY g, count DESC").fetchall()
    assert rows == [("one", "c", 2), ("one", "a", 1), ("two", "b", 2)]


def test_keys_that_are_no_text_come_back_as_blobs(db):
    keys = ["größe", "", b"\xff", b"a\0b", "\U0001f600", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80"]
    fill(db, keys)
    rows = db.execute("SELECT key FROM weir_top(?)", (built(db, "top keys=20"),)).fetchall()
    assert {k for (k,) in rows} == set(keys)


def test_what_weir_top_saved_is_listed(db, here):
    weir("top", "--state", "top.weir", input=b"a\nb\na\n")
    rows = db.execute("SELECT key, count FROM weir_top(?)", ((here / "top.weir").read_bytes(),)).fetchall()
    assert rows == [("a", 2), ("b", 1)]


def test_the_command_reads_the_counts_of_a_blob(db, here):
    fill(db, ["a", "b", "a"])
    (here / "top.weir").write_bytes(built(db, "top"))
    out = weir("top", "--state", "top.weir", input=b"b\nb\n").decode()
    assert [line.split("\t")[:2] for line in out.splitlines()] == [["b", "3"], ["a", "2"]]


def test_what_is_no_sketch_is_an_error(db):
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

def test_a_statement_that_is_left_half_way(db):
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


def test_two_connections_know_nothing_of_each_other():
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
