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


def ctest_verdict(text, ok):
    """For a person, who wants to see what failed alone."""
    if not ok:
        return ctest_summary(text, ok)
    return "\n".join(line for line in text.splitlines() if "% tests passed" in line)
