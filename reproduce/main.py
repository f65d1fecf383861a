"""The papers, redone: measures, draws and writes docs/reproduction.md. `make reproduce` runs it;
SCALE=1 is full scale, WEIR_TRACES the folder of real streams."""
import os
import shutil
import sys

import bera
import bhoraskar
import busnel
from common import DOCS, PLOTS, Document, say, traces, wrapped


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
    DOCS.mkdir(exist_ok=True)
    (DOCS / "reproduction.md").write_text("\n".join(head + doc.lines).rstrip() + "\n")


def main():
    scale = float(os.environ.get("SCALE", "100"))
    if not scale >= 1:
        sys.exit("reproduce: SCALE is a number from 1 (full scale) on")
    if not shutil.which("gnuplot"):
        sys.exit("reproduce: gnuplot is missing; on Debian: apt install gnuplot-nox")
    doc = Document()
    shutil.rmtree(PLOTS, ignore_errors=True)
    bera.write(doc, scale)
    bhoraskar.write(doc)
    busnel.write(doc)
    write(doc, scale)
    say("docs/reproduction.md is written")


main()
