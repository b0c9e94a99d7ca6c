"""Waiting for what servers do by themselves: asked again and again, with a breath between."""

import re
import time

# Those who wait leave the processor to those they wait for, and the more so the longer it takes.
BREATH_S, LONGEST_BREATH_S, GROWTH = 0.01, 0.1, 1.3
PATIENCE_S = 120  # ends a test that waits in vain: much longer than a busy machine takes
ROUND_LOOKS = 20  # in which a round is done, unless the machine was away meanwhile
AWAY_S = 0.5  # that one look takes only on a machine that is busy with other things
NOT_JUDGED = re.compile(rb"evaluation of a rule failed|tick failed")
LOOKS = 4  # one under way as the test's clock moved, a whole one, and time for what it asked for


def until(is_so, patience=PATIENCE_S):
    """Waits for it; what it is then."""
    deadline, breath = time.monotonic() + patience, BREATH_S
    while True:
        got = is_so()
        if got:
            return got
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(breath)
        breath = min(breath * GROWTH, LONGEST_BREATH_S)


def until_judged(is_so, clock, server):
    """Waits for it; what it is then. Rules are judged every minute of the clock. Only where one could
    not be judged, which the log tells, or was left for the next round since the machine was away for so
    long, does the clock move on by a minute."""

    def count_failures():
        return len(NOT_JUDGED.findall(server.stderr.read_bytes()))

    failures, was_away, enough = count_failures(), False, server.looks() + ROUND_LOOKS

    def look():
        nonlocal failures, was_away, enough
        began = time.monotonic()
        got, looks = is_so(), server.looks()
        was_away = was_away or time.monotonic() - began > AWAY_S
        if not got and looks >= enough and (was_away or count_failures() > failures):
            clock.advance(61)
            failures, was_away, enough = count_failures(), False, server.looks() + ROUND_LOOKS
        return got

    return until(look)


def always(is_so, *servers):
    """It is so, and stays so while the watch of each server looks at its clocks."""
    for server in servers:
        enough = server.looks() + LOOKS

        def has_looked(server=server, enough=enough):
            assert is_so()
            return server.looks() >= enough

        until(has_looked)
    assert is_so()
