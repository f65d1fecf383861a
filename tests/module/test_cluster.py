"""In a cluster: a master that dies, a slot that moves, and the script that starts one for users."""
import os
import pathlib
import random
import socket
import subprocess

import pytest
from conftest import MODULE
from nodes import Cluster
from test_survival import SPECS, wait

SCRIPT = pathlib.Path(os.environ["WEIR_SOURCE"]) / "scripts/cluster"


@pytest.fixture(scope="module")
def cluster():
    started = Cluster()
    yield started
    started.close()


def fill(node, tag):
    """Keys of every family in one slot, and the digest of each."""
    r = node.client()
    for i, spec in enumerate(SPECS):
        r("WEIR.CREATE", f"{i}{tag}", spec)
        r("WEIR.OBSERVE", f"{i}{tag}", "ONCE", "p", 1, *range(100 * i, 100 * i + 500))
    r("BF.INSERT", "b" + tag, "CAPACITY", 50, "ITEMS", *range(500))
    r("CF.INSERT", "u" + tag, "CAPACITY", 50, "ITEMS", *range(500))
    r("CMS.INITBYDIM", "c" + tag, 100, 3)
    r("CMS.INCRBY", "c" + tag, "a", 5, "b", 7)
    r("TOPK.RESERVE", "t" + tag, 5)
    r("TOPK.ADD", "t" + tag, *"abcdeffghab")
    return r


def digests(node, tag):
    keys = [f"{i}{tag}" for i in range(len(SPECS))] + [letter + tag for letter in "buct"]
    return node.call_one("DEBUG", "DIGEST-VALUE", *keys)


def test_a_slot_that_moves_takes_its_keys_along(cluster):
    source, slot = cluster.owner("{moving}")
    fill(source, "{moving}")
    before = digests(source, "{moving}")
    assert len(set(before)) == len(before)
    target = next(node for node in cluster.masters() if node is not source)
    cluster.move_slot(slot, source, target)
    assert cluster.owner("{moving}") == (target, slot)
    assert digests(target, "{moving}") == before
    assert source.call_one("CLUSTER", "COUNTKEYSINSLOT", slot) == 0
    assert target.call_one("WEIR.OBSERVE", "0{moving}", "ONCE", "p", 1, *range(500)) == [0] * 500, "the first answer again"


def test_a_replica_takes_over_with_the_same_bytes(cluster):
    cluster.wait_until_ok()
    master, _ = cluster.owner("{failing}")
    r = fill(master, "{failing}")
    assert r("WAIT", 1, 30000) == 1
    before = digests(master, "{failing}")
    master.kill()
    cluster.wait_until_ok()
    heir, _ = cluster.owner("{failing}")
    assert heir is not master and digests(heir, "{failing}") == before
    assert heir.call_one("WEIR.OBSERVE", "0{failing}", "ONCE", "p", 1, *range(500)) == [0] * 500
    master.start()
    cluster.wait_until_ok()
    assert master.told("INFO", "replication")["role"] == "slave"


# ---- scripts/cluster ----

def free_range():
    """Six ports, and the six ports of the cluster bus."""
    for _ in range(1000):
        first = random.randrange(20000, 50000)
        sockets = []
        try:
            for i in range(6):
                for port in first + i, first + i + 10000:
                    sockets.append(socket.socket())
                    sockets[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    raise AssertionError("no free ports")


@pytest.fixture
def script(tmp_path):
    home = tmp_path / "cluster"

    def run(*words):
        return subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True,
                              env={**os.environ, "CLUSTER_HOME": str(home), "WEIR_MODULE": MODULE})

    run.home = home
    yield run
    run("down")


def test_the_script_for_users(script):
    port = free_range()
    told = script("up", port)
    assert told.returncode == 0, told.stderr
    assert f"ports {port} to {port + 5}" in told.stdout and f"--at redis://127.0.0.1:{port}/" in told.stdout
    wait(lambda: script("status").stdout.count("master") == 3)
    os.kill(int((script.home / str(port) / "pid").read_text()), 9)
    wait(lambda: "is not running" in script("status").stdout)
    again = script("up", port)
    assert again.returncode == 0 and again.stdout == told.stdout
    wait(lambda: script("status").stdout.count("replica") == 3)  # its heir may just be taking over
    with socket.create_connection(("127.0.0.1", port)):
        other = subprocess.run([SCRIPT, "up", str(port)], capture_output=True, text=True,
                               env={**os.environ, "CLUSTER_HOME": str(script.home) + "-other", "WEIR_MODULE": MODULE})
    assert other.returncode == 2 and f"port {port} or {port + 10000} is in use" in other.stderr
    assert not pathlib.Path(str(script.home) + "-other").exists()
    assert script("down").stdout == "cluster: down\n" and not script.home.exists()
    assert script("down").returncode == 0
    gone = script("status")
    assert gone.returncode == 2 and "not running" in gone.stderr


@pytest.mark.parametrize("words", [[], ["up", "x"], ["up", 80], ["up", 60000], ["sideways"], ["down", 5]])
def test_the_script_says_what_it_takes(script, words):
    told = script(*words)
    assert told.returncode == 2 and ("usage" in told.stderr or "1024 to 55530" in told.stderr)
