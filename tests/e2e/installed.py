"""The installed library, and programs compiled with it."""
import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess

from conftest import RACES_SEEN, SANITIZED, WEIR

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
BUILD = pathlib.Path(WEIR).parent.parent
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
THERE = all(shutil.which(tool) for tool in ("cc", "c++", "meson", "pkg-config"))


def install(root):
    """Installs into another root, as packagers do. Nothing is built."""
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root], check=True)
    return Installed(root)


class Installed:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        found = list(self.root.rglob("weir.pc"))
        assert len(found) == 1
        self.prefix = found[0].parents[2]  # PREFIX/lib/pkgconfig
        self.env = {**os.environ, "PKG_CONFIG_PATH": str(found[0].parent), "PKG_CONFIG_SYSROOT_DIR": str(self.root),
                    "LD_LIBRARY_PATH": str(self.prefix / "lib")}

    def flags(self):
        out = subprocess.run(["pkg-config", "--cflags", "--libs", "weir"], env=self.env, capture_output=True,
                             text=True, check=True).stdout
        return out.split()

    def compile(self, source, program, *more):
        """Compiles with the command at the top of the file; returns the argument list to run it."""
        sanitizer = "address,undefined" if SANITIZED else "thread" if RACES_SEEN else None
        compiler = ["c++", "-std=c++17"] if str(source).endswith(".cpp") else ["cc"]
        subprocess.run([*compiler, *WARNINGS, *([f"-fsanitize={sanitizer}", "-g"] if sanitizer else []), source, "-o",
                        program, *self.flags(), *more], env=self.env, check=True)
        return [str(program)]


class Client:
    def __init__(self, file):
        self.file = file

    def ask(self, lines):
        """Sends all lines at once and returns the answers."""
        self.file.write("".join(line + "\n" for line in lines).encode())
        self.file.flush()
        return [self.file.readline().decode().strip() for _ in lines]


class Server:
    """Runs examples/server.c."""

    def __init__(self, program, env, spec):
        self.process = subprocess.Popen([*program, "0", spec], env=env, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)\n", line)[1])

    @contextlib.contextmanager
    def client(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as s, s.makefile("rwb") as f:
            yield Client(f)

    def ask(self, lines):
        with self.client() as client:
            return client.ask(lines)

    def end(self):
        self.process.terminate()
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err
