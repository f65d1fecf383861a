"""scripts/setup without permission to install."""
import os
import subprocess
from pathlib import Path

SETUP = Path(os.environ["WEIR_SOURCE"]) / "scripts" / "setup"


def on_path(here, **programs):
    """A machine with only these programs; each value is the program's script."""
    for name, body in programs.items():
        (here / name).write_text(f"#!/bin/sh\n{body}\n")
        (here / name).chmod(0o755)
    for name in "sh", "grep", "tail", "mktemp", "rm":
        (here / name).symlink_to(f"/bin/{name}")
    return {"PATH": str(here)}


def test_without_root_it_prints_the_command(here):
    env = on_path(here, **{"dpkg-query": "exit 1", "apt-get": "exit 1", "id": "echo 1000"})
    done = subprocess.run(["/bin/sh", SETUP, "build"], env=env, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert "as root, run: apt-get update && apt-get install -y" in done.stderr
    assert " gcc " in done.stderr and done.stderr.count("\n") == 1


def test_packages_of_another_architecture_add_it(here):
    env = on_path(here, **{"dpkg-query": "exit 1", "apt-get": "exit 1", "id": "echo 1000"})
    done = subprocess.run(["/bin/sh", SETUP, "cross"], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "run: dpkg --add-architecture arm64 && dpkg --add-architecture s390x && apt-get update && " in done.stderr


def test_it_prints_nothing_if_nothing_is_missing(here):
    env = on_path(here, **{"dpkg-query": "echo installed", "id": "echo 1000"})
    done = subprocess.run(["/bin/sh", SETUP, "build", "test"], env=env, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_failed_installation_is_reported(here):
    env = on_path(here, **{"dpkg-query": "exit 1", "apt-get": "echo no network; exit 100", "id": "echo 0"})
    done = subprocess.run(["/bin/sh", SETUP, "build"], env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "no network" in done.stderr and "could not install" in done.stderr


def test_an_unknown_group_is_refused():
    done = subprocess.run([SETUP, "nothing"], capture_output=True, text=True)
    assert done.returncode == 2 and "unknown group" in done.stderr


def test_make_serve_needs_only_the_server(here):
    """After a build, make serve does not install the packages for tests."""
    env = on_path(here, **{"dpkg-query": "exit 1", "apt-get": "exit 1", "id": "echo 1000"})
    done = subprocess.run(["/bin/sh", SETUP, "serve"], env=env, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.rstrip().endswith("--no-install-recommends redis-server")
    plan = subprocess.run(["make", "-n", "-C", SETUP.parent.parent, "serve"], capture_output=True, text=True).stdout
    assert "scripts/setup serve" in plan and "scripts/setup test" not in plan
