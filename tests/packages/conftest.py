"""A fresh Debian system made by debootstrap, for the tests of this directory. WEIR_ROOT may name one, to save the time."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest


def apts():
    """Returns (address, release) of the package archive of this system."""
    codename = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.M)[1]
    out = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Identifier: Packages"],
                         capture_output=True, text=True, check=True).stdout
    return next((tuple(line.split()) for line in out.splitlines() if line.split()[1:] == [codename]), None)


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A minimal Debian system. A test removes what it installed, or works in a copy."""
    if os.geteuid() != 0:
        pytest.skip("a fresh root needs root's rights")
    source = apts()
    if not source:
        pytest.skip("apt has no source for this release")
    folder = pathlib.Path(os.environ.get("WEIR_ROOT") or tmp_path_factory.mktemp("root"))
    if not (folder / "etc/debian_version").exists():
        done = subprocess.run(["debootstrap", "--variant=minbase", source[1], folder, source[0]], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"debootstrap cannot make a root here: {(done.stdout + done.stderr).strip().splitlines()[-1]}")
    folder.chmod(0o755)  # programs in it run as other users
    for file in ("/etc/resolv.conf", "/etc/hosts"):
        shutil.copy(file, f"{folder}{file}")
    shutil.copytree("/etc/apt/apt.conf.d", folder / "etc/apt/apt.conf.d", dirs_exist_ok=True)
    (folder / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")  # no services
    (folder / "usr/sbin/policy-rc.d").chmod(0o755)
    yield folder
    if not os.environ.get("WEIR_ROOT"):
        shutil.rmtree(folder, ignore_errors=True)


def inside(root, script, input=None):
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
           **{k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}}
    done = subprocess.run(["chroot", root, "sh", "-ec", script], input=input, capture_output=True, text=True, env=env, timeout=900)
    assert done.returncode == 0, (script, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout
