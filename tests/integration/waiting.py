"""Waiting for what a server does by itself: asked again and again, with a breath between."""

import time

BREATH_S = 0.01  # so that those who wait leave the processor to those they wait for
LOOKS_S = 0.5  # in which the watch of a server with a test's clock has surely looked, twice


def until(is_so, patience=30):
    """Waits for it; what it is then."""
    deadline = time.monotonic() + patience
    while True:
        got = is_so()
        if got:
            return got
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(BREATH_S)


def always(is_so, seconds=LOOKS_S):
    """It is so, and stays so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert is_so()
        time.sleep(BREATH_S)
