"""weir dedup --at with faulty servers: a clear error within the timeout, no record lost, none duplicated."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import SANITIZED, WEIR, refused, run
from servers import Mute, Rude, Scripted, redis_commands

KEYS = [b"%d\n" % (i * i % 7919) for i in range(20000)]
UNIQUE = list(dict.fromkeys(KEYS))


def bulk(text):
    return b"$%d\r\n%s\r\n" % (len(text), text)


class Fake(Scripted):
    """A fake server with the commands of weir.so that --at uses: a set of hashes per key. break_it(words, reply) may
    replace a reply with other bytes, or return None to close the connection."""

    def __init__(self, break_it=lambda words, reply: reply):
        self.break_it, self.texts, self.sets, self.answers, self.shown = break_it, {}, {}, {}, 0
        self.commands = []
        super().__init__(self.talk)

    def talk(self, called):
        for words in redis_commands(called):
            self.commands.append(words)
            reply = self.break_it(words, self.reply(words))
            if reply is None:
                return
            called.sendall(reply)

    def reply(self, words):
        name = words[0].upper()
        if name == b"CLUSTER":
            return b"-ERR This instance has cluster support disabled\r\n"
        if name == b"GET":
            return bulk(self.texts[words[1]]) if words[1] in self.texts else b"$-1\r\n"
        if name in (b"SET", b"WEIR.CREATE"):
            self.texts.setdefault(words[1], words[2])
            self.sets.setdefault(words[1], set())
            return b"+OK\r\n"
        if words == [b"WEIR.INFO"]:
            return PROTOCOL % 1
        if name == b"WEIR.INFO" and words[2:] == [b"spec"]:
            return bulk(self.texts[words[1]])
        if name == b"WEIR.INFO":
            return b"*0\r\n"
        if name == b"WEIR.OBSERVE":
            return self.observe(words)
        return b"-ERR unknown command\r\n"

    def observe(self, words):
        assert words[2:4] == [b"NOCREATE", b"ONCE"] and words[6:8] == [b"HASHED", b"ITEMS"]
        number, items = (words[1], words[4], words[5]), words[8:]
        if number not in self.answers:
            verdicts = []
            for item in items:
                verdicts.append(item in self.sets[words[1]])
                self.sets[words[1]].add(item)
            self.answers[number] = items, verdicts
            self.shown += len(items)
        before, verdicts = self.answers[number]
        assert before == items, "a number used with other items"
        return b"*%d\r\n" % len(verdicts) + b"".join(b":%d\r\n" % v for v in verdicts)

    def url(self, name="seen", user=""):
        return f"redis://{user}127.0.0.1:{self.port}/{name}"


@pytest.fixture
def fake():
    started = []

    def start(*how, of=Fake):
        started.append(of(*how))
        return started[-1]

    yield start
    for server in started:
        server.close()


def at(server, *more, **how):
    return run("dedup", "--timeout", "20s", "--at", server.url(), *more, input=b"".join(KEYS), **how)


def given_up(server, *more, timeout="1s", saying=()):
    result = refused("dedup", "--timeout", timeout, "--at", server.url() if hasattr(server, "url") else
                     f"redis://127.0.0.1:{server.port}/seen", *more, input=b"".join(KEYS), saying=saying)
    return result


def side_by_side(check, things):
    """Runs tests in parallel: each waits for a timeout without using the processor."""
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(check, things))


def test_the_fake_server_gives_correct_replies(fake):
    server = fake()
    assert at(server, "--shards", 5).out == b"".join(UNIQUE)
    assert server.shown == len(KEYS)


def test_every_metric_has_a_help_text(fake, here):
    at(fake(), "--metrics", "run.prom")
    lines = (here / "run.prom").read_text().splitlines()
    names = {kind: {line.split()[2] for line in lines if line.startswith(f"# {kind} ")} for kind in ("HELP", "TYPE")}
    assert names["HELP"] == names["TYPE"] >= {"weir_servers_commands", "weir_servers_name_info"}
    assert not any("--stats json" in line for line in lines)  # the generic help text


@pytest.mark.parametrize("shards", [1, 5])
def test_lost_connections_lose_no_record(fake, shards):
    """At any command, before or after it ran: each record is observed once and gets the right verdict."""
    rng = random.Random(4)

    def break_it(words, reply):
        if words[0] != b"WEIR.OBSERVE":
            return reply
        chance = rng.random()
        return None if chance < 0.2 else reply

    server = fake(break_it)
    result = at(server, "--shards", shards, "--stats", "json")
    assert result.out == b"".join(UNIQUE) and server.shown == len(KEYS)
    assert json.loads(result.err)["servers"]["reconnects"] > 0


def test_truncated_replies(fake):
    """Truncated anywhere, then the connection is closed."""
    rng = random.Random(5)

    class Cutting(Fake):
        def talk(self, called):
            for words in redis_commands(called):
                reply = self.reply(words)
                if words[0] == b"WEIR.OBSERVE" and rng.random() < 0.3:
                    called.sendall(reply[:rng.randrange(len(reply))])
                    return
                called.sendall(reply)

    server = fake(of=Cutting)
    assert at(server, "--shards", 3).out == b"".join(UNIQUE) and server.shown == len(KEYS)


def test_temporary_errors_are_retried(fake):
    def is_waited_for(error):
        refuse = iter([True] * 3)
        server = fake()
        observe = server.observe
        server.observe = lambda words: b"-" + error + b"\r\n" if next(refuse, False) else observe(words)
        lines = at(server, "--shards", 2).out.splitlines(keepends=True)
        assert sorted(lines) == sorted(UNIQUE) and server.shown == len(KEYS), (error, "perhaps in another order")

    side_by_side(is_waited_for, [b"LOADING it is loading", b"TRYAGAIN later", b"CLUSTERDOWN for now", b"OOM full",
                                 b"MASTERDOWN gone", b"READONLY no", b"MISCONF disk", b"BUSY a script"])


PROTOCOL = b"*4\r\n+protocol\r\n:%d\r\n+version\r\n$5\r\n1.0.0\r\n"
KNOWN, UNKNOWN, FORBIDDEN = b"*1\r\n$3\r\nkey\r\n", b"-ERR x\r\n", b"-NOPERM x\r\n"
OLDER = "server {}: uses an older protocol; upgrade weir.so on the server"
NOT_LOADED = "server {}: weir.so is not loaded; add 'loadmodule "


@pytest.mark.parametrize("info, keys, saying", [
    (PROTOCOL % 2, KNOWN, "server {}: uses protocol 2, this weir supports 1; upgrade weir on this machine"),
    (PROTOCOL % 0, KNOWN, OLDER), (b"*2\r\n+version\r\n$5\r\n1.0.0\r\n", KNOWN, OLDER), (b"-ERR x\r\n", KNOWN, OLDER),
    (b"-ERR x\r\n", UNKNOWN, NOT_LOADED), (b"-ERR x\r\n", FORBIDDEN, "weir.so is not loaded, or uses an older protocol"),
    (b"-NOPERM x\r\n", KNOWN, "{}: NOPERM x")])
def test_another_protocol_version_is_refused_before_anything_is_sent(fake, info, keys, saying):
    server = fake(lambda words, good: info if words == [b"WEIR.INFO"] else keys if words[0] == b"COMMAND" else good)
    refused("dedup", "--at", server.url(), input="a\n", saying=saying.format(f"127.0.0.1:{server.port}"))
    assert {words[0] for words in server.commands} <= {b"WEIR.INFO", b"CLUSTER", b"COMMAND"}


def test_the_protocol_version_is_queried_once_per_connection(fake):
    server = fake()
    at(server, "--shards", 5)
    assert server.commands.count([b"WEIR.INFO"]) == 1
    told = iter([PROTOCOL % 1, b"-LOADING x\r\n", b"-LOADING x\r\n"])
    lost = iter([True])
    server = fake()
    server.break_it = lambda words, good: next(told, good) if words == [b"WEIR.INFO"] else \
        None if words[0] == b"WEIR.OBSERVE" and next(lost, False) else good
    assert at(server).out == b"".join(UNIQUE) and server.shown == len(KEYS)
    assert server.commands.count([b"WEIR.INFO"]) == 4


def test_a_server_upgraded_during_the_run_is_refused(fake):
    told = iter([PROTOCOL % 1])
    server = fake()
    server.break_it = lambda words, good: next(told, PROTOCOL % 3) if words == [b"WEIR.INFO"] else \
        None if words[0] == b"WEIR.OBSERVE" else good
    given_up(server, timeout="20s", saying=["line 1: not passed", "uses protocol 3, this weir supports 1"])


def test_ticket_numbers_continue_above_those_of_others(fake):
    """Of evicted producers, whose clocks were ahead. Requests that were queued meanwhile wait for the one sent again."""
    server, limit, refused_once = fake(), int(time.time() * 1e6) + 10**9, []
    observe, keys = server.observe, [b"%d\n" % (i - 6000 * (i % 12000 >= 6000)) for i in range(400000)]

    def refuse_low(words):
        if int(words[5]) > limit:
            return observe(words)
        if not refused_once:
            refused_once.append(time.sleep(0.3))  # more requests are queued
        return b"-WEIRGONE %d x\r\n" % limit

    server.observe = refuse_low
    done = run("dedup", "--timeout", "20s", "-j", 16, "--at", server.url(), input=b"".join(keys))
    assert done.out == b"".join(dict.fromkeys(keys)) and server.shown == len(keys)
    assert all(len(words[5]) == 16 for words in server.commands if words[0] == b"WEIR.OBSERVE")


def test_permanent_errors_end_the_run(fake):
    server = fake(lambda words, reply: b"-OOM command not allowed\r\n" if words[0] == b"WEIR.OBSERVE" else reply)
    result = given_up(server, timeout="5s", saying=["line 1: not passed, nor any record after it", "OOM command not allowed"])
    assert result.out == b""
    server = fake(lambda words, reply: b"-NOPERM no\r\n" if words[0] == b"WEIR.OBSERVE" else reply)
    given_up(server, timeout="1000s", saying="NOPERM")


def test_the_position_of_an_error_is_exact(fake, here):
    """All records before it are printed, none after it."""
    seen = []

    def break_it(words, reply):
        if words[0] == b"WEIR.OBSERVE":
            seen.append(words)
        return reply if len(seen) < 4 else None

    (here / "in.txt").write_bytes(b"".join(b"%064d\n" % i for i in range(20000)))
    server = fake(break_it)
    result = run("dedup", "--timeout", "3s", "--at", server.url(), "in.txt", ok=False)
    assert result.status == 2 and "(waited 3 s)" in result.err
    line = int(result.err.split("in.txt, line ")[1].split(":")[0])
    assert result.out == b"".join(b"%064d\n" % i for i in range(line - 1)) and 1 < line < 20000


GARBAGE = [
    b"hello\r\n", b"\0\0\0", b"*-7\r\n", b"*1000000000\r\n", b"*99999999999999999999\r\n", b"$99999999999\r\n", b"$-5\r\n",
    b":1\r\n", b"+OK\r\n", b"*1\r\n:2\r\n", b"*1\r\n:0\r\n", b"*2\r\n:0\r\n:-1\r\n", b"*1\r\n$1\r\n1\r\n", b"*1\r\n*1\r\n:0\r\n",
    b"*0\r\n", b"*-1\r\n", b"$-1\r\n", b"*1\r\n" * 12 + b":0\r\n", b"*3\r\n:0\r\n:0\r\n-ERR x\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n"]


def test_garbage_replies(fake):
    """Instead of verdicts, or from the first reply on."""
    def is_refused(reply):
        server = fake(lambda words, good: reply if words[0] == b"WEIR.OBSERVE" else good)
        assert given_up(server, timeout="1500ms").out == b"", reply
        server = fake(lambda words, good: reply)
        given_up(server, timeout="1500ms")

    side_by_side(is_refused, GARBAGE)


ODD_SLOTS = [
    b"*1\r\n:1\r\n", b"*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n", b"*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\nh\r\n:99999\r\n",
    b"*1\r\n*2\r\n:0\r\n:5\r\n", b"*1\r\n*3\r\n:-1\r\n:5\r\n*0\r\n", b"*0\r\n", b"+OK\r\n"]


def test_invalid_slots(fake):
    side_by_side(lambda slots: given_up(fake(lambda words, good: slots if words[0] == b"CLUSTER" else good), timeout="600ms"),
                 ODD_SLOTS)


def test_endless_redirections(fake):
    def is_refused(reply):
        server = fake(lambda words, good: b"-" + reply + b"\r\n" if words[0] == b"WEIR.OBSERVE" else good)
        given_up(server, timeout="600ms")

    side_by_side(is_refused, [b"MOVED 1", b"MOVED 99999 h:1", b"MOVED 1 h:x", b"MOVED x y z", b"ASK", b"ASK 1 :",
                              b"MOVED 1 " + b"h" * 500 + b":1"])
    server = fake(lambda words, good: good)
    server.break_it = lambda words, good: b"-MOVED 1 127.0.0.1:%d\r\n" % server.port if words[0] == b"WEIR.OBSERVE" else good
    given_up(server, timeout="5s", saying="MOVED")


def test_a_redirection_without_a_host(fake):
    """Redis sends ? if it does not know its own address: it means the replying server."""
    server, moved = fake(), iter([True])
    observe = server.observe
    server.observe = lambda words: b"-MOVED %d ?:%d\r\n" % (slot, server.port) if next(moved, False) else observe(words)
    slot = 13907  # slot of seen:{0}
    result = at(server, "--stats", "json")
    assert sorted(result.out.splitlines(keepends=True)) == sorted(UNIQUE)
    assert json.loads(result.err)["servers"]["reconnects"] == 0


def test_an_endless_reply(fake):
    class Slow(Fake):
        def talk(self, called):
            for words in redis_commands(called):
                for i, byte in enumerate(self.reply(words)):
                    called.sendall(bytes([byte]))
                    time.sleep(0.05 if words[0] == b"WEIR.OBSERVE" and i > 10 else 0)

    given_up(fake(of=Slow), timeout="4s", saying=["line 1: not passed", ": incomplete reply (waited 4 s)"])


def test_a_server_that_hangs_is_not_asked_for_the_slots(fake):
    """A stopped server still accepts connections, while others have its slots."""
    def told(words, reply):
        port = other.port if hung else server.port
        return b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n" % port if words[0] == b"CLUSTER" else reply

    def hang(words, reply):
        if words[0] == b"WEIR.OBSERVE" or hung:
            hung.append(words[0])
            return b""
        return told(words, reply)

    hung, other, server = [], fake(told), fake(hang)
    other.texts, other.sets, other.answers = server.texts, server.sets, server.answers
    begun = time.monotonic()
    result = run("dedup", "--timeout", "90s", "--at", f"redis://127.0.0.1:{other.port},127.0.0.1:{server.port}/seen", input=b"".join(KEYS))
    assert result.out == b"".join(UNIQUE) and b"CLUSTER" not in hung
    assert time.monotonic() - begun < 25, "its answer alone is waited for for 30 s"


SLOW_NAMES = """
#include <netdb.h>
#include <unistd.h>
int getaddrinfo(const char *n, const char *s, const struct addrinfo *h, struct addrinfo **r)
{
    (void)n, (void)s, (void)h, (void)r;
    sleep(4);
    return EAI_AGAIN;
}
"""


@pytest.mark.skipif(SANITIZED or not shutil.which("cc"), reason="needs to put a function before libc's")
def test_name_resolution_counts_towards_the_timeout(here):
    (here / "slow.c").write_text(SLOW_NAMES)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "slow.so", "slow.c"], check=True)
    begun = time.monotonic()
    refused("dedup", "--at", "redis://name/k", "--timeout", "3s", input="a\n", saying=["name:6379: cannot connect", "(waited 3 s)"],
            env={**os.environ, "LD_PRELOAD": str(here / "slow.so")})
    assert time.monotonic() - begun < 20  # one name takes 4


def test_a_silent_server(fake):
    given_up(fake(of=Mute), timeout="600ms", saying="no answer within 0.2 s (waited 0.6 s)")
    given_up(fake(of=Rude), timeout="600ms")
    server = fake(lambda words, good: b"" if words[0] == b"WEIR.OBSERVE" else good)
    given_up(server, timeout="3s", saying=["line 1: not passed", "no answer within"])
    refused("dedup", "--timeout", "600ms", "--at", "redis://127.0.0.1:1/seen", input="a\n",
            saying="127.0.0.1:1: cannot connect: Connection refused")


def test_the_password_is_never_printed(fake):
    """In any spelling, whatever a server does with it."""
    for form in [b"-ERR wrong: %s\r\n", b"-WRONGPASS %s %s\r\n", b"-MOVED 1 %s\r\n", b"%s\r\n", b"-LOADING %s\r\n"]:
        server = fake()
        server.break_it = lambda words, good: form.replace(b"%s", b"swordfish") if words[0] == b"AUTH" else good
        result = refused("dedup", "--timeout", "500ms", "--at", server.url(user="me:swordfish@"), input="a\n")
        assert "swordfish" not in result.err
    server = fake()
    server.break_it = lambda words, good: b"+OK\r\n" if words[0] == b"AUTH" else \
        b"-ERR your password swordfish is SWORDFISH\r\n" if words[0] == b"WEIR.OBSERVE" else good
    result = refused("dedup", "--at", server.url(user="me:swordfish@"), input="a\n", saying="your password ***")
    assert "swordfish" not in result.err.lower()
    assert any(words[:1] == [b"AUTH"] for words in server.commands)


def test_the_command_line_hides_the_password(fake):
    """From ps, once the options are parsed."""
    server = fake(lambda words, good: b"+OK\r\n" if words[0] == b"AUTH" else good)
    process = subprocess.Popen([WEIR, "dedup", "--at", server.url(user="me:swordfish@"), "--emit", "all"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    process.stdin.write(b"a\n")
    process.stdin.flush()
    process.stdout.read(1)
    line = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes()
    process.communicate()
    assert b"swordfish" not in line and b"--at\0redis://127.0.0.1:" in line


def test_unusual_addresses_print_no_password():
    for url in ["redis://u:p@SECRET@h/k", "redis://u:SECRET/p@h/k", "redis://u:SECRET@h/", "redis://u:SECRET@h:x/k",
                "redis://u:SECRET%zz@h/k", "rediss://u:SECRET@h/k", "redis:u:SECRET@h/k", "redis://h/k?password=SECRET",
                "redis://u:SECRET@h/a{b}", "SECRET"]:
        result = refused("dedup", "--at", url, input="a\n")
        assert "SECRET" not in result.err, (url, result.err)


# ---- files ----

class Holding(Fake):
    """A fake server that accepts filters, as WEIR.LOAD does, and closes the connection instead of replying a few
    times."""

    def __init__(self, losses):
        self.held, self.losses = {}, losses
        super().__init__(self.lose)

    def lose(self, words, reply):
        if words[0] == b"WEIR.LOAD" and reply == b"+OK\r\n" and self.losses > 0:
            self.losses -= 1
            return None
        return reply

    def reply(self, words):
        if words[0] == b"EXISTS":
            return b":%d\r\n" % (words[1] in self.held)
        if words[0] == b"DEL":
            return b":%d\r\n" % (self.held.pop(words[1], None) is not None)
        if words[0] == b"WEIR.LOAD" and words[1] in self.held:
            return b"-WEIREXISTS x\r\n"
        if words[0] == b"WEIR.LOAD":
            self.held[words[1]] = words[3]
            self.texts[words[1]] = self.spec
            return b"+OK\r\n"
        return super().reply(words)


def test_load_continues_after_lost_connections(fake, here):
    """A shard is sent again if it is not known whether it arrived."""
    (here / "in.txt").write_bytes(b"".join(KEYS))
    run("build", "-a", "bloom", "-m", "64K", "-o", "set", "in.txt")
    told = run("info", "--format", "json", "set").out
    server = fake(3, of=Holding)
    server.spec = json.loads(told)["config"].encode()
    run("load", "--at", server.url(), "set")
    assert server.held[b"seen:{0}"] and server.losses == 0
    server = fake(10**9, of=Holding)
    server.spec = b""
    refused("load", "--at", server.url(), "set", saying="lost in every attempt to load a shard")


@pytest.mark.parametrize("errors, loads", [([b"WEIRRESTART x"], 2), ([None, b"WEIREXISTS x"], 3), ([b"LOADING x", b"WEIREXISTS x"], 0),
                                           ([None, b"WEIRMEMORY x"], 0), ([None, b"NOPERM x"], 0), ([b"WEIRDATA x"], 0)])
def test_load_repeats_only_what_was_interrupted(fake, here, errors, loads):
    """None: the connection is lost before the reply. An error that another attempt cannot change ends the run."""
    run("build", "-a", "bloom", "-m", "64K", "-o", "set", "-", input="a\n")
    replies = iter(errors)
    server = fake(0, of=Holding)
    server.spec = json.loads(run("info", "--format", "json", "set").out)["config"].encode()

    def reply(words):
        if words[0] != b"WEIR.LOAD" or (error := next(replies, False)) is False:
            return Holding.reply(server, words)
        return error and b"-" + error + b"\r\n"

    server.reply = reply
    if loads:
        run("load", "--at", server.url(), "set")
    else:
        refused("load", "--at", server.url(), "set", saying=errors[-1].decode())
    assert [words[0] for words in server.commands].count(b"WEIR.LOAD") == (loads or len(errors))


def test_late_records_are_in_the_summary(fake):
    server = fake()
    server.observe = lambda words: b"*%d\r\n" % words.count(words[-1]) + b":0\r\n" * words.count(words[-1])
    result = run("dedup", "-S", "span=1h", "-k", 1, "--time", 2, "--stats", "text", "--at", server.url(),
                 input="a 1600000000\na 1600000300\na 1600000200\n")
    assert "1 record was late, the latest by 100 s" in result.err


# ---- going on ----

def test_resume_continues_after_the_servers_failed(fake, here):
    """With commands in any state: executed or not, answered or not."""
    lines = [b"%d %060d\n" % (i * i % 7919, i) for i in range(20000)]
    unique = list({line.split()[0]: line for line in reversed(lines)}.values())
    (here / "in.txt").write_bytes(b"".join(lines))

    def goes_on(seed):
        rng = random.Random(seed)
        breaks, shown, broken = [rng.randrange(2, 25) for _ in range(3)], [0], [False]

        def break_it(words, reply):
            shown[0] += words[0] == b"WEIR.OBSERVE"
            broken[0] |= runs < 3 and shown[0] == breaks[runs]
            return None if broken[0] and words[0] == b"WEIR.OBSERVE" else reply

        server, out, state = fake(), f"out{seed}", f"state{seed}"
        runs, server.break_it = 0, break_it
        how = ["dedup", "-q", "-k", 1, "-d", " ", "--shards", 3, "--at", server.url(), "--timeout", "1s",
               "--state", state, "--resume", "-o", out, "in.txt"]
        while (result := run(*how, ok=False)).status:
            assert "not passed, nor any record after it" in result.err or f"{state}: 127.0.0.1" in result.err
            assert "(waited 1 s)" in result.err
            shown[0], broken[0], runs = 0, False, runs + 1
        assert sorted((here / out).read_bytes().splitlines(keepends=True)) == sorted(unique)
        assert server.shown == len(lines) and runs > 1

    side_by_side(goes_on, range(4))


def test_states_of_other_commands_are_refused(fake, here):
    (here / "in.txt").write_bytes(b"a\nb\n")
    server = fake()
    how = ["dedup", "--at", server.url(), "--state", "s", "--resume"]
    refused(*how[:5], "in.txt", saying="add --resume")
    assert run(*how, "in.txt").out == b"a\nb\n" and run(*how, "in.txt").out == b""
    with open(here / "in.txt", "ab") as file:
        file.write(b"c\na\n")
    assert run(*how, "in.txt").out == b"c\n"
    assert b"--at seen" in (here / "s").read_bytes()
    refused("dedup", "--at", server.url("other"), "--state", "s", "--resume", "in.txt", saying="other keys")
    run("dedup", "--state", "t", "in.txt")
    refused("dedup", "--at", server.url(), "--state", "t", "--resume", "in.txt", saying="not a state of a run with --at")
    refused("dedup", "--state", "s", "in.txt", saying="the filter is in its servers")
    refused("info", "s", saying="use 'weir info --at URL'")
    server.texts.clear()
    refused(*how, "in.txt", saying="saved with another filter")


def killed(how, out):
    """A run that is killed after it has printed something."""
    process = subprocess.Popen([WEIR, *map(str, how), "-o", out, "in.txt"])
    end = time.time() + 60
    while not (os.path.exists(out) and os.path.getsize(out)) and time.time() < end:
        time.sleep(0.005)
    process.kill()
    process.wait()


def slow(words, reply):
    time.sleep(0.01)
    return reply


@pytest.mark.parametrize("checkpoint", [["--checkpoint", "1k"], []])
def test_a_killed_run_is_reported(fake, here, checkpoint):
    """At any moment: the next run prints a message and does not truncate the output."""
    (here / "in.txt").write_bytes(b"".join(b"%064d\n" % i for i in range(20000)))
    server = fake(slow)
    how = ["dedup", "--at", server.url(), "--timeout", "100s", "--state", "s", "--resume", *checkpoint, "--shards", 30]
    killed(how, "out")
    server.break_it = lambda words, reply: reply
    refused(*how, "-o", "out", "in.txt", saying=["was killed", "use another -o"])
    result = run(*how, "-o", "more", "in.txt")
    assert "records that were in flight then count as seen" in result.err
    assert (here / "s").exists() and "was killed" not in run(*how, "-o", "more", "in.txt").err


def test_a_killed_resumed_run_is_reported(fake, here):
    """A run that resumed a state is not treated like one that never started."""
    (here / "in.txt").write_bytes(b"a\n")
    server = fake()
    how = ["dedup", "--at", server.url(), "--timeout", "100s", "--state", "s", "--resume", "--shards", 30]
    run(*how, "-o", "out", "in.txt")
    with open(here / "in.txt", "ab") as file:
        file.write(b"".join(b"%064d\n" % i for i in range(20000)))
    server.break_it = slow
    process = subprocess.Popen([WEIR, *map(str, how), "-o", "out", "in.txt"])
    end = time.time() + 60
    while (here / "out").stat().st_size <= 2 and time.time() < end:
        time.sleep(0.005)
    process.kill()
    process.wait()
    server.break_it = lambda words, reply: reply
    refused(*how, "-o", "out", "in.txt", saying=["was killed", "use another -o"])


def test_a_full_disk_is_reported_by_the_next_run(fake, here):
    """The next run reports records that the servers observed but that could not be written."""
    (here / "in.txt").write_bytes(b"".join(KEYS))
    how = ["dedup", "--at", fake().url(), "--state", "s", "--resume"]
    refused(*how, "-o", "/dev/full", "in.txt", saying="No space left")
    assert "was killed: records that were in flight then count as seen" in run(*how, "in.txt").err


# ---- verdicts that arrived for records that were not printed ----

class Leaving(Fake):
    """A fake server that closes the connection from the n-th command that adds keys on."""

    def __init__(self, first):
        self.left = first
        super().__init__(self.leave)

    def leave(self, words, reply):
        self.left -= words[0] == b"WEIR.OBSERVE"
        return None if self.left <= 0 and words[0] == b"WEIR.OBSERVE" else reply


def lines_of(n):
    return [b"%064d\n" % i for i in range(n)]


@pytest.fixture
def left(fake, here):
    """A run that ended because the server failed after many records were sent; then the server returns."""
    (here / "in.txt").write_bytes(b"".join(lines_of(40000)))
    server = fake(4, of=Leaving)
    how = ["dedup", "--timeout", "1s", "--at", server.url(), "--state", "s", "--resume", "-o", "out", "in.txt"]
    line = int(run(*how, "-j", 8, ok=False).err.split("in.txt, line ")[1].split(":")[0])
    assert server.shown >= line > 1
    server.break_it = lambda words, reply: reply
    return server, how, line


def test_a_changed_input_is_refused(left, here):
    """Every attempt is refused; after the input is restored, no record is lost."""
    server, how, line = left
    right = (here / "in.txt").read_bytes()
    lines = right.splitlines(keepends=True)
    lines[line + 5] = b"x" * 64 + b"\n"
    (here / "in.txt").write_bytes(b"".join(lines))
    for _ in range(2):
        refused(*how, saying=f"line {line + 6}: differs from the record at this position in the previous run")
    (here / "in.txt").write_bytes(right)
    run(*how)
    assert (here / "out").read_bytes() == right and server.shown == 40000


def test_a_signal_before_all_records_were_printed(left, here):
    """For records whose verdicts arrived in the previous run and that were not read again yet."""
    server, how, line = left
    os.mkfifo(here / "slow")
    process = subprocess.Popen([WEIR, *map(str, how[:-2]), "slow", "in.txt"])
    with open(here / "slow", "rb") as out:  # the pipe is full soon, and the run continues when it is read
        first = out.read(64 * 65)
        process.send_signal(signal.SIGINT)
        rest = out.read()
    process.wait()
    passed = (first + rest).splitlines(keepends=True)
    assert len(passed) < 40000 - line, "it ended before all was read"
    run(*how[:-2], "more", "in.txt")
    assert passed + (here / "more").read_bytes().splitlines(keepends=True) == lines_of(40000)[line - 1:]


def test_a_log_that_grew_while_the_servers_had_failed(left, here):
    """A batch then contains records of both runs, and the servers fail again before it is answered."""
    server, how, line = left
    producer = next(words[4] for words in server.commands if words[0] == b"WEIR.OBSERVE")
    with open(here / "in.txt", "ab") as file:
        file.write(b"".join(lines_of(41000)[40000:]))
    server.break_it = lambda words, reply: None if words[0] == b"WEIR.OBSERVE" and words[4] != producer else reply
    assert "not passed" in run(*how, ok=False).err
    server.break_it = lambda words, reply: reply
    run(*how)
    assert (here / "out").read_bytes() == b"".join(lines_of(41000)) and server.shown == 41000


def test_a_filter_with_keys_does_not_let_its_output_be_truncated(fake, here):
    server = fake()
    args = ["dedup", "--at", server.url(), "-o", "out"]
    run(*args, input="a\n")
    refused(*args, input="b\n", saying=["out: not empty", "--append"])
    assert (here / "out").read_text() == "a\n"
    run(*args, "--append", input="b\n")
    assert (here / "out").read_text() == "a\nb\n"
