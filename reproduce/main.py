"""The papers, redone: measures, draws and writes docs/reproduction.md. `make reproduce` runs it;
SCALE=1 is full scale, WEIR_TRACES the folder of real streams."""
import os
import shutil
import signal
import sys

import bera
import bhoraskar
import busnel
from common import DOCS, NEW, PLOTS, Document, say, traces, wrapped

DOCUMENT = "reproduction.md"


def command(scale):
    parts = ["make reproduce"]
    if scale != 100:
        parts.append(f"SCALE={scale:g}")
    if traces():
        parts.append("WEIR_TRACES=...")
    return " ".join(parts)


def write(doc, scale):
    head = ["# The papers, redone", "",
            *wrapped(f"Made by `{command(scale)}`: every table and figure that can be redone, the paper's figure beside ours, and why where they "
            f"differ. Memory and records of Bera et al. are at 1/{scale:g}. `WEIR_TRACES` names the folder of real streams; "
            f"{'it was given' if traces() else 'without it those parts are skipped, as here'}."), "",
            "| what | result |", "|---|---|", *(f"| {what} | {result} |" for what, result in doc.summary), ""]
    (NEW / DOCUMENT).write_text("\n".join(head + doc.lines).rstrip() + "\n")


def put_in_place():
    """By renaming, file by file: whenever it is interrupted, every file is whole, the old or the new."""
    PLOTS.mkdir(exist_ok=True)
    drawn = {path.name for path in NEW.glob("*.svg")}
    for name in drawn:
        os.replace(NEW / name, PLOTS / name)
    os.replace(NEW / DOCUMENT, DOCS / DOCUMENT)
    for path in PLOTS.iterdir():
        if path.name not in drawn:
            path.unlink()


def make(scale):
    doc = Document()
    shutil.rmtree(NEW, ignore_errors=True)
    NEW.mkdir()
    try:
        bera.write(doc, scale)
        bhoraskar.write(doc)
        busnel.write(doc)
        write(doc, scale)
        put_in_place()
    finally:
        shutil.rmtree(NEW, ignore_errors=True)


def main():
    scale = float(os.environ.get("SCALE", "100"))
    if not scale >= 1:
        sys.exit("reproduce: SCALE is a number from 1 (full scale) on")
    if not shutil.which("gnuplot"):
        sys.exit("reproduce: gnuplot is missing; on Debian: apt install gnuplot-nox")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("reproduce: ended"))
    make(scale)
    say(f"docs/{DOCUMENT} is written")


if __name__ == "__main__":
    main()
