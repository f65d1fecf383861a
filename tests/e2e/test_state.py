"""State files: keys kept between runs, resuming, and recovery after crashes."""
import bz2
import ctypes
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time

import pytest

from conftest import LONG, WEIR, refused, run, unique

SMALL = ["-a", "bloom", "-m", "64K", "-S", "k=8", "--seed", "1"]


def test_a_state_keeps_keys_between_runs(here):
    assert run("dedup", *SMALL, "--state", "s", input="a\nb\n").lines == ["a", "b"]
    assert run("dedup", "--state", "s", input="b\nc\n").lines == ["c"]
    assert run("dedup", *SMALL, "--state", "s", input="c\nd\n").lines == ["d"]


def test_a_state_of_another_filter_is_refused(here):
    run("dedup", *SMALL, "--state", "s", input="a\n")
    old = (here / "s").read_bytes()
    refused("dedup", "-m", "128K", "--state", "s", input="a\n",
            saying=["memory=65536", "Remove the options", "or the file to start from scratch"])
    refused("dedup", *SMALL[:-1], "2", "--state", "s", input="a\n", saying="seed=1")
    refused("dedup", "--state", "s", "-k", "1", input="a\n", saying=["lines -k 1", "start from scratch"])
    refused("dedup", "--state", "s", "--shards", "2", input="a\n", saying="--shards 1")
    assert (here / "s").read_bytes() == old


def test_shards_are_saved(here):
    run("dedup", *SMALL, "-j", "3", "--state", "s", input="a\nb\n")
    assert run("dedup", "-j", "2", "--state", "s", input="b\nc\n").lines == ["c"]
    refused("dedup", "--shards", "2", "--state", "s", input="a\n", saying="--shards 3")


def test_a_damaged_state_is_refused_and_kept(here):
    run("dedup", *SMALL, "--state", "s", input="a\n")
    data = (here / "s").read_bytes()
    for cut in 0, 3, 20, 400, len(data) - 1:
        (here / "s").write_bytes(data[:cut])
        refused("dedup", "--state", "s", input="a\n", saying="s")
        assert (here / "s").read_bytes() == data[:cut]


def begun(*command, key=b"a"):
    """A run that has locked its files and waits for more input."""
    run = subprocess.Popen([WEIR, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    run.stdin.write(key + b"\n")
    run.stdin.flush()
    assert run.stdout.readline() == key + b"\n"
    return run


def ended(run):
    run.stdin.close()
    run.stdout.close()
    return run.wait(timeout=20)


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_two_runs_cannot_use_one_state(here):
    """Each would overwrite the keys of the other."""
    for there in False, True:
        first = begun("dedup", *SMALL, "--state", "s", key=b"x" if there else b"a")
        refused("dedup", "--state", "s", input="c\n", saying=["s: in use", "another file"])
        (here / "link").symlink_to("s")
        if there:
            refused("add", "s", input="c\n", saying="s: in use")
            refused("dedup", "--state", "link", input="c\n", saying="link: in use")
        (here / "link").unlink()
        assert ended(first) == 0
        assert names(here) == ["s"]
    assert run("dedup", "--state", "s", input="a\nx\nc\n").lines == ["c"]


def test_a_state_stays_locked_when_it_is_saved_during_a_run(here):
    for there in False, True:
        old = os.stat("s").st_ino if there else 0  # before the run, which may save immediately
        first = begun("dedup", *SMALL, "--state", "s", "--checkpoint", "1", key=b"x" if there else b"a")
        deadline = time.time() + 20
        while not (here / "s").exists() or os.stat("s").st_ino == old:
            assert time.time() < deadline
            time.sleep(0.01)
        refused("dedup", "--state", "s", input="c\n", saying="s: in use")
        assert ended(first) == 0
    assert names(here) == ["s"]


def test_a_lock_ends_when_its_process_is_killed(here):
    for there in False, True:
        victim = begun("dedup", *SMALL, "--state", "s", key=b"y" if there else b"x")
        victim.kill()
        ended(victim)
        assert names(here) == [".s.weir-lock", *["s"] * there]
        assert run("dedup", *SMALL, "--state", "s", input="a\n" if not there else "b\n").lines
        assert names(here) == ["s"]


def test_concurrent_runs_count_nothing_twice_and_lose_nothing(here):
    """A run that gets the lock saves everything it counts: the total in the state is that of the runs that succeeded."""
    rng = random.Random(7)
    for turn in range(20 if LONG else 4):
        (here / "s").unlink(missing_ok=True)
        good = 0
        for _ in range(6):
            runs = [subprocess.Popen([WEIR, "count", "-q", "-m", "4K", "--state", "s"], stdin=subprocess.PIPE,
                                     stderr=subprocess.PIPE) for _ in range(4)]
            doomed = rng.choice(runs + [None] * 4)
            if doomed:
                doomed.kill()
            for one in runs:
                error = one.communicate(b"k\n")[1]
                assert one.returncode == 0 or one is doomed or b"in use" in error, error
                good += one.returncode == 0
        (here / "q").write_text("k\n")
        assert run("count", "-q", "--state", "s", "--query", "q").lines == [f"k\t{good}"]
        assert set(names(here)) <= {"s", "q", ".s.weir-lock"}


def test_other_files_next_to_a_state_are_not_touched(here):
    """Files with the names of locks and temporary files, in this or an earlier version, may be anything: here they
    are inputs, and links to other files."""
    (here / "precious").write_text("gold\n")
    for name in "s.tmp", "s.lock":
        (here / name).write_text("a\nb\n")
    run("dedup", *SMALL, "--state", "s", "s.tmp", "s.lock")
    for name in "s.tmp", "s.lock":
        (here / name).unlink()
        (here / name).symlink_to("precious")
    assert run("dedup", "--state", "s", input="a\nc\n").lines == ["c"]
    run("build", "-o", "s.lock.f", "-m", "1K", input="a\n")
    assert (here / "precious").read_text() == "gold\n"
    assert all((here / name).is_symlink() for name in ("s.tmp", "s.lock"))


@pytest.mark.parametrize("content", ["", "mine\n"])
def test_a_file_with_the_name_of_the_lock_is_kept(here, content):
    (here / ".s.weir-lock").write_text(content)
    refused("dedup", "--state", "s", input="a\n", saying=[".s.weir-lock exists and is not a lock", "move it"])
    assert (here / ".s.weir-lock").read_text() == content and names(here) == [".s.weir-lock"]


def test_a_link_with_the_name_of_the_lock_is_not_followed(here):
    (here / "precious").write_text("gold\n")
    (here / ".s.weir-lock").symlink_to("precious")
    refused("dedup", *SMALL, "--state", "s", input="a\n", saying=".s.weir-lock exists and is not a lock")
    assert (here / "precious").read_text() == "gold\n" and (here / ".s.weir-lock").is_symlink()


def test_a_state_that_is_a_link_stays_one(here):
    (here / "far").mkdir()
    run("dedup", *SMALL, "--state", "far/s", input="a\n")
    (here / "s").symlink_to("far/s")
    assert run("dedup", "--state", "s", input="a\nb\n").lines == ["b"]
    assert (here / "s").is_symlink() and names(here / "far") == ["s"]
    assert run("dedup", "--state", "far/s", input="b\nc\n").lines == ["c"]


@pytest.mark.parametrize("command", [["dedup", "--state"], ["build", "-o"], ["count", "--state"]])
def test_a_dangling_link_is_refused(here, command):
    (here / "s").symlink_to("nowhere")
    refused(*command, "s", input="a\n", saying=["s: symbolic link to missing file", "nowhere", "remove the link"])
    assert (here / "s").is_symlink() and names(here) == ["s"]


def test_a_file_created_by_another_program_meanwhile_is_kept(here):
    for there in False, True:
        first = begun("dedup", *SMALL, "--state", "s", key=b"x" if there else b"a")
        (here / "new").write_text("not ours\n")
        os.replace("new", "s")
        assert ended(first) == 2
        assert (here / "s").read_text() == "not ours\n"
        (here / "s").unlink()
        run("dedup", *SMALL, "--state", "s", input="a\n")


def test_a_state_that_is_removed_during_a_run_is_saved_again(here):
    run("dedup", *SMALL, "--state", "s", input="a\n")
    first = begun("dedup", "--state", "s", key=b"b")
    (here / "s").unlink()
    assert ended(first) == 0
    assert run("dedup", "--state", "s", input="a\nb\nc\n").lines == ["c"]
    assert names(here) == ["s"]


def test_a_filter_file_is_not_a_state(here):
    run("build", "-o", "f", "-m", "64K", input="a\n")
    refused("dedup", "--state", "f", input="a\n", saying="not a state file")


def test_a_state_file_is_a_filter_file(here):
    run("dedup", *SMALL, "--shards", "2", "--state", "s", input="a\nb\n")
    assert run("ask", "s", input="a\nz\n").lines == ["seen\ta", "new\tz"]
    run("add", "s", input="z\n")
    assert run("dedup", "--state", "s", input="a\nz\ny\n").lines == ["y"]


def test_the_end_of_the_input_saves_even_after_an_error(here):
    refused("dedup", *SMALL, "--tsv", "-k", "2", "--state", "s", input="x\t1\nx\n", saying="line 2")
    assert run("dedup", "--tsv", "-k", "2", "--state", "s", input="x\t1\nx\t2\n").lines == ["x\t2"]


# ---- resuming ----

def test_resume_reads_only_what_is_new(here):
    log = here / "log"
    log.write_text("a\nb\n")
    command = ["dedup", *SMALL, "--state", "s", "--resume", "--stats", "json", "log"]
    assert run(*command).lines == ["a", "b"]
    with log.open("a") as f:
        f.write("b\nc\n")
    result = run(*command)
    assert result.lines == ["c"] and '"records": 2' in result.err


def test_resume_with_a_file_that_was_empty_or_missing(here):
    command = ["dedup", *SMALL, "--state", "s", "--resume", "log"]
    refused(*command, saying="cannot open log")
    (here / "log").write_text("")
    assert run(*command).lines == []
    (here / "log").write_text("a\n")
    assert run(*command).lines == ["a"]


def test_a_missing_second_file_keeps_the_position_at_the_end_of_the_first(here):
    (here / "1").write_text("a\nb\n")
    for threads in "1", "3":
        command = ["dedup", *SMALL, "--shards", "1", "-j", threads, "--state", "s" + threads,
                   "--resume", "1", "2"]
        assert refused(*command, saying="cannot open 2").lines == ["a", "b"]
        (here / "2").write_text("b\nc\n")
        assert run(*command).lines == ["c"]
        (here / "2").unlink()


def test_resume_with_an_empty_csv_that_grows(here):
    (here / "in").write_text("id,k\n")
    command = ["dedup", *SMALL, "--csv", "-k", "k", "--state", "s", "--resume", "-o", "out", "in"]
    run(*command)
    with open("in", "a") as f:
        f.write("1,a\n2,a\n")
    run(*command)
    assert (here / "out").read_text() == "id,k\n1,a\n"


def test_resume_keeps_header_and_output(here):
    (here / "in").write_text("id,k\n1,a\n2,b\n")
    command = ["dedup", *SMALL, "--csv", "-k", "k", "--state", "s", "--resume", "-o", "out", "in"]
    run(*command)
    with open("in", "a") as f:
        f.write("3,b\n4,c\n")
    with open("out", "a") as f:
        f.write("torn rec")  # what a crash may leave after the last checkpoint
    run(*command)
    assert (here / "out").read_text() == "id,k\n1,a\n2,b\n4,c\n"


def test_resume_in_the_second_of_two_files(here):
    (here / "1").write_text("a\nb\n")
    (here / "2").write_text("c\nx\n")
    command = ["dedup", *SMALL, "--state", "s", "--resume", "1", "2"]
    run(*command)
    with open("2", "a") as f:
        f.write("d\n")
    assert run(*command).lines == ["d"]


def test_resume_after_a_malformed_record_begins_with_it(here):
    (here / "in").write_text("a 1\nb\nc 3\n")
    command = ["dedup", *SMALL, "-k", "2", "--state", "s", "--resume", "in"]
    assert refused(*command, saying="line 2").lines == ["a 1"]
    (here / "in").write_text("a 1\nb 2\nc 3\n")
    assert run(*command).lines == ["b 2", "c 3"]


def test_resume_refuses_other_files(here):
    (here / "1").write_text("a\nb\n")
    (here / "2").write_text("c\n")
    run("dedup", *SMALL, "--state", "s", "1")
    refused("dedup", "--state", "s", "--resume", "2", saying=["stopped in file 1, 1", "same files"])
    (here / "1").write_text("A\nB\nC\n")
    refused("dedup", "--state", "s", "--resume", "1", saying=["not the file", "remove --resume"])
    refused("dedup", "--state", "s", "--resume", input="a\n", saying="which differs now")
    run("dedup", "--state", "s", input="q\n")
    refused("dedup", "--state", "s", "--resume", "1", saying="no place to resume")


def test_resume_refuses_an_output_that_shrank(here):
    (here / "in").write_text("a\nb\n")
    run("dedup", *SMALL, "--state", "s", "-o", "out", "in")
    (here / "out").write_text("a")
    refused("dedup", "--state", "s", "--resume", "-o", "out", "in", saying="out has 1 bytes")


def test_resume_refuses_another_output(here):
    """Truncated to the expected length, that file would lose its content."""
    (here / "in").write_text("a\nb\n")
    run("dedup", *SMALL, "--state", "s", "-o", "out", "in")
    (here / "other").write_text("another file\n" * 9)
    with open("in", "a") as f:
        f.write("c\n")
    refused("dedup", "--state", "s", "--resume", "-o", "other", "in",
            saying=["other is not the output that s was saved with", "--append", "--overwrite"])
    assert (here / "other").read_text() == "another file\n" * 9
    (here / "out").rename("moved")
    run("dedup", "--state", "s", "--resume", "-o", "moved", "in")
    assert (here / "moved").read_text() == "a\nb\nc\n"


def test_resume_refuses_another_output_if_nothing_was_printed(here):
    (here / "in").write_text("a\n")
    run("dedup", *SMALL, "--state", "s", "-o", "out", "in")
    run("dedup", "--state", "s", "--overwrite", "-o", "out", "in")
    assert (here / "out").read_text() == ""
    (here / "other").write_text("another file\n")
    with open("in", "a") as f:
        f.write("b\n")
    refused("dedup", "--state", "s", "--resume", "-o", "other", "in", saying="other is not the output")
    assert (here / "other").read_text() == "another file\n"
    run("dedup", "--state", "s", "--resume", "-o", "out", "in")
    assert (here / "out").read_text() == "b\n"


def stores(here):
    (here / "keys").write_text("a\nb\nc\nd\n")
    return {"dedup": ["dedup", *SMALL], "check": ["check", "--store", "keys:keys", "--screen", "cache"]}


@pytest.mark.parametrize("command", ["dedup", "check"])
def test_a_second_run_does_not_truncate_its_output(here, command):
    """The state contains the records of the first run: once they are removed from the output, no run prints them
    again."""
    args = [*stores(here)[command], "--state", "s", "-o", "out"]
    run(*args, input="a\n")
    before = (here / "s").read_bytes()
    refused(*args, input="b\n", saying=["out: not empty", "--append", "--overwrite"])
    assert (here / "out").read_text() == "a\n" and (here / "s").read_bytes() == before
    run(*args, "--append", input="b\n")
    assert (here / "out").read_text() == "a\nb\n"
    run(*args, "--overwrite", input="c\n")
    assert (here / "out").read_text() == "c\n"
    (here / "out").write_text("")
    run(*args, input="d\n")
    assert (here / "out").read_text() == "d\n"


def test_resume_into_an_unknown_file_needs_append_or_overwrite(here):
    (here / "in").write_text("k\na\n")
    run("dedup", *SMALL, "--header", "--state", "s", "in", stdout=subprocess.DEVNULL)
    (here / "out").write_text("k\nz\n")
    args = ["dedup", "--header", "--state", "s", "--resume", "-o", "out", "in"]
    refused(*args, saying=["out: not empty", "--append"])
    with open("in", "a") as f:
        f.write("b\n")
    run(*args, "--append")
    assert (here / "out").read_text() == "k\nz\nb\n", "appended without a second header"
    with open("in", "a") as f:
        f.write("c\n")
    with open("out", "a") as f:
        f.write("what a killed run wrote behind its checkpoint\n")
    run(*args, "--append")
    assert (here / "out").read_text() == "k\nz\nb\nc\n", "the state knows the file: it is cut as without --append"


def test_append_without_a_state(here):
    (here / "out").write_text("a\n")
    run("dedup", "--append", "-o", "out", input="b\nb\n")
    assert (here / "out").read_text() == "a\nb\n"
    run("dedup", "--append", "-o", "new", input="b\n")
    assert (here / "new").read_text() == "b\n"
    run("dedup", "-o", "out", input="c\n")
    assert (here / "out").read_text() == "c\n"
    refused("dedup", "--append", input="b\n", saying="-o FILE")
    refused("dedup", "--append", "--overwrite", "-o", "out", input="b\n", saying="choose one")


def test_a_refused_resume_creates_no_output(here):
    (here / "in").write_text("a\n")
    run("dedup", *SMALL, "--state", "s", "in")
    (here / "in").write_text("other\n")
    refused("dedup", "--state", "s", "--resume", "-o", "new", "in", saying="not the file")
    assert not (here / "new").exists()


def test_an_output_that_is_moved_during_the_run_is_still_written(here):
    with subprocess.Popen([WEIR, "dedup", *SMALL, "--state", "s", "--checkpoint", "1", "-o", "out"], stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a\n")
        process.stdin.flush()
        for _ in range(400):
            if (here / "out").exists() and (here / "out").read_text():
                break
            time.sleep(0.05)
        (here / "out").rename("out.1")
        _, error = process.communicate(b"b\n", timeout=20)
    assert (process.returncode, (here / "out.1").read_text()) == (0, "a\nb\n"), error


# ---- rotated and changed inputs ----

LOG = ["dedup", *SMALL[:3], "1M", *SMALL[4:], "--state", "s", "--resume"]


def lines_of(rng, n):
    return [f"{rng.randrange(3 * n):06d} some text" for _ in range(n)]


def put(name, lines, mode="w", end="\n"):
    with open(name, mode) as f:
        f.write("\n".join(lines) + end)


def rename(here):
    (here / "log").rename("log.1")


def copy_and_truncate(here):
    shutil.copy("log", "log.1")
    os.truncate("log", 0)


@pytest.mark.parametrize("rotate", [rename, copy_and_truncate])
@pytest.mark.parametrize("later", [10, 5000])
def test_a_log_rotated_between_runs_is_read_to_its_end(here, rotate, later):
    rng = random.Random(later)
    first, rest, new = lines_of(rng, 1000), lines_of(rng, 500), lines_of(rng, later)
    put("log", first)
    out = run(*LOG, "log").lines
    put("log", rest, "a")
    rotate(here)
    put("log", new, "a")
    result = run(*LOG, "log")
    assert "log was rotated: reading log.1 to its end" in result.err
    assert out + result.lines == unique(first + rest + new)
    put("log", ["last of all"], "a")
    result = run(*LOG, "log")
    assert result.lines == ["last of all"] and result.err == ""


@pytest.mark.parametrize("rotate", [rename, copy_and_truncate])
@pytest.mark.parametrize("later", [10, 60000])
def test_a_log_rotated_during_a_run_is_read_to_its_end(here, rotate, later):
    """The run stops while nobody reads its output."""
    rng = random.Random(later)
    first, rest, new = lines_of(rng, 30000), lines_of(rng, 300), lines_of(rng, later)
    put("log", first)
    reading = subprocess.Popen([WEIR, *LOG, "log"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    out = reading.stdout.readline()
    put("log", rest, "a")
    rotate(here)
    put("log", new, "a")
    more, error = reading.communicate()
    out += more
    assert reading.returncode == (2 if rotate == copy_and_truncate else 0)
    assert (b"log was truncated or overwritten" in error) == (rotate == copy_and_truncate)
    assert out.decode().splitlines() + run(*LOG, "log").lines == unique(first + rest + new)


def test_a_rotated_log_that_does_not_exist_yet(here):
    put("log", ["a", "b"])
    run(*LOG, "log")
    put("log", ["c"], "a")
    (here / "log").rename("log.1")
    assert run(*LOG, "log", ok=False).lines == ["c"]
    assert run(*LOG, "log", ok=False).lines == []
    put("log", ["b", "d"])
    assert run(*LOG, "log").lines == ["d"]


def test_a_log_that_was_empty_and_then_rotated(here):
    (here / "log").write_text("")
    run(*LOG, "log")
    put("log", ["a"])
    (here / "log").rename("log.1")
    put("log", ["b"])
    assert run(*LOG, "log").lines == ["a", "b"]


def test_a_rotated_table_keeps_its_header_and_its_output(here):
    command = [*LOG, "--csv", "-k", "k", "-o", "out", "log"]
    (here / "log").write_text("id,k\n1,a\n")
    run(*command)
    put("log", ["2,b"], "a")
    (here / "log").rename("log-20251116")
    (here / "log").write_text("id,k\n3,b\n4,c\n")
    run(*command)
    assert (here / "out").read_text() == "id,k\n1,a\n2,b\n4,c\n"


def gone_by_bzip2(here):
    (here / "log.bz2").write_bytes(bz2.compress((here / "log").read_bytes()))
    (here / "log").unlink()
    put("log", ["n%d" % i for i in range(100)])


def gone_by_removal(here):
    (here / "log").unlink()


def gone_by_replacement(here):
    put("new", ["n%d" % i for i in range(100)])
    os.replace("new", "log")


def gone_by_emptying(here):
    os.truncate("log", 0)


def gone_by_overwriting(here):
    put("log", ["n%d" % i for i in range(100)])


@pytest.mark.parametrize("lose,saying", [
    (gone_by_bzip2, "log: not the file that s had read"),
    (gone_by_removal, "cannot open log, and no file in its directory"),
    (gone_by_replacement, "log: not the file that s had read"),
    (gone_by_emptying, "log: was truncated"),
    (gone_by_overwriting, "log: not the file that s had read"),
])
def test_a_missing_log_is_reported(here, lose, saying):
    put("log", ["a", "b", "c"])
    run(*LOG, "log")
    old = (here / "s").read_bytes()
    lose(here)
    refused(*LOG, "log", saying=saying)
    assert (here / "s").read_bytes() == old


def test_a_log_rotated_twice_is_reported(here):
    put("log", ["a"])
    run(*LOG, "log")
    for name, line in ("log.2", "b"), ("log.1", "c"):
        put("log", [line], "a")
        (here / "log").rename(name)
        (here / "log").touch()
        time.sleep(0.02)
    refused(*LOG, "log", saying=["more than once", "log.2 was being read", "log.1 is newer"])


def test_two_possible_successors_of_a_log_are_reported(here):
    put("log", ["a"])
    run(*LOG, "log")
    shutil.copy("log", "one")
    shutil.copy("log", "two")
    os.truncate("log", 0)
    refused(*LOG, "log", saying=["one", "two", "both"])


@pytest.mark.parametrize("rotate", [rename, copy_and_truncate])
@pytest.mark.parametrize("to", ["-o", ">>"])
def test_an_output_next_to_the_log_is_not_its_successor(here, rotate, to):
    """If every record was printed, it contains the same bytes."""
    def go():
        with open("out" if to == ">>" else os.devnull, "ab") as out:
            command = [WEIR, *LOG, *(["-o", "out"] if to == "-o" else []), "log"]
            return subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True)

    put("log", ["a", "b"])
    assert go().returncode == 0
    put("log", ["c"], "a")
    rotate(here)
    put("log", ["d"], "a")
    result = go()
    assert (result.returncode, (here / "out").read_text()) == (0, "a\nb\nc\nd\n"), result.stderr
    (here / "log").unlink()
    (here / "log.1").unlink()
    put("log", ["e"])
    assert "log: not the file that s had read" in go().stderr
    assert (here / "out").read_text() == "a\nb\nc\nd\n"


def test_a_rotated_log_precedes_other_copies(here):
    put("log", ["a"])
    run(*LOG, "log")
    shutil.copy("log", "backup")
    put("log", ["b"], "a")
    copy_and_truncate(here)
    put("log", ["c"], "a")
    assert run(*LOG, "log").lines == ["b", "c"]


def test_a_copy_that_replaces_the_input_is_continued(here):
    put("log", ["a", "b"])
    run(*LOG, "log")
    shutil.copy("log", "copy")
    put("copy", ["c"], "a")
    os.replace("copy", "log")
    assert run(*LOG, "log").lines == ["c"]


def test_resume_with_standard_input_that_is_a_file(here):
    put("log", ["a", "b"])
    with open("log") as f:
        assert run(*LOG, stdin=f).lines == ["a", "b"]
    put("log", ["c"], "a")
    with open("log") as f:
        assert run(*LOG, stdin=f).lines == ["c"]
    put("log", ["x", "y", "z"])
    with open("log") as f:
        refused(*LOG, stdin=f, saying="standard input: not the file")


def test_an_incomplete_last_line_is_left_for_the_next_run(here):
    put("log", ["a", "ab"], end="")
    result = run(*LOG, "log")
    assert result.lines == ["a"] and "log: the last line has no line break yet" in result.err
    put("log", ["c", "d"], "a")
    assert run(*LOG, "log").lines == ["abc", "d"]


def test_an_incomplete_last_line_that_was_read_is_read_again(here):
    for number, (more, expected) in enumerate([("", []), ("\n", []), ("\nd\n", ["d"]),
                                               ("c\nd\n", ["abc", "d"])]):
        put("log", ["a", "ab"], end="")
        state = ["--state", f"s{number}"]
        assert run("dedup", *SMALL, *state, "log").lines == ["a", "ab"]
        put("log", [more], "a", end="")
        result = run("dedup", *state, "--resume", "log")
        assert result.lines == expected and ("again from its start" in result.err) == (more[:1] == "c")
        put("log", ["e"], "a")
        assert run("dedup", *state, "--resume", "log").lines == (["e"] if more else ["abe"])


def test_a_rotated_log_ends_with_its_last_line(here):
    put("log", ["a", "b"], end="")
    assert run(*LOG, "log").lines == ["a"]
    (here / "log").rename("log.1")
    put("log", ["c"])
    assert run(*LOG, "log").lines == ["b", "c"]


def part(kind, body):
    """A part of a saved file, as in docs/format.md."""
    xxh = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
    xxh.restype = ctypes.c_uint64

    def sum64(data):
        return struct.pack("<Q", xxh(data, ctypes.c_size_t(len(data)), ctypes.c_uint64(0)))

    def padded(data):
        return data + bytes(-len(data) % 64)

    rest = padded(body) + padded(sum64(body))
    fields = "<4sHHQIIQIIQ8sII"
    values = [b"WEIR", 3, kind, 64 + len(rest), 64, 0, len(body), 0, 1, 0, bytes(8), 0, 0]
    values[10] = sum64(struct.pack(fields, *values))
    return struct.pack(fields, *values) + rest


def part_size(data):
    return struct.unpack_from("<Q", data, 8)[0]


@pytest.mark.parametrize("command", [
    ["info", "s"], ["info", "--verify", "s"], ["ask", "s"], ["ask", "--any", "s"], ["filter", "s"], ["add", "s"],
    ["merge", "-o", "out", "s", "s"], ["dedup", "--state", "s"], ["dedup", "--state", "s", "--resume", "log"],
    ["top", "--state", "s"], ["count", "--state", "s"], ["load", "--at", "redis://127.0.0.1:1/k", "s"]], ids=" ".join)
def test_a_file_of_0_2_0_is_refused_and_kept(command, here):
    put("log", ["a", "b"])
    run("dedup", *SMALL, "--state", "s", "log")
    old = bytearray((here / "s").read_bytes())
    for at in 0, part_size(old):
        assert old[at:at + 6] == b"WEIR\3\0"
        old[at + 4] = 2
    (here / "s").write_bytes(old)
    refused(*command, input="a\n", saying="s: written by 0.2.0; build it again")
    assert (here / "s").read_bytes() == old


def test_a_file_of_0_2_0_is_not_read_as_records(here):
    run("build", "-q", "-m", "1K", "-o", "f", input="a\n")
    data = bytearray((here / "f").read_bytes())
    data[4] = 2
    (here / "f").write_bytes(data)
    refused("dedup", "f", saying="f is a filter file, not records")


# ---- weir grow ----

def test_a_state_whose_memory_its_shards_do_not_divide_grows(here):
    keys = "".join(f"{i}\n" for i in range(20_000))
    run("dedup", "-q", "--seed", "1", "-m", "1M", "--shards", "3", "--state", "s", "--count-only", input=keys)
    for memory in "2M", "6M":
        run("grow", "s", "-m", memory, "-o", "s")
        assert run("dedup", "-m", memory, "--state", "s", "--count-only", input=keys).out == b"0\n"


@pytest.mark.parametrize("shards", [[], ["-j", "2", "--shards", "3"]])
def test_a_state_that_grows_keeps_its_keys_and_its_place(here, shards):
    """Compared with a run that had the memory from the start."""
    put("log", [f"k{i}" for i in range(60_000)])
    run("dedup", "--seed", "1", "-m", "192K", *shards, "--state", "s", "-o", "out", "log")
    run("grow", "s", "-m", "768K", "-o", "larger")
    with open("log", "a") as log:
        log.writelines(f"k{i}\n" for i in range(30_000, 150_000))
    got = run("dedup", "--state", "larger", "-m", "768K", "--resume", "-o", "out", "--append", "log")
    assert got.err == "" and run("info", "larger").status == 0
    passed = (here / "out").read_text().split()
    assert passed == unique(passed) and 149_900 <= len(passed) <= 150_000, "repeats dropped, new keys passed"
    refused("dedup", "--state", "larger", "-m", "192K", input="a\n", saying="larger: saved with another filter")


def test_a_state_that_grows_keeps_the_description_of_its_keys(here):
    run("dedup", "--ignore-case", "-m", "64K", "--state", "s", input="A\n")
    run("grow", "s", "-m", "128K", "-o", "larger")
    assert run("filter", "--ignore-case", "larger", input="a\nb\n").lines == ["a"]
    refused("filter", "larger", input="a\n", saying="keys were made with --ignore-case")


def test_a_file_grows_in_place_and_only_to_a_multiple(here):
    run("build", "-q", "-a", "recent", "-m", "64K", "--seed", "1", "-o", "f", input="a\nb\n")
    before = (here / "f").read_bytes()
    for memory in "64K", "100K", "32K":
        refused("grow", "f", "-m", memory, "-o", "g", saying=f"--memory {memory}: ")
    run("build", "-q", "-m", "64K", "--seed", "1", "-o", "b", input="a\n")
    refused("grow", "b", "-m", "128K", "-o", "b", saying=["bloom filters cannot grow", "weir filter --invert b"])
    assert (here / "f").read_bytes() == before and not (here / "g").exists()
    run("grow", "f", "-m", "192K", "-o", "f")
    assert run("ask", "f", input="a\nb\nc\n").lines == ["seen\ta", "seen\tb", "new\tc"]
    assert json.loads(run("info", "--format", "json", "f").out)["memory"] == 3 * 65536


# ---- the state and the output ----

@pytest.mark.parametrize("how", ["no state", "a state without -o"])
def test_resume_leaves_no_old_bytes_in_the_output(here, how):
    put("in", ["id,k", "1,a"])
    command = ["dedup", *SMALL, "--csv", "-k", "k", "--state", "s", "--resume", "-o", "out", "in"]
    if how == "a state without -o":
        run(*command[:-3], "in")
        put("in", ["2,b"], "a")
    (here / "out").write_text("old bytes\n" * 100)
    run(*command, *(["--overwrite"] if how == "a state without -o" else []))
    assert (here / "out").read_text() == ("id,k\n1,a\n" if how == "no state" else "id,k\n2,b\n")


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("output", ["s", "./s", "../{here}/s", "link"])
def test_output_and_state_are_compared_by_inode(here, there, output):
    if there:
        run("dedup", *SMALL, "--state", "s", input="a\n")
        os.link("s", "link")
    else:
        (here / "link").symlink_to("s")
    before = (here / "s").read_bytes() if there else None
    refused("dedup", *SMALL, "--state", "s", "-o", output.format(here=here.name), input="b\n",
            saying="output and state at once")
    assert ((here / "s").read_bytes() if there else None) == before
    assert run("dedup", *SMALL, "--state", "s", "-o", "s.tmp", input="a\nc\n").lines == []
    assert (here / "s.tmp").read_text() == ("c\n" if there else "a\nc\n")


def test_a_long_column_name_of_line_breaks_is_saved(here):
    name = "\n" * 600
    text = f'"{name}",b\n'
    run("dedup", *SMALL, "--csv", "-k", name, "--state", "s", input=text + "1,2\n")
    again = run("dedup", "--csv", "-k", name, "--state", "s", input=text + "1,3\n2,4\n")
    assert again.lines[-1] == "2,4" and "1,3" not in again.lines


def test_a_column_name_with_a_line_break_is_saved(here):
    (here / "in").write_text('id,"a\nname"\n1,x\n')
    command = ["dedup", *SMALL, "--csv", "--state", "s"]
    run(*command, "-k", "a\nname", "in")
    (here / "in").write_text('id,"a\nname"\n1,x\n2,y\n')
    assert run(*command, "-k", "a\nname", "in").lines[2:] == ["2,y"]
    refused(*command, "-k", "a\\nname", "in", saying="other keys")
    refused(*command, "-k", "a", "in", saying="other keys")


def test_names_that_are_not_utf8_give_valid_json(here):
    name = b"log\xff\xc3\xa9\xed\xa0\x80"
    (here / os.fsdecode(name)).write_text("a\n")
    subprocess.run([os.fsencode(WEIR), b"dedup", *map(os.fsencode, SMALL), b"--state", b"s", name], check=True,
                   stdout=subprocess.DEVNULL)
    told = json.loads(run("info", "--format", "json", "s").out)
    assert told["input"] == "log\ufffd\u00e9\ufffd\ufffd\ufffd"


# ---- filter files are replaced atomically ----

def build_then(here, *command, status=2, **more):
    run("build", "-m", "1K", "--seed", "1", "-a", "counting", "-o", "f", input="a\nb\n")
    old = (here / "f").read_bytes()
    assert run(*command, ok=False, **more).status == status
    assert (here / "f").read_bytes() == old


@pytest.mark.parametrize("command", ["build", "add", "forget"])
def test_a_failed_run_does_not_change_the_filter(here, command):
    put("good", ["a 1", "b 2"])
    put("bad", ["a 1", "b"])
    base = ["build", "-m", "1K", "-o", "f"] if command == "build" else [command, "f"]
    build_then(here, *base, "-k", "2", "bad")
    build_then(here, *base, "good", "missing")
    build_then(here, *base, "missing")


@pytest.mark.parametrize("command", ["build", "add", "forget"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_does_not_change_the_filter(here, command, number):
    run("build", "-m", "1K", "--seed", "1", "-a", "counting", "-o", "f", input="a\nb\n")
    old = (here / "f").read_bytes()
    base = ["build", "-m", "1K", "-o", "f"] if command == "build" else [command, "f"]
    process = subprocess.Popen([WEIR, *base], stdin=subprocess.PIPE)
    process.stdin.write(b"c\n" * 100000)
    process.stdin.flush()
    process.send_signal(number)
    assert process.wait(timeout=20) == -number
    process.stdin.close()
    assert (here / "f").read_bytes() == old and names(here) == ["f"]


def test_merge_does_not_replace_a_file_that_another_run_changes(here):
    for name in "m", "n":
        run("build", "-m", "1K", "--seed", "1", "-o", name, input=name + "\n")
    adding = subprocess.Popen([WEIR, "add", "m"], stdin=subprocess.PIPE)
    deadline = time.time() + 20
    while not (here / ".m.weir-lock").exists():
        assert time.time() < deadline
        time.sleep(0.01)
    refused("merge", "-o", "m", "m", "n", saying="m: in use")
    adding.communicate(b"new\n")
    assert adding.returncode == 0
    assert run("ask", "m", input="m\nnew\n").lines == ["seen\tm", "seen\tnew"]


@pytest.mark.parametrize("command", ["top", "count"])
def test_counts_of_a_failed_run_are_not_saved(here, command):
    put("good", ["a"])
    count = [command, "-q", "-m", "4K", "--seed", "1", "--state", "s"]
    run(*count, "good", "missing", ok=False)
    assert not (here / "s").exists() and not (here / ".s.weir-lock").exists()
    run(*count, "good")
    old = (here / "s").read_bytes()
    assert run(*count, "good", "missing", ok=False).status == 2
    assert (here / "s").read_bytes() == old


@pytest.mark.parametrize("args", [["top"], ["count", "--query", "good"]])
def test_counts_that_could_not_be_printed_are_not_saved(here, args):
    put("good", ["a"])
    count = [*args, "-q", "-m", "4K", "--seed", "1", "--state", "s", "good"]
    with open("/dev/full", "wb") as full:
        refused(*count, stdout=full, saying="cannot write standard output: No space left")
    assert names(here) == ["good"]
    assert run(*count).lines[0].split("\t")[:2] == ["a", "1"]


def test_counts_are_not_saved_if_the_list_of_keys_cannot_be_read(here):
    put("good", ["a"])
    refused("count", "-q", "-m", "4K", "--state", "s", "--query", "missing", "good", saying="missing")
    assert names(here) == ["good"]


def test_parts_of_unknown_kinds_are_skipped(here):
    other = part(77, b"of a later version")
    run("build", "-m", "1K", "-o", "f", input="a\n")
    run("top", "-q", "-m", "4K", "--state", "t", input="a\n")
    run("dedup", *SMALL, "--state", "s", input="a\n")
    for name in "f", "t", "s":
        data = (here / name).read_bytes()
        (here / name).write_bytes(other + data + other)
    assert run("ask", "f", input="a\nb\n").lines == ["seen\ta", "new\tb"]
    assert run("top", "-q", "--state", "t", input="a\n").lines[0].startswith("a\t2\t")
    assert run("dedup", "--state", "s", input="a\nb\n").lines == ["b"]


def test_a_filter_file_truncated_while_it_is_read_is_reported(here):
    """Truncated at random moments: it is read or refused, and no signal ends the process. Memory allocated by then is
    not freed, which the sanitizer must not report, because the run ends."""
    quiet = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    run("build", "-m", "16M", "-o", "whole", input="a\n")
    outcomes = set()
    for delay in range(0, 40, 2):
        shutil.copy("whole", "f")
        process = subprocess.Popen([WEIR, "ask", "f"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env=quiet)
        time.sleep(delay / 1000)
        os.truncate("f", 100)
        error = process.communicate(b"a\n")[1]
        assert process.returncode in (0, 2) and error.count(b"\n") <= 1, (process.returncode, error)
        outcomes.add(process.returncode)
    assert 2 in outcomes


def test_ask_reads_little_of_a_large_file(here):
    """Uncached, one key reads a few pages into the page cache, not the whole file."""
    run("build", "-m", "128M", "-o", "f", input="a\n")
    with open("f", "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before = cached("f")
    if before > 1 << 20:
        pytest.skip("this file system keeps its files in memory")
    assert run("ask", "f", input="a\n").lines == ["seen\ta"]
    assert cached("f") < 16 << 20


def cached(path):
    out = subprocess.run(["fincore", "-b", "-n", "-o", "RES", path], capture_output=True, text=True, check=True)
    return int(out.stdout)


def test_info_verifies_what_ask_does_not_read(here):
    run("build", "-m", "1M", "-o", "f", input="a\n")
    data = bytearray((here / "f").read_bytes())
    run("info", "--verify", "f")
    data[len(data) // 2] ^= 1
    (here / "f").write_bytes(data)
    assert run("ask", "f", input="a\n").lines == ["seen\ta"]
    refused("info", "--verify", "f", saying="damaged")
    refused("add", "f", input="b\n", saying="damaged")


# ---- signals and crashes ----

@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_the_state(here, number):
    process = subprocess.Popen([WEIR, "dedup", *SMALL, "--state", "s", "--stats", "text"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    process.stdin.write(b"a\nb\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"a\n" and process.stdout.readline() == b"b\n"
    process.send_signal(number)
    assert process.wait(timeout=20) == -number
    assert b"2 records" in process.stderr.read()
    assert run("dedup", "--state", "s", input="a\nc\n").lines == ["c"]


def test_two_hangups_count_as_one(here):
    """A shell and the kernel both send SIGHUP when a terminal closes."""
    process = subprocess.Popen([WEIR, "dedup", *SMALL, "--state", "s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(b"a\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"a\n"
    process.send_signal(signal.SIGSTOP)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=20) == -signal.SIGHUP
    assert run("dedup", "--state", "s", input="a\nc\n").lines == ["c"]


def test_an_ignored_hangup_stays_ignored(here):
    process = subprocess.Popen([WEIR, "dedup", *SMALL, "--state", "s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.stdin.write(b"a\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"a\n"
    process.send_signal(signal.SIGHUP)
    assert process.communicate(b"b\n", timeout=20)[0] == b"b\n" and process.returncode == 0


def test_a_checkpoint_is_saved_while_the_input_is_idle(here):
    process = subprocess.Popen([WEIR, "dedup", *SMALL, "--state", "s", "--checkpoint", "0.1s"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(b"a\n")
    process.stdin.flush()
    deadline = time.time() + 20
    while not (here / "s").exists() and time.time() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert run("dedup", "--state", "s", input="a\nb\n").lines == ["b"]


def killed_at_random(command, rng, patience, **more):
    """Runs it, perhaps not to its end; returns True if it was killed."""
    process = subprocess.Popen([WEIR, *command], stderr=subprocess.PIPE, **more)
    try:
        process.wait(timeout=rng.random() * patience)
    except subprocess.TimeoutExpired:
        process.kill()
    error = process.communicate()[1]
    assert process.returncode in (0, -signal.SIGKILL), error
    return process.returncode != 0


def crash_until_done(command, rng, after_each):
    """Runs it repeatedly, killing it at random moments, until a run completes; returns how often it was killed."""
    killed, patience = 0, 0.03
    with open("part", "wb") as part:
        while killed_at_random(command, rng, patience, stdout=part):
            killed += 1
            after_each()
            if killed > 40:
                patience *= 1.2  # enough: let it complete
            if os.path.exists("s") and rng.random() < 0.2:
                run("info", "s")
            part.seek(0)
            part.truncate()
    after_each()
    return killed


ROUNDS = 1000 if LONG else 30


def crashing_rounds(here, rounds, *options):
    """Streams, each processed by a run that crashes until it completes; yields the expected output and the output on
    the pipe. 0.000002 false positives are expected per stream: none."""
    rng = random.Random(len(options))
    killed, turn = 0, 0
    while killed < rounds:
        turn += 1
        for name in "s", "s.tmp", "out":
            (here / name).unlink(missing_ok=True)
        lines = [f"{rng.randrange(100000):x}-{turn}" for _ in range(150000)]
        (here / "in").write_text("\n".join(lines) + "\n")
        passed = []
        killed += crash_until_done(
            ["dedup", "-a", "bloom", "-m", "1M", "-S", "k=10", "--seed", str(turn), "--state", "s",
             "--resume", "--checkpoint", "10k", *options, "in"], rng,
            lambda: passed.extend((here / "part").read_text().splitlines()))
        yield unique(lines), passed


@pytest.mark.parametrize("threads", ["1", "2"])
def test_kill_9_loses_and_duplicates_nothing_in_a_file(here, threads):
    for expected, _ in crashing_rounds(here, ROUNDS * 0.4, "-j", threads, "-o", "out"):
        assert (here / "out").read_text().splitlines() == expected


def test_kill_9_with_a_pipe_prints_every_key_at_least_once(here):
    for expected, passed in crashing_rounds(here, ROUNDS * 0.2):
        assert set(expected) <= set(passed)
