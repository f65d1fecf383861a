"""rediss:// and redis+unix:// for stores, and what a failed handshake reports, for stores and for --at. weir.so with TLS:
tests/module/test_tls.py."""
import json
import os
import shutil
import socket
import subprocess
import time

import pytest

from certificates import Certificates
from conftest import refused, run, unique
from servers import Mute, Postgres, Redis, Scripted, free_port

HERE = "DNS:localhost,IP:127.0.0.1"
PASSWORD = "open sesame"

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    made = Certificates(tmp_path_factory.mktemp("certificates"))
    made.signed("good", HERE)
    made.signed("expired", HERE, days=-1)
    made.signed("other", "email:x@a.example,URI:http://a.example,otherName:1.2.3.4;UTF8:x,RID:1.2.3.4,DNS:a.example,"
                         "IP:10.0.0.1,IP:::1,DNS:c.example")
    made.signed("client", "DNS:client")
    made.self_signed("self", HERE)
    return made


class Tls(Redis):
    """Its second port, `tls`, uses TLS."""

    def __init__(self, certificates, name, *more):
        self.tls = free_port()
        self.certificates = certificates
        super().__init__(*certificates.server_options(name, self.tls, *more))
        self.load("t", ["a", "b"])

    def url(self, key="t", user="", host="127.0.0.1", trust="ca", more=""):
        trusted = f"?cacert={self.certificates.path(trust + '.pem')}" if trust else "?"
        return f"rediss://{user}{host}:{self.tls}/{key}{trusted}{more}"


@pytest.fixture(scope="module")
def start(certificates):
    started = {}

    def one(name, *more):
        if (name, more) not in started:
            started[name, more] = Tls(certificates, name, *more)
        return started[name, more]

    yield one
    for server in started.values():
        server.close()


@pytest.fixture(params=["--store", "--at"])
def fails(request):
    """The command fails with one message for this address."""
    def one(url, saying):
        if request.param == "--store":
            return refused("check", "--store", url, "--retries", 0, "--timeout", "3s", input="a\n", saying=saying)
        return refused("dedup", "-m", "64K", "--at", url, "--timeout", "3s", input="a\n", saying=saying)

    return one


# ---- stores ----

@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_store_with_tls_answers(start, host):
    result = run("check", "-q", "--store", start("good").url(host=host), input="a\nc\nb\na\n")
    assert result.lines == ["a", "b", "a"]


def test_answers_with_tls_are_those_without(start, here):
    """Megabytes in both directions: many records of TLS, and sends that are interrupted."""
    server = start("good")
    members = {f"member {i} " + "x" * (i % 300) for i in range(20000)}
    server.load("big", members)
    records = [f"member {i} " + "x" * (i % 300) for i in range(0, 40000, 3)]
    expected = [record for record in records if record in members]
    for url in server.url("big"), Redis.url(server, "big"):
        for screen in "none", "strict":
            assert run("check", "-q", "--screen", screen, "--store", url, input="\n".join(records)).lines == expected


def test_a_password_is_sent_with_tls_and_not_printed(start):
    server = start("good")
    server.call(["CONFIG", "SET", "requirepass", PASSWORD])
    try:
        assert run("check", "-q", "--store", server.url(user=":open%20sesame@"), input="a\nc\n").lines == ["a"]
        result = refused("check", "--store", server.url(user=":wrong%20sesame@"), input="a\n", saying="WRONGPASS")
        assert "sesame" not in result.err
    finally:
        server.call(["AUTH", PASSWORD], ["CONFIG", "SET", "requirepass", ""])


def test_a_self_signed_certificate_is_trusted_as_cacert(start):
    assert run("check", "-q", "--store", start("self").url(trust="self"), input="a\nc\n").lines == ["a"]


def test_a_client_certificate_is_sent(start, certificates):
    server = start("good", "--tls-auth-clients", "yes")
    more = f"&cert={certificates.path('client.pem')}&key={certificates.path('client.key')}"
    assert run("check", "-q", "--store", server.url(more=more), input="a\nc\n").lines == ["a"]


def test_a_certificate_and_its_key_may_share_a_file(start, certificates):
    server = start("good", "--tls-auth-clients", "yes")
    both = certificates.path("both.pem")
    with open(both, "w") as f:
        f.write(open(certificates.path("client.pem")).read() + open(certificates.path("client.key")).read())
    assert run("check", "-q", "--store", server.url(more=f"&cert={both}"), input="a\nc\n").lines == ["a"]


def test_a_socket(here):
    server = Redis("--unixsocket", str(here / "redis.sock"))
    try:
        server.load("a set", ["a", "b"])
        for name in "a%20set", "a set":
            assert run("check", "-q", "--store", f"redis+unix://{here}/redis.sock/{name}", input="a\nc\n").lines == ["a"]
        for args in ["check", "--store"], ["dedup", "--at"]:
            refused(*args, f"redis+unix://{here}/redis.sock", saying="add the name: redis+unix:///SOCKET/NAME", input="a\n")
            refused(*args, f"redis+unix://{here}/no.sock/x", saying="No such file or directory", input="a\n")
            refused(*args, "redis+unix://redis.sock/x", saying="expected redis+unix:///SOCKET/NAME", input="a\n")
    finally:
        server.close()


def test_the_client_sends_the_name_of_the_host(certificates, tmp_path):
    """SNI, by openssl's own server: a second certificate is for that name only."""
    port = free_port()
    server = subprocess.Popen(
        ["openssl", "s_server", "-quiet", "-accept", str(port), "-cert", certificates.path("other.pem"), "-key",
         certificates.path("other.key"), "-cert2", certificates.path("good.pem"), "-key2",
         certificates.path("good.key"), "-servername", "localhost", "-naccept", "1000"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                pass
        trust = f"?cacert={certificates.path('ca.pem')}"
        refused("check", "--store", f"rediss://127.0.0.1:{port}/t{trust}", "--retries", 0, "--timeout", "2s",
                input="a\n", saying="its certificate is for a.example")
        refused("check", "--store", f"rediss://localhost:{port}/t{trust}", "--retries", 0, "--timeout", "2s",
                input="a\n", saying="no answer within")
    finally:
        server.kill()
        server.wait()


# ---- PostgreSQL, by libpq ----

class TlsPostgres(Postgres):
    """Accepts TLS, with this certificate."""

    def __init__(self, certificates, name):
        self.certificates, self.name = certificates, name
        super().__init__()
        self.load("t", ["a", "b"])

    def command(self):
        for end in ".pem", ".key":
            copy = os.path.join(self.directory, "server" + end)
            shutil.copy(self.certificates.path(self.name + end), copy)
            os.chmod(copy, 0o600)
            if self.as_user:
                os.chown(copy, *[getattr(os.stat(self.data), field) for field in ("st_uid", "st_gid")])
        server = os.path.join(self.directory, "server")
        return [*super().command(), "-c", "ssl=on", "-c", f"ssl_cert_file={server}.pem", "-c",
                f"ssl_key_file={server}.key"]


def test_sslmode_of_postgres(certificates, tmp_path):
    """As docs/screens.md describes it."""
    ask = ["check", "-q", "--retries", 0, "--store"]
    trust = f"&sslrootcert={certificates.path('ca.pem')}"
    distrust = f"&sslrootcert={certificates.path('self.pem')}"
    for name, rejected in {"good": (), "other": ("verify-full",)}.items():
        server = TlsPostgres(certificates, name)
        try:
            for mode in "disable", "prefer", "require", "verify-ca", "verify-full":
                url = server.url(more=f"&sslmode={mode}" + trust * mode.startswith("verify"))
                if mode in rejected:
                    refused(*ask, url, input="a\nc\n", saying='does not match host name "127.0.0.1"')
                else:
                    assert run(*ask, url, input="a\nc\n").lines == ["a"], mode
                if mode.startswith("verify"):
                    refused(*ask, server.url(more=f"&sslmode={mode}" + distrust), input="a\n",
                            saying="certificate verify failed")
        finally:
            server.close()
    plain = Postgres()
    try:
        plain.load("t", ["a"])
        assert run(*ask, plain.url(more="&sslmode=prefer"), input="a\n").lines == ["a"]
        for mode in "require", "verify-full":
            refused(*ask, plain.url(more=f"&sslmode={mode}" + trust * (mode != "require")), input="a\n",
                    saying="server does not support SSL, but SSL was required")
    finally:
        plain.close()


# ---- failed handshakes ----

def test_an_expired_certificate(start, fails):
    fails(start("expired").url(), "its certificate expired on 20")


def test_a_certificate_for_other_hosts(start, fails):
    fails(start("other").url(), "its certificate is for a.example, 10.0.0.1, ::1, ..., not for 127.0.0.1")


def test_a_self_signed_certificate(start, fails):
    for trust in "ca", "":
        fails(start("self").url(trust=trust), "its certificate is self-signed; to trust it, add cacert=FILE")


def test_an_unknown_authority(start, fails):
    fails(start("good").url(trust=""), "signed by an unknown authority; add cacert=FILE")


def test_a_client_certificate_is_required(start, fails, certificates):
    for protocol in (), ("--tls-protocols", "TLSv1.2"):
        server = start("good", "--tls-auth-clients", "yes", *protocol)
        fails(server.url(), "requires a client certificate")
        stranger = f"&cert={certificates.path('self.pem')}&key={certificates.path('self.key')}"
        fails(server.url(more=stranger), "it rejects the client certificate of cert=")


def test_a_server_without_tls(start, fails):
    server = start("good")
    fails(server.url().replace(str(server.tls), str(server.port)),
          "no answer to the TLS handshake")  # Redis waits for the end of a line
    talkative = Scripted(lambda called: (called.recv(10), called.sendall(b"-ERR unknown command\r\n")))
    mute = Mute()
    closing = Scripted(lambda called: called.recv(4096))
    try:
        fails(f"rediss://127.0.0.1:{talkative.port}/t", "its reply is not TLS; use redis://")
        fails(f"rediss://127.0.0.1:{mute.port}/t", "no answer to the TLS handshake")
        fails(f"rediss://127.0.0.1:{closing.port}/t", "during the TLS handshake; does this port use TLS?")
    finally:
        for server in talkative, mute, closing:
            server.close()


def test_tls_without_rediss(start, fails):
    server = start("good")
    fails(f"redis://127.0.0.1:{server.tls}/t", "use rediss://")
    fails(server.url().replace("rediss:", "redis:"), "cacert= needs the scheme rediss://")


def test_a_certificate_that_expires_during_a_run_does_not_end_it_at_once(certificates, tmp_path):
    """After the first reply, a failed handshake is retried like a lost connection."""
    log = tmp_path / "log"
    server = Tls(certificates, "good", "--loglevel", "verbose", "--logfile", str(log))
    use = ["CONFIG", "SET", "tls-cert-file", certificates.path("%s.pem"), "tls-key-file", certificates.path("%s.key")]
    process = subprocess.Popen([os.environ["WEIR"], "check", "-q", "--screen", "none", "--retries", "100", "--stats",
                                "json", "--store", server.url()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        process.stdin.write(b"a\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"a\n"
        for answer in server.call([word.replace("%s", "expired") for word in use],
                                  ["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]):
            assert not answer.startswith(b"-"), answer
        process.stdin.write(b"b\nc\n")
        process.stdin.flush()
        end = time.time() + 60
        while log.read_text().count("Error accepting") < 2:
            assert process.poll() is None and time.time() < end
            time.sleep(0.05)
        server.call([word.replace("%s", "good") for word in use])
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0 and out == b"b\n", err
        assert json.loads(err.splitlines()[-1])["store"]["retries"] >= 2
    finally:
        process.kill()
        process.wait()
        server.close()


# ---- files ----

def test_files_that_cannot_be_used(start, fails, certificates, here):
    server = start("good")
    file = certificates.path
    encrypted = file("encrypted.key")
    subprocess.run(["openssl", "pkey", "-in", file("client.key"), "-aes256", "-passout", "pass:x", "-out", encrypted],
                   check=True)
    for more, saying in {"cacert=/nowhere/ca.pem": "the file of cacert= cannot be read: No such file",
                         f"cacert={here}": "the file of cacert= is empty or a directory",
                         f"cacert={file('ca.key')}": "cacert= contains no certificate",
                         f"cert={file('client.pem')}": "cert= contains no private key; add key=FILE",
                         f"cert={file('ca.key')}": "cert= contains no certificate",
                         f"key={file('client.key')}": "key= needs cert=FILE",
                         f"cert={file('client.pem')}&key={file('good.key')}": "key= is not the key of the certificate",
                         f"cert={file('client.pem')}&key={file('ca.pem')}": "key= contains no private key",
                         f"cert={file('client.pem')}&key={encrypted}": "key= has a passphrase; remove it with"}.items():
        result = fails(server.url(trust="").rstrip("?") + "?" + more, saying)
        assert certificates.directory not in result.err and "nowhere" not in result.err


def test_no_file_name_or_content_is_printed(start, certificates, here):
    """Neither in messages nor in statistics and states."""
    server = start("good", "--tls-auth-clients", "yes")
    more = f"&cert={certificates.path('client.pem')}&key={certificates.path('client.key')}"
    lines = unique(line for line in open(certificates.path("client.key")).read().split("\n") if line)
    result = run("check", "--state", "s", "--stats", "json", "--store", server.url(more=more), input="a\n")
    for text in result.err, (here / "s").read_bytes().decode(errors="replace"):
        assert certificates.directory not in text and not any(line in text for line in lines)
    assert f"rediss://127.0.0.1:{server.tls}/t" in result.err


def test_the_content_of_a_key_instead_of_its_name(start, fails, certificates):
    result = fails(start("good").url(more="&cert=x&key=-----BEGIN%20PRIVATE%20KEY-----MIGHAgEAMBM"), "cert=")
    assert "MIGHAg" not in result.err
