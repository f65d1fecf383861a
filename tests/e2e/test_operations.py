"""The systemd units of the Debian package, and the alert rules of examples/alerts.yml."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

from conftest import WEIR, run

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
SERVICE = SOURCE / "debian/weir@.service"
ALERTS = SOURCE / "examples/alerts.yml"

needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"),
                                   reason="systemd is not installed; scripts/setup test installs it")
needs_promtool = pytest.mark.skipif(not shutil.which("promtool"),
                                    reason="promtool is not installed; scripts/setup long installs prometheus")


# ---- the service ----

@pytest.fixture
def units(tmp_path):
    """The units, with the weir of the build."""
    for unit in SERVICE, SOURCE / "debian/weir@.timer":
        (tmp_path / unit.name).write_text(unit.read_text().replace("/usr/bin/weir", WEIR))
    return tmp_path


def analyze(units, *words):
    done = subprocess.run(["systemd-analyze", *words], cwd=units, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@needs_systemd
def test_systemd_accepts_the_units(units):
    assert analyze(units, "verify", "--man=no", "./weir@.service", "./weir@.timer") == (0, "")


@needs_systemd
def test_systemd_rejects_a_wrong_unit(units):
    """So the test above can fail."""
    unit = units / "weir@.service"
    unit.write_text(unit.read_text().replace("ProtectHome=yes", "ProtectHome=always"))
    assert "protect home" in analyze(units, "verify", "--man=no", "./weir@.service")[1]


@needs_systemd
def test_the_service_has_few_rights(units):
    """systemd rates exposure from 0 to 10; services without hardening have 9.6."""
    status, text = analyze(units, "security", "--offline=yes", "--threshold=15", "./weir@.service")
    assert status == 0, text


def command(state, options, files):
    """The command of the unit, as systemd expands it: a variable that is a word of its own is split."""
    text = re.search(r"^ExecStart=(.*)$", SERVICE.read_text(), re.M)[1]
    words = []
    for word in text.replace("%S/weir/%i", str(state)).replace("%i", "orders").split():
        words += {"$OPTIONS": options.split(), "$INPUT": files.split()}.get(word, [word])
    assert words[0] == "/usr/bin/weir" and not any("$" in word or "%" in word for word in words), shlex.join(words)
    return words[1:]


def test_each_start_of_the_service_continues_after_the_last_one(here):
    state = here / "state"
    state.mkdir()
    (here / "log").write_text("1,a\n2,b\n1,c\n")
    words = command(state, "--csv -k 1 -m 1M", str(here / "log"))
    run(*words)
    run(*words)
    with open(here / "log", "a") as log:
        log.write("2,d\n3,e\n")
    run(*words)
    assert (state / "once").read_text() == "1,a\n2,b\n3,e\n"
    assert 'weir_records_total{run="orders"} 2\n' in (state / "orders.prom").read_text()


def test_the_service_without_options(here):
    """An unset variable is no word."""
    (here / "log").write_text("a\na\n")
    run(*command(here, "", str(here / "log")))
    assert (here / "once").read_text() == "a\n"


# ---- the alerts ----

def test_the_alerts_use_metrics_that_are_exported(here):
    run("dedup", "--metrics", "m.prom", "-o", os.devnull, input="1 a\n2 b\n")
    exported = set(re.findall(r"^# TYPE (\w+)", (here / "m.prom").read_text(), re.M))
    expressions = re.findall(r"expr: (.*)", ALERTS.read_text())
    used = set(re.findall(r"\bweir_\w+", " ".join(expressions)))
    assert len(expressions) >= 8 and used <= exported, used - exported


TESTS = """
rule_files: [alerts.yml]
evaluation_interval: 1m
tests:
"""


def scenario(series, alerts, at="20m"):
    """A test of promtool: these series, and the alerts that fire."""
    lines = ["- interval: 1m", "  input_series:"]
    for name, values in series.items():
        lines += [f"  - series: '{name}{{run=\"orders\"}}'", f"    values: '{values}'"]
    lines.append("  alert_rule_test:")
    for name in re.findall(r"alert: (\w+)", ALERTS.read_text()):
        lines += [f"  - eval_time: {at}", f"    alertname: {name}"]
        if name in alerts:
            severity, summary = alerts[name]
            lines += ["    exp_alerts:", f"    - exp_labels: {{run: orders, severity: {severity}}}",
                      f"      exp_annotations: {{summary: '{summary}'}}"]
    return "\n".join(lines) + "\n"


HEALTHY = {"weir_updated_timestamp_seconds": "0+60x30", "weir_run_ended": "0x30", "weir_records_total": "0+1000x30",
           "weir_skipped_total": "0+1x30", "weir_late_total": "0+1x30", "weir_filter_error_ratio": "0.0001x30",
           "weir_filter_keys": "100+100x30", "weir_filter_evicted_keys": "0x30", "weir_filter_lost": "0x30",
           "weir_filter_overflow_total": "0x30"}

FIRE = {
    "WeirStopped": ({"weir_updated_timestamp_seconds": "0x30"}, "critical",
                    "weir orders: no progress for two minutes; the run hangs or was killed"),
    "WeirErrorRate": ({"weir_filter_error_ratio": "0.02x30"}, "warning",
                      "weir orders: 2% of new records are dropped as false positives"),
    "WeirEvictsKeys": ({"weir_filter_keys": "200x30", "weir_filter_evicted_keys": "10x30"}, "warning",
                       "weir orders: 5% of the keys are evicted, so their repeats pass; use more memory, or ignore this "
                       "if the filter has a window"),
    "WeirWindowTooSmall": ({"weir_filter_lost": "0x10 5+1x20"}, "warning",
                           "weir orders: keys are evicted before the end of the window; use more memory or a shorter "
                           "window"),
    "WeirFilterFull": ({"weir_filter_overflow_total": "0x10 5+1x20"}, "warning",
                       "weir orders: the filter is full; use more memory"),
    "WeirSkipsRecords": ({"weir_skipped_total": "0+20x30"}, "warning",
                         "weir orders: more than 1 % of the records are malformed; has the input''s format changed?"),
    "WeirLateRecords": ({"weir_late_total": "0+20x30"}, "warning",
                        "weir orders: more than 1 % of the records are late; a source may have a wrong clock"),
}


def promtool(here, text):
    shutil.copy(ALERTS, here)
    (here / "tests.yml").write_text(text)
    return subprocess.run(["promtool", "test", "rules", "tests.yml"], capture_output=True, text=True)


@needs_promtool
def test_prometheus_accepts_the_alerts():
    done = subprocess.run(["promtool", "check", "rules", ALERTS], capture_output=True, text=True)
    assert done.returncode == 0 and "SUCCESS: 8 rules found" in done.stdout, done.stdout + done.stderr


@needs_promtool
def test_each_alert_fires_for_its_reason_only(here):
    text = TESTS + scenario(HEALTHY, {})
    for name, (series, severity, summary) in FIRE.items():
        text += scenario({**HEALTHY, **series}, {name: (severity, summary)})
    idle = {**HEALTHY, "weir_updated_timestamp_seconds": "0x90", "weir_run_ended": "1x90"}
    text += scenario(idle, {})
    text += scenario(idle, {"WeirNotStarted": ("warning", "weir orders: no run for an hour; is its timer enabled?")}, at="65m")
    done = promtool(here, text)
    assert done.returncode == 0 and "SUCCESS" in done.stdout, done.stdout + done.stderr


@needs_promtool
def test_promtool_notices_an_alert_that_does_not_fire(here):
    """So the test above can fail."""
    assert promtool(here, TESTS + scenario(HEALTHY, {"WeirStopped": ("critical", "x")})).returncode != 0
