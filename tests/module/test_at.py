"""weir dedup --at: filters in a server, and in a cluster of three masters."""
import json
import os
import subprocess
import time

import pytest

from nodes import Cluster
from servers import Redis
from test_survival import wait
from tool import WEIR, Fed, refused, run

SOME = ["-m", "256K", "--seed", 5]


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """200k records of 60k keys or so."""
    path = tmp_path_factory.mktemp("stream") / "in.txt"
    path.write_bytes(subprocess.run([WEIR, "gen", "zipf:n=200k,universe=100k,alpha=0.8,seed=3"],
                                    stdout=subprocess.PIPE, check=True).stdout)
    return path


class Masters(Cluster):
    """Three of them."""

    def __init__(self):
        super().__init__(replicas=0)

    def url(self, name, node=0):
        return f"redis://127.0.0.1:{self.nodes[node].port}/{name}"

    def number(self, key):
        return self.nodes.index(self.owner(key)[0])

    def move(self, key, to, keep_open=lambda: None):
        """Move the slot of a key to another node, with pauses for the clients."""
        (source, slot), target = self.owner(key), self.nodes[to]
        target.call_one("CLUSTER", "SETSLOT", slot, "IMPORTING", source.name)
        source.call_one("CLUSTER", "SETSLOT", slot, "MIGRATING", target.name)
        keep_open()
        keys = source.call_one("CLUSTER", "GETKEYSINSLOT", slot, 1000)
        source.call_one("MIGRATE", "127.0.0.1", target.port, "", 0, 10000, "KEYS", *keys)
        keep_open()
        for node in target, source, *self.nodes:
            node.call_one("CLUSTER", "SETSLOT", slot, "NODE", target.name)


@pytest.fixture(scope="module")
def cluster():
    started = Masters()
    yield started
    assert all(node.process.poll() is None for node in started.nodes), "a server has died"
    started.close()


@pytest.fixture
def url(server, r):
    return lambda name="seen": f"redis://127.0.0.1:{server.port}/{name}"


def embedded(stream, shards, *more):
    return run("dedup", "-q", *SOME, "--shards", shards, *more, stream).stdout


# ---- one server ----

@pytest.mark.parametrize("shards", [1, 7, 1000])
def test_output_is_that_of_the_embedded_run(url, stream, shards):
    """The memory is too small for all keys, so a wrong order would change the output."""
    done = run("dedup", "--stats", "json", *SOME, "--shards", shards, "--at", url(), stream)
    if shards <= 256:
        assert done.stdout == embedded(stream, shards)
    stats = json.loads(done.stderr)
    assert stats["records"] == 200000 and stats["filter"]["shards"] == shards
    assert stats["passed"] == done.stdout.count(b"\n") and stats["servers"]["retries"] == 0
    assert stats["servers"]["commands"] >= shards


def test_a_second_run_goes_on(url, stream):
    lines = stream.read_bytes().splitlines(keepends=True)
    one = run("dedup", *SOME, "--at", url(), input=b"".join(lines[:100000])).stdout
    two = run("dedup", "--at", url(), input=b"".join(lines[100000:])).stdout
    assert one + two == embedded(stream, 1)


def test_importance_goes_along(url, tmp_path):
    path = tmp_path / "weighted.txt"
    path.write_bytes(b"".join(b"k%d\t%d\n" % (i * i % 30011, i % 50) for i in range(60000)))
    how = ["--tsv", "-k", 1, "-i", 2, "-m", "16K", "--seed", 3, "--shards", 3]
    assert run("dedup", *how, "--at", url(), path).stdout == run("dedup", "-q", *how, path).stdout


def test_malformed_records_are_not_sent(url):
    lines = b'{"k": 1}\nnonsense\n{"k": 1}\n{"k": 2}\n'
    done = run("dedup", "-k", "/k", "--on-error", "skip", "--shards", 4, "--at", url(), input=lines)
    assert done.stdout == b'{"k": 1}\n{"k": 2}\n'


def test_answers_come_at_once(url):
    fed = Fed("dedup", "--emit", "all", "--at", url())
    for i, (line, answer) in enumerate([(b"a\n", b"new\ta\n"), (b"b\n", b"new\tb\n"), (b"a\n", b"seen\ta\n")]):
        fed.feed([line])
        end = time.time() + 60
        while len(fed.lines) <= i and time.time() < end:
            time.sleep(0.002)
        assert fed.lines[i:] == [answer]
    fed.finish()


def test_another_filter_is_refused(url, r):
    run("dedup", *SOME, "--shards", 3, "--at", url(), input="a\n")
    refused("dedup", "--shards", 4, "--at", url(), input="b\n", saying="has 3 shards, not 4")
    refused("dedup", "-m", "1M", "--at", url(), input="b\n", saying=["another filter", "memory=262144", "1048576"])
    assert run("dedup", *SOME, "--at", url(), input="a\nb\n").stdout == b"b\n"
    r("SET", "text", "hello")
    refused("dedup", "--at", url("text"), input="b\n", saying="is not a weir filter")
    r("LPUSH", "list", "hello")
    refused("dedup", "--at", url("list"), input="b\n", saying="WRONGTYPE")
    r("SET", "odd", r("GET", "seen"))
    r("WEIR.CREATE", "odd:{1}", "recent memory=64K")
    refused("dedup", "--at", url("odd"), input="b\n", saying="key odd:{1} holds another filter")


def test_addresses(url, server):
    for bad in ["http://h/k", "keys:x", "redis://127.0.0.1/", "redis:x", "redis://h:99999/k", "redis://h/k?db=1",
                "redis://h/a%7Bb%7D"]:
        refused("dedup", "--at", bad, input="a\n", saying="redis://USER:PASSWORD@HOST:PORT/NAME"
                if "%7B" not in bad else "no { or }")
    done = run("dedup", "--at", f"redis://127.0.0.1:1,127.0.0.1:{server.port}/seen", input="a\n")
    assert done.stdout == b"a\n", "the first of two hosts is not there"


def test_options_that_need_it(url):
    refused("dedup", "--wait", 1, input="a\n", saying="--wait: no servers; add --at")
    refused("dedup", "--shards", 257, input="a\n", saying="from 1 to 256, with --at to 1024")
    refused("dedup", "--on-full", "stop", "--at", url(), input="a\n", saying="--on-full stop cannot be combined with --at")


def test_a_lost_shard_is_created_again_empty(url, r):
    fed = Fed("dedup", *SOME, "--shards", 2, "--at", url())
    fed.feed([b"%d\n" % i for i in range(1000)])
    end = time.time() + 60
    while len(fed.lines) < 1000 and time.time() < end:
        time.sleep(0.01)
    before = r("WEIR.INFO", "seen:{1}", "spec")
    r("DEL", "seen:{1}")
    fed.feed([b"%d\n" % i for i in range(1000)])
    error = fed.finish()
    assert "shards were lost 1 times and created again" in error
    assert r("WEIR.INFO", "seen:{1}", "spec") == before
    shown = r("WEIR.INFO", "seen:{1}", "observed")
    assert len(fed.lines) == 1000 + shown and 400 < shown < 600


def test_numbers_go_on_above_those_of_evicted_producers(url, r, stream):
    """With requests in flight: each is refused with WEIRGONE, was not applied, and is sent again once."""
    lines, limit = stream.read_bytes().splitlines(keepends=True), int(time.time() * 1e6) + 10**10
    run("dedup", "-m", "16M", "--seed", 5, "--shards", 3, "--at", url(), "--count-only")
    for shard in range(3):
        r.pipeline([["WEIR.OBSERVE", f"seen:{{{shard}}}", "ONCE", f"p{i}", limit, f"x{i}"] for i in range(1025)])
    done = run("dedup", "--stats", "json", "--at", url(), stream)
    assert done.stdout == b"".join(dict.fromkeys(lines)), "requests of a shard stay in order"
    assert json.loads(done.stderr)["servers"]["retries"] >= 3
    assert sum(r("WEIR.INFO", f"seen:{{{shard}}}", "observed") for shard in range(3)) == 3 * 1025 + len(lines)


def test_a_server_without_the_module():
    server = Redis()
    try:
        refused("dedup", "--at", server.url("seen"), input="a\n", saying=[f"server 127.0.0.1:{server.port}: weir.so is not loaded; add 'loadmodule "])
        assert server.call(["DBSIZE"]) == [b":0\r\n"], "nothing is left there"
    finally:
        server.close()


def test_a_filter_that_is_refused_leaves_nothing(url, r):
    """Its name can be used again."""
    refused("dedup", "-m", "64G", "--shards", 3, "--at", url(), input="a\n", saying=["key seen:{", ": WEIRMEMORY "])
    r("LPUSH", "seen:{1}", "mine")
    refused("dedup", "--shards", 3, "--at", url(), input="a\n", saying="key seen:{1}: WRONGTYPE")
    assert r("KEYS", "*") == [b"seen:{1}"] and r("LRANGE", "seen:{1}", 0, -1) == [b"mine"]
    r("DEL", "seen:{1}")
    assert run("dedup", "-m", "1M", "--shards", 3, "--at", url(), input="a\n").stdout == b"a\n"


# ---- passwords ----

def test_passwords(start):
    server = start()
    r = server.client()
    r("CONFIG", "SET", "requirepass", "open sesame")
    r("AUTH", "open sesame")
    r("ACL", "SETUSER", "producer", "on", ">swordfish", "~*", "+@all")
    place = f"127.0.0.1:{server.port}/seen"
    assert run("dedup", "--at", f"redis://:open%20sesame@{place}", input="a\n").stdout == b"a\n"
    assert run("dedup", "--at", f"redis://producer:swordfish@{place}", input="b\n").stdout == b"b\n"
    environment = {**os.environ, "REDISCLI_AUTH": "open sesame"}
    assert run("dedup", "--at", f"redis://{place}", input="c\n", env=environment).stdout == b"c\n"
    refused("dedup", "--at", f"redis://{place}", input="d\n", saying="NOAUTH")
    done = refused("dedup", "--at", f"redis://producer:wordfish@{place}", input="d\n", saying="WRONGPASS")
    assert b"wordfish" not in done.stderr
    done = run("dedup", "--stats", "json", "--at", f"redis://producer:swordfish@{place}", input="d\n")
    assert b"swordfish" not in done.stderr and b"producer" not in done.stderr


def test_a_user_who_may_do_no_more_than_is_needed(cluster):
    """As documented in docs/security.md."""
    for node in cluster.nodes:
        node.call_one("ACL", "SETUSER", "producer", "reset", "on", ">swordfish", "~limited", "~limited:*", "+get", "+set", "+weir.create",
                      "+weir.info", "+weir.observe", "+weir.ask", "+cluster|slots", "+asking", "+wait")
    url = cluster.url("limited").replace("//", "//producer:swordfish@")
    assert run("dedup", "--shards", 9, "--at", url, input="a\nb\na\n").stdout == b"a\nb\n"
    run("add", "--at", url, input="c\n")
    assert run("ask", "--at", url, input="a\nc\nd\n").stdout == b"seen\ta\nseen\tc\nnew\td\n"
    assert b"observed    4 keys" in run("info", "--at", url).stdout
    refused("save", "--at", url, "-o", "/dev/null", saying="NOPERM")


# ---- a cluster ----

def test_a_cluster_gives_the_output_of_the_embedded_run(cluster, stream):
    for node in range(3):
        name = f"same{node}"
        done = run("dedup", "--stats", "json", *SOME, "--shards", 20, "--at", cluster.url(name, node), stream)
        assert done.stdout == embedded(stream, 20)
        stats = json.loads(done.stderr)
        assert stats["servers"]["redirections"] == 0 or stats["servers"]["retries"] <= 20
    owners = {cluster.number(f"same0:{{{i}}}") for i in range(20)}
    assert owners == {0, 1, 2}


def test_shards_of_a_cluster(cluster):
    run("dedup", "--at", cluster.url("default"), input="a\n")
    register = cluster.nodes[cluster.number("default")].call_one("GET", "default")
    assert register.startswith(b"shards=64 recent memory=67108864 ")


def test_slots_move_while_it_runs(cluster, stream):
    """ASK while a slot is migrating, MOVED afterwards: nothing is lost, duplicated or reordered."""
    lines = stream.read_bytes().splitlines(keepends=True)
    fed = Fed("dedup", "--stats", "json", *SOME, "--shards", 6, "--at", cluster.url("moving"))
    parts = iter([lines[i:i + 10000] for i in range(0, len(lines), 10000)])
    words = embedded(stream, 6, "--words", "new,seen").splitlines()
    shown = 0

    def feed():
        """Write records and wait for their verdicts, so they are processed in the current state of the servers."""
        nonlocal shown
        part = next(parts)
        fed.feed(part)
        shown += len(part)
        wait(lambda: len(fed.lines) >= words[:shown].count(b"new"), 60)

    feed()
    for shard in range(4):
        key = f"moving:{{{shard}}}"
        cluster.move(key, (cluster.number(key) + 1) % 3, feed)
        feed()
    cluster.move("moving:{4}", (cluster.number("moving:{4}") + 1) % 3)
    for part in parts:
        fed.feed(part)
    error = json.loads(fed.finish())
    assert b"".join(fed.lines) == embedded(stream, 6)
    assert error["servers"]["redirections"] >= 4, "ASK, of each that was on its way; MOVED unless the slots were asked for just then"


# ---- by time ----

@pytest.mark.parametrize("shards", [1, 9])
def test_times_of_records(url, tmp_path, shards):
    """Shards whose first key arrives late have the same start time as the others."""
    path = tmp_path / "timed.txt"
    path.write_bytes(b"".join(b"%d k%d\n" % (1_600_000_000 + i * 7 // 3, i * i % 701) for i in range(60000)))
    how = ["--time", 1, "-k", 2, "--once-per", "10m", "-d", " ", "-m", "64K", "--seed", 2, "--shards", shards]
    alone = run("dedup", "-q", *how, path).stdout
    assert run("dedup", *how, "--at", url(), path).stdout == alone and 701 < alone.count(b"\n") < 60000


@pytest.mark.parametrize("timed", [True, False])
def test_ttls_of_records(url, tmp_path, timed):
    path = tmp_path / "cached.txt"
    path.write_bytes(b"".join(b"%d k%d %d %d\n" % (1_600_000_000 + i * 7 // 3, i * i % 701, 60 + i * 13 % 7000, i % 51)
                              for i in range(60000)))
    how = ["-k", 2, "--ttl", 3, "-i", 4, "-S", "ttl=1m-2h", "-S", "importance=1-50", "-d", " ", "-m", "64K", "--seed", 2,
           "--shards", 5, *(["--time", 1] if timed else [])]
    alone = run("dedup", "-q", *how, path).stdout
    assert run("dedup", "-q", *how, "--at", url(), path).stdout == alone
    assert alone.count(b"\n") > 420 if timed else alone.count(b"\n") == 351  # of 351 keys, some expire


def test_the_clocks_of_servers(url, r):
    how = ["--once-per", "1h", "--at", url()]
    assert run("dedup", *how, input="a\nb\na\n").stdout == b"a\nb\n"
    assert run("dedup", *how, input="b\nc\n").stdout == b"c\n"
    r("WEIR.OBSERVE", "seen:{0}", "AT", int(time.time() * 1000) + 4_600_000)
    assert run("dedup", *how, input="b\nc\n").stdout == b"b\nc\n"


# ---- the other commands ----

def test_add_ask_and_filter(url, stream):
    lines = stream.read_bytes().splitlines(keepends=True)
    known, others = set(lines[:100000]), lines[100000:]
    refused("ask", "--at", url(), input="a\n", saying=["there is no filter redis://127.0.0.1:", "'weir dedup --at' makes one"])
    run("dedup", "-m", "4M", "--shards", 5, "--at", url(), "--count-only", input=b"a\n")
    assert run("add", "--at", url(), input=b"".join(lines[:100000])).stdout == b""
    tagged = run("ask", "--at", url(), input=b"".join(others)).stdout
    assert tagged == b"".join((b"seen\t" if line in known else b"new\t") + line for line in others)
    assert run("filter", "--at", url(), input=b"".join(others)).stdout == b"".join(x for x in others if x in known)
    assert run("filter", "--invert", "--at", url(), input=b"".join(others)).stdout == \
        b"".join(x for x in others if x not in known)
    run("ask", "-q", "--at", url(), input=lines[0])
    run("ask", "-q", "--at", url(), input=b"nowhere\n", status=1)
    refused("filter", "--keys", "x", "--at", url(), saying="--keys cannot be combined with --at")
    refused("ask", "--which", "--at", url(), saying="--which asks files")


def test_info(url, cluster, server):
    run("dedup", *SOME, "--shards", 3, "--at", url(), input="a\nb\na\n")
    told = json.loads(run("info", "--format", "json", "--at", url()).stdout)
    assert (told["observed"], told["new"], told["seen"]) == (3, 2, 1) and told["memory"] <= 256 << 10
    assert [s["node"] for s in told["shards"]] == [f"127.0.0.1:{server.port}"] * 3
    assert sum(s["observed"] for s in told["shards"]) == 3 and told["config"].startswith("recent memory=262144 ")
    text = run("info", "--at", url()).stdout.decode()
    assert "observed    3 keys: 2 new, 1 seen" in text and len(text.splitlines()) == 7 + 1 + 1 + 3
    refused("info", "--at", url("none"), saying="there is no filter")
    run("dedup", *SOME, "--shards", 9, "--at", cluster.url("told"), input="a\nb\na\n")
    told = json.loads(run("info", "--format", "json", "--at", cluster.url("told")).stdout)
    assert [s["node"] for s in told["shards"]] == \
        [f"127.0.0.1:{cluster.nodes[cluster.number(f'told:{{{i}}}')].port}" for i in range(9)]


def test_ten_producers_share_one_memory(cluster, stream):
    """Ten runs read parts of a stream: each key passes in exactly one of them."""
    lines = stream.read_bytes().splitlines(keepends=True)
    url = cluster.url("ten")
    fed = [Fed("dedup", "-m", "16M", "--shards", 12, "--at", url) for _ in range(10)]
    for start in range(0, len(lines), 20000):
        for i, one in enumerate(fed):
            one.feed(lines[start + i:start + 20000:10])
    for one in fed:
        one.finish()
    passed = [line for one in fed for line in one.lines]
    assert len(passed) == len(set(passed)) and set(passed) <= set(lines)
    missing = len(set(lines)) - len(passed)  # false positives, at the rate of the filter
    assert missing <= 2 and sum(len(one.lines) > 0 for one in fed) == 10
    told = json.loads(run("info", "--format", "json", "--at", url).stdout)
    assert told["observed"] == len(lines) and told["new"] == len(passed) and told["error"] * 60000 < 0.01


# ---- files ----

@pytest.mark.parametrize("shards", [1, 5, 300])
def test_save_and_load(url, stream, tmp_path, r, shards):
    """A filter saved and loaded elsewhere continues with the same verdicts."""
    lines, file = stream.read_bytes().splitlines(keepends=True), tmp_path / "seen.weir"
    half, rest = b"".join(lines[:100000]), b"".join(lines[100000:])
    run("dedup", *SOME, "--shards", shards, "--at", url(), input=half)
    run("save", "--at", url(), "-o", file)
    run("load", "--at", url("copy"), file)
    assert run("dedup", "--at", url("copy"), input=rest).stdout == run("dedup", "--at", url(), input=rest).stdout
    assert json.loads(run("info", "--format", "json", "--at", url("copy")).stdout)["observed"] == 200000
    assert r("GET", "copy") == r("GET", "seen")
    if shards <= 256:
        asked = run("ask", file, input=rest).stdout
        run("load", "--at", url("third"), file)
        assert asked == run("ask", "--at", url("third"), input=rest).stdout
        assert json.loads(run("info", "--format", "json", file).stdout)["shards"] == shards
    refused("load", "--at", url(), file, saying="there is a filter redis://127.0.0.1:")


def test_files_of_others(url, tmp_path, r):
    keys = tmp_path / "keys.txt"
    keys.write_bytes(b"".join(b"k%d\n" % i for i in range(5000)))
    for name, how in ("set", ["build", "--shards", 3]), ("state", ["dedup", "-q", "-m", "1M", "-j", 2, "--state"]):
        file = tmp_path / name
        run(*how, *([] if name == "state" else ["-o"]), file, keys)
        run("load", "--at", url(name), file)
        assert run("filter", "--at", url(name), input="k7\nx\nk4999\n").stdout == b"k7\nk4999\n"
    run("build", "--fixed", "-o", tmp_path / "fixed", keys)
    run("load", "--at", url("fixed"), tmp_path / "fixed")
    assert run("filter", "--at", url("fixed"), input="k7\nx\n").stdout == b"k7\n"
    refused("add", "--at", url("fixed"), input="y\n", saying="key fixed:{0}: WEIRUNSUPPORTED ")
    run("build", "--fixed", "--shards", 3, "-o", tmp_path / "fixed", keys)
    refused("load", "--at", url("fixed3"), tmp_path / "fixed", saying="cannot create shards")
    refused("load", "--at", url("text"), keys, saying="keys.txt: ")
    refused("load", "--at", url("none"), tmp_path / "none", saying="cannot read")
    refused("save", "--at", url("none"), "-o", tmp_path / "out", saying="there is no filter")
    refused("save", "-o", tmp_path / "out", saying="needs --at URL")
    refused("load", "--at", url("x"), saying="one filter file")
    run("dedup", "--at", url(), input="a\n")
    r("DEL", "seen:{0}")
    refused("save", "--at", url(), "-o", tmp_path / "out", saying="key seen:{0}: WEIRNOKEY ")
    assert not (tmp_path / "out").exists()


def test_what_a_load_left_behind_is_named(url, tmp_path, r):
    keys, file = tmp_path / "keys.txt", tmp_path / "set"
    keys.write_bytes(b"".join(b"k%d\n" % i for i in range(5000)))
    run("build", "--shards", 3, "-o", file, keys)
    r("SET", "copy:{1}", "half")
    refused("load", "--at", url("copy"), file, saying="key copy:{1} exists, but belongs to no filter")
    assert r("GET", "copy:{1}") == b"half"


# ---- how keys were made ----

def test_servers_know_how_keys_were_made(url, tmp_path):
    """The register and the files of save and load carry it; runs that make keys in another way are refused."""
    file, built = tmp_path / "seen", tmp_path / "built"
    run("dedup", "--at", url(), *SOME, "--ignore-case", input="A\n")
    for command in ("dedup", "ask", "filter", "add"):
        refused(command, "--at", url(), input="a\n", saying="its keys were made with --ignore-case, now with no key options")
        run(command, "--at", url(), "--keys-differ", input="a\n")
        run(command, "--at", url(), "--ignore-case", input="a\n")
    run("save", "--at", url(), "-o", file)
    assert "keys        --ignore-case" in run("info", "--at", url()).stdout.decode()
    run("load", "--at", url("copy"), file)
    run("build", "-q", "-m", "4K", "-k", "1,2", "-o", built, input="a b\n")
    run("load", "--at", url("built"), built)
    for name, keys in (("copy", "--ignore-case"), ("built", "2 fields")):
        assert json.loads(run("info", "--at", url(name), "--format", "json").stdout)["keys"] == keys
    for refuse in (["--at", url("copy")], ["--at", url("built")], [file], [built]):
        refused("ask", *refuse, input="a\n", saying="its keys were made with")
    assert run("ask", "--at", url("built"), "--csv", "-k", "2,1", input="b,a\n").stdout == b"seen,b,a\n"
    assert run("ask", "--ignore-case", file, input="A\n").stdout == b"seen\tA\n"
