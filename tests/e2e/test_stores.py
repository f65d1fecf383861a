"""Real servers, PostgreSQL and Redis, which may be slow, wrong or down."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from conftest import refused, run
from servers import Mute, Postgres, Redis, Rude, Scripted, children, redis_commands, scripted_redis
from test_check import FOUND, MEMBERS, SANITIZED, SET, STREAM, TEXT, check, feed, live, stats
from test_live import read_within


@pytest.fixture(scope="module")
def postgres():
    server = Postgres()
    server.load("t", MEMBERS)
    yield server
    server.close()


@pytest.fixture(scope="module")
def redis():
    server = Redis()
    server.load("t", MEMBERS)
    yield server
    server.close()


@pytest.fixture(params=["postgres", "redis"])
def store(request):
    """Each server, running, with the set."""
    server = request.getfixturevalue(request.param)
    yield server
    if server.process.poll() is not None:
        server.start()
    if isinstance(server, Redis):
        server.load("t", MEMBERS)


@pytest.fixture
def mute():
    server = Mute()
    yield server
    server.close()


# ---- answers ----

@pytest.mark.parametrize("screen", ["auto", "cache", "strict", "dabf", "none"])
def test_exactly_the_members_are_printed(store, screen):
    result, told = stats(store.url(), "--screen", screen, "-m", "4M", "--seed", "1")
    assert result.lines == FOUND and told["unanswered"] == 0 and told["store"]["retries"] == 0
    assert told["asked"] == {"none": 9000, "auto": len(FOUND), "strict": len(FOUND)}.get(screen, 5000)


def test_auto_reads_the_set_if_it_can(store):
    def chosen(url):
        return run("check", "--store", url, input="key0\nkey1\n").err

    more = "&" if isinstance(store, Postgres) else "?"
    assert "screen strict: the store lists its 2000 keys" in chosen(store.url())
    assert "screen cache: the store cannot be listed" in chosen(store.url(more=more + "list=no"))


def test_filter_confirms_in_a_store(store, here):
    (here / "keys").write_text("\n".join(MEMBERS) + "\n")
    run("build", "-o", "f", "-m", "512", "keys")
    assert run("filter", "--strict", store.url(), "f", input=TEXT).lines == FOUND


def test_many_keys_and_very_long_ones(store):
    """More than fits in one query, by number and by bytes."""
    long = ["x" * 400000 + str(i) for i in range(9)]
    keys = [f"key{i}" for i in range(20000)] + long
    if isinstance(store, Redis):
        store.load("long", MEMBERS + long[:3])
        url, wanted = store.url("long"), MEMBERS + long[:3]
    else:
        url, wanted = store.url(), MEMBERS
    result = check(url, "--screen", "none", input="\n".join(keys) + "\n")
    assert result.lines == [key for key in keys if key in set(wanted)]


# ---- PostgreSQL ----

ODD = [b"a\0b", b"\xff\xfe", "grüße".encode(), b"", b"x" * 2000, b"'; DROP TABLE t; --", b"NULL", b"{a,\"b\"}"]
OTHERS = [b"a\0c", b"\xff", b"gr\xfc\xdfe", b"x" * 1999, b"'", b"null", b"a"]


def test_postgres_bytea_can_contain_any_bytes(postgres):
    postgres.sql("CREATE TABLE odd (k bytea PRIMARY KEY, n int); INSERT INTO odd VALUES "
                 + ",".join(f"('\\x{key.hex()}', 1)" for key in ODD))
    text = b"\n".join(ODD + OTHERS) + b"\n"
    for screen in "none", "auto":
        assert check(postgres.url("odd"), "--screen", screen, input=text).out == b"\n".join(ODD) + b"\n"


def test_postgres_text_contains_utf8_without_nul(postgres):
    """Other keys are not members; the server would reject the whole batch that contains them."""
    held = [key.decode() for key in ODD[2:]]
    postgres.sql("CREATE TABLE texts (k varchar(3000)); INSERT INTO texts VALUES "
                 + ",".join("('" + key.replace("'", "''") + "')" for key in held + held) + ", (NULL)")
    strange = [b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xf0\x9f\x98\x80"]
    text = b"\n".join(ODD + OTHERS + strange) + b"\n"
    for screen in "none", "auto":
        result, told = stats(postgres.url("texts"), "--screen", screen, input=text)
        assert result.lines == held and told["unanswered"] == 0


def test_postgres_keys_invalid_in_its_encoding_do_not_affect_others(postgres):
    """A client does not know every encoding; the server rejects a whole query because of one invalid key."""
    postgres.sql("CREATE DATABASE jp ENCODING 'EUC_JP' LOCALE 'C' TEMPLATE template0")
    postgres.sql("\\c jp\nCREATE TABLE t (k text PRIMARY KEY);"
                 "INSERT INTO t SELECT 'key' || n FROM generate_series(0, 5999, 3) n;"
                 "INSERT INTO t VALUES (convert_from('\\xc6fcb6cb', 'EUC_JP'))")
    keys = [key.encode() for key in STREAM]
    bad = [b"\xff\xff", b"\xc6", b"\xc6a", b"\x8f\xa1", "grüße".encode()]
    text = b"\n".join(keys[:3000] + bad + [b"\xc6\xfc\xb6\xcb"] + keys[3000:]) + b"\n"
    wanted = [key for key in text.split(b"\n") if key.decode(errors="replace") in SET or key == b"\xc6\xfc\xb6\xcb"]
    for screen in "none", "auto":
        result, told = stats(postgres.url(database="jp"), "--screen", screen, "--retries", "0", input=text)
        assert result.out.splitlines() == wanted and told["unanswered"] == 0 and told["store"]["retries"] == 0


def test_postgres_columns_of_other_types_compare_as_text(postgres):
    postgres.sql("CREATE TABLE numbers (k int PRIMARY KEY); INSERT INTO numbers VALUES (7), (80);"
                 "CREATE VIEW padded AS SELECT k::char(5) AS k FROM numbers;")
    for table in "numbers", "padded":
        for screen in "none", "auto":
            assert check(postgres.url(table), "--screen", screen, input="7\n007\nx\n80\n80 \n").lines == ["7", "80"]


def test_postgres_addresses_are_compared_as_text(postgres):
    postgres.sql("CREATE TABLE nets (k inet PRIMARY KEY); INSERT INTO nets VALUES ('1.2.3.4'), ('10.0.0.0/8'), ('::1')")
    for screen in "none", "auto":
        assert check(postgres.url("nets"), "--screen", screen,
                     input="1.2.3.4\n1.2.3.4/32\n10.0.0.0/8\n10.0.0.1\n::1\n0::1\n").lines == [
                         "1.2.3.4", "10.0.0.0/8", "::1"]


def test_postgres_keys_are_bytes_in_any_collation(postgres):
    postgres.sql("CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
                 "CREATE TABLE names (k text COLLATE ci); INSERT INTO names VALUES ('Anna'), ('anna'), ('BEN')")
    for screen in "none", "auto":
        assert check(postgres.url("names"), "--screen", screen,
                     input="Anna\nanna\nANNA\nBEN\nben\n").lines == ["Anna", "anna", "BEN"]


def test_postgres_names_are_quoted(postgres):
    evil = 'x" UNION SELECT usename FROM pg_user; DROP TABLE t; --'
    quoted = evil.replace('"', '""')
    postgres.sql(f'CREATE SCHEMA "s.s"; CREATE TABLE "s.s"."{quoted}" ("{quoted}" text); '
                 f"INSERT INTO \"s.s\".\"{quoted}\" VALUES ('a')")
    encoded = "".join(f"%{byte:02x}" for byte in evil.encode())
    assert check(postgres.url(f"s%2Es.{encoded}", encoded), input="a\nb\nweir\n").lines == ["a"]
    refused("check", "--store", postgres.url(encoded, "k"), input="", saying="does not exist")
    refused("check", "--store", postgres.url("t", "k)%20OR%20(1=1"), input="", saying="does not exist")
    assert postgres.sql("SELECT count(*) FROM t").strip() == str(len(MEMBERS))


def test_postgres_errors_are_reported(postgres):
    def told(**url):
        result = refused("check", "--store", postgres.url(**url), input="a\n")
        assert "tried" not in result.err  # a retry would fail in the same way
        return result.err

    assert 'relation "nothing" does not exist' in told(table="nothing")
    assert 'column "nothing" does not exist' in told(column="nothing")
    assert 'database "nothing" does not exist' in told(database="nothing")
    assert 'role "***" does not exist' in told(user="nobody")  # only host and path of an address are printed
    assert "parameter 3 is unknown" in told(more="&tabel=t")


def test_postgres_passwords_are_not_printed(postgres):
    postgres.sql("GRANT SELECT ON t TO locked")
    result, told = stats(postgres.url(user="locked:open%20sesame"))
    assert result.lines == FOUND and "sesame" not in json.dumps(told)
    for user in "locked:opensesame", "locked:wrong%20sesame", "locked":
        err = refused("check", "--store", postgres.url(user=user), input="a\n").err
        assert "password" in err and "sesame" not in err and "tried" not in err
    result = refused("check", "--store", postgres.url(user="sesame:sesame", database="sesame"), input="a\n").err
    assert "***" in result  # even if it is also a name


def test_a_state_file_contains_no_password(postgres, here):
    check(postgres.url(user="locked:open%20sesame"), "--state", "s", "--screen", "cache", "-m", "64K")
    assert b"sesame" not in (here / "s").read_bytes() and b"sesame" not in run("info", "s").out
    _, told = stats(postgres.url(user="weir"), "--state", "s")  # another user, the same store
    assert told["asked"] == 0


# ---- Redis ----

def test_redis_members_are_any_bytes(redis):
    redis.load("odd", ODD)
    text = b"\n".join(ODD + OTHERS) + b"\n"
    for screen in "none", "auto":
        assert check(redis.url("odd"), "--screen", screen, input=text).out == b"\n".join(ODD) + b"\n"


def test_redis_keys_and_databases(redis):
    redis.load("a/b c?%", ["x"], database=3)
    assert check(redis.url("a/b%20c%3F%25", more="?db=3"), input="x\ny\n").lines == ["x"]
    refused("check", "--store", redis.url("a/b%20c%3F%25"), input="", saying="no set 'a/b c?%'")
    redis.call(["SET", "text", "x"])
    refused("check", "--store", redis.url("text"), input="", saying="WRONGTYPE")
    refused("check", "--store", redis.url(more="?db=99"), input="", saying="DB index is out of range")


def test_an_old_redis_needs_single_queries():
    server = Redis("--rename-command", "SMISMEMBER", "")
    try:
        server.load("t", MEMBERS)
        result, told = stats(server.url(), "--screen", "none", "--retries", "0")
        assert result.lines == FOUND and told["store"]["retries"] == 0
    finally:
        server.close()


def test_redis_passwords_are_not_printed():
    server = Redis()
    try:
        server.load("t", MEMBERS)
        server.call(["ACL", "SETUSER", "ann", "on", ">open sesame", "~*", "+@all"],
                    ["CONFIG", "SET", "requirepass", "open:sesame"])
        for user in ":open%3Asesame@", "ann:open%20sesame@":
            assert check(server.url(user=user)).lines == FOUND
        for user in "", ":sesame@", "ann:sesame@", "nobody:sesame@":
            result = refused("check", "--store", server.url(user=user), input="a\n")
            assert "sesame" not in result.err and ("NOAUTH" in result.err or "WRONGPASS" in result.err)
        result = run("check", "-q", "--store", server.url(), input=TEXT,
                     env={**os.environ, "REDISCLI_AUTH": "open:sesame"})
        assert result.lines == FOUND
    finally:
        server.close()


# ---- faults ----

QUICK = ["--timeout", "2s", "--retries", "1", "--screen", "none"]


@pytest.mark.parametrize("what", ["stop", "pass", "drop"])
def test_a_store_that_fails_during_a_run(store, what):
    process = live("--store", store.url(), *QUICK, "--on-store-error", what, "--stats", "json")
    feed(process, b"key0\nkey1\nkey3\n", b"key0\nkey3\n")
    store.kill()
    feed(process, b"key6\nkey7\n", b"key6\nkey7\n" if what == "pass" else None)
    if what == "stop":
        out, err = process.communicate(timeout=30)
        assert process.returncode == 2 and out == b""
        assert b"standard input, line 4: not checked" in err and b"tried 2 times" in err
        assert json.loads(err.splitlines()[1])["records"] == 3
        return
    time.sleep(0.6 if what == "drop" else 0)  # until those are rejected
    store.start()
    if isinstance(store, Redis):
        store.load("t", MEMBERS)
    feed(process, b"key9\nkey10\n", b"key9\n")  # it continues when the store is back
    out, err = process.communicate(timeout=30)
    told = json.loads(err.splitlines()[0])
    assert process.returncode == 0 and out == b"" and told["unanswered"] == 2 and told["members"] == 3
    assert b"2 records could not be checked and were " + what.encode() in err


def test_a_store_restarted_during_a_run(store):
    """With retries until it is back, the output is exact."""
    process = live("--store", store.url(), "--retries", "1000", "--screen", "cache", "-m", "64K", "--stats", "json")
    feed(process, b"key0\nkey1\nkey3\n", b"key0\nkey3\n")
    store.kill()
    feed(process, b"key6\nkey7\nkey0\n")
    time.sleep(0.3)
    store.start()
    if isinstance(store, Redis):
        store.load("t", MEMBERS)  # it may be queried before that, and during it
    out, err = process.communicate(timeout=30)
    told = json.loads(err.splitlines()[-1])
    assert process.returncode == 0 and told["unanswered"] == 0 and told["store"]["retries"] >= 1
    assert out == b"key6\nkey0\n"


def test_a_bulk_run_is_correct_up_to_the_last_record_before_the_failure(store, here):
    (here / "in").write_text(TEXT * 60)
    process = subprocess.Popen([os.environ["WEIR"], "check", "-q", "--store", store.url(), *QUICK, "-o", "out",
                                "--emit", "all", "--state", "s", "in"], stderr=subprocess.PIPE)
    while not os.path.exists("out") or os.path.getsize("out") == 0:
        time.sleep(0.005)
    store.kill()
    err = process.communicate(timeout=30)[1]
    wanted = [("member\t" if key in SET else "other\t") + key for key in STREAM] * 60
    got = (here / "out").read_text().splitlines()
    assert got == wanted[:len(got)]
    if process.returncode != 0:  # the run may have finished before the kill
        assert process.returncode == 2 and f"in, line {len(got) + 1}: not checked".encode() in err
        store.start()
        if isinstance(store, Redis):
            store.load("t", MEMBERS)
        run("check", "-q", "--store", store.url(), "-o", "out", "--emit", "all", "--state", "s", "--resume", "in")
        assert (here / "out").read_text().splitlines() == wanted


def test_a_missing_server(store):
    store.kill()
    begun = time.monotonic()
    refused("check", "--store", store.url(), "--retries", "2", input="a\n", saying="tried 3 times")
    assert time.monotonic() - begun >= 0.3  # it waited for 0.1 and 0.2 s


@pytest.mark.parametrize("scheme", ["postgres", "redis"])
def test_a_server_that_never_replies(mute, scheme):
    """No wait is longer than the timeout, including connecting."""
    place = "/t" if scheme == "redis" else "/postgres?table=t&column=k"
    result = refused("check", "--store", f"{scheme}://me:secret@127.0.0.1:{mute.port}{place}", "--timeout", "200ms",
                     "--retries", "1", input="a\n", saying=["no answer within 0.2 s", "tried 2 times"])
    assert "secret" not in result.err


@pytest.mark.parametrize("scheme", ["postgres", "redis"])
def test_a_server_that_closes_connections(scheme):
    server = Rude()
    try:
        place = "/t" if scheme == "redis" else "/postgres?table=t&column=k"
        for _ in range(5):
            refused("check", "--store", f"{scheme}://:secret@127.0.0.1:{server.port}{place}", "--retries", "1",
                    input="a\n", saying="tried 2 times")
    finally:
        server.close()


def test_a_server_that_stops_replying(store):
    process = live("--store", store.url(), "--timeout", "300ms", "--retries", "0", "--screen", "none", "--on-store-error",
                   "drop", "--stats", "json")
    feed(process, b"key0\n", b"key0\n")
    asleep = [store.process.pid, *children(store.process.pid)]
    for pid in asleep:
        os.kill(pid, signal.SIGSTOP)
    try:
        feed(process, b"key3\n")
        time.sleep(0.6)
    finally:
        for pid in asleep:
            os.kill(pid, signal.SIGCONT)
    feed(process, b"key6\n", b"key6\n")
    out, err = process.communicate(timeout=30)
    told = json.loads(err.splitlines()[0])
    assert process.returncode == 0 and told["unanswered"] == 1 and told["members"] == 2
    assert b"no answer within 0.3 s" in err


def test_a_deleted_set_is_reported(postgres):
    postgres.load("gone", ["a", "b"])
    process = live("--store", postgres.url("gone"), "--screen", "none")
    feed(process, b"a\n", b"a\n")
    postgres.sql("DROP TABLE gone")
    feed(process, b"b\n")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 2 and out == b"" and b'relation "gone" does not exist' in err and b"line 2" in err


# ---- a Redis that has lost its data ----

@pytest.fixture
def fragile():
    server = Redis()
    server.load("t", MEMBERS)
    yield server
    server.close()


def lose_by_flush(server):
    server.call(["FLUSHALL"])


def lose_by_restart(server):
    server.kill()
    server.start()


def keep_a_few_by_restart(server):
    server.kill()
    server.start()
    server.load("t", MEMBERS[:7])


def keep_a_few(server):
    server.load("t", MEMBERS[:7])


@pytest.mark.parametrize("lose,saying", [
    (lose_by_flush, "no set 't' any more"), (lose_by_restart, "no set 't' any more"),
    (keep_a_few_by_restart, "its set has 7 members, and had 2000"),
    (keep_a_few, "its set has 7 members, and had 2000")])
def test_a_lost_set_is_reported_and_no_answer_is_kept(fragile, here, lose, saying):
    args = ["--store", fragile.url(), "--screen", "cache", "-m", "64K", "--state", "s", "--retries", "1"]
    process = live(*args)
    feed(process, b"key0\nkey1\n", b"key0\n")
    lose(fragile)
    feed(process, b"key30\nkey3\nkey4\n")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 2 and out == b"" and saying in err.decode() and b"line 3: not checked" in err
    fragile.load("t", MEMBERS)
    result, told = stats(fragile.url(), "--state", "s", input="key30\nkey3\nkey4\nkey0\n")
    assert result.lines == ["key30", "key3", "key0"] and told["asked"] == 3  # key0 was answered before, the others not


def test_a_smaller_set_is_reported_once_and_then_accepted(fragile):
    process = live("--store", fragile.url(), "--screen", "none", "--retries", "1", "--on-store-error", "pass", "--emit", "all")
    feed(process, b"key0\nkey1\n", b"member\tkey0\nother\tkey1\n")
    keep_a_few_by_restart(fragile)
    feed(process, b"key3\nkey30\n", b"unknown\tkey3\nunknown\tkey30\n")
    feed(process, b"key3\nkey30\n", b"member\tkey3\nother\tkey30\n")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and b"2 records could not be checked" in err


def test_a_set_that_loses_some_members_is_accepted(fragile):
    process = live("--store", fragile.url(), "--screen", "none", "--retries", "0")
    feed(process, b"key0\nkey3\n", b"key0\nkey3\n")
    fragile.call(["SREM", "t", "key3"])
    feed(process, b"key0\nkey3\n", b"key0\n")
    process.stdin.close()
    assert process.wait(timeout=30) == 0


# ---- a malicious Redis ----

def hostile(**replies):
    """Replies as a server with a set of three would, except for some commands."""
    honest = {"SCARD": b":3\r\n", "SMISMEMBER": b"*1\r\n:0\r\n", "SSCAN": b"*2\r\n$1\r\n0\r\n*1\r\n$1\r\na\r\n"}
    return scripted_redis(lambda words: {**honest, **replies}[words[0].decode()])


def endless(start, more, sent):
    """A Redis whose reply to the first query never ends; sent[0] counts its bytes."""
    def answer(called):
        for words in redis_commands(called):
            if words[0] == b"SCARD":
                called.sendall(b":3\r\n")
            elif words[-1] == b"":
                called.sendall(b"*1\r\n:0\r\n")
            else:
                called.sendall(start)
                while True:
                    called.sendall(more)
                    sent[0] += len(more)

    return Scripted(answer)


@pytest.mark.parametrize("start,more", [
    (b"$500000000\r\n", b"x" * 65536), (b"-ERR ", b"x" * 65536), (b"*1000000\r\n", b"$60000\r\n" + b"x" * 60000 + b"\r\n"),
    (b"*100000000\r\n", b":1\r\n" * 10000), (b"*1000000\r\n" * 7, b":1\r\n" * 10000)],
    ids=["bulk", "error", "array of bulks", "array", "arrays"])
def test_an_endless_reply_is_not_buffered(start, more):
    sent = [0]
    server = endless(start, more, sent)
    try:
        refused("check", "--store", f"redis://127.0.0.1:{server.port}/k", "--screen", "none", "--retries", "0", input="a\n",
                saying="its reply is too long for a set")
        assert sent[0] < 20 << 20  # 1 MiB that is read, and what the sockets buffer
    finally:
        server.close()


@pytest.mark.parametrize("page", [b"*0\r\n", b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"])
def test_an_endless_list_is_rejected(page):
    server = hostile(SSCAN=b"*2\r\n$2\r\n17\r\n" + page)
    try:
        refused("check", "--store", f"redis://127.0.0.1:{server.port}/k", "--screen", "strict", "--timeout", "100s", input="a\n",
                saying="it lists far more members than SCARD reports")
    finally:
        server.close()


@pytest.mark.parametrize("replies", [
    {"SCARD": b":-1\r\n"}, {"SCARD": b"$1\r\n3\r\n"}, {"SCARD": b"*-1\r\n"}, {"SMISMEMBER": b"*1\r\n:2\r\n"},
    {"SMISMEMBER": b"*2\r\n:1\r\n:1\r\n"}, {"SMISMEMBER": b"*0\r\n"}, {"SMISMEMBER": b"$-1\r\n"},
    {"SMISMEMBER": b"*1\r\n*1\r\n:1\r\n"}, {"SMISMEMBER": b"?\r\n"}, {"SSCAN": b"*0\r\n"}, {"SSCAN": b"*2\r\n:0\r\n*0\r\n"},
    {"SSCAN": b"*2\r\n$1\r\n0\r\n*1\r\n:1\r\n"}, {"SSCAN": b"*2\r\n$1\r\n0\r\n$1\r\na\r\n"}])
def test_an_invalid_reply_is_refused(replies):
    server = hostile(**replies)
    screen = "strict" if "SSCAN" in replies else "none"
    try:
        refused("check", "--store", f"redis://127.0.0.1:{server.port}/k", "--screen", screen, "--retries", "0", input="a\n")
    finally:
        server.close()


# ---- names ----

SLOW_NAMES = """
#include <netdb.h>
#include <unistd.h>
int getaddrinfo(const char *n, const char *s, const struct addrinfo *h, struct addrinfo **r)
{
    (void)n, (void)s, (void)h, (void)r;
    sleep(30);
    return EAI_AGAIN;
}
"""


@pytest.mark.skipif(SANITIZED or not shutil.which("cc"), reason="needs to put a function before libc's")
@pytest.mark.parametrize("url", ["redis://name/k", "postgres://name/d?table=t&column=k"])
def test_name_resolution_ends_at_the_timeout(here, url):
    (here / "slow.c").write_text(SLOW_NAMES)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "slow.so", "slow.c"], check=True)
    begun = time.monotonic()
    refused("check", "--store", url, "--timeout", "200ms", "--retries", "1", input="a\n",
            saying=["no answer within 0.2 s", "tried 2 times"], env={**os.environ, "LD_PRELOAD": str(here / "slow.so")})
    assert time.monotonic() - begun < 20  # name resolution alone takes 30
