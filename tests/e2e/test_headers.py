"""The public headers, each alone, as callers of every kind compile them."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

INCLUDE = pathlib.Path(os.environ["WEIR_SOURCE"]) / "include"
HEADERS = sorted(str(p.relative_to(INCLUDE)) for p in INCLUDE.rglob("*.h"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}"]
WAYS = {
    "c11": ["cc", "-x", "c", "-std=c11"],
    "c++17": ["g++", "-x", "c++", "-std=c++17"],
    "short enums": ["cc", "-x", "c", "-std=c11", "-fshort-enums"],
}


def compile_and_run(way, text, here):
    if not shutil.which(way[0]):
        pytest.skip(f"{way[0]} is not there")
    program = here / "program"
    done = subprocess.run([*way, *WARNINGS, "-o", program, "-"], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return subprocess.run([program], text=True, capture_output=True, check=True).stdout


def structs(header):
    return re.findall(r"^struct (weir_\w+) \{", (INCLUDE / header).read_text(), re.M)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("header", HEADERS)
def test_a_header_stands_alone(header, way, here):
    """Objects may be unused, and calls undefined: nothing is linked but the C library."""
    text = f"#include <{header}>\n#include <stdio.h>\nint main(void) {{ return 0; }}\n"
    compile_and_run([*WAYS[way], "-Wl,--unresolved-symbols=ignore-all"], text, here)


@pytest.mark.parametrize("header", [h for h in HEADERS if structs(h)])
def test_structs_have_one_size_for_every_compiler(header, here):
    prints = "".join(f'    printf("{s} %zu\\n", sizeof(struct {s}));\n' for s in structs(header))
    text = f"#include <{header}>\n#include <stdio.h>\nint main(void)\n{{\n{prints}    return 0;\n}}\n"
    link = "-Wl,--unresolved-symbols=ignore-all"
    sizes = {name: compile_and_run([*way, link], text, here) for name, way in WAYS.items()}
    assert len(set(sizes.values())) == 1, sizes


def test_a_struct_needs_no_keyword_in_cplusplus(here):
    """Which it would if a call had its name."""
    names = [(h, s) for h in HEADERS for s in structs(h)]
    assert names
    includes = "".join(f"#include <{h}>\n" for h in HEADERS)
    variables = "".join(f"    static {s} v{i}; (void)v{i};\n" for i, (_, s) in enumerate(names))
    text = f"{includes}int main()\n{{\n{variables}    return 0;\n}}\n"
    compile_and_run([*WAYS["c++17"], "-Wl,--unresolved-symbols=ignore-all"], text, here)


def test_the_version_is_in_one_place(here):
    text = '#include <weir/version.h>\n#include <stdio.h>\nint main(void) { printf("%s %d.%d.%d %d\\n", WEIR_VERSION, ' \
           "WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH, WEIR_VERSION_NUMBER); return 0; }\n"
    whole, parts, number = compile_and_run(WAYS["c11"], text, here).split()
    assert whole == parts
    major, minor, patch = map(int, parts.split("."))
    assert int(number) == major * 10000 + minor * 100 + patch
