"""--at with TLS and through a Unix socket: one server, and a cluster whose redirections keep TLS. Handshakes that fail:
tests/e2e/test_tls.py."""
import json
import shutil
import subprocess

import pytest

from certificates import Certificates
from nodes import Cluster
from servers import scripted_redis, steady_port
from tool import WEIR, refused, run

SOME = ["-m", "256K", "--seed", 5]

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    made = Certificates(tmp_path_factory.mktemp("certificates"))
    made.signed("address", "IP:127.0.0.1")
    made.signed("name", "DNS:localhost")
    return made


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    path = tmp_path_factory.mktemp("stream") / "in.txt"
    path.write_bytes(subprocess.run([WEIR, "gen", "zipf:n=200k,universe=100k,alpha=0.8,seed=3"],
                                    stdout=subprocess.PIPE, check=True).stdout)
    return path


def embedded(stream, shards):
    return run("dedup", "-q", *SOME, "--shards", shards, stream).stdout


def url(certificates, port, name="seen", host="127.0.0.1"):
    return f"rediss://{host}:{port}/{name}?cacert={certificates.path('ca.pem')}"


def test_one_server(start, certificates, stream, tmp_path):
    """Also images of whole shards, in both directions."""
    tls = steady_port()
    server = start(options=certificates.server_options("address", tls, "--unixsocket", str(tmp_path / "s")))
    at = url(certificates, tls)
    assert run("dedup", "-q", *SOME, "--shards", 7, "--at", at, stream).stdout == embedded(stream, 7)
    run("save", "--at", at, "-o", tmp_path / "seen.weir")
    run("load", "--at", url(certificates, tls, "copy"), tmp_path / "seen.weir")
    socket = f"redis+unix://{tmp_path}/s/"
    for name in at, url(certificates, tls, "copy"), socket + "seen", f"redis://127.0.0.1:{server.port}/copy":
        assert run("ask", "--at", name, stream).stdout == run("ask", "--at", at, stream).stdout
    assert run("dedup", "-q", *SOME, "--shards", 7, "--at", socket + "other", stream).stdout == embedded(stream, 7)


class Masters(Cluster):
    """Three masters that connect to each other with TLS too."""

    def __init__(self, certificates, name, *more):
        self.certificates = certificates
        self.name = name
        self.more = more
        super().__init__(replicas=0, options=self.options_of_node)

    def options_of_node(self):
        return (*self.certificates.server_options(self.name, steady_port()), "--tls-cluster", "yes", *self.more)

    def tls(self, node=0):
        options = self.nodes[node].options
        return options[options.index("--tls-port") + 1]


@pytest.mark.parametrize("name, host, more", [
    ("address", "127.0.0.1", ()),
    ("name", "localhost", ()),  # redirections contain addresses, certificates the name in the URL
    ("name", "localhost", ("--cluster-announce-hostname", "localhost", "--cluster-preferred-endpoint-type",
                           "hostname"))])
def test_redirections_keep_tls(certificates, stream, name, host, more):
    cluster = Masters(certificates, name, *more)
    try:
        for node in cluster.nodes:  # nothing but TLS
            node.call_one("CONFIG", "SET", "requirepass", "open sesame")
        at = url(certificates, cluster.tls(), host=host).replace("//", "//:open%20sesame@")
        done = run("dedup", "--stats", "json", *SOME, "--shards", 48, "--at", at, stream)
        assert done.stdout == embedded(stream, 48)
        assert b"sesame" not in done.stderr and json.loads(done.stderr)["servers"]["reconnects"] == 0
        for node in cluster.nodes:
            client = node.client()
            client("AUTH", "open sesame")
            assert client("DBSIZE") > 0
    finally:
        cluster.close()


def test_a_node_with_a_certificate_for_another_host_is_rejected(certificates):
    cluster = Masters(certificates, "name")
    try:
        refused("dedup", *SOME, "--at", url(certificates, cluster.tls()), "--timeout", "5s", input=b"a\n",
                saying="its certificate is for localhost, not for 127.0.0.1")
    finally:
        cluster.close()


def test_a_cluster_that_reports_no_port_for_tls():
    """Servers with TLS only report port 0 without 'tls-cluster yes'. It must not be used as the path of a socket."""
    def replies(words):
        if words[0] == b"CLUSTER":
            return b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n/tmp/sock\r\n:0\r\n"
        return b"*2\r\n+protocol\r\n:1\r\n" if words[0] == b"WEIR.INFO" else b"-ERR unexpected\r\n"

    server = scripted_redis(replies)
    try:
        refused("dedup", *SOME, "--at", f"redis://127.0.0.1:{server.port}/seen", input=b"a\n",
                saying="the cluster reports no port; on servers with TLS only, set 'tls-cluster yes'")
    finally:
        server.close()
