"""A lookup in a large file outside the page cache reads only a few pages."""
import os
import shutil
import subprocess

import pytest

from conftest import run

SIZE = 1 << 30
MOST = 16 << 20


def cached(path):
    done = subprocess.run(["fincore", "--bytes", "--noheadings", "--raw", "--output", "RES", path],
                          text=True, capture_output=True, check=True)
    return int(done.stdout)


def make_cold(path):
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)
    if cached(path) >= MOST:
        pytest.skip("this file system keeps files in memory")


@pytest.mark.skipif(not shutil.which("fincore"), reason="fincore is not there")
@pytest.mark.parametrize("options", [["-a", "bloom"], ["-a", "bloom", "--shards", "4"], ["-a", "recent"]])
def test_ask_reads_little_of_a_large_file_on_disk(options, here):
    keys = "".join(f"key {i}\n" for i in range(1000))
    run("build", *options, "-m", "1G", "-o", "set.weir", input=keys)
    assert os.path.getsize("set.weir") >= SIZE
    make_cold("set.weir")
    assert run("ask", "set.weir", input="key 5\nno key\n").lines == ["seen\tkey 5", "new\tno key"]
    assert cached("set.weir") < MOST
    make_cold("set.weir")
    assert run("filter", "set.weir", input="key 5\nno key\n").lines == ["key 5"]
    assert cached("set.weir") < MOST
