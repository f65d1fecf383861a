"""A real PostgreSQL server with the extension. WEIR_BUILD is the build directory, PG_CONFIG the program of this name,
WEIR the command."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

from installation import install

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
WEIR = os.environ["WEIR"]
sys.path.insert(0, str(SOURCE / "tests/e2e"))
from servers import Postgres  # noqa: E402


@pytest.fixture(scope="session")
def server():
    root = tempfile.mkdtemp(prefix="weir-")
    os.chmod(root, 0o755)  # the server runs as another user
    server = Postgres(install(os.environ["WEIR_BUILD"], root, os.environ["PG_CONFIG"]), ["max_parallel_workers=4"])
    yield server
    server.close()
    shutil.rmtree(root, ignore_errors=True)


class Database:
    """psql in the server's database."""

    def __init__(self, server):
        self.server = server

    def words(self, program):
        return [f"{self.server.bin}/{program}", "-h", "127.0.0.1", "-p", str(self.server.port), "-U", "weir"]

    def run(self, sql, *options):
        return subprocess.run([*self.words("psql"), "-qAtX", "-v", "ON_ERROR_STOP=1", *options, "postgres"], input=sql,
                              capture_output=True, text=True, timeout=300)

    def rows(self, sql, *options):
        done = self.run(sql, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def one(self, sql):
        (row,) = self.rows(sql)
        return row

    def failure(self, sql):
        """The first line of the error message."""
        done = self.run(sql)
        assert done.returncode != 0, done.stdout
        return done.stderr.splitlines()[0].split("ERROR:  ", 1)[1]


@pytest.fixture
def db(server):
    """A new schema for each test. No test may crash a process of the server."""
    server.sql("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public; CREATE EXTENSION weir")
    yield Database(server)
    assert server.process.poll() is None and "terminated by signal" not in server.log(), server.log()


def weir(*args, input=b""):
    done = subprocess.run([WEIR, *map(str, args)], input=input, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
