"""Each public header compiles alone, in C and C++."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

INCLUDE = pathlib.Path(os.environ["WEIR_SOURCE"]) / "include"
HEADERS = sorted(str(p.relative_to(INCLUDE)) for p in INCLUDE.rglob("*.h"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DWEIR_UNSTABLE", f"-I{INCLUDE}"]
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
    """Objects may be unused and functions undefined: only the C library is linked."""
    text = f"#include <{header}>\n#include <stdio.h>\nint main(void) {{ return 0; }}\n"
    compile_and_run([*WAYS[way], "-Wl,--unresolved-symbols=ignore-all"], text, here)


def test_the_unstable_header_needs_its_macro():
    done = subprocess.run(["cc", "-fsyntax-only", f"-I{INCLUDE}", "-x", "c", "-"], input="#include <weir/plan.h>\n", text=True, capture_output=True)
    assert done.returncode != 0
    assert "weir/plan.h is unstable: define WEIR_UNSTABLE before including it" in done.stderr


def test_an_ignored_status_is_a_warning():
    text = "#include <weir.h>\nvoid f(weir_filter *a, weir_filter *b);\nvoid f(weir_filter *a, weir_filter *b)\n{\n    weir_merge(a, b, NULL);\n}\n"
    done = subprocess.run(["cc", "-c", "-o", "/dev/null", *WARNINGS, "-x", "c", "-"], input=text, text=True, capture_output=True)
    assert "-Werror=unused-result" in done.stderr


@pytest.mark.parametrize("header", [h for h in HEADERS if structs(h)])
def test_structs_have_one_size_for_every_compiler(header, here):
    prints = "".join(f'    printf("{s} %zu\\n", sizeof(struct {s}));\n' for s in structs(header))
    text = f"#include <{header}>\n#include <stdio.h>\nint main(void)\n{{\n{prints}    return 0;\n}}\n"
    link = "-Wl,--unresolved-symbols=ignore-all"
    sizes = {name: compile_and_run([*way, link], text, here) for name, way in WAYS.items()}
    assert len(set(sizes.values())) == 1, sizes


def test_a_struct_needs_no_keyword_in_cplusplus(here):
    """It would if a function had the same name."""
    names = [(h, s) for h in HEADERS for s in structs(h)]
    assert names
    includes = "".join(f"#include <{h}>\n" for h in HEADERS)
    variables = "".join(f"    static {s} v{i}; (void)v{i};\n" for i, (_, s) in enumerate(names))
    text = f"{includes}int main()\n{{\n{variables}    return 0;\n}}\n"
    compile_and_run([*WAYS["c++17"], "-Wl,--unresolved-symbols=ignore-all"], text, here)


@pytest.mark.parametrize("program", [
    "namespace weir { int filter = 1; class observe {}; } int main() { return weir::filter - 1; }",
    "namespace other { int n = 0; } namespace weir = other; int main() { return weir::n; }",
    "int weir = 0; int main() { return weir; }",
])
def test_the_c_headers_leave_the_name_weir_to_cplusplus_programs(program, here):
    """Whether the program declares it before or after the headers."""
    includes = "".join(f"#include <{h}>\n" for h in HEADERS)
    declared, main = program[:program.index("int main")], program[program.index("int main"):]
    for text in (f"{declared}\n{includes}{main}\n", f"{includes}{declared}\n{main}\n"):
        compile_and_run([*WAYS["c++17"], "-Wl,--unresolved-symbols=ignore-all"], text, here)


@pytest.mark.parametrize("compiler, standard", [("g++", "c++17"), ("g++", "c++2b"), ("clang++", "c++17"), ("clang++", "c++2b")])
def test_the_cplusplus_header_stands_alone(compiler, standard, here):
    """Twice, to test the include guard; with the user's own names in namespace weir."""
    text = "#include <weir.hpp>\n#include <weir.hpp>\nnamespace weir { int mine = 0; }\nint main() { return weir::mine; }\n"
    compile_and_run([compiler, "-x", "c++", f"-std={standard}", "-Wshadow", "-Wconversion",
                     "-Wl,--unresolved-symbols=ignore-all"], text, here)


def test_structs_that_may_grow_are_not_returned_by_value():
    """A key and an estimate never grow; all other structs are filled in by pointer and size."""
    fixed = {"weir_key", "weir_estimate"}
    calls = [c for h in HEADERS for c in re.findall(r"^WEIR_API struct (\w+) (?!\*)(\w+)\(", (INCLUDE / h).read_text(), re.M)]
    assert calls
    assert {struct for struct, _ in calls} <= fixed, calls


def test_structs_that_may_grow_have_their_size():
    """Output structs are followed by their size; input structs begin with it."""
    filled = {"weir_stats", "weir_sketch_stats", "weir_screen_stats", "weir_screen_choice", "weir_prediction", "weir_gap_prediction",
              "weir_screen_prediction", "weir_part"}
    given = {"weir_options", "weir_stream", "weir_plan_request"}
    text = " ".join((INCLUDE / h).read_text() for h in HEADERS)
    calls = re.findall(r"^WEIR_API [^;]+;", text, re.M)
    for name in filled:
        takes = [c for c in calls if f"struct {name} *" in c]
        assert takes, name
        for call in takes:
            assert re.search(rf"struct {name} \*\w+,\s+size_t \w+", call), call
    for name in given:
        assert re.search(rf"^struct {name} \{{\n\s+size_t size;", text, re.M), name


def test_the_version_is_defined_in_one_place(here):
    text = '#include <weir/version.h>\n#include <stdio.h>\nint main(void) { printf("%s %d.%d.%d %d\\n", WEIR_VERSION, ' \
           "WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH, WEIR_VERSION_NUMBER); return 0; }\n"
    whole, parts, number = compile_and_run(WAYS["c11"], text, here).split()
    assert whole == parts
    major, minor, patch = map(int, parts.split("."))
    assert int(number) == major * 10000 + minor * 100 + patch
