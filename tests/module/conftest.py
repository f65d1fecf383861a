"""weir.so in a private server on loopback. WEIR_MODULE names the module, SERVER another server than
redis-server."""
import os
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from resp import Client, Error  # noqa: E402
from servers import Redis  # noqa: E402

MODULE = os.environ["WEIR_MODULE"]
SERVER = os.environ.get("SERVER", "redis-server")
LONG = os.environ.get("WEIR_LONG") == "1"


class Weir(Redis):
    """arguments are those of the module, options those of the server."""

    def __init__(self, *arguments, options=()):
        self.arguments, self.options, self.clients = arguments, options, []
        super().__init__()

    def command(self):
        return [SERVER, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                "--daemonize", "no", "--enable-debug-command", "yes", "--enable-module-command", "yes",
                "--dir", self.directory, *self.options, "--loadmodule", MODULE, *self.arguments]

    def is_ready(self):
        try:
            with_client = Client(self.port)
            ready = with_client.raw("PING") == "PONG"
            with_client.close()
            return ready
        except OSError:
            return False

    def client(self, protocol=2):
        self.clients.append(Client(self.port, protocol))
        return self.clients[-1]

    def log(self):
        return super().log()

    def stop(self):
        self.client().send("SHUTDOWN", "NOSAVE")
        self.process.wait()

    def close(self):
        for client in self.clients:
            client.close()
        super().close()


if not shutil.which(SERVER):
    pytest.skip(f"{SERVER} is not here; scripts/setup test installs redis-server", allow_module_level=True)


@pytest.fixture(scope="module")
def server():
    started = Weir()
    yield started
    assert started.process.poll() is None, "the server has died"
    started.close()


@pytest.fixture
def r(server):
    client = server.client()
    client("FLUSHALL")
    yield client
    client.close()
    server.clients.remove(client)


@pytest.fixture
def r3(server):
    client = server.client(3)
    yield client
    client.close()
    server.clients.remove(client)


@pytest.fixture
def start():
    """Servers of a test's own."""
    started = []

    def one(*arguments, options=()):
        started.append(Weir(*arguments, options=options))
        return started[-1]

    yield one
    for each in started:
        each.close()


def refused(client, *words, saying=""):
    reply = client.raw(*words)
    assert isinstance(reply, Error), reply
    assert saying in reply, reply
    return reply
