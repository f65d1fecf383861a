"""scripts/tally: the last line of make test."""
import json
import os
import pathlib
import subprocess

TALLY = pathlib.Path(os.environ["WEIR_SOURCE"], "scripts/tally")


def tally(tmp_path, *tests, lines=""):
    (tmp_path / "testlog.json").write_text("".join(json.dumps(t) + "\n" for t in tests))
    (tmp_path / "fuzzed.log").write_text(lines)
    run = subprocess.run([TALLY, tmp_path / "testlog.json", tmp_path / "fuzzed.log"], capture_output=True, text=True)
    return run.returncode, run.stdout.splitlines()[-1], run.stdout


def a_test(result, stdout, stderr=""):
    return {"name": "one", "result": result, "stdout": stdout, "stderr": stderr}


def test_cases_in_tap_are_counted(tmp_path):
    said = tally(tmp_path, a_test("FAIL", "1..3\nok 1 - a\nnot ok 2 - b\n# because\nok 3 - c # SKIP no traces\n"))
    assert said[:2] == (1, "1 passed, 1 failed, 1 skipped") and "because" in said[2]


def test_a_program_without_cases_counts_as_one(tmp_path):
    assert tally(tmp_path, a_test("OK", "fine\n"))[:2] == (0, "1 passed, 0 failed, 0 skipped")
    assert tally(tmp_path, a_test("SKIP", "1..0 # SKIP no folder\n"))[:2] == (0, "0 passed, 0 failed, 1 skipped")


def test_a_program_that_crashes_after_good_cases_has_failed(tmp_path):
    said = tally(tmp_path, a_test("ERROR", "1..2\nok 1 - a\n", "a crash\n"))
    assert said[:2] == (1, "1 passed, 1 failed, 0 skipped") and "a crash" in said[2]


def test_pytest_is_counted_by_its_last_line(tmp_path):
    assert tally(tmp_path, a_test("OK", "..s\n2 passed, 1 skipped in 1.20s\n"))[:2] == (0, "2 passed, 0 failed, 1 skipped")
    said = tally(tmp_path, a_test("FAIL", ".F\nE  assert 1 == 2\nFAILED t.py::b - assert\n1 failed, 1 passed in 75.1s (0:01:15)\n"))
    assert said[:2] == (1, "1 passed, 1 failed, 0 skipped") and "assert 1 == 2" in said[2]


def test_lines_of_the_fuzzer_are_counted(tmp_path):
    said = tally(tmp_path, a_test("OK", ""), lines="ok - fuzz load\nnot ok - fuzz config\n")
    assert said[:2] == (1, "2 passed, 1 failed, 0 skipped")


def test_a_log_without_results_has_failed(tmp_path):
    assert tally(tmp_path)[:2] == (1, "0 passed, 1 failed, 0 skipped")


def test_reasons_for_skips_are_printed_with_their_number(tmp_path):
    said = tally(tmp_path, a_test("OK", "1..2\nok 1 - a # SKIP no traces\nok 2 - b # skip\n"),
                 a_test("OK", ".sss\nSKIPPED [2] ../t.py:7: needs zsh\nSKIPPED [1] t.py:9: no traces\n1 passed, 3 skipped in 1.20s\n"),
                 a_test("SKIP", "1..0 # SKIP pytest is not installed\n"))
    assert said[2].splitlines() == ["skipped 2: needs zsh", "skipped 1: no reason given (one)", "skipped 2: no traces",
                                    "skipped 1: pytest is not installed", "1 passed, 0 failed, 6 skipped"]


def test_processor_paths_that_were_not_run_are_printed(tmp_path):
    test = a_test("OK", "# not run here: AVX-512\n1..1\nok 1 - a\n")
    assert tally(tmp_path, test, test)[2].splitlines() == ["not run here: AVX-512", "2 passed, 0 failed, 0 skipped"]
