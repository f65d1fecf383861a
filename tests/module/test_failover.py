"""weir dedup --at a cluster, while its servers fail, move and stay down: the output equals that of one
process."""
import os
import random
import re
import subprocess
import threading

import pytest
from conftest import LONG
from nodes import Cluster
from test_survival import wait

WEIR = os.environ["WEIR"]
SHARDS = 12
FILTER = ["-a", "bloom", "-m", "8M", "-S", "k=6", "--seed", "7", "--shards", str(SHARDS)]


def stream(seed, n):
    """Lines; about half of them are repeats."""
    rng = random.Random(seed)
    return [b"record %d" % rng.randrange(n * 5 // 8) for _ in range(n)]


def alone(lines):
    """The run of one process with as many shards."""
    return subprocess.run([WEIR, "dedup", *FILTER], input=b"\n".join(lines) + b"\n",
                          capture_output=True, check=True).stdout.splitlines()


class Run:
    """A run that gets its input in thirds, so a test can change the servers in between."""

    def __init__(self, cluster, name, *options):
        self.process = subprocess.Popen(
            [WEIR, "dedup", "--at", cluster.url(name), *FILTER, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.out, self.err = [], []
        self.readers = [threading.Thread(target=self.read, args=pair) for pair in
                        ((self.process.stdout, self.out), (self.process.stderr, self.err))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.append(line.rstrip(b"\n"))

    def feed(self, lines):
        try:
            self.process.stdin.write(b"\n".join(lines) + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def finish(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        status = self.process.wait()
        for reader in self.readers:
            reader.join()
        return status, self.out, b"\n".join(self.err).decode()


@pytest.fixture(scope="module")
def cluster():
    started = Cluster()
    yield started
    started.close()


@pytest.mark.parametrize("time", range(10 if LONG else 1))
def test_a_master_is_killed_in_mid_stream(cluster, time):
    """With --wait 1, all passed keys are in the filter afterwards, and every record passes once."""
    lines = stream(time, 60_000)
    expected = alone(lines)
    cluster.wait_until_ok()
    run = Run(cluster, f"killed{time}", "--wait", "1", "--timeout", "120s")
    run.feed(lines[:20_000])
    wait(lambda: len(run.out) > 500)
    victim = random.Random(time).choice(cluster.masters())
    feeder = threading.Thread(target=run.feed, args=(lines[20_000:],))
    feeder.start()
    victim.kill()
    wait(lambda: len(cluster.masters()) == 3, 60)
    victim.start()  # as a replica of its heir
    feeder.join()
    status, out, err = run.finish()
    assert status == 0, err
    assert out == expected
    cluster.wait_until_ok()
    again = Run(cluster, f"killed{time}", "--wait", "1")
    again.feed(lines)
    assert again.finish()[:2] == (0, []), "all of it is known"


def test_a_slot_moves_while_running(cluster):
    lines = stream(50, 60_000)
    cluster.wait_until_ok()
    run = Run(cluster, "moved", "--timeout", "60s")
    run.feed(lines[:20_000])
    wait(lambda: len(run.out) > 500)
    feeder = threading.Thread(target=run.feed, args=(lines[20_000:],))
    feeder.start()
    for shard in range(0, SHARDS, 3):
        source, slot = cluster.owner(f"moved:{{{shard}}}")
        target = next(node for node in cluster.masters() if node is not source)
        cluster.move_slot(slot, source, target)
    feeder.join()
    status, out, err = run.finish()
    assert status == 0, err
    assert out == alone(lines)
    redirected = subprocess.run([WEIR, "dedup", "--at", cluster.url("moved"), *FILTER],
                                input=b"\n".join(lines), capture_output=True)
    assert redirected.returncode == 0 and redirected.stdout == b"", "the keys are where they were moved to"


def test_a_node_that_stays_away():
    """A clear spec within the time-out, exit 2, and what was passed before it is right."""
    cluster = Cluster(replicas=0)
    try:
        lines = stream(60, 40_000)
        run = Run(cluster, "away", "--timeout", "6s")
        run.feed(lines[:20_000])
        wait(lambda: len(run.out) > 500)
        victim, _ = cluster.owner("away:{0}")
        victim.kill()
        run.feed(lines[20_000:])
        status, out, err = run.finish()
        assert status == 2, err
        found = re.search(r"line (\d+): ", err)
        assert found and f":{victim.port}" in err, err
        assert out == alone(lines[:int(found.group(1)) - 1]), "all up to the line that is named, and nothing after it"
    finally:
        cluster.close()
