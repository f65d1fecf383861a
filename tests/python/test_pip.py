"""Packaging: make wheel, pip install, and what the wheel needs from the system."""
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

pytest.importorskip("pip")
GLIBC_MAX = (2, 36)  # manylinux_2_36: Debian 12 and later


def clean():
    """An environment without Meson's build of the package and without a network."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_PRELOAD")}
    environment |= {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    if shutil.which("ccache"):
        environment["CC"] = "ccache cc"
    return environment


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], env=clean() | more.pop("env", {}), capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source distribution of make wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    run(os.path.join(os.environ["WEIR_SOURCE"], "scripts", "wheel"), folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def check_import(folder, tmp_path):
    code = "import weir; f = weir.Filter(memory='64K'); print(f.observe('a'), weir.Near().observe('a') or f.observe('a'), weir.__file__)"
    said = run(sys.executable, "-c", code, env={"PYTHONPATH": str(folder)}, cwd=tmp_path)
    assert said.split() == ["False", "True", str(folder / "weir" / "__init__.py")]


def test_wheels_are_complete_and_reproducible(built, source, tmp_path):
    wheel, sdist = built
    assert re.match(r"weir_filters-[0-9.]+-cp311-abi3-(many)?linux_", wheel.name)
    listed = {name.split("/")[-1] for name in zipfile.ZipFile(wheel).namelist() if name.startswith("weir/")}
    package = source / "bindings" / "python" / "weir"
    assert listed == {p.name for p in package.iterdir() if p.suffix in (".py", ".pyi", ".typed")} | {"_weir.abi3.so", "py.typed"}
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path, source / "bindings" / "python")
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()
    metadata = zipfile.ZipFile(wheel).read(f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/METADATA").decode()
    for field in ("Name: weir-filters\n", "Summary: ", "License: MIT\n", "Requires-Python: >=3.11\n", "Classifier: ", "# weir-filters"):
        assert field in metadata


def test_a_wheel_installs(built, tmp_path):
    run(sys.executable, "-m", "pip", "install", "--target", tmp_path / "there", built[0])
    check_import(tmp_path / "there", tmp_path)


def test_a_source_distribution_installs(built, tmp_path):
    run(sys.executable, "-m", "pip", "install", "--target", tmp_path / "there", built[1])
    check_import(tmp_path / "there", tmp_path)


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is missing")
def test_the_extension_needs_only_glibc(built, tmp_path):
    wheel, _ = built
    if "manylinux" not in wheel.name:
        pytest.skip("libxxhash and libsodium have no static archives here")
    extension = zipfile.ZipFile(wheel).extract("weir/_weir.abi3.so", tmp_path)
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", extension)))
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", run("readelf", "-V", extension))]
    assert versions and max(versions) <= GLIBC_MAX


def test_the_install_lines_of_the_page_work(source, tmp_path):
    """In a virtual environment, as Debian requires."""
    pytest.importorskip("ensurepip")
    page = (source / "docs" / "python.md").read_text()
    block = next(b for b in re.findall(r"```sh\n(.*?)```", page, re.S) if "venv" in b)
    lines = [line for line in block.splitlines() if not line.startswith("sudo ")]
    assert "venv/bin/pip install ./bindings/python" in lines and "venv/bin/pip install ./bindings/python" in (source / "README.md").read_text()
    for name in ("bindings", "lib", "near", "include", "LICENSE"):
        (tmp_path / name).symlink_to(source / name)
    for line in lines:
        run("sh", "-c", line.replace("python3 -m venv", f"{sys.executable} -m venv"), cwd=tmp_path)
    assert run(tmp_path / "venv/bin/python", "-c", "import weir; print(7 in weir.Filter())", cwd=tmp_path) == "False\n"
