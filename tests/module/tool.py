"""weir(1) against servers."""
import os
import subprocess
import threading

WEIR = os.environ["WEIR"]


def run(*args, input=b"", status=0, **more):
    if isinstance(input, str):
        input = input.encode()
    done = subprocess.run([WEIR, *map(str, args)], input=input, capture_output=True, timeout=120, **more)
    assert done.returncode == status, (done.returncode, done.stderr)
    return done


def refused(*args, saying="", **more):
    """One message on stderr, exit 2."""
    done = run(*args, status=2, **more)
    text = done.stderr.decode()
    assert text.startswith("weir: ") and text.count("\n") == 1, text
    for word in [saying] if isinstance(saying, str) else saying:
        assert word in text, text
    return done


class Fed:
    """A run whose input is written line by line, and whose output is read meanwhile."""

    def __init__(self, *args):
        self.process = subprocess.Popen([WEIR, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.lines = []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def feed(self, lines):
        self.process.stdin.write(b"".join(lines))
        self.process.stdin.flush()

    def finish(self, status=0):
        self.process.stdin.close()
        self.thread.join()
        error = self.process.stderr.read()
        assert self.process.wait(120) == status, error
        return error.decode()
