"""weirsql.so in a connection of Python's own SQLite. WEIR_SQL names it, WEIR the command."""
import os
import sqlite3
import subprocess

import pytest

EXTENSION = os.environ["WEIR_SQL"]
WEIR = os.environ["WEIR"]


def connect(path=":memory:"):
    db = sqlite3.connect(path)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    db.enable_load_extension(False)
    return db


@pytest.fixture
def db():
    db = connect()
    yield db
    db.close()


def one(db, sql, *values):
    """The single value of a single row."""
    ((value,),) = db.execute(sql, values).fetchall()
    return value


def failure(db, sql, *values):
    """The error message of a statement."""
    with pytest.raises(sqlite3.Error) as e:
        db.execute(sql, values).fetchall()
    return str(e.value)


def weir(*args, input=b""):
    done = subprocess.run([WEIR, *map(str, args)], input=input, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path
