"""Programs that use the installed library: those in examples/, and the one in docs/tour.md and the manual."""
import concurrent.futures
import contextlib
import os
import re
import shutil
import subprocess
import textwrap

import pytest

from conftest import LONG, RACES_SEEN, SANITIZED, unique
from installed import SOURCE, THERE, Installed, Server, install

pytestmark = pytest.mark.skipif(not THERE, reason="needs compilers, meson and pkg-config")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install(tmp_path_factory.mktemp("root"))


def run(installed, argv, text, **more):
    done = subprocess.run(argv, input=text, text=True, capture_output=True, env=installed.env, timeout=120, **more)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


LINES = [f"line {i * i % 1009}" for i in range(5000)]
TEXT = "".join(line + "\n" for line in LINES)
ONCE = "".join(line + "\n" for line in unique(LINES))


def test_readme_contains_the_command_that_compiles(installed, here):
    readme = (SOURCE / "docs/tour.md").read_text()
    assert "`make install`, then `cc once.c $(pkg-config --cflags --libs weir)`" in readme
    (here / "once.c").write_text(next(b for b in re.findall(r"```c\n(.*?)```", readme, re.S) if "weir_open" in b))
    assert run(installed, installed.compile("once.c", here / "once"), TEXT) == ONCE


def test_once_in_c(installed, here):
    program = installed.compile(SOURCE / "examples/once.c", here / "once")
    assert run(installed, program, TEXT) == ONCE
    assert run(installed, [*program, "bloom capacity=10k fpr=1e-6"], TEXT) == ONCE
    done = subprocess.run([*program, "wier"], env=installed.env, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("once: ") and "wier" in done.stderr


def test_once_in_cplusplus_keeps_keys_across_runs(installed, here):
    program = installed.compile(SOURCE / "examples/once.cpp", here / "once")
    half = len(LINES) // 2
    first = run(installed, [*program, "seen.weir"], "".join(line + "\n" for line in LINES[:half]))
    second = run(installed, [*program, "seen.weir"], "".join(line + "\n" for line in LINES[half:]))
    assert first + second == ONCE
    (here / "seen.weir").write_bytes(b"no filter")
    done = subprocess.run([*program, "seen.weir"], input="a\n", env=installed.env, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("once: ")


@pytest.fixture
def server(installed, here):
    program = installed.compile(SOURCE / "examples/server.c", here / "server", "-pthread")
    server = Server(program, installed.env, "bloom capacity=100k fpr=1e-6")
    yield server
    server.process.kill()
    server.process.wait()


def test_the_server_answers_single_lines_and_many(server):
    assert server.ask(["a", "b", "a", ""]) == ["new", "new", "seen", "new"]
    assert server.ask(["a"]) == ["seen"]
    keys = [str(i) for i in range(20000)]
    assert server.ask(keys) == ["new"] * len(keys)
    assert server.end()[:2] == (0, "20005 lines, 20003 new\n")


def test_eight_concurrent_clients_share_one_filter(server):
    keys = [str(i) for i in range(5000)]
    orders = [keys[i * 600:] + keys[:i * 600] for i in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(server.ask, orders))
    new = [key for order, answer in zip(orders, answers) for key, said in zip(order, answer) if said == "new"]
    assert sorted(new) == sorted(keys)  # each is new for one of them
    assert server.end() == (0, "40000 lines, 5000 new\n", "")


@pytest.mark.skipif(RACES_SEEN, reason="has another sanitizer")
def test_all_threads_of_the_server_can_answer_seen_at_once(installed, here):
    """The longest answers, in buffers without a byte to spare; with -O3 the sanitizer checks stpcpy() too."""
    program = installed.compile(SOURCE / "examples/server.c", here / "server", "-pthread", "-fsanitize=address", "-O3")
    server = Server(program, installed.env, "bloom capacity=1k fpr=1e-6")
    with contextlib.ExitStack() as stack:
        stack.callback(server.process.kill)
        clients = [stack.enter_context(server.client()) for _ in range(8)]
        assert sorted(answer for client in clients for answer in client.ask(["a"])) == ["new", *["seen"] * 7]
        for client in clients:
            assert client.ask(["a"] * 9000) == ["seen"] * 9000
        assert server.end() == (0, "72008 lines, 1 new\n", "")


def test_once_per_hour_uses_event_time_across_runs(installed, here):
    program = [*installed.compile(SOURCE / "examples/once_per_hour.c", here / "once_per_hour"), "seen.weir"]
    noon = 1700000000
    lines = [f"{noon + 60 * minute} {key}\n" for minute in (0, 10, 40, 59, 80, 90, 130) for key in ("a", f"only {minute}")]
    due = [line for line in lines if " only" in line or line in (f"{noon} a\n", f"{noon + 60 * 80} a\n")]
    assert run(installed, program, "".join(lines[:7])) + run(installed, program, "".join(lines[7:])) == "".join(due)
    assert run(installed, program, f"{noon} a\n") == ""  # an earlier time is ignored


@pytest.mark.parametrize("line", ["a 1700000000", "1700000000", "", "99999999999999 a", "-1 a"])
def test_once_per_hour_rejects_lines_without_a_time(installed, here, line):
    program = installed.compile(SOURCE / "examples/once_per_hour.c", here / "once_per_hour")
    done = subprocess.run([*program, "seen.weir"], input=line + "\n", env=installed.env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "once_per_hour: input: expected lines TIME KEY\n")
    assert not (here / "seen.weir").exists()


def test_once_per_hour_does_not_overwrite_other_files(installed, here):
    program = installed.compile(SOURCE / "examples/once_per_hour.c", here / "once_per_hour")
    (here / "seen.weir").write_bytes(b"no filter")
    done = subprocess.run([*program, "seen.weir"], input="1 a\n", env=installed.env, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("once_per_hour: seen.weir: ")
    assert (here / "seen.weir").read_bytes() == b"no filter"


@pytest.mark.skipif(not shutil.which("man"), reason="needs man")
def test_the_manual_contains_the_example_unchanged(installed):
    page = next(installed.root.rglob("weir.3"))
    shown = subprocess.run(["man", "-l", page], capture_output=True, text=True, check=True,
                           env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "120", "LC_ALL": "C"}).stdout
    code = re.search(r"^EXAMPLE$.*?^( +/\* once_per_hour.c.*?^ +})$\n\n +share/doc", shown, re.M | re.S)[1]
    assert textwrap.dedent(code) + "\n" == (SOURCE / "examples/once_per_hour.c").read_text()


def test_every_page_that_headers_and_manual_refer_to_is_installed(installed):
    pages = [*(installed.prefix / "include").rglob("*.h"), *installed.prefix.rglob("weir*.[13]")]
    named = {name for p in pages for name in re.findall(r"docs/([a-z-]+\.md)", p.read_text())}
    assert {"filters.md", "format.md"} <= named
    there = {p.name for p in (installed.prefix / "share/doc/weir").glob("*.md")}
    assert named <= there, named - there


def test_every_header_is_installed_and_in_the_manual(installed):
    include = SOURCE / "include"
    headers = {str(p.relative_to(include)) for p in include.rglob("*.h*")}
    assert headers == {str(p.relative_to(installed.prefix / "include"))
                       for p in (installed.prefix / "include").rglob("*.h*")}
    pages = "".join(p.read_text() for p in installed.prefix.rglob("man3/weir*.3")).replace(r"\&", "")
    assert headers == set(re.findall(r"(?:#include <|\\fI)(weir(?:/\w+)?\.hp{0,2})(?:>\\fP$|\\fR)", pages, re.M))


@pytest.mark.skipif(not LONG or SANITIZED or RACES_SEEN, reason="builds all of it again")
def test_make_install_uses_prefix_and_destdir(here):
    shutil.copytree(SOURCE, here / "copy", ignore=lambda at, _: {"build", ".git"} if at == str(SOURCE) else {})
    subprocess.run(["make", "-C", here / "copy", "install", "PREFIX=/opt/weir", f"DESTDIR={here}/root"], check=True,
                   capture_output=True)
    installed = Installed(here / "root")
    assert installed.prefix == here / "root/opt/weir"
    assert "prefix=/opt/weir\n" in next(installed.root.rglob("weir.pc")).read_text()
    for path in ("bin/weir", "lib/libweir.a", "lib/libweir.so", "include/weir/shared.h", "share/man/man3/weir.3",
                 "share/doc/weir/examples/server.c"):
        assert (installed.prefix / path).is_file(), path
    assert run(installed, installed.compile(SOURCE / "examples/once.c", here / "once"), TEXT) == ONCE
