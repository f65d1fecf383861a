"""The papers, redone: measures, draws and writes docs/reproduction.md. `make reproduce` runs it.

The document is made of parts, each between marks that say how to redo it:

    make reproduce                  all parts but those that take hours
    make reproduce TABLE=3          Table 3 of Bera et al.; TABLE=II is Bhoraskar's
    make reproduce PART=bera-full   any part by its name, several with commas

What is not redone stays as it is. SCALE=1 is full scale for Bera et al., WEIR_TRACES the folder of real
streams (without it the parts that need them stay as they are), KEEP a folder in which measured rows are
kept, so that a run that was interrupted need not measure them again."""
import os
import re
import shutil
import signal
import sys

import bera
import bhoraskar
import busnel
import rivals
from common import DOCS, NEW, PLOTS, Document, Part, say, traces, wrapped

DOCUMENT = "reproduction.md"
PARTS = [*bera.PARTS, *bhoraskar.PARTS, *busnel.PARTS, *rivals.PARTS]
MARK = re.compile(r"^<!-- make reproduce PART=([-\w]+) -->$", re.M)
RESULT = re.compile(r"^<!-- (.*): \| (.*) -->$", re.M)


# ---- the document as it is ----

def parts_of(text):
    """Name and text of each part."""
    pieces = MARK.split(text)
    return dict(zip(pieces[1::2], (piece.strip("\n") for piece in pieces[2::2])))


def rendered(doc):
    results = [f"<!-- {what}: | {result} -->" for what, result in doc.summary]
    return "\n".join(doc.lines + results).strip("\n")


# ---- the top of it ----

def tables_result(parts):
    """How many rows of Tables 1-9 agree: read from the tables themselves."""
    rows = [row for name, text in parts.items() if re.fullmatch(r"table-\d", name)
            for row in re.findall(r"^\| \d+ MiB .* \| ([^|]*)\|$", text, re.M)]
    good, slips = sum(not row.strip() for row in rows), sum(row.strip() == "slip" for row in rows)
    differ = sum("differs" in row for row in rows)
    near = sum(not note.strip() for note in re.findall(
        r"^\| 512 MiB \| 2 \| `sbf` .* \| ([^|]*)\|$", "\n".join(parts.values()), re.M))
    return (f"{good - near} of {len(rows)} rows within 4 % or 0.15 points; {slips + near} are SBF at 512 MiB, a slip of the paper's"
            + (f"; {differ} more differ" if differ else ""))


def head(parts, scale):
    results = [("Bera et al. 2012, Tables 1-9", tables_result(parts))]
    results += [pair for name in parts for pair in RESULT.findall(parts[name])]
    return ["# The papers, redone", "",
            *wrapped("Made by `make reproduce`, every statement and figure of it: the paper's figure beside ours, and why where they differ. "
                     f"Memory and records of Bera et al. are at 1/{scale:g} where nothing else is said. Each part is preceded by a mark (to be seen in "
                     "the source of this page) with the command that redoes it alone; `make reproduce TABLE=3` redoes a table. "
                     "Parts on real streams need `WEIR_TRACES`, the folder of them."), "",
            "| what | result |", "|---|---|", *(f"| {what} | {result} |" for what, result in results), ""]


def write(parts, scale):
    lines = head(parts, scale)
    for name, text in parts.items():
        lines += [f"<!-- make reproduce PART={name} -->", "", text, ""]
    (NEW / DOCUMENT).write_text("\n".join(lines).rstrip() + "\n")


def put_in_place():
    """By renaming, file by file: whenever it is interrupted, every file is whole, the old or the new."""
    PLOTS.mkdir(exist_ok=True)
    for path in NEW.glob("*.svg"):
        os.replace(path, PLOTS / path.name)
    os.replace(NEW / DOCUMENT, DOCS / DOCUMENT)
    named = set(re.findall(rf"\({PLOTS.name}/([^)]*)\)", (DOCS / DOCUMENT).read_text()))
    for path in PLOTS.iterdir():
        if path.name not in named:
            path.unlink()


# ---- which parts ----

def asked_for(environment):
    names = [name for name in environment.get("PART", "").split(",") if name]
    if environment.get("TABLE"):
        names.append(f"table-{environment['TABLE']}")
    known = {part.name for part in PARTS}
    for name in names:
        if name not in known:
            sys.exit(f"reproduce: there is no part {name}; the parts are {', '.join(part.name for part in PARTS)}")
    return names


def is_due(part, names, old):
    if names:
        return part.name in names
    if part.hours and part.name in old:
        return False
    return not (part.traces and not traces())


def measured(part, scale):
    doc = Document()
    say(part.name)
    part.write(doc, scale)
    return rendered(doc)


def make(scale, names):
    shutil.rmtree(NEW, ignore_errors=True)
    NEW.mkdir()
    path = DOCS / DOCUMENT
    old = parts_of(path.read_text()) if path.exists() else {}
    try:
        parts = {}
        for part in PARTS:
            if is_due(part, names, old):
                parts[part.name] = measured(part, scale)
            elif part.name in old:
                parts[part.name] = old[part.name]
            else:
                say(f"{part.name} is left out: it needs WEIR_TRACES or PART={part.name}")
        write(parts, scale)
        put_in_place()
    finally:
        shutil.rmtree(NEW, ignore_errors=True)


def main():
    scale = float(os.environ.get("SCALE", "100"))
    if not scale >= 1:
        sys.exit("reproduce: SCALE is a number from 1 (full scale) on")
    names = asked_for(os.environ)
    for part in PARTS:
        if part.name in names and part.traces and not traces():
            sys.exit(f"reproduce: {part.name} needs WEIR_TRACES, the folder of real streams")
    if not shutil.which("gnuplot"):
        sys.exit("reproduce: gnuplot is missing; on Debian: apt install gnuplot-nox")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("reproduce: ended"))
    make(scale, names)
    say(f"docs/{DOCUMENT} is written")


if __name__ == "__main__":
    main()
