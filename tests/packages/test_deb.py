"""Debian packages (make deb): two builds give equal bytes, lintian reports no error, and each package installs in a
new root, runs the first example of its page and leaves nothing behind after removal. WEIR_DEBS may name a directory
of packages, to save the time of creating them."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import inside

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
NEEDED = ["debootstrap", "dpkg-buildpackage", "dh", "lintian", "chroot", "apt-get"]
MISSING = [tool for tool in NEEDED if not shutil.which(tool)]
PACKAGES = re.findall(r"^Package: (\S+)", (SOURCE / "debian/control").read_text(), re.M)

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: scripts/setup package")


def build(folder):
    subprocess.run([SOURCE / "scripts/deb", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def debs(tmp_path_factory):
    if os.environ.get("WEIR_DEBS"):
        return pathlib.Path(os.environ["WEIR_DEBS"])
    return build(tmp_path_factory.mktemp("debs"))


def sums(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob("*.deb")}


def one(debs, package):
    (path,) = debs.glob(f"{package}_*.deb")
    return path


def test_there_is_a_package_for_each_part(debs):
    assert {p.name.split("_")[0] for p in debs.glob("*.deb")} - {f"{p}-dbgsym" for p in PACKAGES} == set(PACKAGES)
    assert not re.search(r"^E:", (debs / "lintian.log").read_text(), re.M)


def test_two_builds_give_equal_bytes(debs, tmp_path):
    """The second build runs in a directory with a path of another length."""
    again = build(tmp_path / "once-more-elsewhere")
    assert sums(again) == sums(debs) and len(sums(debs)) >= len(PACKAGES)


# ---- a new root ----

def block(page, language, having=""):
    """Returns the first code block of a page, or the first one that contains `word`."""
    text = (SOURCE / page).read_text()
    return next(b for b in re.findall(rf"```{language}\n(.*?)```", text, re.S) if having in b)


def library(root):
    assert "libweir.so.1" in inside(root, "ldconfig -p")


def headers(root):
    (root / "tmp/once.c").write_text(block("docs/tour.md", "c", "weir_open"))
    assert inside(root, "cd /tmp && cc once.c $(pkg-config --cflags --libs weir) -o once && ./once && rm once once.c",
                  "b\na\nb\n") == "b\na\n"


def command(root):
    (root / "tmp/access.log").write_text("a\na\nb\n")
    first = block("docs/tour.md", "sh", "weir dedup").splitlines()[0].split("  #")[0]
    assert inside(root, f"cd /tmp && {first} && cat once.log && rm once.log access.log") == "a\nb\n"


def module(root):
    """Returns the first commands of the module's page and their replies as redis-cli prints them."""
    said = re.search(r"```\n((?:>.*\n.*\n)+)", (SOURCE / "docs/module.md").read_text())[1].splitlines()[:4]
    start = "redis-server --port 0 --unixsocket /tmp/redis.sock --save '' --daemonize yes --dir /tmp --loadmodule /usr/lib/redis/modules/weir.so"
    ask = "redis-cli --no-raw -s /tmp/redis.sock"
    lines = inside(root, f"{start} >/dev/null; timeout 60 sh -c 'until {ask} PING >/dev/null 2>&1; do sleep 0.1; done'; {ask}; {ask} SHUTDOWN NOSAVE",
                   "".join(line[2:] + "\n" for line in said[::2])).splitlines()
    assert lines == said[1::2]


def sql(root):
    code, prints = re.search(r"```sql\n(.*?)```\n```\n(.*?)```", (SOURCE / "docs/sql.md").read_text(), re.S).groups()
    assert inside(root, "sqlite3 -batch", code) == prints


def postgres(root):
    code, prints = re.search(r"```sql\n(.*?)```\n```\n(.*?)```", (SOURCE / "docs/postgres.md").read_text(), re.S).groups()
    run = "cd /tmp && PATH=/usr/lib/postgresql/15/bin:$PATH && initdb -D data >&2 && pg_ctl -D data -l data/log -w start >&2"
    psql = "psql -h /var/run/postgresql -qAtX -v ON_ERROR_STOP=1; pg_ctl -D data -m fast stop >&2; rm -r data"
    said = inside(root, f"su postgres -c '{run} && {psql}'", code)
    assert said == prints


def python(root):
    first = re.search(r"```pycon\n(.*?)```", (SOURCE / "docs/python.md").read_text(), re.S)[1]
    (root / "tmp/first.txt").write_text(first)
    inside(root, "cd /tmp && python3 -m doctest first.txt && rm first.txt")


# Files that the pages assume, and the example of each package.
TRIED = {
    "libweir1": ("", library),
    "libweir-dev": ("gcc libc6-dev pkg-config", headers),
    "weir": ("", command),
    "python3-weir": ("python3", python),
    "redis-weir": ("redis-server", module),
    "sqlite3-weir": ("sqlite3", sql),
    "postgresql-15-weir": ("", postgres),
}


def test_every_package_is_tested():
    assert set(TRIED) == set(PACKAGES)


def files(root):
    """Returns all files except those that apt and dpkg keep."""
    out = inside(root, "find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /var/cache -o -path /var/lib/apt -o "
                       "-path /var/lib/dpkg -o -path /var/log -o -path /tmp \\) -prune -o -print")
    return {line for line in out.splitlines() if "weir" in line.lower()}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_installs_works_and_is_removed_completely(root, debs, package):
    also, example = TRIED[package]
    if also:
        inside(root, f"apt-get update && apt-get install -y --no-install-recommends {also}")
    else:
        inside(root, "apt-get update")
    before = files(root)
    needed = [p for p in ("libweir1",) if p != package and re.search(rf"\b{p}\b", subprocess.run(
        ["dpkg-deb", "-f", one(debs, package), "Depends"], capture_output=True, text=True, check=True).stdout)]
    for name in [package, *needed]:
        shutil.copy(one(debs, name), root / "tmp")
    inside(root, f"apt-get install -y --no-install-recommends {' '.join(f'/tmp/{one(debs, n).name}' for n in [package, *needed])}")
    assert files(root) > before
    example(root)
    inside(root, f"apt-get purge -y {' '.join([package, *needed])}; rm /tmp/*.deb")
    assert files(root) == before
    assert "weir" not in inside(root, "dpkg-query -W")
