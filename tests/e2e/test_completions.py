"""Shell completions: bash directly, zsh in a terminal."""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from conftest import WEIR, run
from test_man import commands, options

COMPLETIONS = pathlib.Path(os.environ["WEIR_SOURCE"]) / "tool" / "completions"
ENV = {**os.environ, "PATH": os.path.dirname(WEIR) + ":" + os.environ["PATH"]}


def bash(*words):
    """The completions that bash offers for the last word."""
    script = f"""source '{COMPLETIONS}/_weir'
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weir; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True,
                          env=ENV, timeout=20)
    assert done.stderr == "", done.stderr
    return done.stdout.split()


def test_bash_offers_the_commands():
    assert bash("weir", "") == commands()
    assert bash("weir", "ded") == ["dedup"]
    assert bash("weir", "help", "me") == ["merge"]


@pytest.mark.parametrize("command", [c for c in commands() if c != "help"])
def test_bash_offers_the_options_of_a_command_and_their_values(command, here):
    """Everything in the help text: the words of a value such as stop|skip, and file names for FILE."""
    (here / "some.log").write_text("")
    assert bash("weir", command, "--") == [*(name for _, name, _ in options(command)), "--help"]
    for _, option, value in options(command):
        if "FILE" in value:
            assert bash("weir", command, option, "som") == ["some.log"]
        elif "|" in value:
            assert bash("weir", command, option, "") == value.split("|")


def test_bash_offers_the_values_that_help_describes(here):
    (here / "weir.log").write_text("")
    assert bash("weir", "check", "--screen", "st") == ["strict"]
    assert bash("weir", "top", "--time-format", "") == ["s", "ms", "us", "rfc3339", "clf"]
    assert bash("weir", "dedup", "-a", "blo") == ["bloom"]
    assert bash("weir", "gen", "zi") == ["zipf:"]
    assert bash("weir", "eval", "--synthetic", "uni") == ["uniform:"]
    assert bash("weir", "plan", "--stream", "e") == ["endless"]
    assert bash("weir", "dedup", "-m", "") == []
    assert bash("weir", "dedup", "--csv", "weir.") == bash("weir", "dedup", "weir.") == ["weir.log"]


def test_bash_offers_the_names_of_weir_list():
    """Regression: names with digits, such as ibf-2c, were missing."""
    listed = json.loads(run("list", "--format", "json").out)
    filters, sketches, screens = ([x["name"] for x in listed[kind]] for kind in ("filters", "sketches", "screens"))
    assert sorted(set(bash("weir", "list", ""))) == sorted(set(filters + sketches + screens))
    assert bash("weir", "dedup", "-a", "") == filters
    assert sorted(bash("weir", "check", "--screen", "")) == sorted(["auto", *screens])
    assert set(bash("weir", "top", "-a", "")) <= set(sketches)


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
@pytest.mark.parametrize("typed,offered", [("weir ded\t", "weir dedup"),
                                           ("weir dedup --chec\t", "--checkpoint"),
                                           ("weir dedup -a blo\t", "-a bloom"),
                                           ("weir dedup --emit dup\t", "--emit duplicates"),
                                           ("weir check -o so\t", "-o some.log"),
                                           ("weir gen uni\t7", "form:7"),
                                           ("weir list ibf-2\t", "list ibf-2c"),
                                           ("weir list 1b\t", "list 1bf"),
                                           ("weir filter --inv\t", "--invert")])
def test_zsh_completes(here, typed, offered):
    (here / "some.log").write_text("")
    child, fd = pty.fork()
    if child == 0:
        os.environ.update(ENV, TERM="dumb", ZDOTDIR=str(here), PS1="> ")
        os.execvp("zsh", ["zsh", "-f", "-i"])
    start = f"fpath=('{COMPLETIONS}' $fpath); autoload -Uz compinit; compinit -u -D; echo rea''dy\n"
    try:
        os.write(fd, start.encode())
        assert "ready" in read_until(fd, "ready")
        os.write(fd, typed.encode())
        assert offered in read_until(fd, offered)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(fd)


def read_until(fd, text, seconds=20):
    seen, deadline = "", time.time() + seconds
    while time.time() < deadline and text not in seen:
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 65536).decode(errors="replace")
            seen = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", seen)
    return seen
