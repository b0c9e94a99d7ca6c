"""What failed, from all that a test job has said: few lines, to be read at the end of a long log.

`what_failed(text, room)` knows pytest, Node.js (TAP), ctest with cmocka and sanitizers, and compilers;
of anything else it gives the last lines. Each failed test is one block: a name, then why.
`failed_tests(text)` is what to run again, `count_failed(text)` how many tests that are.
"""

import re

NAME_AND_WHY = 3  # lines that each block has at least

PYTEST_SECTION = re.compile(r"^=+ (.+?) =+$", re.M)
PYTEST_TEST = re.compile(r"^_{2,} (.+?) _{2,}$", re.M)
PYTEST_WHY = re.compile(r"^(E  |>  |\S+\.py:\d+: )|Sanitizer|runtime error:")

SEEN_ONCE = re.compile(
    r"Sanitizer|runtime error:|^E .*(?:by itself, before|was dead already)|^!+ .*Interrupted", re.M
)

TAP_FAILED = re.compile(r"^( *)not ok \d+ - (?!.*# (?:TODO|SKIP))(.*)$")
TAP_PLACE = re.compile(r"^location: '(.+\.mjs):\d+:\d+'$")
TAP_NOISE = re.compile(
    r"^ *$|^(?:---|duration_ms|location|failureType|code|name|operator|type):?"
    r"|^(?:error|stack): \|-$|node:internal|node:async"
)

CTEST_FAILED = re.compile(r"^ *\d+/\d+ Test +#(\d+): (\S+) .*\*\*\*(.*)$", re.M)
CTEST_WHY = re.compile(
    r"\[  (?:ERROR   |FAILED  )\]|\[   LINE   \]|^got |^expected |!=|Sanitizer|runtime error:|[Aa]ssert"
    r"|^ *#\d+ 0x|with_postgres"
)

COMPILER_WHY = re.compile(r"^FAILED: |\berror:|undefined (?:reference|symbol)|: RED |^lint: ")


def pytest_blocks(text):
    """A block per failed test: what the assertion said and where."""
    titles = list(PYTEST_SECTION.finditer(text))
    for title, following in zip(titles, [*titles[1:], None]):
        if title.group(1) not in ("FAILURES", "ERRORS"):
            continue
        section = text[title.end() : following.start() if following else len(text)]
        tests = list(PYTEST_TEST.finditer(section))
        for test, after in zip(tests, [*tests[1:], None]):
            said = section[test.end() : after.start() if after else len(section)]
            yield [test.group(1), *(line for line in said.splitlines() if PYTEST_WHY.search(line))]


def pytest_names(text):
    """The short summary, which has whole names."""
    _, found, summary = text.partition("short test summary info")
    return re.findall(r"^(?:FAILED|ERROR) .*$", summary, re.M) if found else []


def tap_failures(text):
    """Of each test that failed by itself, not through tests inside it: its name, and all its lines."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        failed = TAP_FAILED.match(line)
        if not failed:
            continue
        end = f"{failed.group(1)}  ..."
        last = lines.index(end, at) if end in lines[at:] else len(lines)
        said = [one[len(end) - 3 :] for one in lines[at + 1 : last]]
        if not any("subtestsFailed" in one for one in said):
            yield failed.group(2), said


def tap_blocks(text):
    """A block per test that failed by itself."""
    for name, said in tap_failures(text):
        yield [f"not ok - {name}", *(line for line in said if not TAP_NOISE.search(line))]


def ctest_blocks(text):
    """A block per program that failed: its lines of errors, or its last ones."""
    for number, name, verdict in CTEST_FAILED.findall(text):
        prefix = f"{number}: "
        said = [line[len(prefix) :] for line in text.splitlines() if line.startswith(prefix)]
        why = [line for line in said if CTEST_WHY.search(line)]
        yield [f"{name}: {verdict.strip()}", *(why or said[-10:])]


def failed_tests(text):
    """The failed tests of pytest by name, or the files of Node.js that have one. None if a sanitizer
    reported anything or a program died: what was seen once is there."""
    if SEEN_ONCE.search(text):
        return []
    names = [re.sub(r"^(?:FAILED|ERROR) | - .*$", "", line) for line in pytest_names(text)]
    places = [TAP_PLACE.match(line) for _, said in tap_failures(text) for line in said]
    return list(dict.fromkeys(names + [place.group(1) for place in places if place]))


def count_failed(text):
    return len(pytest_names(text)) + len(list(tap_failures(text)))


def fitted(blocks, room):
    """All blocks, each cut so that together they are at most `room` lines."""
    each = max(NAME_AND_WHY, room // len(blocks))
    fit = max(1, room // each)
    lines = []
    for block in blocks[:fit]:
        lines += block[:each]
    if len(blocks) > fit:
        lines[-1] = f"... and {len(blocks) - fit} more"
    return lines


def what_failed(text, room=60):
    """At most `room` lines."""
    names = pytest_names(text)
    if names:
        names = names[: room // 2]
        blocks = list(pytest_blocks(text))
        return names + (fitted(blocks, room - len(names)) if blocks else [])
    blocks = list(tap_blocks(text)) or list(ctest_blocks(text))
    if blocks:
        return fitted(blocks, room)
    lines = text.rstrip().splitlines()
    why = [line for line in lines if COMPILER_WHY.search(line)]
    return why[:room] or lines[-room:]
