"""Event time (--time): verdicts and counts, compared with exact models."""
import datetime
import json
import os
import random
import re
import subprocess
import threading

import pytest

from conftest import QUICK, WEIR, refused, run

HOUR = 3600
UTC = datetime.timezone.utc


def clf(seconds, zone=0):
    local = datetime.datetime.fromtimestamp(seconds, datetime.timezone(datetime.timedelta(minutes=zone)))
    return local.strftime("[%d/%b/%Y:%H:%M:%S %z]")


def rfc3339(seconds):
    return datetime.datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def stream(n, seed=1, keys=80, start=1_600_000_000, step=30, pauses=0.002, late=0.0):
    """(key, time) pairs; time mostly advances, sometimes jumps, and some records go back."""
    rng = random.Random(seed)
    now, pairs = start, []
    for _ in range(n):
        now += rng.randrange(step)
        if rng.random() < pauses:
            now += rng.randrange(6 * HOUR)
        pairs.append((f"k{rng.randrange(keys)}", now - (rng.randrange(HOUR // 4) if rng.random() < late else 0)))
    return pairs


def check_model(pairs, verdicts, span, refresh=True):
    """Checks that repeats are dropped within the span and printed after 17/16 of it; counts both, and those in
    between."""
    since, clock, counts = {}, 0, {"drop": 0, "pass": 0, "either": 0}
    for (key, made), passed in zip(pairs, verdicts, strict=True):
        clock = max(clock, made)
        age = clock - since[key] if key in since else None
        if age is not None and age <= span:
            assert not passed, (key, made, age)
            counts["drop"] += 1
        elif age is None or age > 17 / 16 * span:
            assert passed, (key, made, age)
            counts["pass"] += 1
        else:
            counts["either"] += 1
        if refresh or passed:
            since[key] = clock
    return counts


def verdicts_of(lines, *options, **more):
    out = run("dedup", "--emit", "all", "-q", *options, input="\n".join(lines) + "\n", **more).lines
    tags, rest = zip(*(re.match(r"(new|seen)[\t ](.*)", line).groups() for line in out))
    assert list(rest) == lines
    return [tag == "new" for tag in tags]


EXACT = ["-S", "width=32", "--seed", "5"]


@pytest.mark.parametrize("late", [0, 0.1])
@pytest.mark.parametrize("refresh", [True, False])
def test_verdicts_equal_those_of_exact_times(refresh, late):
    pairs = stream(30000, late=late)
    how = ["-S", "span=1h"] if refresh else ["--once-per", "1h"]
    lines = [f"{key} {made}" for key, made in pairs]
    verdicts = verdicts_of(lines, *EXACT, *how, "-k", "1", "--time", "2")
    counts = check_model(pairs, verdicts, HOUR, refresh)
    assert min(counts.values()) > 100, counts


def test_the_timeline_of_the_manual():
    minutes = [*range(0, 181, 15), 300, 375]
    lines = [f"A {1_700_000_000 + 60 * minute}" for minute in minutes]
    renewed = verdicts_of(lines, *EXACT, "-S", "span=1h", "-k", "1", "--time", "2")
    once = verdicts_of(lines, *EXACT, "--once-per", "1h", "-k", "1", "--time", "2")
    assert [m for m, new in zip(minutes, renewed) if new] == [0, 300, 375]
    assert [m for m, new in zip(minutes, once) if new] == [0, 75, 150, 300, 375]


# ---- independence of threads and reads ----

def test_threads_shards_and_reads_change_nothing(here):
    pairs = stream(40000, keys=500, late=0.05, pauses=0.01)
    for i in range(0, 40000, 997):  # including invalid dates near the ends of blocks
        pairs[i] = (pairs[i][0], 4_070_908_800 + i)
    text = "".join(f"{key} {made}\n" for key, made in pairs)
    (here / "log").write_text(text)
    options = [*EXACT, "-k", "1", "--time", "2", "--on-error", "skip", "-q", "--once-per", "10m"]
    expected = run("dedup", *options, "log").out
    assert expected.count(b"\n") > 5000 and b" 407" not in expected
    assert run("dedup", *options, "-j", "4", "log").out == expected
    assert run("dedup", *options, "-j", "3", "--shards", "7", "log").out == expected
    assert run("dedup", *options, input=text).out == expected
    for size in (1 << 12, 77777):
        assert piped(options, [text[at:at + size] for at in range(0, len(text), size)]) == expected
    few = text[:100000]
    assert piped(options, few.splitlines(keepends=True)) == run("dedup", *options, input=few).out


def piped(options, pieces):
    """Returns the output for an input that arrives in these writes."""
    process = subprocess.Popen([WEIR, "dedup", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    got = []
    reader = threading.Thread(target=lambda: got.append(process.stdout.read()))
    reader.start()
    for piece in pieces:
        os.write(process.stdin.fileno(), piece.encode())
    process.stdin.close()
    reader.join()
    assert process.wait() == 0
    return got[0]


def test_a_state_contains_the_clock(here):
    pairs = stream(6000, late=0.05)
    lines = [f"{key} {made}\n" for key, made in pairs]
    options = [*EXACT, "-q", "-k", "1", "--time", "2", "-S", "span=1h"]
    whole = run("dedup", *options, input="".join(lines)).out
    parts = b""
    for at in range(0, 6000, 500):
        parts += run("dedup", *options, "--state", "s.weir", input="".join(lines[at:at + 500])).out
    assert parts == whole
    (here / "log").write_text("")
    parts = b""
    for at in range(0, 6000, 1500):
        with open("log", "a") as log:
            log.write("".join(lines[at:at + 1500]))
        parts += run("dedup", *options, "--state", "r.weir", "--resume", "log").out
    assert parts == whole


def test_records_late_for_an_earlier_run_are_late(here):
    options = ["dedup", "-q", "-k", "1", "--time", "2", "--once-per", "1h", "--lateness", "1m", "--state", "s.weir"]
    run(*options, input="a 1600000000\nb 1600000500\n")
    refused(*options, input="c 1600000100\n", saying=["line 1", "6.7 minutes older", "--lateness allows 60.0 s"])
    assert run(*options, input="c 1600000450\n").lines == ["c 1600000450"]


def test_states_of_event_time_and_records_are_incompatible(here):
    run("dedup", "-q", "-S", "span=1h", "-k", "1", "--time", "2", "--state", "s.weir", input="a 1600000000\n")
    refused("dedup", "-q", "-S", "span=1h", "-k", "1", "--state", "s.weir", input="a 1600000000\n",
            saying=["-k 1 --time 2", "now lines -k 1)"])


# ---- late records, and records far in the future ----

def test_late_records_count_as_of_now():
    text = "a 1600000000\nb 1600003000\na 1600000010\na 1600003001\nc 1600006500\nb 1600003100\n"
    result = run("dedup", *EXACT, "-S", "span=1h", "-k", "1", "--time", "2", "--stats", "json", input=text)
    assert result.lines == ["a 1600000000", "b 1600003000", "c 1600006500"]
    figures = json.loads(result.err.splitlines()[-1])
    assert (figures["late"], figures["latest"]) == (2, 3400.0)
    words = run("dedup", *EXACT, "-S", "span=1h", "-k", "1", "--time", "2", "--stats", "text", input=text)
    assert "2 records were late, the latest by 56.7 minutes" in words.err


def test_files_in_the_wrong_order_are_reported(here):
    """In the order of access.log*, the newest is first, and older records count as late."""
    pairs = stream(6000)
    lines = [f"{key} {made}\n" for key, made in pairs]
    (here / "log").write_text("".join(lines[3000:]))
    (here / "log.1").write_text("".join(lines[:3000]))
    command = ["dedup", *EXACT, "--once-per", "1h", "-k", "1", "--time", "2", "--time-format", "s"]
    late = run(*command, "log", "log.1").err
    assert "3000 records were late, the latest by" in late and "from the oldest to the newest" in late
    assert run(*command, "log.1", "log").err == run(*command, "-q", "log", "log.1").err == ""


def test_records_later_than_lateness_are_malformed():
    text = "a 1600000000\nb 1600003000\nc 1600002990\nd 1600002000\ne 1600003001\n"
    options = ["dedup", "-q", "-S", "span=1h", "-k", "1", "--time", "2", "--lateness", "10s"]
    refused(*options, input=text, saying=["standard input, line 4", "16.7 minutes older than the newest"])
    result = run(*options, "--on-error", "skip", "--stats", "json", input=text)
    assert [line[0] for line in result.lines] == ["a", "b", "c", "e"]
    figures = json.loads(result.err)
    assert (figures["skipped"], figures["late"]) == (1, 1)


FUTURE = 4_070_908_800  # 2099


def ahead(lines, *options, **more):
    return run("dedup", "-q", *EXACT, "-S", "span=1h", "-k", "1", "--time", "2", "--on-error", "skip", *options,
               input="".join(f"{line}\n" for line in lines), **more).lines


@pytest.mark.parametrize("wrong", [1, 2, 3])
@pytest.mark.parametrize("at", [0, 1, 5, 17])
def test_a_far_future_date_does_not_empty_the_filter(at, wrong):
    lines = [f"k{i % 3} {1_600_000_000 + i}" for i in range(20)]
    spoilt = lines[:at] + [f"x{i} {FUTURE + i}" for i in range(wrong)] + lines[at:]
    assert ahead(spoilt) == ahead(lines) == lines[:3]
    refused("dedup", "-q", "-S", "span=1h", "-k", "1", "--time", "2", input="\n".join(spoilt),
            saying=[f"line {at + 1}:", "its time is"])


def test_dates_at_the_end_of_the_input_are_compared_with_the_system_clock():
    lines = ["a 1600000000", "b 1600000001"]
    assert ahead([*lines, f"c {FUTURE}"]) == lines
    assert ahead([*lines, "c 1650000000"]) == [*lines, "c 1650000000"]
    assert ahead([f"c {FUTURE}"]) == []


def test_a_pause_in_the_stream_is_accepted():
    lines = [f"k{i % 3} {1_600_000_000 + i}" for i in range(9)]
    later = [f"k{i % 3} {1_600_020_000 + i}" for i in range(9)]
    assert ahead(lines + later) == lines[:3] + later[:3]
    assert ahead(lines + [later[0], "k0 1600000020", *later[1:]]) == lines[:3] + later[:3]  # an earlier record
    every_day = [f"k0 {1_600_000_000 + 86400 * i}" for i in range(40)]
    assert ahead(every_day) == every_day


def test_a_live_stream_with_immediate_answers_holds_back_no_record():
    options = ["dedup", "-q", "--emit", "all", "-k", "1", "--time", "2", "-S", "span=10s", "--on-error", "skip"]
    process = subprocess.Popen([WEIR, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for i in range(20):
        line = f"a {1_600_000_000 + 100 * i}\n".encode()
        os.write(process.stdin.fileno(), line)
        assert process.stdout.readline() == b"new\t" + line
    process.stdin.close()
    assert process.wait() == 0


def test_a_live_stream_continues_after_a_pause():
    options = ["dedup", "-q", "-k", "1", "--time", "2", "-S", "span=10s"]
    process = subprocess.Popen([WEIR, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for made in (1_600_000_000, 1_600_000_100):
        os.write(process.stdin.fileno(), f"a {made}\n".encode())
        assert process.stdout.readline() == f"a {made}\n".encode()  # without a later record
    process.stdin.close()
    assert process.wait() == 0


# ---- time formats ----

FORMS = {
    "s": (str, None),
    "s with a fraction": (lambda t: f"{t}.25", None),
    "ms": (lambda t: str(t * 1000), None),
    "us": (lambda t: str(t * 1000000), None),
    "rfc3339": (rfc3339, None),
    "rfc3339 with a zone": (lambda t: datetime.datetime.fromtimestamp(
        t, datetime.timezone(datetime.timedelta(hours=5, minutes=30))).isoformat(), None),
    "pattern": (lambda t: datetime.datetime.fromtimestamp(t, UTC).strftime("%d.%m.%Y-%H:%M:%S"), "%d.%m.%Y-%H:%M:%S"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_time(form):
    write, given = FORMS[form]
    pairs = stream(3000, seed=4)
    lines = [f"{key} {write(made)}" for key, made in pairs]
    options = ["--time-format", given] if given else []
    got = verdicts_of(lines, *EXACT, "--once-per", "1h", "-k", "1", "--time", "2", *options)
    check_model(pairs, got, HOUR, refresh=False)
    assert got == verdicts_of([f"{key} {made}" for key, made in pairs], *EXACT, "--once-per", "1h", "-k", "1",
                              "--time", "2")


@pytest.mark.parametrize("options", [["--time", "4"], ["--time", "4,5"], ["-d", " ", "--time", "4"]])
def test_the_zone_of_a_common_log_is_in_the_next_field(options):
    """Zones vary by line, as in a log written by two machines."""
    pairs = stream(4000, seed=9)
    rng = random.Random(2)
    lines = [f'{key} - - {clf(made, rng.choice([-420, 0, 330]))} "GET /{i} HTTP/1.0" 200' for i, (key, made) in
             enumerate(pairs)]
    got = verdicts_of(lines, *EXACT, "--once-per", "1h", "-k", "1", *options)
    counts = check_model(pairs, got, HOUR, refresh=False)
    assert counts["drop"] > 500


@pytest.mark.parametrize("format,options", [("csv", ["--csv", "-k", "who", "--time", "when"]),
                                            ("jsonl", ["-k", "/who", "--time", "/at/when"])])
def test_times_by_name_and_pointer(format, options):
    pairs = stream(3000, seed=6)
    if format == "csv":
        lines = ["when,what,who"] + [f'"{rfc3339(made)}",{i},{key}' for i, (key, made) in enumerate(pairs)]
    else:
        lines = [json.dumps({"at": {"when": made * 1000}, "who": key, "i": i}) for i, (key, made) in
                 enumerate(pairs)]
    out = set(run("dedup", "-q", *EXACT, "--once-per", "1h", *options, input="\n".join(lines) + "\n").lines)
    check_model(pairs, [line in out for line in lines[-3000:]], HOUR, refresh=False)


def test_the_detected_format_is_reported_once():
    text = "".join(f"a {1_600_000_000 + i}\n" for i in range(100000))
    result = run("dedup", "--once-per", "1h", "-k", "1", "--time", "2", input=text)
    assert result.err == ("weir: the times in --time 2 are read as seconds since 1970; --time-format sets "
                          "another format\n")
    assert run("dedup", "--once-per", "1h", "-k", "1", "--time", "2", "--time-format", "s", input=text).err == ""


@pytest.mark.parametrize("text,choices", [("12345678901", "s, ms or us"), ("7", "s, ms or us"),
                                          ("01/02/2024", "%d/%m/%Y %H:%M:%S or %m/%d/%Y"),
                                          ("2024-01-02", "--time 1,2"), ("yesterday", "rfc3339, clf"), ("-", "clf")])
def test_an_undetected_format_is_requested(text, choices):
    refused("dedup", "--once-per", "1h", "-k", "1", "--time", "2", input=f"a {text}\n",
            saying=["line 1", f"'{text}'", "--time-format", choices])


def test_two_fields_can_form_one_time():
    lines = [f"2024-05-01 10:00:{i:02},250 a" for i in range(60)] + ["2024-05-01 11:10:00,000 a"]
    got = run("dedup", "-q", *EXACT, "--once-per", "30m", "-k", "3", "--time", "1,2", input="\n".join(lines)).lines
    assert got == [lines[0], lines[-1]]


def test_a_record_in_another_format_is_malformed():
    text = "a 1600000000\nb noon\nc 1600000001\n"
    refused("dedup", "-q", "--once-per", "1h", "-k", "1", "--time", "2", input=text,
            saying=["line 2", "'noon' is not seconds since 1970"])
    skipped = run("dedup", "-q", "--once-per", "1h", "-k", "1", "--time", "2", "--on-error", "skip", input=text)
    assert skipped.lines == ["a 1600000000", "c 1600000001"]
    first = run("dedup", "-q", "--once-per", "1h", "-k", "1", "--time", "2", "--on-error", "skip", input="b noon\n" + text)
    assert first.lines == skipped.lines
    refused("dedup", "-q", "--once-per", "1h", "-k", "1", "--time", "2", "--time-format", "s", input="a -5\n",
            saying="before 1970")


@pytest.mark.parametrize("first,second,form", [("1600000000", "1600000001000", "seconds"),
                                               ("1600000000000", "1600000001", "milliseconds"),
                                               ("1600000000", "1600000001000000", "seconds"),
                                               ("1600000000", "5", "seconds"),
                                               ("2024-05-01T10:00:00Z", "1714557601", "RFC 3339"),
                                               ("[01/May/2024:10:00:00", "2024-05-01T10:00:00Z", "the common log")])
def test_a_detected_format_applies_to_all_records(first, second, form):
    """Regression: seconds in one record and milliseconds in the others were accepted, a jump of 50,000 years."""
    text = f"a {first}\n" + f"b {second}\n" * 9
    command = ["dedup", "-q", "--once-per", "1h", "-k", "1", "--time", "2"]
    refused(*command, input=text, saying=["line 2", f"'{second}' is not {form}"])
    assert run(*command, "--on-error", "skip", input=text).lines == [f"a {first}"]


def test_a_quote_that_is_open_at_the_end_ends_the_input():
    """While records are held back for later ones."""
    table = "k,t\na,2024-05-01T10:00:00Z\nb,2024-05-01T10:01:00Z\n"
    args = ["dedup", "-q", "--csv", "--header", "-k", "1", "--time", "2", "--once-per", "1h"]
    assert run(*args, "--on-error", "skip", input=table + '"c\n').out.decode() == table
    assert refused(*args, input=table + '"c\n', saying="line 4: not CSV: a quote is opened").out.decode() == table


def test_records_without_a_detectable_format_are_skipped():
    lines = ["b 1600", "a 1600000000", "a 1600000001"]
    command = ["dedup", "-q", "--once-per", "1h", "-k", "1", "--time", "2", "--on-error", "skip"]
    assert run(*command, input="\n".join(lines)).lines == ["a 1600000000"]
    process = subprocess.Popen([WEIR, *command, "--emit", "all"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for line, answer in zip(lines, ["skipped", "new", "seen"]):
        os.write(process.stdin.fileno(), f"{line}\n".encode())
        assert process.stdout.readline() == f"{answer}\t{line}\n".encode()
    process.stdin.close()
    assert process.wait() == 0


def test_blank_lines_of_json_count_as_of_now():
    text = '{"t":1600000000,"k":1}\n\n{"t":1600000009,"k":1}\n'
    assert run("dedup", "-q", *EXACT, "--once-per", "1h", "-k", "/k", "--time", "/t", input=text).lines == [
        '{"t":1600000000,"k":1}', ""]


NO_TIME = {"json": (["--jsonl", "-k", "u", "--time", "t"], ['{"u":1}', '{"u":1,"t":null}', '{"u":1,"t":""}'],
                    ['{"u":1,"t":1600000000}', '{"u":1,"t":1600000009}']),
           "csv": (["--csv", "-k", "1", "--time", "2"], ["a,", "b", 'c,""', "d, "], ["a,1600000000", "a,1600000009"]),
           "two": (["--tsv", "-k", "1", "--time", "2,3"], ["a\t\t", "a"], ["a\t2024-05-01\t10:00:00", "a\t2024-05-01\t10:00:09"])}


@pytest.mark.parametrize("form", NO_TIME)
def test_missing_times_follow_on_missing(form):
    """Also in the first record: the format is detected from the first record that has a time."""
    options, without, timed = NO_TIME[form]
    command = ["dedup", "-q", *EXACT, "--once-per", "1h", *options]
    for record in without[:1] if QUICK else without:
        for lines in ([record, *timed, record], [record] * 3 + timed, [timed[0], record, record, timed[1]]):
            text = "\n".join(lines) + "\n"
            assert run(*command, "--on-missing", "skip", input=text).lines == [timed[0]]
            assert run(*command, "--on-error", "skip", input=text).lines == [timed[0]]
            assert run(*command, "--on-missing", "pass", input=text).lines == [x for x in lines if x != timed[1]]
            number = lines.index(record) + 1
            refused(*command, input=text, saying=f"line {number}: ")
            refused(*command, "--on-error", "skip", "--on-missing", "stop", input=text, saying=f"line {number}: ")


def test_a_time_after_batches_without_one_is_detected(here):
    lines = ['{"u":1}'] * 40000 + ['{"u":1,"t":1600000000}', '{"u":1,"t":1600000009}']
    out = run("dedup", *EXACT, "--once-per", "1h", "--jsonl", "-k", "u", "--time", "t", "--on-missing", "skip", "-j", "2",
              input="\n".join(lines))
    assert out.lines == [lines[-2]] and "40000 of 40002 records skipped" in out.err


# ---- counts ----

@pytest.mark.parametrize("command", ["count", "top"])
def test_counts_decay_by_the_times_of_the_records(here, command):
    pairs = stream(20000, seed=8, keys=40, late=0.05)
    (here / "log").write_text("".join(f"{key} {made}\n" for key, made in pairs))
    clock, exact, times = 0, {}, []
    for _, made in pairs:
        clock = max(clock, made)
        times.append(clock)
    for (key, _), at in zip(pairs, times):
        exact[key] = exact.get(key, 0) + 2 ** (-(clock - at) / HOUR / 12)
    options = ["-n", "40"] if command == "top" else []
    rows = run(command, "-q", "-k", "1", "--time", "2", "-S", "half-life=12h", "-m", "1M", *options, "log").lines
    told = {row.split("\t")[0]: int(row.split("\t")[1]) for row in rows}
    assert set(told) >= {key for key, count in exact.items() if count > 1} and max(exact.values()) > 10
    for key, count in told.items():
        assert exact[key] * 0.997 - 0.01 <= count <= exact[key] * 1.003 + 1.01, key


def test_a_sketch_keeps_its_clock_between_runs(here):
    pairs = stream(4000, seed=8, keys=40)
    lines = [f"{key} {made}\n" for key, made in pairs]
    options = ["-q", "-k", "1", "--time", "2", "-S", "half-life=1h", "-n", "10", "--seed", "3"]
    whole = run("top", *options, input="".join(lines)).out
    run("top", *options, "--state", "s", input="".join(lines[:1700]))
    assert run("top", *options, "--state", "s", input="".join(lines[1700:])).out == whole


# ---- messages ----

def test_a_span_without_time_uses_the_clock_and_reports_it(here):
    (here / "log").write_text("a 1\nb 2\n")
    result = run("dedup", "-S", "span=1h", "log")
    assert result.err == ("weir: the span uses the clock of this machine, not the times in log; to use those, "
                          "add --time FIELD\n")
    assert run("dedup", "-q", "-S", "span=1h", "log").err == ""
    assert run("dedup", "-S", "span=1h", input="a\n").err == ""
    with open("log") as log:
        assert "not the times in standard input" in run("dedup", "--once-per", "1h", stdin=log).err
    assert "half-life= uses the clock" in run("top", "-S", "half-life=1h", "log").err
    assert run("count", "-S", "half-life=1h", "log").err.count("half-life= uses the clock") == 1
    assert "clock" not in run("top", "-S", "half-life=100", "log").err


def test_too_little_memory_is_reported():
    text = "".join(f"k{i} {1_600_000_000 + i // 1000}\n" for i in range(50000))
    result = run("dedup", "-m", "16K", "--once-per", "1h", "-k", "1", "--time", "2", "--stats", "json", input=text)
    assert json.loads(result.err.splitlines()[-1])["filter"]["lost"] > 30000


@pytest.mark.parametrize("args,saying", [
    (["dedup", "--time", "2"], "nothing here uses time"),
    (["dedup", "--time-format", "s"], "add --time FIELD"),
    (["dedup", "--lateness", "1h"], "add --time FIELD"),
    (["dedup", "--lateness", "1", "--time", "2"], "invalid value"),
    (["dedup", "--once-per", "1", "--time", "2"], "invalid value"),
    (["dedup", "--once-per", "1h", "-S", "span=1h"], "--once-per 1h sets span="),
    (["dedup", "--once-per", "1h", "--time", "2", "--time-format", "%H:%M"], "--time-format %H:%M:"),
    (["dedup", "--once-per", "1h", "-a", "bloom"], "bloom"),
])
def test_incompatible_options_are_refused(args, saying):
    refused(*args, input="a 1\n", saying=saying)


@pytest.mark.parametrize("option", ["--time", "--time-format", "--lateness"])
@pytest.mark.parametrize("value", ["1", "30s"])
def test_time_without_a_use_is_refused(here, option, value):
    """Even if another option has the same prefix: --time 30s was parsed as --timeout 30s."""
    (here / "bad").write_text("a\n")
    for form in [option, value], [f"{option}={value}"]:
        for command in ["filter", "--keys", "bad"], ["ask", "bad"]:
            refused(*command, *form, input="a 1600000000\n",
                    saying=f"{option}: not an option of 'weir {command[0]}', which does not use time")
    assert run("check", "-q", "--store", "keys:bad", "--timeo", "30s", input="a\n").lines == ["a"]


# ---- stores ----

SCREEN = ["--screen", "cache", "-S", "width=32", "-S", "span=1h", "--seed", "5"]


def calls_of(pairs, span):
    """The minimum and maximum number of lookups: one per key for each time that its part of the memory is cleared."""
    clock, steps = 0, {}
    for key, made in pairs:
        clock = max(clock, made)
        steps.setdefault(key, set()).add(clock * 64 // span)
    rounds = [[len({(step - part) // 64 for step in of}) for part in range(64)] for of in steps.values()]
    return sum(map(min, rounds)), sum(map(max, rounds))


def test_a_store_is_asked_again_after_the_span(here):
    pairs = stream(30000, late=0.05)
    (here / "bad").write_text("".join(f"k{i}\n" for i in range(0, 80, 3)))
    text = "".join(f"{key} {made}\n" for key, made in pairs)
    check = ["check", "--store", "keys:bad", *SCREEN, "-k", "1", "--time", "2", "--stats", "json"]
    done = run(*check, input=text)
    told = json.loads(done.err.splitlines()[-1])
    assert done.lines == [f"{key} {made}" for key, made in pairs if int(key[1:]) % 3 == 0]
    least, most = calls_of(pairs, HOUR)
    assert 0 < least <= told["asked"] <= most < 30000 / 2, (least, told["asked"], most)
    assert told["late"] > 0
    (here / "log").write_text(text)
    rows = json.loads(run("eval", "-q", "--store", "keys:bad", *SCREEN, "-m", "1M", "-k", "1", "--time", "2", "--format",
                          "json", "log").out)
    assert rows[0]["calls"] == told["asked"]


def test_a_state_of_a_screen_contains_the_clock(here):
    pairs = stream(6000, late=0.05)
    lines = [f"{key} {made}\n" for key, made in pairs]
    (here / "bad").write_text("k3\nk4\n")
    check = ["check", "--store", "keys:bad", *SCREEN, "-k", "1", "--time", "2", "--stats", "json"]
    whole = json.loads(run(*check, input="".join(lines)).err.splitlines()[-1])["asked"]
    parts = [json.loads(run(*check, "--state", "s", input="".join(lines[at:at + 500])).err.splitlines()[-1])["asked"]
             for at in range(0, 6000, 500)]
    assert sum(parts) == whole
    assert run("check", "-q", "--store", "keys:bad", *SCREEN, "-k", "1", "--time", "2", "--state", "s",
               "--lateness", "1h", "--on-error", "skip", input="k3 1600000000\n").lines == []


def test_a_span_of_a_screen_uses_the_clock_and_reports_it(here):
    (here / "bad").write_text("a\n")
    (here / "log").write_text("a\nb\n")
    done = run("check", "--store", "keys:bad", *SCREEN, "log")
    assert done.lines == ["a"] and "the span uses the clock of this machine, not the times in log" in done.err
    done = run("check", "--store", "keys:bad", "-S", "span=1h", "log")
    assert done.lines == ["a"] and "screen cache: it keeps verdicts, which span= lets grow old" in done.err
    refused("check", "--store", "keys:bad", "--screen", "cache", "--time", "1", input="1600000000\n",
            saying="--time: nothing here uses time; add -S span=1h")


# ---- evaluation ----

def test_an_evaluation_counts_repeats_within_the_span(here):
    """The only errors are from the sixteenth that keys are kept beyond the span."""
    pairs = stream(20000, seed=3, late=0.05)
    (here / "log").write_text("".join(f"{key} {made}\n" for key, made in pairs))
    since, clock, new, older = {}, 0, 0, 0
    for key, made in pairs:
        clock = max(clock, made)
        age = clock - since.get(key, 0)
        new += age > HOUR
        older += HOUR < age <= 17 / 16 * HOUR
        since[key] = clock
    rows = json.loads(run("eval", "-q", "-a", "recent", "-m", "1M", "--format", "json", "-S", "span=1h", "-k", "1",
                          "--time", "2", "log").out)
    assert rows[0]["distinct"] == new and rows[0]["fnr"] == 0
    assert 0 < rows[0]["fpr"] * new <= older < new / 3


@pytest.mark.parametrize("args,saying", [
    (["-S", "span=1h"], "needs --time FIELD"), (["--time", "2"], "--time needs -S span="),
    (["--time", "2", "-S", "span=1h", "--permutations", "2"], "--permutations"),
    (["--time", "2", "-S", "span=1h", "--report", "r.html"], "cannot be combined with --synthetic, --permutations or --report"),
    (["--time", "2", "-S", "span=1h", "-S", "refresh=no"], "refresh=no")])
def test_an_evaluation_refuses_meaningless_options(args, saying):
    refused("eval", "-a", "recent", *args, input="a 1600000000\n", saying=saying)
