"""The pages of docs/: every command in a block of ```console runs in an empty directory, from the top of its page to the
end, and must print the output that the page shows. Blocks of ```console long take minutes: they run with WEIR_LONG=1
only, and no other block depends on them.

Pages use the server of `make serve` (port 7379) and PostgreSQL (port 5432); the tests replace the ports with those of
private servers. examples/ is linked from the source."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

import servers
from conftest import LONG, WEIR
from shown import is_shown, shortfall

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
DOCS = SOURCE / "docs"
PACKAGE = pathlib.Path(WEIR).parent.parent / "bindings" / "python"
ENGINES = {"rsyslog": ["rsyslogd", "logger"], "syslog-ng": ["syslog-ng", "logger"], "kafka": ["kcat"], "nats": ["nats-server", "go"], "nginx": ["nginx"]}
MISSING = {"syslog-ng": "Debian's package conflicts with rsyslog"}
BLOCK = re.compile(r"^```console( long)?\n(.*?)^```$", re.M | re.S)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if BLOCK.search(page.read_text())]
RECIPES = sorted((DOCS / "cookbook").glob("*.md"))


def name(page):
    return str(page.relative_to(DOCS))[:-3]


def commands(block):
    """(command, output) pairs. A command continues in lines that begin with "> "."""
    for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, *rest = piece.splitlines()
        while rest and (rest[0] + " ").startswith("> "):
            command += "\n" + rest.pop(0)[2:]
        yield command, "\n".join(rest)


def examples(page, long=LONG):
    return [pair for is_long, block in BLOCK.findall(page.read_text()) if long or not is_long for pair in commands(block)]


@pytest.fixture
def private(here):
    """Start private servers for a page, and replace the usual ports in its commands with theirs."""
    started = []

    def one(pairs):
        text = "\n".join(command for command, _ in pairs)
        replaced = {}
        if "7379" in text:
            if not (shutil.which("redis-server") and os.environ.get("WEIR_MODULE")):
                pytest.skip("needs redis-server and weir.so")
            started.append(servers.Redis("--loadmodule", os.environ["WEIR_MODULE"]))
            replaced["7379"] = str(started[-1].port)
        if "4222" in text:
            replaced["4222"] = str(servers.free_port())
        if "5432" in text:
            started.append(servers.Postgres())
            replaced["5432"] = str(started[-1].port)
            if "COPY" in text and subprocess.run([*started[-1].as_user, "test", "-x", WEIR]).returncode != 0:
                pytest.skip("the user of PostgreSQL cannot execute weir")
        for usual, port in replaced.items():
            pairs = [(command.replace(usual, port), shown) for command, shown in pairs]
        return pairs

    yield one
    for server in started:
        server.close()
    for file in here.glob("pid*"):  # daemons of a page that failed before it stopped them
        process = pathlib.Path("/proc", file.read_text().strip())
        try:
            if str(here) in (process / "cmdline").read_text() + os.readlink(process / "cwd"):
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:  # it has ended
            continue


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_of_a_page_print_the_output_it_shows(page, here, private):
    if page.parent.name == "engines":
        for program in ENGINES.get(page.stem, []):
            if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
                pytest.skip(f"{program} is not installed; " + MISSING.get(page.stem, "scripts/setup long installs it"))
    pairs = private(examples(page))
    assert pairs or not LONG
    (here / "examples").symlink_to(SOURCE / "examples")
    if any("python3 " in command for command, _ in pairs) and not PACKAGE.is_dir():
        pytest.skip("needs the Python package")
    wrong = shortfall(pairs, here, timeout=3000 if LONG else 60, PYTHONPATH=str(PACKAGE))
    assert wrong is None, f"{page.name}: $ {wrong[0]}\n{wrong[1]}"


@pytest.mark.parametrize("page", [p for p in RECIPES if p.name != "README.md"], ids=name)
def test_a_recipe_begins_with_its_result_and_has_commands_and_a_cost_section(page):
    text = page.read_text()
    assert text.split("\n\n")[1].startswith("**Result:** ")
    assert examples(page, long=True), "a recipe has commands"
    assert re.search(r"^## Cost$", text, re.M)


@pytest.mark.parametrize("folder", ["cookbook", "engines"])
def test_every_recipe_is_in_the_list(folder):
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / folder / "README.md").read_text())
    assert sorted(listed) == sorted(p.name for p in (DOCS / folder).glob("*.md") if p.name != "README.md")


@pytest.mark.parametrize("page", [p for p in sorted((DOCS / "engines").glob("*.md")) if p.name != "README.md"], ids=name)
def test_a_page_of_an_engine_has_commands_and_guarantees(page):
    text = page.read_text()
    assert examples(page, long=True), "a page has commands"
    assert re.search(r"^## Guarantees$", text, re.M)


def test_pages_are_parsed_into_commands_and_outputs():
    text = "```console\n$ cat <<END\n> a\n> END\na\n$ true\n```\n```console long\n$ x\n1\n...\n9\n```\n"
    found = [pair for _, block in BLOCK.findall(text) for pair in commands(block)]
    assert found == [("cat <<END\na\nEND", "a"), ("true", ""), ("x", "1\n...\n9")]


@pytest.mark.parametrize("output,shown,same", [
    ("a\nb\n", "a\nb", True), ("", "", True), ("x\n", "", False), ("", "x", False), ("a\tb\n", "a     b", True),
    ("1\n2\n9\n", "1\n...\n9", True), ("1\n2\n8\n", "1\n...\n9", False), ("1\n", "...", True),
    ("took 3 s: ok\n", "took ... s: ok", True), ("took 3 s\nok\n", "took ...", False), ("a.c\n", "abc", False),
    ("k\t3\t7\n", "k  3  ...", True), ("k\t3\t7\n", "k  4  ...", False),
])
def test_only_ellipses_match_anything(output, shown, same):
    assert is_shown(output, shown) is same


def test_the_filter_of_adding_a_filter_compiles(here):
    code = re.search(r"```c\n(.*?)```", (DOCS / "adding-a-filter.md").read_text(), re.S)[1]
    (here / "restless.c").write_text(code)
    subprocess.run(["cc", "-std=gnu11", "-fsyntax-only", "-Wall", "-Werror", f"-I{SOURCE / 'lib'}",
                    f"-I{SOURCE / 'include'}", "restless.c"], cwd=here, check=True)
