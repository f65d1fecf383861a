"""The manual: a page for every command and call, every option documented, and every example run as rendered."""
import functools
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import run
from shown import shortfall

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
MAN = SOURCE / "man"
PAGES = sorted(MAN.glob("*.1.scd"))  # of the command; those of the library are generated

needs_groff = pytest.mark.skipif(not (shutil.which("scdoc") and shutil.which("groff")), reason="needs scdoc and groff")


def commands():
    listing = run("help").out.decode()
    return re.findall(r"^  (\w+) {2,}[A-Z]", listing, re.M)


def options(command):
    """(letter, name, value) of each option as help prints it: ("-m", "--memory", "SIZE")."""
    return re.findall(r"^  (-.|  )[, ] (--[a-z-]+) ?(\S*)", run("help", command).out.decode().partition("options:")[2], re.M)


@functools.cache
def rendered(page, source=SOURCE):
    """The rendered page, in lines so long that none is broken."""
    roff = subprocess.run([source / "scripts/man1", page], capture_output=True, check=True).stdout
    done = subprocess.run(["groff", "-man", "-Tutf8", "-P-cbou", "-rLL=400n"], input=roff, capture_output=True)
    assert done.returncode == 0 and done.stderr == b"", done.stderr
    return done.stdout.decode()


def examples(page):
    """(command, expected output) pairs of the rendered page, in order; this is the text that a reader copies. Code
    blocks are indented by four columns more than text."""
    for block in re.findall(r"(?:^ {11}(?! {40}).*\n+)+", rendered(page), re.M):
        lines = "".join(line[11:] or "\n" for line in block.splitlines(keepends=True))
        for part in re.split(r"^\$ ", lines, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.rstrip("\n")


def test_every_command_has_a_page():
    assert [p.name for p in PAGES] == sorted(
        ["weir.1.scd"] + [f"weir-{c}.1.scd" for c in commands()])


@needs_groff
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_examples_of_a_page_print_what_it_shows(page, here):
    """With random seeds one answer in a hundred may be a false positive, but not in three runs in a row."""
    pairs = list(examples(page))
    assert pairs
    wrong = []
    for attempt in "abc":
        (here / attempt).mkdir()
        wrong.append(shortfall(pairs, here / attempt))
        if wrong[-1] is None:
            return
    pytest.fail(str(wrong))


@needs_groff
@pytest.mark.parametrize("command", commands())
def test_every_option_is_in_the_manual(command):
    """On the page of its command or on weir(1), with the letter and the value in help."""
    headings = re.findall("^ {7}(-.*)$", rendered(MAN / f"weir-{command}.1.scd") + rendered(MAN / "weir.1.scd"), re.M)
    for letter, name, value in options(command):
        heading = f"{letter.strip() and letter + ', '}{name} {value}".rstrip()
        assert any(f", {heading}, " in f", {line}, " for line in headings), heading


@pytest.fixture
def copy(tmp_path):
    for part in ("man", "scripts", "tool"):
        shutil.copytree(SOURCE / part, tmp_path / part)
    return tmp_path


@needs_groff
def test_a_row_of_the_option_table_is_all_that_a_new_option_needs(copy):
    table = copy / "tool/cli/option_table.c"
    table.write_text(table.read_text().replace('    {"fixed", 0', '    {"magic", \'M\', "SIZE", TAKES_FIXED, "as by -k, in words", NULL},\n    {"fixed", 0'))
    assert "\n       -M, --magic SIZE\n           As by -k, in words.\n" in rendered(copy / "man/weir-build.1.scd", copy)
    assert "magic" not in rendered(copy / "man/weir-add.1.scd", copy)


def test_an_option_that_the_command_does_not_have_is_an_error(copy):
    page = copy / "man/weir-build.1.scd"
    page.write_text(page.read_text().replace("\n--fixed\n", "\n--emit\n"))
    done = subprocess.run([copy / "scripts/man1", page], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("man1: weir-build.1.scd: no option --emit;")


# The pages of the library, which scripts/man3 generates.

def generate(source, folder):
    return subprocess.run([source / "scripts/man3", folder], capture_output=True, text=True)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Page names and texts."""
    if not shutil.which("scdoc"):
        pytest.skip("needs scdoc")
    folder = tmp_path_factory.mktemp("man3")
    done = generate(SOURCE, folder)
    assert done.returncode == 0, done.stderr
    return {p.stem: p for p in folder.glob("*.3")}


def is_alias(page):
    return page.read_text().startswith(".so ")


def shown_page(page):
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-cbou", page], capture_output=True)
    assert done.returncode == 0 and done.stderr == b"", (page.name, done.stderr)
    return done.stdout.decode()


def section(page, title):
    return re.search(rf"^{title}\n(.*?)(?=^\S)", shown_page(page), re.M | re.S)[1]


@needs_groff
def test_every_call_is_on_one_page_of_the_library(library):
    headers = "".join(p.read_text() for p in (SOURCE / "include").rglob("*.h"))
    calls = re.findall(r"^(?:WEIR_API|static inline) [^;{]*?\b(weir_\w+)\(", headers, re.M)
    synopses = {name: section(page, "SYNOPSIS") for name, page in library.items() if name != "weir" and not is_alias(page)}
    assert len(calls) > 120
    for call in calls:
        pages = [name for name, text in synopses.items() if re.search(rf"\b{call}\(", text)]
        assert len(pages) == 1, (call, pages)
        assert call == pages[0] or library[call].read_text() == f".so man3/{pages[0]}.3\n"


@needs_groff
def test_the_overview_lists_every_page_of_the_library(library):
    listed = set(re.findall(r"^ +(weir_\w+)\(3\)$", section(library["weir"], "DESCRIPTION"), re.M))
    assert listed == {name for name, page in library.items() if name != "weir" and not is_alias(page)}


@needs_groff
def test_return_values_and_errors_have_sections(library):
    page = library["weir_observe"]
    assert re.search(r"weir_forget\(\)\n +WEIR_UNSUPPORTED if", section(page, "ERRORS"))
    assert re.search(r"weir_observe\(\)\n +Returns WEIR_SEEN", section(page, "RETURN VALUE"))
    assert "Several threads may look up" in section(page, "THREADS")
    assert "Returns WEIR_SEEN" not in section(page, "DESCRIPTION")


@pytest.mark.skipif(not shutil.which("lexgrog"), reason="needs man-db")
def test_apropos_finds_every_call(library):
    for name, page in library.items():
        if is_alias(page):
            continue
        parsed = subprocess.run(["lexgrog", page], capture_output=True, text=True, check=True).stdout
        assert set(re.findall(r'"(weir\w*) - ', parsed)) >= {name, *re.findall(r"\\fB.*?\b(weir_\w+)\(", page.read_text().partition(
            ".SH \"DESCRIPTION")[0])}, name


def test_a_group_of_calls_without_a_page_is_an_error(library, tmp_path):
    for part in ("include", "man", "scripts", "examples"):
        shutil.copytree(SOURCE / part, tmp_path / part)
    with (tmp_path / "include/weir.h").open("a") as header:
        header.write("\n/* ---- magic ---- */\n\n/* Planted. */\nWEIR_API void weir_magic(void);\n")
    done = generate(tmp_path, tmp_path / "out")
    assert done.returncode == 1 and done.stderr.startswith("man3: on no page: weir.h: magic;")
