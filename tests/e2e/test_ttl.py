"""TTLs of records: weir dedup --ttl."""
import random

from conftest import refused
from conftest import run as run_command

RANGE = "ttl=1m-2h"


def weir(*args, input):
    return run_command(*args, input=input).out.decode()


def fails(*args, input):
    return refused(*args, input=input).err


def run(lines, *more, range_=RANGE):
    text = "".join(line + "\n" for line in lines)
    return weir("dedup", "-k", "1", "--ttl", "2", "--time", "3", "--time-format", "s", "-S", range_,
                *more, input=text).splitlines()


def exact(rows, shortest, longest, late=False):
    """Which rows must be new, must be seen (True), or may be either (None)."""
    certain, possible, verdicts = {}, {}, []
    for key, ttl, time in rows:
        verdicts.append(True if time < certain.get(key, 0) else
                        False if time >= possible.get(key, 0) else None)
        if ttl < shortest and not late:
            continue
        ttl = min(max(ttl, shortest), longest)
        ends = (time + ttl, time + 1.25 * ttl) if late else (time + 0.75 * ttl, time + ttl)
        certain[key] = max(ends[0], certain.get(key, 0))
        possible[key] = max(ends[1], possible.get(key, 0))
    return verdicts


def rows_of(seed, n):
    rng, time, rows = random.Random(seed), 1700000000, []
    for _ in range(n):
        time += rng.choice([0, 1, 3, 10, 60])
        rows.append((f"k{rng.randrange(200)}", int(2 ** rng.uniform(5, 13.5)), time))
    return rows


def test_each_record_lives_as_long_as_its_ttl():
    for more, late in ([], False), (["-S", "expire=late"], True):
        rows = rows_of(1, 5000)
        words = weir("dedup", "--words", "new,seen", "-k", "1", "--ttl", "2", "--time", "3", "-S", RANGE,
                     *more, input="".join(f"{k} {ttl} {time}\n" for k, ttl, time in rows)).split()
        expected = exact(rows, 60, 7200, late)
        assert len(words) == len(rows)
        wrong = [i for i, (word, seen) in enumerate(zip(words, expected))
                 if seen is not None and (word == "seen") != seen]
        assert wrong == []
        assert sum(e is True for e in expected) > 500 and sum(e is False for e in expected) > 500


def test_ttls_are_seconds_or_have_a_unit():
    same = ["100", "100.0", "100s", "100000ms", " 100 "]
    for ttl in same:
        rows = [f"a,{ttl},0", "a,100,70", "b,1,70", "a,100,171"]
        out = weir("dedup", "--csv", "-k", "1", "--ttl", "2", "--time", "3", "--time-format", "s", "-S", RANGE,
                   input="".join(r + "\n" for r in rows)).splitlines()
        assert out == [rows[0], rows[2], rows[3]], ttl


def test_a_missing_ttl_is_the_longest():
    for lines in (["a,,0", "a,,5000", "b,60,8000"], ["a,,0", "a,99h,5000", "b,60,8000"]):
        assert weir("dedup", "--csv", "-k", "1", "--ttl", "2", "--time", "3", "--time-format", "s",
                    "-S", RANGE, input="\n".join(lines)).splitlines() == [lines[0], lines[2]]
    lines = ['{"k":1,"t":0}', '{"k":1,"ttl":null,"t":5000}', '{"k":1,"ttl":60,"t":9000}']
    out = weir("dedup", "-k", "/k", "--ttl", "/ttl", "--time", "/t", "--time-format", "s", "-S", RANGE,
               input="\n".join(lines)).splitlines()
    assert out == lines[:1]


def test_ttl_0_is_not_remembered():
    assert run(["a 0 0", "a 90 1", "a 0 2", "a 59 80", "a 90 100"]) == ["a 0 0", "a 90 1", "a 90 100"]
    assert run(["a 0 0", "a 59 1", "a 0 59"], "-S", "expire=late") == ["a 0 0", "a 59 1"]


def test_malformed_ttls_go_to_on_error():
    for bad in "-1", "x", "1e3", "90q", "1h30m", "-", "1" * 50:
        lines = ["a 90 0", f"b {bad} 1", "c 90 2"]
        text = "\n".join(lines) + "\n"
        options = ["dedup", "-k", "1", "--ttl", "2", "--time", "3", "--time-format", "s", "-S", RANGE]
        assert f"line 2: the TTL '{bad}' is not a time; use seconds, or a unit" in fails(*options, input=text)
        assert run(lines, "--on-error", "skip") == ["a 90 0", "c 90 2"]


def test_ttls_need_a_range_in_the_spec():
    assert "--ttl: the filter has no TTLs; add -S ttl=1m-2h" in fails("dedup", "--ttl", "1", input="a\n")
    assert "--ttl takes one field" in fails("dedup", "--ttl", "1,2", "-S", RANGE, input="a\n")
    assert "ttl=2h-1m: invalid value" in fails("dedup", "-S", "ttl=2h-1m", input="a\n")
    assert "--near cannot be combined with --ttl" in fails("dedup", "--near", "0.8", "--ttl", "1", input="a\n")
    assert "'weir eval' cannot measure ttl=" in fails("eval", "-S", RANGE, "-m", "4K", input="a\n")
    assert "--exact cannot be combined with --ttl" in fails("dedup", "--exact", "x", "--ttl", "1", input="a\n")
    assert "ttl= cannot be combined with window= and span=" in fails(
        "dedup", "--once-per", "1h", "-S", RANGE, input="a\n")


def test_a_state_continues_with_ttls(tmp_path):
    rows = [f"{k} {ttl} {time}\n" for k, ttl, time in rows_of(2, 4000)]
    options = ["dedup", "-k", "1", "--ttl", "2", "--time", "3", "-S", RANGE, "--seed", "1"]
    state = str(tmp_path / "state")
    whole = weir(*options, input="".join(rows))
    parts = weir(*options, "--state", state, input="".join(rows[:1500]))
    parts += weir(*options, "--state", state, input="".join(rows[1500:]))
    assert parts == whole
    other = ["dedup", "-k", "1", "--time", "3", "--state", state]
    assert "--ttl" in fails(*other, input="".join(rows[:1]))


def test_shards_and_threads_give_the_same_verdicts():
    rows = "".join(f"{k} {ttl} {time}\n" for k, ttl, time in rows_of(3, 60000))
    options = ["dedup", "-k", "1", "--ttl", "2", "--time", "3", "-S", RANGE, "--seed", "1", "--shards", "8"]
    assert weir(*options, "-j", "1", input=rows) == weir(*options, "-j", "2", input=rows)
