"""What README shows works as printed: its C, and its lines of shell."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import WEIR

SOURCE = Path(os.environ["WEIR_SOURCE"])
BUILD = Path(WEIR).parent.parent
README = (SOURCE / "README.md").read_text()


def block(language, having):
    return next(b for b in re.findall(rf"```{language}\n(.*?)```", README, re.S) if having in b)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_the_c_example_compiles_and_drops_repeats(here):
    sanitized = b"__asan_init" in Path(WEIR).read_bytes()
    (here / "once.c").write_text(block("c", "weir_open"))
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", *["-fsanitize=address,undefined"] * sanitized,
                    f"-I{SOURCE}/include", "once.c", "-o", "once", f"-L{BUILD}/lib",
                    f"-Wl,-rpath,{BUILD}/lib", "-lweir"], check=True)
    done = subprocess.run(["./once"], input=b"b\na\nb\na\n", capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"b\na\n"), done.stderr


FILES = {
    "access.log": "a\nb\na\n",
    "app.log": "a\na\nb\n",
    "users.csv": "id,email\n1,x@y\n2,x@y\n",
    "today.log": "a\nb\nb\n",
    "x.jsonl": '{"user":{"id":1},"bytes":5}\n{"user":{"id":1},"bytes":9}\n',
    "hosts.txt": "example.org\nbad.net\n",
    "proxy.log": "1 get example.org\n2 get fine.org\n",
}
SHELL = [line.split("  #")[0].strip() for line in block("sh", "weir dedup").splitlines()]
PRINTS = [
    "",
    "a\nb\n",
    "id,email\n1,x@y\n",
    "a\nb\n",
    '{"user":{"id":1},"bytes":5}\n',
    "",
    "1 get example.org\n",
    "listed\n",
    None,
    None,
    None,
]


def test_the_lines_of_shell_do_what_they_say(here):
    assert len(SHELL) == len(PRINTS)
    for name, text in FILES.items():
        (here / name).write_text(text)
    path = f"{Path(WEIR).parent}:{os.environ['PATH']}"
    for line, prints in zip(SHELL, PRINTS):
        line = line.replace("tail -f", "cat")  # which would not end
        done = subprocess.run(line, shell=True, capture_output=True, timeout=60,
                              env={**os.environ, "PATH": path})
        assert done.returncode == 0, (line, done.stderr)
        assert done.stderr == b"" or line.startswith("weir top"), (line, done.stderr)
        assert prints is None or done.stdout.decode() == prints, line
    assert (here / "once.log").read_text() == "a\nb\n"
    assert (here / "bad.weir").stat().st_size < 4096
