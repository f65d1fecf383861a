"""--rejects and --audit against exact ground truth: every record is in one of two files, in order, with its reason."""
import collections
import gzip
import hashlib
import json
import os
import random
import signal
import subprocess

import pytest

from conftest import EXACT, LONG, WEIR, refused, run

THREADS = pytest.mark.parametrize("threads", ["1", "2", "4"])


def lines_of(path):
    return path.read_text().splitlines()


def objects_of(path):
    return [json.loads(line) for line in lines_of(path)]


def audit_of(path):
    audit = json.loads(path.read_text())
    records = audit["records"]
    assert records["in"] == records["passed"] + records["rejected"]
    assert records["rejected"] == sum(records["reasons"].values())
    return audit


def reasons_of(audit):
    return {reason: n for reason, n in audit["records"]["reasons"].items() if n}


def stream(n, seed=1, distinct=3000):
    """Records `key,number`: some keys repeat, a few records are malformed or have no key."""
    rng = random.Random(seed)
    for i in range(n):
        kind = rng.random()
        yield (f'"k"{i},{i}' if kind < 0.01 else
               str(i) if kind < 0.02 else
               f"{i},k{rng.randrange(distinct)}")


def judge(lines):
    """What --csv -k 2 --on-error skip does with each line: None passes, else the reason."""
    seen = set()
    for line in lines:
        if line.startswith('"'):
            yield "malformed"
        elif "," not in line:
            yield "missing key"
        else:
            key = line.split(",")[1]
            yield "seen" if key in seen else None
            seen.add(key)


DEDUP = ["dedup", *EXACT, "--csv", "-k", "2", "--on-error", "skip", "--on-missing", "skip"]


@THREADS
def test_each_record_is_in_one_file_in_order_with_its_reason(here, threads):
    lines = list(stream(60_000))
    expected = list(judge(lines))
    (here / "in").write_text("".join(line + "\n" for line in lines))
    run(*DEDUP, "-j", threads, "-o", "out", "--rejects", "text", "--audit", "a", "in")
    run(*DEDUP, "-j", threads, "-o", "out2", "--rejects", "json", "--rejects-format", "json", "in")
    assert lines_of(here / "out") == lines_of(here / "out2") == [x for x, why in zip(lines, expected) if not why]
    assert lines_of(here / "text") == [x for x, why in zip(lines, expected) if why]
    assert objects_of(here / "json") == [
        {"number": i + 1, "record": x, "key": x.split(",")[1] if why == "seen" else None, "reason": why}
        for i, (x, why) in enumerate(zip(lines, expected)) if why]
    audit = audit_of(here / "a")
    assert audit["records"]["in"] == len(lines) and audit["records"]["passed"] == expected.count(None)
    assert reasons_of(audit) == {k: n for k, n in collections.Counter(expected).items() if k}


@pytest.mark.parametrize("emit, passes", [("unique", "new"), ("duplicates", "seen")])
def test_what_is_rejected_is_what_the_other_choice_passes(here, emit, passes):
    keys = [random.Random(3).randrange(500) for _ in range(5)] * 400
    (here / "in").write_text("".join(f"{k}\n" for k in keys))
    run("dedup", *EXACT, "--emit", emit, "-o", "out", "--rejects", "rest", "in")
    other = "duplicates" if emit == "unique" else "unique"
    assert (here / "rest").read_bytes() == run("dedup", *EXACT, "--emit", other, "in").out


@pytest.mark.parametrize("command", ["filter", "filter --strict members", "check"])
def test_members_and_others(here, command):
    members = {f"m{i}" for i in range(500)}
    (here / "members").write_text("".join(f"{m}\n" for m in sorted(members)))
    run("build", *EXACT, "-o", "set", "members")
    words = command.split()
    what = ["--store", "keys:members"] if words == ["check"] else [*words[1:], "set"]
    lines = [f"m{random.Random(i).randrange(1000)}" for i in range(4000)]
    (here / "in").write_text("".join(f"{line}\n" for line in lines))
    run(words[0], *what, "-o", "out", "--rejects", "rest", "--rejects-format", "json", "--audit", "a", "in")
    assert lines_of(here / "out") == [x for x in lines if x in members]
    rest = [(i + 1, x) for i, x in enumerate(lines) if x not in members]
    assert objects_of(here / "rest") == [{"number": i, "record": x, "key": x, "reason": "other"} for i, x in rest]
    audit = audit_of(here / "a")
    assert audit["records"]["passed"] == len(lines) - len(rest) and reasons_of(audit) == {"other": len(rest)}
    assert (audit["false_positives"] is None) == (command != "filter")


def test_late_records(here):
    lines = ["100 a", "200 b", "10 c", "150 d", "300 a"]
    run("dedup", "-m", "1M", "-k", "2", "--time", "1", "--time-format", "s", "--lateness", "60s", "--once-per", "1h",
        "--on-error", "skip", "-o", "out", "--rejects", "r", "--rejects-format", "json", input="\n".join(lines) + "\n")
    assert lines_of(here / "out") == ["100 a", "200 b", "150 d"]
    assert [(o["number"], o["reason"], o["key"]) for o in objects_of(here / "r")] == [(3, "late", "c"), (5, "seen", "a")]


def test_a_record_that_is_too_long_is_one_reject(here):
    long = "x" * 300_000
    (here / "in").write_text(f"a\n{long}\nb\na\n")
    run("dedup", *EXACT, "--max-record", "1000", "--on-error", "skip", "-o", "out", "--rejects", "r", "--rejects-format",
        "json", "--audit", "audit", "in")
    assert lines_of(here / "out") == ["a", "b"]
    assert [(o["number"], o["reason"]) for o in objects_of(here / "r")] == [(2, "malformed"), (4, "seen")]
    assert objects_of(here / "r")[0]["record"] in (None, long)
    assert audit_of(here / "audit")["records"]["in"] == 4


def test_json_records_stay_json_and_malformed_ones_become_strings(here):
    lines = ['{"k": 1, "a": [1]}', '{"k": 1}', '{"k": ', '{"a": 2}']
    run("dedup", *EXACT, "--jsonl", "-k", "/k", "--on-error", "skip", "--on-missing", "skip", "-o", "out", "--rejects", "r",
        "--rejects-format", "json", input="\n".join(lines) + "\n")
    assert [(o["record"], o["key"], o["reason"]) for o in objects_of(here / "r")] == [
        ({"k": 1}, "1", "seen"), ('{"k": ', None, "malformed"), ({"a": 2}, None, "missing key")]


def test_both_files_have_the_header_and_records_without_a_key_pass(here):
    (here / "in").write_text("id,k\n1,a\n2,a\n3\n")
    run("dedup", *EXACT, "--csv", "--header", "-k", "k", "--on-missing", "pass", "-o", "out", "--rejects", "r", "--audit",
        "audit", "in")
    assert lines_of(here / "out") == ["id,k", "1,a", "3"] and lines_of(here / "r") == ["id,k", "2,a"]
    audit = audit_of(here / "audit")
    assert audit["records"]["passed"] == 2 and audit["inputs"][0]["lines"] == 4 and audit["inputs"][0]["records"] == 3


@pytest.mark.parametrize("options, words", [
    (["--rejects", "-"], ["--rejects -", "name a file"]),
    (["--audit", "-"], ["--audit -", "name a file"]),
    (["--rejects", "r", "--emit", "all"], ["--emit all"]),
    (["--rejects", "r", "--words", "a,b"], ["--words"]),
    (["--rejects-format", "json"], ["--rejects FILE"]),
    (["--rejects", "in"], ["in is input and output at once"]),
    (["--audit", "in"], ["in is input and output at once"]),
    (["--rejects", "x", "-o", "x"], ["x cannot be output and --rejects"]),
    (["--rejects", "x", "--audit", "x"], ["x cannot be --rejects and --audit"]),
    (["--rejects", "no/x"], ["cannot write no/x"]),
    (["--audit", "no/x"], ["no"]),
    (["--audit", "notes"], ["notes: not an audit file"]),
    (["--rejects", "/dev/full"], ["cannot write /dev/full: No space left"]),
    (["--audit", "/dev/full"], ["cannot write /dev/full: No space left"]),
])
def test_wrong_calls_are_refused(here, options, words):
    (here / "in").write_text("a\na\n")
    (here / "notes").write_text("keep\n")
    refused("dedup", *EXACT, *options, "in", saying=words)
    assert (here / "in").read_text() == "a\na\n" and (here / "notes").read_text() == "keep\n"


# ---- resumed runs


STATE = ["--state", "s", "--resume"]


def test_a_resumed_run_needs_the_same_files(here):
    files = ["-o", "out", "--rejects", "r", "--audit", "a"]
    (here / "in").write_text("a\na\nb\n")
    run("dedup", *EXACT, *STATE, *files, "in")
    refused("dedup", *EXACT, *STATE, "-o", "out", "--audit", "a", "in", saying="--rejects FILE")
    refused("dedup", *EXACT, *STATE, "-o", "out", "--rejects", "r", "in", saying="--audit FILE")
    (here / "r").write_text("other\n")
    refused("dedup", *EXACT, *STATE, *files, "in", saying="r is not the file of rejects")
    (here / "r").write_text("")
    refused("dedup", *EXACT, *STATE, *files, "in", saying="r has 0 bytes, but had 2")
    (here / "r").write_text("a\nmore, after the state\n")
    (here / "a").rename("b")
    refused("dedup", *EXACT, *STATE, *files, "in", saying="a: not the audit file")
    (here / "b").rename("a")
    with (here / "in").open("a") as more:
        more.write("b\nc\n")
    run("dedup", *EXACT, *STATE, *files, "in")
    assert lines_of(here / "out") == ["a", "b", "c"] and lines_of(here / "r") == ["a", "b"]
    audit = audit_of(here / "a")
    assert audit["runs"] == 2 and audit["resumed"][0]["record"] == 4 and reasons_of(audit) == {"seen": 2}
    assert [(f["first_record"], f["records"], f["lines"]) for f in audit["inputs"]] == [(1, 5, 5)]
    assert audit["inputs"][0]["sha256"] == hashlib.sha256((here / "in").read_bytes()).hexdigest()


def kill_at_random(command, rng, patience):
    process = subprocess.Popen([WEIR, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        process.wait(timeout=rng.random() * patience)
    except subprocess.TimeoutExpired:
        process.send_signal(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
    error = process.communicate()[1].decode()
    assert process.returncode in (0, -signal.SIGKILL, -signal.SIGTERM), error
    return process.returncode != 0


@pytest.mark.parametrize("threads", ["1", "2"])
def test_kill_9_keeps_every_record_in_one_file(here, threads):
    rng, killed, turn = random.Random(int(threads)), 0, 0
    while killed < (200 if LONG else 25):
        turn += 1
        for name in "s", "out", "r", "a":
            (here / name).unlink(missing_ok=True)
        files = {}
        lines = list(stream(120_000, seed=turn, distinct=30_000))
        for name, part in ("x", lines[:50_000]), ("y", []), ("z", lines[50_000:]):
            (here / name).write_text("".join(line + "\n" for line in part))
            files[name] = len(part)
        command = [*DEDUP, *STATE, "--checkpoint", "8k", "-j", threads, "-o", "out", "--rejects", "r", "--audit", "a",
                   "--rejects-format", "json", "x", "y", "z"]
        patience, here_killed = 0.15, 0
        while kill_at_random(command, rng, patience):
            here_killed += 1
            patience *= 1.2 if here_killed > 30 else 1
        killed += here_killed
        expected = list(judge(lines))
        assert lines_of(here / "out") == [x for x, why in zip(lines, expected) if not why]
        assert [(o["number"], o["record"], o["reason"]) for o in objects_of(here / "r")] == [
            (i + 1, x, why) for i, (x, why) in enumerate(zip(lines, expected)) if why]
        audit = audit_of(here / "a")
        assert audit["status"] == "complete" and audit["records"]["in"] == len(lines)
        assert reasons_of(audit) == {k: n for k, n in collections.Counter(expected).items() if k}
        assert [(f["file"], f["records"], f["lines"]) for f in audit["inputs"]] == [(f, n, n) for f, n in files.items()]
        for f in audit["inputs"]:
            assert f["sha256"] == hashlib.sha256((here / f["file"]).read_bytes()).hexdigest(), f


def test_after_a_full_disk_a_resumed_run_completes_both_files(here):
    lines = [str(i % 5000) for i in range(40_000)]
    (here / "in").write_text("".join(f"{line}\n" for line in lines))
    command = ["dedup", *EXACT, *STATE, "--checkpoint", "5k", "-o", "out", "--rejects", "r", "in"]
    limited = ["sh", "-c", 'ulimit -f 100; trap "" XFSZ; exec "$@"', "sh", WEIR, *command]
    done = subprocess.run(limited, stderr=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 2 and b"cannot write r: File too large" in done.stderr
    run(*command)
    assert lines_of(here / "out") == lines[:5000] and lines_of(here / "r") == lines[5000:]


# ---- the audit file


def test_inputs_have_their_digests(here):
    (here / "plain").write_bytes(b"a\nb\na")
    (here / "empty").write_bytes(b"")
    (here / "packed.gz").write_bytes(gzip.compress(b"c\nb\n" * 1000))
    run("dedup", *EXACT, "-o", "out", "--audit", "a", "plain", "empty", "packed.gz", "-", input="d\n")
    inputs = audit_of(here / "a")["inputs"]
    assert [f["file"] for f in inputs] == ["plain", "empty", "packed.gz", "standard input"]
    assert [f["records"] for f in inputs] == [3, 0, 2000, 1] and [f["lines"] for f in inputs] == [3, 0, 2000, 1]
    for f in inputs[:3]:
        data = (here / f["file"]).read_bytes()
        assert f["bytes"] == len(data) and f["sha256"] == hashlib.sha256(data).hexdigest()
    assert inputs[2]["unpacked_bytes"] == 4000 and inputs[3]["bytes"] == 2 and inputs[3]["sha256"] is None


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("resumed", [False, True])
def test_the_expected_loss_is_that_of_an_exact_count(here, threads, resumed):
    """40,000 distinct keys in a Bloom filter of 1 % for 30,000: several hundred are lost."""
    lines = [f"key {i}" for i in range(40_000)]
    command = ["dedup", "-a", "bloom", "-S", "capacity=30k", "-e", "1%", "--seed", "7", "-j", threads, "-q", "-o", "out",
               "--audit", "a", *(STATE if resumed else []), "in"]
    for end in (15_000, 40_000) if resumed else (40_000,):
        (here / "in").write_text("".join(f"{line}\n" for line in lines[:end]))
        run(*command)
    lost = len(lines) - len(lines_of(here / "out"))
    audit = audit_of(here / "a")
    expected = audit["false_positives"]["expected"]
    assert lost > 100 and abs(lost - expected) < 4 * expected ** 0.5
    assert lost <= audit["false_positives"]["upper_99"] < 4 * expected
    assert audit["seed"] == "7" and audit["first_eviction"] is None and 0.2 < audit["filter"]["fill"] < 0.7


def test_the_first_eviction_is_a_record_of_all_runs(here):
    (here / "in").write_text("".join(f"{i}\n" for i in range(5_000)))
    command = ["dedup", "-m", "32K", "--seed", "1", "-q", *STATE, "-o", "out", "--audit", "a", "in"]
    run(*command)
    assert audit_of(here / "a")["first_eviction"] is None
    with (here / "in").open("a") as more:
        more.write("".join(f"{i}\n" for i in range(5_000, 60_000)))
    run(*command)
    assert 10_000 < audit_of(here / "a")["first_eviction"] < 40_000


def test_a_failed_run_says_so(here):
    (here / "in").write_text('a\n"b\nc')
    done = run("dedup", *EXACT, "--csv", "-k", "1", "-o", "out", "--audit", "a", "in", ok=False)
    assert done.status == 2 and audit_of(here / "a")["status"] == "failed"
    assert audit_of(here / "a")["records"]["in"] == 1
