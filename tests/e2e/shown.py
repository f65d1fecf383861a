"""Commands that a page shows, and whether they print what it shows below them."""
import os
import re
import subprocess
import sys

from conftest import WEIR


def is_shown(output, shown):
    """A tab is seen as blanks. "..." stands for what a page leaves out: a line of it for any number of lines,
    among other text for some of that line."""
    if "\t" in output:
        output, shown = ("\n".join(" ".join(line.split()) for line in text.splitlines()) for text in (output, shown))
    pattern = "".join(r"(?:.*\n)*" if line == "..." else r".*?".join(map(re.escape, line.split("..."))) + "\n"
                      for line in shown.splitlines())
    return re.fullmatch(pattern, output.rstrip("\n") + "\n" if output.strip() else "") is not None


def environment(**more):
    """weir is on the path, python3 is the one that runs the tests, and sorting is the same everywhere."""
    path = [os.path.dirname(WEIR), os.path.dirname(sys.executable), os.environ["PATH"]]
    return {**os.environ, "PATH": ":".join(path), "LC_ALL": "C", **more}


def shortfall(pairs, folder, timeout=60, **more):
    """The first command that prints something else, with what it printed; None if all are as shown."""
    for command, shown in pairs:
        done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=timeout, cwd=folder, env=environment(**more))
        output = done.stdout.decode()
        if not is_shown(output, shown):
            return command, output
    return None
