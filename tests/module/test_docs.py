"""The examples of docs/module.md and docs/tour.md match their output, in order."""
import os
import pathlib
import re
import shlex
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
PAGE = SOURCE / "docs/module.md"


def examples(page):
    for block in re.findall(r"^```\n(.*?)^```$", page.read_text(), re.M | re.S):
        for piece in re.split(r"^> ", block, flags=re.M)[1:]:
            command, _, expected = piece.partition("\n")
            yield command, expected


def test_every_example_gives_what_it_says(server, r):
    if subprocess.run(["sh", "-c", "command -v redis-cli"], stdout=subprocess.DEVNULL).returncode != 0:
        pytest.skip("redis-cli is not here; scripts/setup test installs it with redis-server")
    found = list(examples(PAGE))
    assert len(found) > 30
    found += examples(SOURCE / "docs/tour.md")
    for command, expected in found:
        told = subprocess.run(["redis-cli", "--no-raw", "-p", str(server.port), *shlex.split(command)],
                              capture_output=True, text=True, check=True).stdout
        assert told.rstrip("\n") == expected.rstrip("\n"), command


def test_every_command_is_on_the_page(r):
    page = PAGE.read_text()
    for row in r("COMMAND"):
        name = row[0].decode().upper()
        family, _, verb = name.partition(".")
        if family in ("WEIR", "BF", "CF", "CMS", "TOPK"):
            assert name in page or re.search(rf"`{family}\.[A-Z \n]*\b{verb}\b[A-Z \n]*`", page), name
