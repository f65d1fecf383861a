"""The program of docs/go.md, built as the page describes."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import SANITIZED, WEIR

SOURCE = Path(os.environ["WEIR_SOURCE"])
BUILD = Path(WEIR).parent.parent


@pytest.mark.skipif(not shutil.which("go") or SANITIZED, reason="go is missing")
def test_the_example_of_the_page(tmp_path):
    page = (SOURCE / "docs/go.md").read_text()
    (program,) = re.findall(r"```go\n(.*?)```", page, re.S)
    (commands,) = re.findall(r"```sh\n(.*?)```", page, re.S)
    (tmp_path / "main.go").write_text(program)
    (tmp_path / "access.log").write_text("a\nb\na\n")
    env = {**os.environ, "CGO_CFLAGS": f"-I{SOURCE}/include", "CGO_LDFLAGS": f"-L{BUILD}/lib", "GOCACHE": str(BUILD / "go-cache"),
           "PKG_CONFIG_PATH": str(BUILD / "meson-uninstalled"), "LD_LIBRARY_PATH": str(BUILD / "lib"), "GOPROXY": "off", "GOFLAGS": "-mod=mod"}
    done = subprocess.run(["sh", "-e", "-c", commands.replace("/path/to/weir", str(SOURCE))], cwd=tmp_path, env=env,
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "a\nb\n"), done.stderr
