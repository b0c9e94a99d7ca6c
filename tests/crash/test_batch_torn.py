"""A batch is stored whole or not at all, whichever of its writes is the last one that happens.

The server is killed at a write of a batch of 1,000 events: at every WRITE_STEP-th one, the first
ones and the last ones (scripts/crash: at every one), and at the sync.
"""

import os
import re
import signal
import uuid

from ledger import Verdict, check_files, count_stored
from load import BATCHES, EVENT, event
from strace import attached, injected
from test_kill import new_server

WRITE_STEP = int(os.environ.get("WRITE_STEP", "4"))
EVENTS = 1000
EDGE = 3  # writes at either end that are always tried


def batch(tenant):
    run_id = str(uuid.uuid4())
    events = [event(tenant.slug, run_id, f"{run_id}/{i}", i) for i in range(EVENTS)]
    return run_id, {"events": events}


def send(client, body):
    """The answer, or None when the connection ended instead."""
    try:
        return client.post(BATCHES, body)
    except OSError:
        return None


def count_writes(server, tenant):
    """How many writes one batch takes in a server that has just started, as all others here."""
    _, body = batch(tenant)
    with attached(server, "-e", "trace=pwrite64,fdatasync") as lines:
        assert send(tenant.client, body).status == 202
    calls = re.findall(r"(pwrite64|fdatasync)\(", "".join(lines))
    assert calls[-1] == "fdatasync", calls[-3:]
    return calls.count("pwrite64")


def restart(server, tenant):
    """From a dead server, or a living one, to a fresh one on sound files."""
    if server.process is not None:
        server.kill()
    verdict = Verdict()
    check_files(verdict, server.data)
    assert verdict.good(), verdict
    server.start()
    tenant.client = server.client(tenant.token)


def kill_at(server, tenant, call, number, log_begun=False):
    """Sends a batch to a server that dies at that call of it; how many events are stored then.

    None when it took fewer calls than that, and was answered. A thread's calls are counted alone. The
    first commit after a start also syncs the head of the log; `log_begun`: an event went before.
    """
    run_id, body = batch(tenant)
    client = server.client(tenant.token)
    client.get("/api/v1/health")
    if log_begun:
        assert client.post(EVENT, tenant.event()).status == 202
    with injected(server, f"{call}:signal=KILL:when={number}") as lines:
        answer = send(client, body)
        if answer is None:
            assert server.process.wait(120) == -signal.SIGKILL
            server.process.stdout.close()
            server.process = None
    assert ("killed by SIGKILL" in "".join(lines)) == (answer is None)
    assert answer is None or answer.status == 202
    restart(server, tenant)
    count = count_stored(tenant, run_id)
    assert count in (0, EVENTS), f"{count} of {EVENTS} are stored, killed at {call} {number}"
    again = send(tenant.client, body).json()
    assert again["duplicates" if count else "accepted"] == EVENTS, (count, again)
    assert count_stored(tenant, run_id) == EVENTS
    if answer is None:
        return count
    assert count == EVENTS, "acknowledged, and lost"
    return None


def test_a_batch_is_whole_or_absent_whichever_write_is_the_last(tmp_path):
    with new_server("sqlite", tmp_path) as server:
        tenant = server.add_tenant()
        assert send(tenant.client, batch(tenant)[1]).status == 202  # the agent is known then
        restart(server, tenant)
        n = count_writes(server, tenant)
        assert n > 50, "a batch of many pages was wanted"
        near = {*range(1, EDGE + 1), *range(n - EDGE, n + EDGE)}
        numbers = sorted(near | set(range(1, n, WRITE_STEP)))
        points = [("pwrite64", i) for i in numbers]
        points += [("fdatasync", 1), ("fdatasync", 2), ("fdatasync", 1, True)]
        counts = []
        for point in points:
            restart(server, tenant)
            counts.append(kill_at(server, tenant, *point))
        server.stop()
    absent, whole, answered = (counts.count(k) for k in (0, EVENTS, None))
    print(f"{n} writes a batch: {absent} kills left nothing, {whole} all, {answered} came too late")
    assert absent > len(numbers) // 2 and whole > 0 and answered < 2 * EDGE
