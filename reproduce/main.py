"""Reproduce the papers: measure, draw, and write docs/reproduction.md. `make reproduce` runs this program.

The document consists of parts. A comment before each part names the command that repeats it:

    make reproduce                  all parts except those that take hours
    make reproduce TABLE=3          Table 3 of Bera et al.; TABLE=II is Bhoraskar's
    make reproduce PART=bera-full   any parts by name, separated by commas

Other parts stay unchanged. SCALE=1 is full scale for Bera et al. (default: 1/100). WEIR_TRACES is a directory of real
streams; without it, the parts that need them stay unchanged. KEEP is a directory in which results are cached, so that
an interrupted run can continue."""
import os
import re
import shutil
import signal
import sys

import bera
import bhoraskar
import busnel
import comparisons
from common import DOCS, NEW, PLOTS, Document, Part, say, traces, wrapped

DOCUMENT = "reproduction.md"
PARTS = [*bera.PARTS, *bhoraskar.PARTS, *busnel.PARTS, *comparisons.PARTS]
MARK = re.compile(r"^<!-- make reproduce PART=([-\w]+) -->$", re.M)
RESULT = re.compile(r"^<!-- (.*): \| (.*) -->$", re.M)


# ---- the existing document ----

def parts_of(text):
    """Name and text of each part."""
    pieces = MARK.split(text)
    return dict(zip(pieces[1::2], (piece.strip("\n") for piece in pieces[2::2])))


def rendered(doc):
    results = [f"<!-- {what}: | {result} -->" for what, result in doc.summary]
    return "\n".join(doc.lines + results).strip("\n")


# ---- the head of the document ----

def tables_result(parts):
    """How many rows of Tables 1-9 agree, read from the tables themselves."""
    rows = [row for name, text in parts.items() if re.fullmatch(r"table-\d", name)
            for row in re.findall(r"^\| \d+ MiB .* \| ([^|]*)\|$", text, re.M)]
    good, errors = sum(not row.strip() for row in rows), sum(row.strip() == "error" for row in rows)
    differ = sum("differs" in row for row in rows)
    near = sum(not note.strip() for note in re.findall(
        r"^\| 512 MiB \| 2 \| `sbf` .* \| ([^|]*)\|$", "\n".join(parts.values()), re.M))
    return (f"{good - near} of {len(rows)} rows within 4 % or 0.15 points; {errors + near} rows are SBF at 512 MiB, an error of the "
            "paper" + (f"; {differ} more differ" if differ else ""))


def head(parts, scale):
    results = [("Bera et al. 2012, Tables 1-9", tables_result(parts))]
    results += [pair for name in parts for pair in RESULT.findall(parts[name])]
    return ["# Reproduction of the papers", "",
            *wrapped("The tables and figures of three papers, compared with measurements, and the reasons for differences. `make "
                     "reproduce` generates this page. Records and memory of Bera et al. are scaled by "
                     f"1/{scale:g} unless stated otherwise. In the source of this page, a comment before each part names the command "
                     "that repeats it; `make reproduce TABLE=3` repeats one table. Parts with real streams need `WEIR_TRACES`, a "
                     "directory of them."), "",
            *wrapped("FPR is the share of new records that are reported as seen, FNR the share of repeats that are reported as new."),
            "", "## Results", "",
            "| paper | result |", "|---|---|", *(f"| {what} | {result} |" for what, result in results), ""]


def write(parts, scale):
    lines = head(parts, scale)
    for name, text in parts.items():
        lines += [f"<!-- make reproduce PART={name} -->", "", text, ""]
    (NEW / DOCUMENT).write_text("\n".join(lines).rstrip() + "\n")


def put_in_place():
    """Rename file by file. If interrupted, every file is complete: the old one or the new one."""
    PLOTS.mkdir(exist_ok=True)
    for path in NEW.glob("*.svg"):
        os.replace(path, PLOTS / path.name)
    os.replace(NEW / DOCUMENT, DOCS / DOCUMENT)
    named = set(re.findall(rf"\({PLOTS.name}/([^)]*)\)", (DOCS / DOCUMENT).read_text()))
    for path in PLOTS.iterdir():
        if path.name not in named:
            path.unlink()


# ---- selection of parts ----

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
                say(f"{part.name} is skipped: it needs WEIR_TRACES or PART={part.name}")
        write(parts, scale)
        put_in_place()
    finally:
        shutil.rmtree(NEW, ignore_errors=True)


def main():
    scale = float(os.environ.get("SCALE", "100"))
    if not scale >= 1:
        sys.exit("reproduce: invalid SCALE; use a number from 1 (full scale), for example 100")
    names = asked_for(os.environ)
    for part in PARTS:
        if part.name in names and part.traces and not traces():
            sys.exit(f"reproduce: {part.name} needs WEIR_TRACES, a directory of real streams")
    if not shutil.which("gnuplot"):
        sys.exit("reproduce: gnuplot is missing; on Debian: apt install gnuplot-nox")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("reproduce: terminated"))
    make(scale, names)
    say(f"docs/{DOCUMENT} is written")


if __name__ == "__main__":
    main()
