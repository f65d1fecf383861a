"""debian/ matches the source: version, symbols and build dependencies."""
import os
import pathlib
import re

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
CONTROL = (SOURCE / "debian/control").read_text()


def test_the_version_is_that_of_the_header():
    version = re.search(r'^#define WEIR_VERSION "(.*)"$', (SOURCE / "include/weir/version.h").read_text(), re.M)[1]
    assert re.match(rf"weir \({re.escape(version)}\) ", (SOURCE / "debian/changelog").read_text())


def test_the_symbols_are_those_of_the_list():
    """Including the unstable calls of weir/plan.h, which are exported."""
    listed = re.findall(r"^symbol (\S+)@@(\w+)$", (SOURCE / "tests/golden/abi.txt").read_text(), re.M)
    version = next(version for name, version in listed if name == "weir_open")
    listed += [(name, version) for name in
               re.findall(r"^WEIR_API [^;]*?\b(weir_\w+)\(", (SOURCE / "include/weir/plan.h").read_text(), re.M)]
    packed = re.findall(r"^ (weir_\w+)@(\w+) [\d.]+$", (SOURCE / "debian/libweir1.symbols").read_text(), re.M)
    assert len(packed) > 100 and sorted(packed) == sorted(listed)


def test_build_dependencies_are_the_packages_that_setup_installs():
    """Except for those that every Debian build has."""
    wanted = set(re.findall(r"[\w.+-]+", re.sub(r"\(.*?\)", "", re.search(r"Build-Depends:(.*?)\nStandards", CONTROL, re.S)[1])))
    setup = (SOURCE / "scripts/setup").read_text()
    installed = set(re.search(r"build\) echo (.*?) ;;", setup)[1].split()) | set(re.search(r"package\) echo (.*?) ;;", setup)[1].split())
    assert wanted - {"debhelper-compat"} <= installed
    assert set(re.search(r"build\) echo (.*?) ;;", setup)[1].split()) - {"gcc", "libc6-dev", "ninja-build"} <= wanted
