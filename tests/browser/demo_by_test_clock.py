"""The demo, by the clock that a test moves together with the service's: MUSTER_TEST_CLOCK."""

import os
import runpy
import time
from pathlib import Path

machine_time = time.time


def moved_time():
    passed_us = Path(os.environ["MUSTER_TEST_CLOCK"]).read_bytes()[:8]
    return machine_time() + int.from_bytes(passed_us, "little", signed=True) / 1e6


time.time = moved_time
runpy.run_path(str(Path(__file__).parent.parent.parent / "demo"), run_name="__main__")
