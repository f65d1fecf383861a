"""pip install ./bindings/python: offline, with nothing but a C compiler."""
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

pytest.importorskip("pip")


def clean():
    """Without the package that was built by Meson, and without a network."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_PRELOAD")}
    environment |= {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    if shutil.which("ccache"):
        environment["CC"] = "ccache cc"
    return environment


def test_pip_installs_it(source, tmp_path):
    package = source / "bindings" / "python"
    for target in ("one", "two"):
        done = subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path / target, package],
                              env=clean(), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (again,) = (list((tmp_path / target).iterdir()) for target in ("one", "two"))
    assert "-cp311-abi3-" in wheel.name
    assert hashlib.sha256(wheel.read_bytes()).digest() == hashlib.sha256(again.read_bytes()).digest()
    listed = {name.split("/")[-1] for name in zipfile.ZipFile(wheel).namelist() if name.startswith("weir/")}
    assert listed == {p.name for p in (package / "weir").iterdir() if p.suffix in (".py", ".pyi", ".typed")} | {"_weir.abi3.so", "py.typed"}

    done = subprocess.run([sys.executable, "-m", "pip", "install", "--target", tmp_path / "there", wheel],
                          env=clean(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    said = subprocess.run([sys.executable, "-c", "import weir; f = weir.open(); print(f.observe('a'), f.observe('a'), weir.__file__)"],
                          env=clean() | {"PYTHONPATH": str(tmp_path / "there")}, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert said.stdout.split() == ["False", "True", str(tmp_path / "there" / "weir" / "__init__.py")]
