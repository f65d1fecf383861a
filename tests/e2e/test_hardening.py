"""Protection against exploits of parser bugs: the flags of the OpenSSF compiler guide (meson.build), read from the
compiled binaries."""
import json
import pathlib
import re
import subprocess

import pytest

from conftest import WEIR

BUILD = pathlib.Path(WEIR).resolve().parents[1]
BINARIES = {name: BUILD / path for name, path in {
    "tool": "tool/weir", "library": "lib/libweir.so", "module": "module/weir.so",
    "sqlite": "bindings/sqlite/weirsql.so", "postgres": "bindings/postgres/weir.so",
    "python": "bindings/python/weir/_weir.abi3.so"}.items()}
ENDBR64 = b"\xf3\x0f\x1e\xfa"
STACK_PROBE = b"\x48\x83\x0c\x24\x00"  # orq $0,(%rsp)


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True).stdout


def is_optimized():
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())
    return next(o["value"] for o in options if o["name"] == "optimization") not in ("0", "plain")


@pytest.fixture(params=BINARIES)
def binary(request):
    path = BINARIES[request.param]
    if not path.exists():
        pytest.skip(f"{path.name} was not built")
    return path


def is_x86(path):
    return "X86-64" in readelf(path, "-h")


def test_relocations_are_read_only_after_startup(binary):
    assert "BIND_NOW" in readelf(binary, "-d")
    assert "GNU_RELRO" in readelf(binary, "-l")


def test_the_stack_is_not_executable(binary):
    assert re.search(r"GNU_STACK +(?:0x\w+ +){5}RW +0x", readelf(binary, "-l"))


def test_code_is_position_independent(binary):
    assert re.search(r"Type: +DYN", readelf(binary, "-h"))
    assert "TEXTREL" not in readelf(binary, "-d")


def test_stacks_have_canaries(binary):
    assert "__stack_chk_fail@" in readelf(binary, "--dyn-syms")


def test_copies_are_checked(binary):
    if not is_optimized():
        pytest.skip("_FORTIFY_SOURCE needs optimization")
    assert re.search(r"__(?!stack)\w+_chk@", readelf(binary, "--dyn-syms"))


def test_indirect_branches_have_targets(binary):
    if not is_x86(binary):
        pytest.skip("x86-64 only")
    assert binary.read_bytes().count(ENDBR64) > 100


def test_the_archive_supports_indirect_branch_tracking():
    """Linked binaries would also need startup files with this note, which Debian's libc lacks."""
    if not is_x86(BINARIES["library"]):
        pytest.skip("x86-64 only")
    assert "IBT, SHSTK" in readelf(BUILD / "lib/libweir.a", "-n")


def test_large_stack_frames_are_probed():
    if not is_x86(BINARIES["tool"]):
        pytest.skip("x86-64 only")
    assert STACK_PROBE in BINARIES["tool"].read_bytes()
