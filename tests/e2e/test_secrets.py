"""Messages print only scheme, host and path of a store's address, whatever is wrong with it and whichever server
replies."""
import json
import os
import re
import urllib.parse

import pytest

from conftest import refused, run
from servers import Redis, echoing_postgres, scripted_redis

NOBODY = "127.0.0.1:1"  # a port without a server

# Each contains SECRET where a user did not intend a scheme, host or path.
ODD = [
    # ambiguous addresses
    "postgres://u:p@SECRET@h/d?table=t&column=k",
    "postgres://u:SECRET@p@h/d?table=t&column=k",
    "postgres://u:p/SECRET@h/d?table=t&column=k",
    "postgres://u:SECRET/p@h/d?table=t&column=k",
    "postgres://u:p?SECRET@h/d?table=t&column=k",
    "postgres://u:SECRET?p@h/d?table=t&column=k",
    "postgres://u:12?table=SECRET@h/d&column=k",
    "postgres://u:SECRET#p@h/d?table=t&column=k",
    "redis://u:p@SECRET@h/k",
    "redis://u:SECRET@p@h/k",
    "redis://u:p/SECRET@h/k",
    "redis://u:SECRET/p@h/k",
    "redis://u:SECRET?x@h/k",
    "redis://u:x?SECRET@h/k",
    "redis://u:x?db=SECRET@h/k",
    "redis://:SECRET?@h/k",
    "redis://u:SECRET%@h/k",
    "redis://u:SECRET%zz@h/k",
    "redis://u:%00SECRET@h/k",
    "postgres://u:SECRET%zz@h/d?table=t&column=k",
    # slashes or @ missing
    "redis:u:SECRET@h/k",
    "redis:/u:SECRET@h/k",
    "redis:SECRET",
    "redis://u:SECRET/k",
    "redis://u:SECRET:h/k",
    "redis://h:SECRET/k",
    "redis://h:6379:SECRET/k",
    "redis://[::1]SECRET/k",
    "redis://[SECRET:@h/k",
    "redis://u SECRET@h",
    "redis://u:SECRET@",
    "redis://u:SECRET@h:port/k",
    "redis://u:SECRET@h:70000/k",
    "redis://u:SECRET@h,i/k",
    "postgres:u:SECRET@h/d?table=t&column=k",
    "postgres:/u:SECRET@h/d?table=t&column=k",
    "postgres:host=h password=SECRET",
    "postgres://u:SECRET/d?table=t&column=k",
    "postgres://h:SECRET/d?table=t&column=k",
    "postgresql://u:SECRET@[h/d?table=t&column=k",
    "postgres://u:SECRET@h:port/d?table=t&column=k",
    # TLS and sockets
    "rediss://u:p@SECRET@h/k",
    "rediss://u:SECRET@h/k?cacert=x&key",
    "rediss://h/k?cacert=SECRET",
    "rediss://h/k?cert=SECRET&key=SECRET",
    "rediss://h/k?key=-----BEGIN SECRET KEY-----",
    "rediss://h/k?passphrase=SECRET",
    "redis://h/k?key=SECRET",
    "redis+unix://u:SECRET/k",
    "redis+unix://u:SECRET@run/k",
    "redis+unix://u:p/SECRET@/run/k",
    "redis+unix:///u:SECRET@h/k",
    "redis+unix://u:SECRET@/nowhere/redis.sock/k",
    "redis+unix:u:SECRET@h/k",
    "redis+unix:///nowhere/redis.sock/k?password=SECRET",
    "redis+tls://u:SECRET@h/k",
    # invalid schemes
    "rediss://u:SECRET@h/k",
    "reddis:u:SECRET@h/k",
    "mysql://u:SECRET@h/d",
    "u:SECRET@h://k",
    "u:SECRET@h/k",
    "//u:SECRET@h/k",
    "postgres//u:SECRET@h/d",
    "host=h password=SECRET dbname=d",
    "h?password=SECRET",
    # missing files
    "sqlite://u:SECRET@h/d?table=t&column=k",
    "sqlite:u:SECRET@h/d?table=t&column=k",
    "sqlite:u%3ASECRET%40h/d?table=t&column=k",
    "sqlite:d?table=t&column=k&password=SECRET",
    "sqlite:d?key=SECRET",
    "sqlite:d;password=SECRET?table=t&column=k",
    "keys:u:SECRET@h/k",
    "keys://u:SECRET@h/k",
    "keys:k?SECRET",
    "keys:k?SECRET=1",
    "keys:k?latency=1ms&x=SECRET",
    # parameters
    f"redis://{NOBODY}/k?pwd=SECRET",
    f"redis://{NOBODY}/k?SECRET",
    f"redis://{NOBODY}/k?password=SECRET&db=1",
    f"postgres://{NOBODY}/d?table=t&column=k&pwd=SECRET",
    f"postgres://{NOBODY}/d?table=t&column=k&SECRET=1",
    f"postgres://{NOBODY}/d?table=t&column=k&password=SECRET",
    f"postgres://{NOBODY}/d?table=t&column=k&Password=SECRET",
    f"postgres://{NOBODY}/d?table=t&column=k&sslmode=SECRET",
    f"postgres://{NOBODY}/d?table=t&column=k&sslpassword=SECRET",
    f"postgres://{NOBODY}/d?table=t&column=k&options=-cSECRET",
    f"postgres://{NOBODY}/d?table=t&column=k&connect_timeout=SECRET",
    f"postgres://{NOBODY}/d?table=t&column=k&passfile=SECRET",
    f"postgres://{NOBODY}/d?table=t&column=k&port=SECRET",
    f"postgres://{NOBODY}/d?password=SECRET&column=k",
    f"postgres://{NOBODY}/d?table=t&column=k;password=SECRET",
    f"postgres://{NOBODY}/d?table=t password=SECRET&column=k",
    f"postgres://{NOBODY}/d?table=t&column=k%26password=SECRET",
    f"postgres://{NOBODY}/dbname=d password=SECRET?table=t&column=k",
    f"redis://{NOBODY}/k&password=SECRET",
    f"redis://{NOBODY}/k;password=SECRET",
    "sqlite:d?table=t&column=k;password=SECRET",
    # valid, but there is no server
    f"redis://u:SECRET@{NOBODY}/k",
    f"redis://SECRET@{NOBODY}/k",
    f"redis://:SECRET@{NOBODY}/k",
    f"redis://u:%53%45%43%52%45%54@{NOBODY}/k",
    f"postgres://u:SECRET@{NOBODY}/d?table=t&column=k",
    f"postgres://SECRET@{NOBODY}/d?table=t&column=k",
    f"postgres://u:a%40SECRET@{NOBODY}/d?table=t&column=k",
]


def holds_secret(data):
    text = data if isinstance(data, str) else data.decode(errors="replace")
    return "secret" in text.lower() or "secret" in urllib.parse.unquote(text).lower()


@pytest.mark.parametrize("url", ODD)
def test_an_invalid_address_is_not_repeated(here, url):
    (here / "k").write_text("a\n")
    run("build", "-o", "f", "k")
    for args in ["check", "--store", url, "--state", "s", "--stats", "json"], ["filter", "--strict", url, "f"]:
        result = refused(*args, *["--retries", "0", "--timeout", "2s"], input="a\n")
        assert not holds_secret(result.err) and result.out == b""
    assert not any(holds_secret(p.name) or holds_secret(p.read_bytes()) for p in here.iterdir())


@pytest.mark.parametrize("name", ["u:SECRET@h", "a=SECRET", "x SECRET"])
def test_the_name_of_an_existing_file_is_printed(here, name):
    """Then it is not an address."""
    (here / name).write_text("a\n")
    for url in name, "keys:" + name:
        result = run("check", "-q", "--store", url, "--stats", "json", input="a\nb\n")
        assert result.lines == ["a"] and json.loads(result.err)["store"]["name"] == "keys:" + name


# ---- servers that repeat their input ----

FORMS = {
    "as it is": "ERR what is %s?",
    "in other letters": "ERR what is {upper}?",
    "encoded": "ERR what is {encoded}?",
    "every byte encoded": "ERR what is {bytes}?",
    "far behind": "ERR " + "x" * 590 + " %s " + "y" * 2000,
    "cut": "ERR the beginning of it is {cut}",
    "three times": "ERR %s,%s/%s",
    "behind backslashes": "ERR what is '{quoted}'?",
    "every byte behind backslashes": "ERR what is '{hex}'?",
}


def make_error(form, secret):
    form = form.replace("%s", secret)
    return form.format(upper=secret.upper(), encoded=urllib.parse.quote(secret, safe=""),
                       bytes="".join(f"%{b:02x}" for b in secret.encode()), cut=secret[:len(secret) - 2],
                       quoted=re.sub(r"([\\\\\"])", r"\\\1", secret), hex="".join(f"\\x{b:02x}" for b in secret.encode()))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", ["SECRET", "my SECRET/p@ss:w%rd", '"SECRET\\\\x"', "SECRETx" * 60], ids=["short", "odd", "quoted", "long"])
@pytest.mark.parametrize("place", ["password", "user", "environment"])
def test_a_redis_that_echoes_its_input(form, secret, place):
    def reply(words):
        return b"-" + make_error(FORMS[form], words[-1 if place != "user" else 1].decode()).encode() + b"\r\n"

    server = scripted_redis(reply)
    encoded = urllib.parse.quote(secret, safe="")
    user = {"password": f":{encoded}@", "user": f"{encoded}:pass@", "environment": ""}[place]
    try:
        for shift in range(20 if form == "far behind" else 1):  # wherever the message is truncated
            result = refused("check", "--store", f"redis://{user}127.0.0.1:{server.port}/k{'x' * shift}", input="a\n",
                             env={**os.environ, **({"REDISCLI_AUTH": secret} if place == "environment" else {})})
            assert not holds_secret(result.err) and not re.search("SECR|SECRE$|%53%45|x53.x45", result.err, re.I), result.err
            assert "ERR" in result.err
    finally:
        server.close()


def test_a_long_password_truncated_within_a_message():
    secret = "SECRETx" * 30
    server = scripted_redis(lambda words: b"-ERR with args beginning with: '" + words[-1][:128] + b"' and more\r\n")
    try:
        result = refused("check", "--store", f"redis://:{secret}@127.0.0.1:{server.port}/k", input="a\n")
        assert not holds_secret(result.err) and "beginning with: '***" in result.err, result.err
    finally:
        server.close()


@pytest.mark.parametrize("form", ["%s", "no, not %s", "x" * 700 + "%s", "x" * 595 + "%s and more"])
@pytest.mark.parametrize("place", ["password", "parameter", "environment", "file"])
def test_a_postgres_that_echoes_its_input(here, form, place):
    server = echoing_postgres(form)
    user, more, env = "u", "", dict(os.environ)
    if place == "password":
        user = "u:SECRET"
    elif place == "parameter":
        more = "&password=SECRET"
    elif place == "environment":
        env["PGPASSWORD"] = "SECRET"
    else:
        (here / "pass").write_text("*:*:*:*:SECRET\n")
        os.chmod("pass", 0o600)
        env["PGPASSFILE"] = str(here / "pass")
    try:
        result = refused("check", "--store", f"postgres://{user}@127.0.0.1:{server.port}/d?table=t&column=k{more}",
                         input="a\n", env=env)
        assert not holds_secret(result.err)
        assert "***" in result.err or len(form) > 500
    finally:
        server.close()


def test_server_messages_cannot_control_the_terminal():
    server = scripted_redis(lambda words: b"-ERR \x1b[2J\x07\x9b and \x7f\r\n")
    try:
        refused("check", "--store", f"redis://127.0.0.1:{server.port}/k", input="a\n", saying="ERR %1B[2J%07%9B and %7F")
    finally:
        server.close()


# ---- successful runs ----

def test_a_successful_run_prints_no_secret(here):
    server = Redis()
    try:
        server.load("t", ["a", "b"])
        server.call(["CONFIG", "SET", "requirepass", "SECRET"])
        url = server.url(user="default:SECRET@", more="?db=0")
        for form in "json", "text":
            result = run("check", "--store", url, "--state", "s", "--stats", form, input="a\nc\n")
            assert result.lines == ["a"] and not holds_secret(result.err) and "default" not in result.err
        assert not holds_secret((here / "s").read_bytes()) and not holds_secret(run("info", "--format", "json", "s").out)
        other = refused("check", "--store", url.replace("/t?", "/u?"), "--state", "s", input="")
        assert not holds_secret(other.err)
        server.call(["AUTH", "SECRET"], ["SADD", "u", "x"])
        other = refused("check", "--store", url.replace("/t?", "/u?"), "--state", "s", input="", saying="other keys")
        assert not holds_secret(other.err)
    finally:
        server.close()


def test_a_line_break_in_a_name_stays_within_its_line(here):
    (here / "two\nlines").write_text("a\n")
    for url in "two\nlines", "keys:two\nlines", "keys:two%0Alines":
        for form in "json", "text":
            result = run("check", "-q", "--store", url, "--state", "s", "--stats", form, input="a\nb\n")
            assert result.lines == ["a"] and "\nlines" not in result.err
        assert "keys:two%0Alines" in json.loads(run("info", "--format", "json", "s").out)["records"]
    refused("check", "--store", "keys:not\nthere", input="", saying="No such file")
    (here / "k").write_text("a\n")
    assert "two%0Alines" in refused("check", "--store", "k", "--state", "s", input="").err
