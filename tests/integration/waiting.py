"""Waiting for what servers do by themselves: asked again and again, with a breath between."""

import time

BREATH_S = 0.01  # so that those who wait leave the processor to those they wait for
LOOKS = 4  # one under way as the test's clock moved, a whole one, and time for what it asked for


def until(is_so, patience=30):
    """Waits for it; what it is then."""
    deadline = time.monotonic() + patience
    while True:
        got = is_so()
        if got:
            return got
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(BREATH_S)


def always(is_so, *servers):
    """It is so, and stays so while the watch of each server looks at its clocks."""
    for server in servers:
        enough = server.looks() + LOOKS

        def has_looked(server=server, enough=enough):
            assert is_so()
            return server.looks() >= enough

        until(has_looked)
    assert is_so()
