"""The k-th sync fails, for every k up to SYNCS: no false answer is given, and the process ends.

Linux forgets after a failed sync that pages were not written, so nothing may be retried: all who
wait are told 503, or nothing, the process ends, and the next start writes everything again before it answers.
"""

import os
import re
import subprocess
import time
import uuid
from datetime import datetime, timezone

from ledger import (
    Verdict,
    check_files,
    check_reports,
    check_resend,
    check_resend_reports,
    check_stored,
    count_stored,
)
from load import BATCHES, EVENT, event, join, start_senders
from muster import START_S
from strace import injected
from test_kill import new_server

SYNCS = int(os.environ.get("SYNCS", "12"))
CLIENTS = 8
DRAINS = "finishing requests in progress"  # says one that has time to stop
FAILED = re.compile(r"^(\S+)Z error storage .*storage failed", re.M)
EVENTS = 1000
BATCHES_MAX = 100  # far more than gather in the log before it is moved


def await_end(server, seconds=120):
    """The process ends by itself; its exit status."""
    status = server.process.wait(seconds)
    server.process.stdout.close()
    server.process = None
    server.check_log()
    return status


def failed_at(log):
    """When the server said that its storage failed, in seconds since 1970."""
    return datetime.fromisoformat(FAILED.search(log).group(1)).replace(tzinfo=timezone.utc).timestamp()


def check_answers(log, sent):
    """Who waited when the sync failed is told so; no other status than 202 and 503 is answered."""
    refused = [s for s in sent if s.refused]
    assert refused, "no request was refused"
    assert {s.refused for s in refused} == {503}
    assert all(1 <= int(s.retry_after) <= 5 for s in refused)
    assert not [s for s in sent if s.partial], "an answer was cut off"
    told_at = min(s.answered_at for s in refused)
    late = [s for s in sent if s.acked and s.began_at > told_at]
    assert not late, "acknowledged after the failure"
    failed = failed_at(log) - time.time() + time.monotonic()
    waited = [s for s in sent if s.sent_at and s.sent_at < failed and not s.reset]
    unanswered = [s for s in waited if not s.acked and not s.refused]
    assert not unanswered, f"{len(unanswered)} who waited got no answer"


def check_after_restart(server, tenant, sent):
    """What was acked is there, what was refused may be, and a retry makes all of it be there."""
    verdict = Verdict()
    for s in sent:
        s.refused = None  # a failed sync leaves it open whether it is stored
    check_files(verdict, server.data)
    check_reports(verdict, tenant, sent)
    server.start()
    tenant.client = server.client(tenant.token)
    there = check_stored(verdict, tenant, sent)
    check_resend(verdict, tenant, sent, there)
    check_resend_reports(verdict, tenant, sent)
    assert verdict.good(), verdict
    return verdict


def fail_sync(server, tenant, number):
    logged = server.stderr.stat().st_size
    with injected(server, f"fdatasync:error=EIO:when={number}") as lines:
        senders, _ = start_senders(server, tenant, CLIENTS)
        status = await_end(server)
        sent = join(senders)
    assert "INJECTED" in "".join(lines)
    assert status not in (0, None)
    log = server.stderr.read_bytes()[logged:].decode()  # all of it: many requests may follow a failure
    assert DRAINS not in log
    check_answers(log, sent)
    return sent


def test_a_failed_sync_is_never_a_success(tmp_path):
    acked = refused = 0
    with new_server("sqlite", tmp_path) as server:
        tenant = server.add_tenant()
        for number in range(1, SYNCS + 1):
            sent = fail_sync(server, tenant, number)
            acked += sum(s.acked for s in sent)
            refused += sum(1 for s in sent if s.refused)
            check_after_restart(server, tenant, sent)
        server.stop()
    print(f"syncs 1 to {SYNCS} failed: {acked} requests acked, {refused} told 503")
    assert acked > SYNCS


def fill_log(server, tenant):
    """Batches until the log is to be moved, which fails: (run_id, acked) of each."""
    client, sent = server.client(tenant.token), []
    while server.process.poll() is None and len(sent) < BATCHES_MAX:
        run_id = str(uuid.uuid4())
        events = [event(tenant.slug, run_id, f"{run_id}/{i}", i) for i in range(EVENTS)]
        for row in events:
            row["message"] = "x" * 3000
        try:
            status = client.post(BATCHES, {"events": events}).status
        except OSError:
            status = None
        sent.append((run_id, status))
        if status != 202:
            break
    return sent


def test_a_failed_sync_of_the_database_file_is_never_a_success(tmp_path):
    with new_server("sqlite", tmp_path) as server:
        tenant = server.add_tenant()
        database = server.data / "muster.db"
        with injected(server, "fdatasync:error=EIO", "-P", str(database)) as lines:
            sent = fill_log(server, tenant)
            status = await_end(server)
        assert "INJECTED" in "".join(lines)
        assert status not in (0, None)
        assert sent[-1][1] in (503, None), "refused, or without an answer when the process ended"
        assert len(sent) > 2
        server.start()
        tenant.client = server.client(tenant.token)
        for run_id, status in sent:
            n = count_stored(tenant, run_id)
            assert n == EVENTS or (status != 202 and n == 0), f"{n} of {EVENTS}, told {status}"
        server.stop()
    print(f"{len(sent)} batches until the log was moved")


def test_a_start_that_cannot_sync_does_not_serve(tmp_path):
    with new_server("sqlite", tmp_path) as server:
        tenant = server.add_tenant()
        assert tenant.client.post(EVENT, tenant.event()).status == 202
        server.kill()  # so that there is a log to be moved
        # A leak cannot be looked for in a process that is traced.
        options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        done = subprocess.run(
            ["strace", "-f", "-o", tmp_path / "strace", "-P", server.data / "muster.db",
             "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO",
             server.binary, "serve", *server.store_arguments, "--listen", "127.0.0.1:0"],
            capture_output=True, text=True, timeout=START_S, check=False,
            env={**os.environ, "ASAN_OPTIONS": options},
        )  # fmt: skip
        assert "INJECTED" in (tmp_path / "strace").read_text()
        assert done.returncode == 1
        assert "listening" not in done.stdout
        assert "disk I/O error" in done.stderr
        server.start()
