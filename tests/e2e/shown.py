"""Runs the commands of a page and compares their output with the page."""
import os
import re
import subprocess
import sys

from conftest import WEIR


def is_shown(output, shown):
    """Compares output with a page, where tabs are spaces. "..." on a line of its own matches any number of lines;
    within a line it matches any text."""
    if "\t" in output:
        output, shown = ("\n".join(" ".join(line.split()) for line in text.splitlines()) for text in (output, shown))
    pattern = "".join(r"(?:.*\n)*" if line == "..." else r".*?".join(map(re.escape, line.split("..."))) + "\n"
                      for line in shown.splitlines())
    return re.fullmatch(pattern, output.rstrip("\n") + "\n" if output.strip() else "") is not None


def environment(**more):
    """PATH contains weir, python3 is the tests' interpreter, and the locale is C."""
    path = [os.path.dirname(WEIR), os.path.dirname(sys.executable), os.environ["PATH"], "/usr/sbin"]
    return {**os.environ, "PATH": ":".join(path), "LC_ALL": "C", **more}


def shortfall(pairs, folder, timeout=60, **more):
    """Returns the first command with other output, and that output; None if there is none."""
    for command, shown in pairs:
        done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=timeout, cwd=folder, env=environment(**more))
        output = done.stdout.decode()
        if not is_shown(output, shown):
            return command, output
    return None
