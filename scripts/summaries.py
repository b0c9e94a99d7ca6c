"""How much of what a job said is shown while the others run: functions of its text and its success."""

import re


def as_it_is(text, _ok):
    return text


def last_line(text, ok):
    return text.rstrip().rpartition("\n")[2] if ok else text


CTEST_RESULT = re.compile(r"\[  (?:PASSED|FAILED)  \]|^ *\d+/\d+ Test|tests passed")
CTEST_FAILED = re.compile(r"^ *\d+/\d+ Test +#(\d+): (?!.* Passed )", re.M)


def ctest_summary(text, ok):
    """The closing lines of each program; all that the failed ones said."""
    shown = [line for line in text.splitlines() if CTEST_RESULT.search(line)]
    if not ok:
        numbers = {f"{number}:" for number in CTEST_FAILED.findall(text)}
        said = [line for line in text.splitlines() if line.partition(" ")[0] in numbers]
        _, _, summary = text.partition("The following tests FAILED:")
        shown += said + ["The following tests FAILED:" + summary if summary else text]
    return "\n".join(shown)


def ctest_verdict(text, _ok):
    """For a person: what failed comes at the end."""
    return "\n".join(line for line in text.splitlines() if "% tests passed" in line)


PYTEST_LAST = re.compile(r"^(?:=+ )?((?:\d+ \w+, )*\d+ \w+) in [\d.]+s", re.M)
NODE_RAN = re.compile(r"^(?:#|ℹ) (?:pass|fail) (\d+)$", re.M)
CMOCKA_RAN = re.compile(r"^(\d+): \[=+\] (?:\S+: )?(\d+) test\(s\) run", re.M)
CTEST_PROGRAM = re.compile(r"^ *\d+/\d+ Test +#(\d+): (?!.*\*\*\*Not Run)", re.M)


def count_tests(text):
    """How many tests ran, by what pytest, Node.js and ctest say. A program without cmocka is one."""
    python = sum(
        int(count)
        for last in PYTEST_LAST.findall(text)
        for count, what in re.findall(r"(\d+) (\w+)", last)
        if what in ("passed", "failed", "error", "errors", "xfailed", "xpassed")
    )
    cmocka = CMOCKA_RAN.findall(text)
    plain = set(CTEST_PROGRAM.findall(text)) - {number for number, _ in cmocka}
    node = sum(map(int, NODE_RAN.findall(text)))
    return python + node + sum(int(count) for _, count in cmocka) + len(plain)
