"""scripts/check-code finds each mistake, in a small tree with one mistake at a time."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
SOUND = """#include <stdlib.h>

int *planted(void);
int *planted(void)
{
    int *a = malloc(sizeof *a);

    if (a)
        *a = 1;
    return a;
}
"""


def rules(tmp_path, text):
    """Returns the result of each rule by name; None for a skipped rule."""
    for part in ("scripts/check-code", ".clang-format", ".clang-tidy"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        shutil.copy(SOURCE / part, tmp_path / part)
    (tmp_path / "lib").mkdir()
    planted = tmp_path / "lib/planted.c"
    planted.write_text(text)
    (tmp_path / "compile_commands.json").write_text(json.dumps(
        [{"directory": str(tmp_path), "file": str(planted), "command": f"cc -c {planted}"}]))
    run = subprocess.run([tmp_path / "scripts/check-code", tmp_path], capture_output=True, text=True)
    said = [line.split(" - ") for line in run.stdout.splitlines() if " - " in line]
    return {name.split()[0]: None if "SKIP" in name else state.startswith("ok") for state, name in said}


def test_correct_code_passes(tmp_path):
    assert False not in rules(tmp_path, SOUND).values()


@pytest.mark.parametrize("was, planted, rule", [
    ("int *a = malloc", "int  *a = malloc", "clang_format_is_clean"),
    ("sizeof *a);\n", "sizeof *a);\n    int b = sizeof(a) == sizeof(a);\n", "clang_tidy_finds_nothing"),
    ("#include", "#include <string.h>\n#include", "every_include_is_used"),
    ("    if (a)\n    ", "", "every_allocation_is_checked"),
    ("        *a = 1;\n", "        *a = 1;\n    free(NULL);\n    *a = errno;\n", "errno_is_read_before_another_call"),
])
def test_each_mistake_is_found(tmp_path, was, planted, rule):
    assert was in SOUND
    found = rules(tmp_path, SOUND.replace(was, planted, 1))
    if found[rule] is None:
        pytest.skip("clang 14 is not there")
    assert found[rule] is False
