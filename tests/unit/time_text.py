#!/usr/bin/python3
"""time_text.py PROGRAM - compares the times of tool/pick/time_text.c with Python's datetime."""
import random
import subprocess
import sys
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
DRAW = random.Random(1)


def read(rows):
    """Returns the results for rows of format, text and optionally the next field."""
    lines = "".join("\t".join(row) + "\n" for row in rows)
    done = subprocess.run([sys.argv[1]], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    answers = done.stdout.decode().splitlines()
    assert len(answers) == len(rows)
    return answers


def micros(moment):
    return str((moment - EPOCH) // timedelta(microseconds=1))


def moments(n, zoned=True):
    """From the year 1 to 9999, many at the ends of days, months and years."""
    first, last = datetime(1, 1, 3), datetime(9999, 12, 29)
    for _ in range(n):
        moment = first + timedelta(seconds=DRAW.randrange(int((last - first).total_seconds())),
                                   microseconds=DRAW.randrange(1000000))
        if DRAW.random() < 0.5:
            year = DRAW.choice([1900, 1970, 1972, 1999, 2000, 2024, 2038, 2100, DRAW.randrange(2, 9998)])
            moment = datetime(year, DRAW.choice([1, 2, 3, 12]), 1) - timedelta(seconds=DRAW.randrange(3))
        zone = timezone(timedelta(minutes=DRAW.randrange(-1439, 1440))) if zoned else timezone.utc
        yield moment.replace(tzinfo=zone)


def compare(rows, expected):
    assert rows
    for row, got, want in zip(rows, read(rows), expected, strict=True):
        assert got == want, f"{row} is {got}, not {want}"


# ---- tests ----

def rfc3339_times_are_pythons():
    all = list(moments(20000))
    rows = [("rfc3339", m.isoformat(DRAW.choice("T "))) for m in all]
    compare(rows, map(micros, all))
    rows = [("rfc3339", m.strftime("%Y-%m-%dt%H:%M:%S,%f").rjust(26, "0") + " " + m.strftime("%z")) for m in all]
    compare(rows, map(micros, all))


def a_time_without_zone_is_utc():
    all = list(moments(2000, zoned=False))
    compare([("rfc3339", m.replace(tzinfo=None).isoformat()) for m in all], map(micros, all))
    compare([("rfc3339", m.replace(tzinfo=None).isoformat() + "Z") for m in all], map(micros, all))


def common_log_times_are_pythons():
    all = [m.replace(microsecond=0) for m in moments(20000)]
    text = [m.strftime("%d/%b/") + f"{m.year:04}" + m.strftime(":%H:%M:%S") for m in all]
    compare([("clf", f"[{t} {m.strftime('%z')}]") for t, m in zip(text, all)], map(micros, all))
    compare([("clf", t + " " + m.strftime("%z")) for t, m in zip(text, all)], map(micros, all))
    compare([("clf", "[" + t, m.strftime("%z") + "]") for t, m in zip(text, all)], map(micros, all))
    compare([("clf", "[" + t, "GET") for t in text], [micros(m.replace(tzinfo=timezone.utc)) for m in all])


def numbers_are_counts_since_1970():
    for unit, scale in ("s", 10**6), ("ms", 1000), ("us", 1):
        numbers = [DRAW.randrange(-10**11, 10**15) // scale for _ in range(1000)] + [0, -1, 1]
        compare([(unit, str(n)) for n in numbers], [str(n * scale) for n in numbers])
    compare([("s", "1714557600.25"), ("s", "0.1234567"), ("s", "-0.5"), ("ms", "1.5"), ("us", "7.9")],
            ["1714557600250000", "123456", "-500000", "1500", "7"])


def patterns_are_pythons():
    patterns = ["%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M", "%a %b %d %H:%M:%S %Y", "%Y%m%d%H%M%S", "%d %B %Y %I:%M:%S %p",
                "%Y-%j %H", "%Y-%m-%dT%H:%M:%S.%f%z", "%m/%d/%Y %H:%M:%S %z", "%y%m%d", "100%% %Y %m %d", "%A, %d %b %Y"]
    for pattern in patterns:
        all = [m for m in moments(1500) if m.year >= 1000]
        texts = [m.strftime(pattern) for m in all]
        truth = [datetime.strptime(t, pattern) for t in texts]
        truth = [t if t.tzinfo else t.replace(tzinfo=timezone.utc) for t in truth]
        compare([(pattern, t) for t in texts], map(micros, truth))


def shorthands_of_patterns():
    compare([("%F %T", "2024-05-01 10:00:01"), ("%D %R", "05/01/24 10:00"), ("%FT%T%z", "2024-05-01T10:00:01+02:00"),
             ("%F %T %z", "2024-05-01 10:00:01 UTC"), ("%e %b %Y", " 1 may 2024"), ("%Y-%m-%d", "2024-5-1")],
            ["1714557601000000", "1714557600000000", "1714550401000000", "1714557601000000", "1714521600000000",
             "1714521600000000"])


def a_leap_second_is_the_next_minute():
    compare([("rfc3339", "2016-12-31T23:59:60Z"), ("rfc3339", "2016-12-31T23:59:61Z")], [micros(datetime(2017, 1, 1, tzinfo=timezone.utc)), "-"])


def what_is_no_time_is_refused():
    bad = {"s": ["", "x", "1x", "1.", ".5", "--1", "1e9", " 1", "99999999999999999999", "1 2"],
           "rfc3339": ["", "2024", "2024-05-01", "2024-05-01T10:00", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z",
                       "2024-04-31T00:00:00Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-05-00T00:00:00Z",
                       "2024-05-01T24:00:00Z", "2024-05-01T10:60:00Z", "2024-05-01T10:00:00.Z", "2024-05-01T10:00:00+2",
                       "2024-05-01T10:00:00+24:00", "2024-05-01T10:00:00+02:60", "2024-05-01T10:00:00Zx",
                       "2024-05-01T10:00:00 ", "2024-05-01T10:00:00Z ", "24-05-01T10:00:00Z", "2024/05/01T10:00:00Z"],
           "clf": ["", "[", "1/May/2024:10:00:00", "01/Mai/2024:10:00:00", "01/May/24:10:00:00", "[01/May/2024:10:00:00 ]",
                   "01/May/2024:10:00:00]x", "01/May/2024 10:00:00", "31/Apr/2024:10:00:00"],
           "%Y-%m-%d": ["2024-05-", "2024-05-01x", "2024-02-30", "x"],
           "%d %B %Y %I %p": ["1 May 2024 13 PM", "1 May 2024 0 AM", "1 May 2024 1 XM"],
           "%Y-%j": ["2023-366", "2024-000", "2024-367"],
           "%Y-%m-%d %z": ["2024-05-01 EST", "2024-05-01 +2"]}
    rows = [(form, text) for form, texts in bad.items() for text in texts]
    compare(rows, ["-"] * len(rows))


def patterns_that_cannot_be_read_are_refused():
    rows = [(p, "x") for p in ("%Q", "%", "%Y-%m", "%H:%M", "x", "%Y-%m-%d %Z", "%s", "%Y-%m-%d %I", "seconds")]
    compare(rows, ["-"] * len(rows))


def forms_are_guessed_where_only_one_fits():
    rows = [("guess", t) for t in (
        "1714557600", "1714557600.5", "100000000", "1714557600250", "1714557600250000", "2024-05-01T10:00:00Z",
        "2024-05-01 10:00:00,250", "[01/May/2024:10:00:00", "01/May/2024:10:00:00 +0200")]
    compare(rows, ["seconds since 1970\t1714557600000000", "seconds since 1970\t1714557600500000",
                   "seconds since 1970\t100000000000000", "milliseconds since 1970\t1714557600250000",
                   "microseconds since 1970\t1714557600250000", "RFC 3339\t1714557600000000",
                   "RFC 3339\t1714557600250000", "the common log format\t1714557600000000",
                   "the common log format\t1714550400000000"])
    rows = [("guess", t) for t in ("", "x", "42", "20240501", "17145576002", "1714557600250000000", "1714557600x",
                                   "2024-05-01", "10:00:00", "May 1 10:00:00", "01/05/2024")]
    compare(rows, ["-"] * len(rows))


LAWS = [rfc3339_times_are_pythons, a_time_without_zone_is_utc, common_log_times_are_pythons, numbers_are_counts_since_1970,
        patterns_are_pythons, shorthands_of_patterns, a_leap_second_is_the_next_minute, what_is_no_time_is_refused,
        patterns_that_cannot_be_read_are_refused, forms_are_guessed_where_only_one_fits]


def main():
    failed = 0
    print(f"1..{len(LAWS)}")
    for number, law in enumerate(LAWS, 1):
        try:
            law()
            print(f"ok {number} - {law.__name__}")
        except AssertionError as error:
            failed += 1
            print(f"not ok {number} - {law.__name__}\n# {error}")
    return failed > 0


sys.exit(main())
