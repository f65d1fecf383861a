"""scripts/setup without permission to install, and the configuration of a machine with few packages."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
SETUP = SOURCE / "scripts" / "setup"


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


# ---- a machine with the packages for make only ----

# A compiler for which the libraries of make bench, which have no .pc file, are not installed.
WITHOUT_LIBRARIES = """for word; do
    case $word in
    *.c) ! grep -qE 'rocksdb/c.h|bloom.h' "$word" || exit 1 ;;
    esac
done
exec /usr/bin/cc "$@"
"""

# pg_config of libpq-dev with postgresql-client: PGXS exists, the server's headers do not.
CLIENT_ONLY = f"""case $1 in
--pgxs) echo {SETUP} ;;
--includedir-server) echo /nonexistent/postgresql/15/server ;;
*) echo /nonexistent ;;
esac
"""


@pytest.mark.skipif(not shutil.which("meson") or not pathlib.Path("/usr/bin/cc").exists(), reason="needs meson and cc")
def test_meson_configures_without_the_test_packages(here):
    folders = subprocess.run(["pkg-config", "--variable", "pc_path", "pkg-config"], capture_output=True, text=True, check=True).stdout.strip()
    for name in "pc", "bin":
        (here / name).mkdir()
    for folder in reversed(folders.split(":")):  # the first folder has precedence
        for file in pathlib.Path(folder).glob("*.pc"):
            if file.name != "cmocka.pc":
                (here / "pc" / file.name).unlink(missing_ok=True)
                (here / "pc" / file.name).symlink_to(file)
    for name, body in ("cc", WITHOUT_LIBRARIES), ("pg_config", CLIENT_ONLY), ("cmake", "exit 1\n"):  # cmake finds cmocka too
        (here / "bin" / name).write_text(f"#!/bin/sh\n{body}")
        (here / "bin" / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{here / 'bin'}:{os.environ['PATH']}", "CC": str(here / "bin/cc"), "PKG_CONFIG_LIBDIR": str(here / "pc")}
    done = subprocess.run(["meson", "setup", here / "build", SOURCE], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Run-time dependency cmocka found: NO" in done.stdout and 'Has header "rocksdb/c.h" : NO' in done.stdout
    targets = json.loads(subprocess.run(["meson", "introspect", "--targets", here / "build"], capture_output=True, check=True).stdout)
    names = {target["name"] for target in targets}
    assert {"weir", "exact"} <= names and not {"postgres_extension", "test-text"} & names
