"""A key that rotates ten thousand times costs neither time nor memory that grows (A9).

ROTATIONS is how often (scripts/crash: 10,000); without it there is no such test. The clock moves on by
a minute for every hundred rotations, so that predecessors reach the end of their grace as they do in
life, and what is over can leave the memory.
"""

import os
import statistics
import time
from pathlib import Path

import pytest
from muster import CLOCK_BINARY, Clock
from test_kill import new_server

ROTATIONS = int(os.environ.get("ROTATIONS", "0"))
PART = 100
RSS_MAX, TIMES_MAX = 4 << 20, 2.0


def resident(process):
    fields = Path(f"/proc/{process.pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGESIZE")


def rotate(client):
    began = time.perf_counter()
    answer = client.post("/api/v1/agents/refresh-key")
    took = time.perf_counter() - began
    assert answer.status == 200, answer.body
    client.token = answer.json()["token"]
    return took


@pytest.mark.skipif(ROTATIONS == 0, reason="only in the long campaign")
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_ten_thousand_rotations_of_one_key_stay_as_fast_and_small_as_the_first(store, tmp_path):
    clock = Clock(tmp_path)
    with new_server(store, tmp_path, CLOCK_BINARY) as server:
        server.stop()
        server.environment |= clock.environment
        server.arguments += ["--key-rotations-per-hour", "1000000"]
        server.start()
        tenant = server.add_tenant()
        medians, sizes = [], []
        for _ in range(ROTATIONS // PART):
            medians.append(statistics.median(rotate(tenant.client) for _ in range(PART)))
            clock.advance(61)
            sizes.append(resident(server.process))
        tenant.client.close()
    tenth = len(medians) // 10
    first, last = statistics.median(medians[:tenth]), statistics.median(medians[-tenth:])
    print(f"{store}: {1e3 * first:.2f} ms a rotation at first, {1e3 * last:.2f} ms at last;"
          f" resident {sizes[tenth] >> 10} KiB, then {sizes[-1] >> 10} KiB")  # fmt: skip
    assert last <= TIMES_MAX * first
    assert sizes[-1] - sizes[tenth] <= RSS_MAX
