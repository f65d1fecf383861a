"""scripts/check-includes reports each broken rule, in a copy of the tree with one mistake at a time."""
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])


@pytest.fixture
def copy(tmp_path):
    for part in ("lib", "index", "store", "remote", "near", "tool", "module", "bindings", "web", "include", "scripts", "docs", "tests/golden"):
        shutil.copytree(SOURCE / part, tmp_path / part)
    return tmp_path


def broken_rules(tree):
    run = subprocess.run([tree / "scripts/check-includes"], capture_output=True, text=True)
    return [line.split(" - ")[1] for line in run.stdout.splitlines() if line.startswith("not ok")]


def test_the_tree_breaks_no_rule(copy):
    assert broken_rules(copy) == []


@pytest.mark.parametrize("path, text, rule", [
    ("lib/base/planted.h", '#include "filter/filter.h"\n', "directories_include_only_allowed_headers"),
    ("lib/filter/bloom/planted.h", '#include "filter/stable/stable.h"\n', "directories_include_only_allowed_headers"),
    ("lib/filter/bloom/planted.h", '#include "filter/list.h"\n', "directories_include_only_allowed_headers"),
    ("tool/pipe/planted.h", '#include "cmd/commands.h"\n', "directories_include_only_allowed_headers"),
    ("tool/eval/planted.h", '#include "report/report.h"\n', "directories_include_only_allowed_headers"),
    ("tool/cmd/planted.h", '#include "store/store.h"\n', "directories_include_only_allowed_headers"),
    ("module/planted.h", '#include "lib/filter/filter.h"\n', "directories_include_only_allowed_headers"),
    ("tool/attic/planted.h", "\n", "every_directory_is_in_the_table"),
    ("lib/base/planted.h", "#include <time.h>\n", "the_library_uses_no_stdio_clock_or_locale"),
    ("lib/base/planted.h", '#include "base/nowhere.h"\n', "every_quoted_include_is_a_project_file"),
    ("tool/cmd/cells.h", "\n", "no_two_files_share_a_name"),
    ("tool/cli/planted.h", "int weir_planted(void);\n", "only_exported_names_begin_with_weir"),
    ("tool/cli/planted.h", 'bool is_it = strcmp(name, "rlbsbf") == 0;\n', "no_algorithm_is_selected_by_name"),
    ("tool/cli/planted.h", "struct batch {\n", "no_two_structs_share_a_name"),
    ("tool/cli/planted.h", '#define FILTER_OF_SETS "bloom k=4"\n', "no_algorithm_is_selected_by_name"),
])
def test_a_broken_rule_is_found(copy, path, text, rule):
    (copy / path).parent.mkdir(exist_ok=True)
    (copy / path).write_text(text)
    assert broken_rules(copy) == [rule]


@pytest.mark.parametrize("path, text", [
    ("tool/cli/planted.h", '#define DEFAULT_OF_SETS "bloom k=4"\n/* weir_planted, "rlbsbf" */\n'),
    ("lib/theory/apbf.h", "\n"),
    ("tool/cli/planted.h", 'print("weir gen ", "none");\n'),
])
def test_correct_code_is_not_reported(copy, path, text):
    (copy / path).write_text(text)
    assert broken_rules(copy) == []


def test_a_rule_about_a_missing_directory_is_found(copy):
    shutil.rmtree(copy / "lib/plan")
    assert "every_path_in_the_table_exists" in broken_rules(copy)


@pytest.mark.parametrize("missing, rule", [
    ("tests/golden/apbf.weir", "every_filter_has_a_golden_file"),
    ("tests/golden/top.weir", "every_sketch_has_a_golden_file_and_a_chapter"),
    ("lib/filter/window/apbf.c", "every_filter_is_one_file"),
])
def test_an_incomplete_algorithm_is_found(copy, missing, rule):
    (copy / missing).unlink()
    assert broken_rules(copy) == [rule]
