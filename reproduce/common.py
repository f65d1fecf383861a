"""Run weir, draw with gnuplot, write Markdown: shared by all parts."""
import csv
import dataclasses
import hashlib
import io
import lzma
import math
import os
import pathlib
import re
import subprocess
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEIR = ROOT / "build" / "tool" / "weir"
DOCS = ROOT / "docs"
PLOTS = DOCS / "reproduction"
NEW = DOCS / "reproduction.new"  # replaces the old document when it is complete
SEED = 20120412
THREADS = str(os.cpu_count() or 1)

# One colour per filter in every plot, distinguishable without red and green; the same as in `weir eval --report`.
COLOURS = {"recent": "#0067a5", "bloom": "#d55e00", "sbf": "#1f9e8f", "ibf-2c": "#cc6fa0", "ibf-mc": "#882255",
           "ibf-h": "#a63ea0", "bf": "#d55e00", "rsbf": "#c08400", "rsbf-tables": "#c08400", "bsbf": "#3b2a9b",
           "bsbfsd": "#6e7378", "rlbsbf": "#c64f63", "dabf": "#0067a5", "1bf": "#d55e00"}


def say(text):
    print(f"reproduce: {text}", flush=True)


@dataclasses.dataclass
class Part:
    """A part of the document: write(doc, scale) measures and writes it. `make reproduce PART=name` repeats it."""
    name: str
    write: object
    traces: bool = False  # needs real streams
    hours: bool = False   # repeated only if named


# ---- weir ----

def evaluate(*args, memories=(), sets=(), filters=()):
    """The rows of `weir eval`, with numbers converted, and None for empty cells."""
    command = [str(WEIR), "eval", "--seed", str(SEED), "-j", THREADS, "-q", "--format", "tsv",
               *map(str, args)]
    if filters:
        command += ["-a", ",".join(filters)]
    if memories:
        command += ["-m", ",".join(str(int(m)) for m in memories)]
    for one in sets:
        command += ["-S", one]
    return [{name: number(text) for name, text in row.items()}
            for row in csv.DictReader(io.StringIO(output_of(command)), delimiter="\t")]


def output_of(command):
    """The output of a program, from the cache in KEEP if it ran before."""
    kept = kept_at(command)
    if kept and kept.exists():
        return kept.read_text()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"reproduce: {' '.join(command)}: {done.stderr.strip()}")
    if kept:
        kept.write_text(done.stdout)
    return done.stdout


def kept_at(command):
    """The cached output's path, by the program's name, its arguments and the contents of files among them."""
    folder = os.environ.get("KEEP")
    if not folder:
        return None
    name = hashlib.sha256(pathlib.Path(command[0]).name.encode())
    for word in command[1:]:
        name.update(pathlib.Path(word).read_bytes() if pathlib.Path(word).is_file() else b"\0" + word.encode())
    return pathlib.Path(folder) / name.hexdigest()[:24]


def number(text):
    if text == "-":
        return None
    if re.fullmatch(r"[-+.e0-9]*\d", text) and not re.fullmatch(r"\d+-\d+", text):
        return float(text)
    return text


# ---- traces ----

def traces():
    """The directory of real streams, or None."""
    folder = os.environ.get("WEIR_TRACES")
    return pathlib.Path(folder) if folder else None


def unpacked(name):
    """A trace as a temporary file of lines "key TAB importance TAB time", or None."""
    path = traces() and traces() / f"{name}.tsv.xz"
    if not path or not path.is_file():
        return None
    return temporary(lzma.open(path).read())


def temporary(content):
    out = tempfile.NamedTemporaryFile(prefix="weir-reproduce-", suffix=".tsv")
    out.write(content if isinstance(content, bytes) else content.encode())
    out.flush()
    return out


# ---- plots ----

class Panel:
    """One plot of lines: points per series, axes, a title."""

    def __init__(self, title, xlabel, ylabel, log="", least=None, most=None):
        self.title, self.xlabel, self.ylabel, self.log = title, xlabel, ylabel, log
        self.least, self.most = least, most
        self.series = []

    def x_most(self):
        return max(x for _, points, *_ in self.series for x, _ in points)

    def add(self, name, points, style="lines", colour=None, dashed=False):
        points = [(x, y) for x, y in points if y is not None]
        if points:
            self.series.append((name, points, style, colour or COLOURS.get(name, "#1d2329"), dashed))
        return self


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def panel_script(panel, number, legend):
    lines = ["reset", "set border 3", "set tics nomirror out scale 0.5", "set grid lc rgb '#dfe4e9' lt 1",
             f"set title {quoted(panel.title)}", f"set xlabel {quoted(panel.xlabel)}",
             f"set ylabel {quoted(panel.ylabel)}", "set format x '%.0s%c'",
             f"set {'key outside right top Left reverse samplen 1.5' if legend else 'nokey'}"]
    lines += [f"set logscale {panel.log}", "set mxtics 1"] if panel.log else [f"set xtics {tic(panel.x_most())}"]
    lines += [f"set yrange [{'' if panel.least is None else panel.least}:{'' if panel.most is None else panel.most}]",
              *([] if panel.log else [f"set xrange [0:{panel.x_most()}]"])]
    plots = []
    for i, (name, points, style, colour, dashed) in enumerate(panel.series):
        lines += [f"$d{number}_{i} << END", *(f"{x:.8g} {y:.6g}" for x, y in points), "END"]
        dash = " dt '-'" if dashed else ""
        shape = f" pt {4 + i % 11} ps 0.5" if "points" in style else ""
        plots.append(f"$d{number}_{i} using 1:2 with {style} lc rgb '{colour}' lw 1.6{dash}{shape} "
                     f"title {quoted(name)}")
    return lines + ["plot " + ", ".join(plots)]


def tic(most):
    """A round step that divides the axis into four or five parts."""
    step = 10 ** math.floor(math.log10(most / 4))
    return next(step * by for by in (1, 2, 2.5, 5, 10) if step * by * 5 >= most)


WIDE, HIGH, LEGEND = 330, 250, 95


def draw(name, panels, columns):
    """Panels side by side in NAME.svg; the legend is at the right of each row."""
    rows = -(-len(panels) // columns)
    width, height = WIDE * columns + LEGEND, HIGH * rows
    lines = [f"set terminal svg size {width},{height} font 'sans-serif,11' background '#ffffff'",
             "set encoding utf8", "set multiplot"]
    for i, panel in enumerate(panels):
        row, column = divmod(i, columns)
        last = column == columns - 1
        script = panel_script(panel, i, legend=last)
        place = [f"set origin {WIDE * column / width},{1 - (row + 1) / rows}",
                 f"set size {(WIDE + LEGEND * last) / width},{1 / rows}"]
        lines += script[:1] + place + script[1:]
    done = subprocess.run(["gnuplot", "-d"], input="\n".join(lines) + "\nunset multiplot\n", text=True,
                          capture_output=True)
    if done.returncode != 0 or "</svg>" not in done.stdout:
        raise SystemExit(f"reproduce: gnuplot failed: {done.stderr.strip().splitlines()[-1:]}")
    (NEW / f"{name}.svg").write_text(smaller(done.stdout))
    return f"{PLOTS.name}/{name}.svg"


def smaller(svg):
    """Remove empty groups, default attributes and invisible digits."""
    before = None
    while before != svg:
        before = svg
        svg = re.sub(r"<g fill=\"none\" color=\"[^>]*>\s*</g>\n?", "", svg)
    svg = re.sub(r"(?<= d=')[^']*|translate\([^)]*\)", lambda m: re.sub(r"(\d+\.\d)\d+", r"\1", m.group()), svg)
    svg = re.sub(r' stroke-linecap="butt" stroke-linejoin="miter"| stroke-width="1.00"', "", svg)
    svg = re.sub(r'<tspan font-family="sans-serif" >([^<]*)</tspan>', r"\1", svg)
    svg = re.sub(r' font-family="sans-serif" font-size="11.00"', "", svg)
    svg = re.sub(r"\t*<desc>.*?</desc>\n", "", svg, flags=re.S)
    svg = svg.replace("<svg", '<svg font-family="sans-serif" font-size="11"', 1)
    return re.sub(r"[ \t]+$", "", svg, flags=re.M)


# ---- Markdown ----

def wrapped(line):
    if line[:1] in "|#!" or line == "":
        return [line]
    return textwrap.wrap(line, 120, subsequent_indent="  " if line.startswith("- ") else "", break_long_words=False,
                         break_on_hyphens=False)


class Document:
    def __init__(self):
        self.lines = []
        self.summary = []

    def add(self, *lines):
        """Add lines, wrapped, with an empty line after a heading and at the end."""
        for line in lines:
            self.lines += wrapped(line)
            if line.startswith("#"):
                self.lines.append("")
        if self.lines[-1] != "":
            self.lines.append("")

    def table(self, names, rows):
        self.add("| " + " | ".join(names) + " |", "|" + "---|" * len(names),
                 *("| " + " | ".join(row) + " |" for row in rows))

    def figure(self, title, path):
        self.add(f"![{title}]({path})")

    def count(self, what, result):
        """A line of the summary at the top."""
        self.summary.append((what, result))


def percent(rate, digits=3):
    """A fraction as a percentage with that many digits."""
    return "-" if rate is None else f"{100 * rate:.{digits}g}"


def difference(ours, paper):
    """The difference of percentages: in points if they are small, else in percent of the paper's figure."""
    if ours is None:
        return "-"
    off = ours - paper
    return f"{off:+.2g} pt" if abs(paper) < 1 else f"{100 * off / paper:+.1f} %"


def agrees(ours, paper, share=0.04, points=0.15):
    return abs(ours - paper) <= max(share * paper, points)
