"""The output of make while it builds, scripts/check and scripts/size, in a small project."""
import os
import pathlib
import pty
import shutil
import subprocess

import pytest

SCRIPTS = pathlib.Path(os.environ["WEIR_SOURCE"], "scripts")
PROJECT = """project('small')
sh = find_program('sh')
one = custom_target('one', output: 'one', command: [sh, '-c', 'echo warning: loose screw; echo : >@OUTPUT@'], build_by_default: true)
two = custom_target('two', output: 'two', command: [sh, '-c', ': >@OUTPUT@'], build_by_default: true)
test('first', sh, args: ['-c', 'exit 0'], depends: one, suite: 'unit')
test('other', sh, args: ['-c', 'exit 1'], depends: two, suite: 'e2e')
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "scripts").mkdir()
    for name in "build", "check", "size", "tally":
        shutil.copy(SCRIPTS / name, tmp_path / "scripts")
    (tmp_path / "meson.build").write_text(PROJECT)
    return tmp_path


def on_a_terminal(*command):
    master, slave = pty.openpty()
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(slave)
        printed = b""
        try:
            while some := os.read(master, 4096):
                printed += some
        except OSError:  # the other end is closed
            pass
    os.close(master)
    return process.returncode, printed.decode()


def test_a_build_on_a_terminal_shows_progress_and_warnings(project):
    status, printed = on_a_terminal(project / "scripts/build")
    assert status == 0 and "\rcompiling 1/2 " in printed and "\rcompiling 2/2 " in printed
    assert "warning: loose screw\r\n" in printed


def test_a_build_without_a_terminal_prints_warnings_only(project):
    done = subprocess.run([project / "scripts/build"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "warning: loose screw\n")


@pytest.mark.parametrize("terminal", [False, True])
def test_a_build_that_fails_prints_the_error(project, terminal):
    (project / "meson.build").write_text(PROJECT.replace(": >@OUTPUT@", "echo fatal: no disk; exit 1"))
    if terminal:
        status, printed = on_a_terminal(project / "scripts/build")
    else:
        done = subprocess.run([project / "scripts/build"], capture_output=True, text=True)
        status, printed = done.returncode, done.stderr
    assert status == 1 and "fatal: no disk" in printed


def test_check_builds_and_runs_only_its_own_tests(project):
    done = subprocess.run([project / "scripts/check"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("\n1 passed, 0 failed, 0 skipped\n"), done
    assert (project / "build/one").exists() and not (project / "build/two").exists()


def test_check_fails_if_a_test_does(project):
    (project / "meson.build").write_text(PROJECT.replace("exit 0", "exit 1"))
    done = subprocess.run([project / "scripts/check"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout.endswith("\n0 passed, 1 failed, 0 skipped\n"), done


def test_size_counts_files_and_lines_of_each_directory(project):
    (project / "lib/filter/recent").mkdir(parents=True)
    (project / "lib/filter/recent/a.c").write_text("int a;\n" * 39)
    (project / "lib/filter/b.h").write_text("int b;\n" * 40)
    (project / "tool").mkdir()
    (project / "tool/c.c").write_text("int c;\n")
    done = subprocess.run([project / "scripts/size"], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["lib/filter", "2", "79", "1"] in rows and ["tool", "1", "1", "1"] in rows and ["product", "3", "80", "2"] in rows
    assert "code of" not in done.stdout  # there is no build/
