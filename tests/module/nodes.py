"""A cluster of private servers on loopback, with weir.so: masters first, then a replica of each."""
from conftest import Weir
from resp import ReplyError
from servers import steady_port
from test_survival import wait

SLOTS = 16384


class Node(Weir):
    def __init__(self, timeout, options=()):
        super().__init__(options=("--cluster-enabled", "yes", "--cluster-port", str(steady_port()),
                                  "--cluster-node-timeout", str(timeout), "--cluster-require-full-coverage", "no",
                                  "--repl-diskless-sync-delay", "0", *options))
        self.name = self.call_one("CLUSTER", "MYID").decode()

    def choose_port(self):
        return steady_port()

    def call_one(self, *words):
        """Uses a new connection, because servers are started and stopped."""
        client = self.client()
        try:
            return client(*words)
        finally:
            client.close()
            self.clients.remove(client)

    @property
    def bus(self):
        return self.options[self.options.index("--cluster-port") + 1]

    def is_alive(self):
        return self.process.poll() is None

    def told(self, *words):
        """The fields of INFO or CLUSTER INFO, by name."""
        text = self.call_one(*words).decode()
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


class Cluster:
    """timeout in milliseconds: without an answer for this time, a node is considered dead. options: of all nodes, or a
    function that returns those of the next one."""

    def __init__(self, masters=3, replicas=3, timeout=2000, options=()):
        self.nodes = []
        try:
            for _ in range(masters + replicas):
                self.nodes.append(Node(timeout, options() if callable(options) else options))
            self.join(masters)
        except BaseException:
            self.close()
            raise

    def join(self, masters):
        first = self.nodes[0]
        for i, node in enumerate(self.nodes[:masters]):
            node.call_one("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            node.call_one("CLUSTER", "ADDSLOTSRANGE", i * SLOTS // masters, (i + 1) * SLOTS // masters - 1)
        for node in self.nodes[1:]:
            first.call_one("CLUSTER", "MEET", "127.0.0.1", node.port, node.bus)
        wait(lambda: all(self.knows_all(node) for node in self.nodes), 60)
        for i, node in enumerate(self.nodes[masters:]):
            node.call_one("CLUSTER", "REPLICATE", self.nodes[i % masters].name)
        self.wait_until_ok()

    def knows_all(self, node):
        return node.told("CLUSTER", "INFO")["cluster_known_nodes"] == str(len(self.nodes))

    @property
    def port(self):
        """Of a node that runs."""
        return self.alive()[0].port

    def alive(self):
        return [node for node in self.nodes if node.is_alive()]

    def masters(self):
        return [node for node in self.alive() if node.told("INFO", "replication")["role"] == "master"]

    def url(self, name):
        return f"redis://127.0.0.1:{self.port}/{name}"

    def is_ok(self):
        """Every slot has a running master, all nodes agree, and every replica is connected."""
        try:
            return all(self.is_well(node) for node in self.alive()) and \
                len({self.slots_of(node) for node in self.alive()}) == 1
        except ReplyError:  # it is loading what its master has sent
            return False

    @staticmethod
    def is_well(node):
        told, replication = node.told("CLUSTER", "INFO"), node.told("INFO", "replication")
        return told["cluster_state"] == "ok" and told["cluster_slots_ok"] == str(SLOTS) and \
            replication.get("master_link_status", "up") == "up"

    def slots_of(self, node):
        return " ".join(sorted(f"{row[0]}-{row[1]}:{row[2][1]}" for row in node.call_one("CLUSTER", "SLOTS")))

    def wait_until_ok(self, seconds=30):
        wait(self.is_ok, seconds)

    def owner(self, key):
        """The master of a key's slot, and the slot."""
        asked = self.alive()[0]
        slot = asked.call_one("CLUSTER", "KEYSLOT", key)
        for row in asked.call_one("CLUSTER", "SLOTS"):
            if row[0] <= slot <= row[1]:
                return next(node for node in self.nodes if node.port == row[2][1]), slot
        raise AssertionError(f"slot {slot} has no master")

    def move_slot(self, slot, source, target):
        """As redis-cli --cluster reshard, key by key, while clients run."""
        target.call_one("CLUSTER", "SETSLOT", slot, "IMPORTING", source.name)
        source.call_one("CLUSTER", "SETSLOT", slot, "MIGRATING", target.name)
        while keys := source.call_one("CLUSTER", "GETKEYSINSLOT", slot, 10):
            for key in keys:
                assert source.call_one("MIGRATE", "127.0.0.1", target.port, key, 0, 30000) == "OK"
        for node in target, source, *self.masters():
            node.call_one("CLUSTER", "SETSLOT", slot, "NODE", target.name)

    def close(self):
        for node in self.nodes:
            node.close()
