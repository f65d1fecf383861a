"""Shards determine the output, threads do not."""
import json
import random

import pytest

from conftest import EXACT, run, unique


def test_threads_keep_the_input_order():
    rng = random.Random(11)
    lines = [str(rng.randrange(60000)) for _ in range(200000)]
    text = "\n".join(lines) + "\n"
    for threads in 2, 3, 8:
        assert run("dedup", *EXACT, "-j", threads, input=text).lines == unique(lines)


@pytest.mark.parametrize("filter", ["bloom", "rlbsbf", "sbf", "apbf"])
def test_the_number_of_threads_does_not_change_the_output(filter):
    """The filter is so small that it has many false positives, and any other order would change them."""
    text = run("gen", "zipf:n=300k,universe=50k,alpha=0.9,fresh=20%").out
    outputs = {run("dedup", "-a", filter, "-m", "8K", "--seed", "3", "--shards", "5", "-j", threads,
                   input=text).out for threads in (1, 2, 3, 7)}
    assert len(outputs) == 1
    other = run("dedup", "-a", filter, "-m", "8K", "--seed", "3", "--shards", "4", input=text).out
    assert other not in outputs


def test_two_threads_use_one_shard_of_a_fast_filter(here):
    """So -j 2 prints the same as -j 1, even in a filter with many false positives. Other filters are divided."""
    text = run("gen", "zipf:n=300k,universe=50k,alpha=0.9,fresh=20%").out
    one, two, three = (run("dedup", "-m", "8K", "--seed", "3", "-q", "-j", threads, "--state", f"s{threads}",
                           input=text).out for threads in (1, 2, 3))
    assert one == two != three
    for name, shards in ("s1", 1), ("s2", 1), ("s3", 3):
        assert f"shards      {shards}" in run("info", name).lines
    for name, shards in ("recent", 1), ("bloom", 2), ("rlbsbf", 2):
        run("build", "-a", name, "-o", "f", "-j", "2", "-m", "1M", input="a\n")
        assert f"shards      {shards}" in run("info", "f").lines
    run("build", "-a", "recent", "-o", "f", "-j", "2", "--shards", "2", "-m", "1M", input="a\n")
    assert "shards      2" in run("info", "f").lines


def test_without_shards_each_thread_gets_one(here):
    run("build", "-o", "f", "-j", "3", "-m", "1M", input="a\n")
    assert "shards      3" in run("info", "f").lines


def test_memory_is_divided_among_shards(here):
    for shards in 1, 4:
        run("build", "-o", "f", "--shards", shards, "-m", "1M", input="a\n")
        assert "memory      1.00 MiB" in run("info", "f").lines


def test_a_small_memory_limits_the_shards(here):
    """A shard has at least 64 bytes."""
    for memory in 64, 191, 192:
        assert run("dedup", "-q", "-j", "3", "-m", memory, "--state", f"s{memory}", input="a\na\n").lines == ["a"]
        assert json.loads(run("info", "--format", "json", f"s{memory}").out)["memory"] == 192


def test_shards_share_the_keys_evenly_and_keep_the_error(here):
    """One filter and eight shards of it have the same error rate."""
    text = run("gen", "uniform:n=200k,distinct=100%").out
    counts = []
    for shards in 1, 8:
        counts.append(int(run("dedup", "-a", "bloom", "-m", "128K", "--seed", "1", "--shards",
                              shards, "--emit", "duplicates", "--count-only", input=text).out))
    # about 3000 of each, with a standard deviation of about 60
    assert counts[0] > 1000 and abs(counts[0] - counts[1]) < 0.12 * counts[0], counts


@pytest.mark.parametrize("options", [["--csv", "-k", "2"], ["--jsonl", "-k", "/k"], ["-z"],
                                     ["--emit", "all"], ["--emit", "duplicates"], ["--count-only"]])
def test_every_kind_of_record_and_output_with_threads(options):
    rng = random.Random(12)
    if "--jsonl" in options:
        rows = ['{"k": %d}' % rng.randrange(5000) for _ in range(20000)]
    else:
        rows = ["%d,%d" % (i % 3, rng.randrange(5000)) for i in range(60000)]
    text = ("\0" if "-z" in options else "\n").join(rows) + ("\0" if "-z" in options else "\n")
    one = run("dedup", *EXACT, "--shards", "3", *options, input=text).out
    assert run("dedup", *EXACT, "--shards", "3", "-j", "4", *options, input=text).out == one


@pytest.mark.parametrize("options", [[], ["--csv", "-k", "2"], ["--jsonl", "-k", "/k"]], ids=lambda o: " ".join(o) or "lines")
@pytest.mark.parametrize("command", [["top", "-m", "8K"], ["count", "-m", "8K"],
                                     ["check", "--store", "keys:set", "--screen", "cache", "-m", "8K", "--emit", "all"]],
                         ids=lambda c: c[0])
def test_counts_and_checks_are_the_same_for_any_number_of_threads(command, options, here):
    """With so little memory that exchanging any two records would change the result."""
    rng = random.Random(13)
    form = "x,%d" if "--csv" in options else '{"k": %d}' if options else "%d"
    (here / "in").write_text("".join(form % rng.randrange(30000) + "\n" for _ in range(60000)))
    (here / "set").write_text("".join(f"{i}\n" for i in range(0, 30000, 3)))
    seeded = [*command, *options, "--seed", "3", "in"]
    outputs = {run(*seeded).out, *(run(*seeded, "-j", threads).out for threads in (1, 2, 5))}
    assert len(outputs) == 1 and outputs.pop()
