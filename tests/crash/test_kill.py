"""kill -9 at random instants under load on all channels: what was acknowledged is there, once.

KILLS and CLIENTS raise the numbers (scripts/crash does); each run has other instants, and SEED
repeats one. The same harness is turned on a server that acknowledges before it commits, and must
catch it.
"""

import os
import random
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from ledger import (
    Verdict,
    check_files,
    check_reports,
    check_resend,
    check_resend_reports,
    check_stored,
)
from load import BUSINESS, LLM, join, start_senders
from muster import ROOT, Postgres, Server
from stored import stored
from strace import injected
from waiting import until

KILLS = int(os.environ.get("KILLS", "20"))
CLIENTS = int(os.environ.get("CLIENTS", "32"))
SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
ACK_EARLY = Path(os.environ.get("MUSTER_TEST_ACK_EARLY", ROOT / "build/asan/muster_ack_early"))
SMALL_INDEX = Path(
    os.environ.get("MUSTER_TEST_SMALL_INDEX", ROOT / "build/asan/muster_small_index")
)
SLOW_DISK = "pwrite64:delay_enter=2000"  # so that few kills are needed to see the harm
LOAD_MIN_S, LOAD_MAX_S = 0.02, 0.3


@contextmanager
def new_server(store, folder, binary=None, environment=None):
    postgres = Postgres() if store == "postgres" else None
    database = postgres.create() if postgres else None
    server = Server(folder / "data", database, binary=binary, environment=environment)
    server.recorder = None  # tests/contract need not see these
    try:
        yield server.start()
    finally:
        if server.process is not None:
            server.kill()
        if postgres:
            postgres.drop(database)


def await_quiet(server):
    """PostgreSQL ends what it was doing for a client that died; only then is the outcome known."""
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    until(lambda: not stored(server, f"SELECT pid FROM pg_stat_activity WHERE {others}"))


def one_kill(server, tenant, instant_s, verdict, hindered):
    """Load, kill, restart, compare. Returns what was sent."""
    with hindered(server):
        senders, _ = start_senders(server, tenant, CLIENTS)
        time.sleep(instant_s)  # not a wait for anything: the random instant itself
        server.kill()
    sent = join(senders)
    refused = [s.refused for s in sent if s.refused]
    assert not refused, f"answers other than 202 under load: {refused[:5]}"
    if server.database is None:
        check_files(verdict, server.data)
    else:
        await_quiet(server)
    check_reports(verdict, tenant, sent)  # while no server runs
    server.start()
    tenant.client = server.client(tenant.token)
    there = check_stored(verdict, tenant, sent)
    if sent:
        check_resend(verdict, tenant, sent, there)
        check_resend_reports(verdict, tenant, sent)
    return sent


def campaign(server, tenant, kills, until=lambda verdict: False, hindered=nullcontext):
    """Kills `kills` times, or until the verdict is what `until` looks for."""
    chance = random.Random(SEED)
    verdict, requests, done = Verdict(), [], 0
    while done < kills and not until(verdict):
        instant_s = chance.uniform(LOAD_MIN_S, LOAD_MAX_S)
        requests += one_kill(server, tenant, instant_s, verdict, hindered)
        done += 1
    print(f"{done} kills, {CLIENTS} clients, SEED={SEED}: {verdict}")
    return verdict, requests


@pytest.mark.parametrize(
    ("store", "kills", "binary"),
    [
        ("sqlite", KILLS, None),
        ("sqlite", max(KILLS // 4, 1), SMALL_INDEX),  # flushes and merges its ids all the time
        ("postgres", max(KILLS // 5, 1), None),
    ],
)
def test_nothing_acknowledged_is_lost_or_doubled(store, kills, binary, tmp_path):
    with new_server(store, tmp_path, binary) as server:
        tenant = server.add_tenant()
        verdict, requests = campaign(server, tenant, kills)
        assert verdict.good(), verdict
        few = min(verdict.acked, verdict.reports.get(BUSINESS, 0), verdict.reports.get(LLM, 0))
        assert few > kills, f"hardly anything was acknowledged: {verdict}"
        for sent in requests:
            sent.acked = sent.acked or bool(sent.body)  # those in doubt were sent again
        last = Verdict()  # and all of it once more, after everything that came later
        check_stored(last, tenant, requests)
        check_reports(last, tenant, requests)
        assert last.good() and last.acked == verdict.acked, last
        server.stop()
    if store == "sqlite":
        check_files(last, server.data)
        assert last.good(), last


def test_a_server_that_answers_before_it_commits_is_caught(tmp_path):
    assert ACK_EARLY.exists(), f"{ACK_EARLY} is not built"
    with new_server("sqlite", tmp_path) as server:
        tenant = server.add_tenant()  # by the right program: even this is a write to lose
        server.stop()
        server.binary = ACK_EARLY
        server.start()
        verdict, _ = campaign(
            server,
            tenant,
            200,
            until=lambda verdict: verdict.lost and verdict.lost_rows,
            hindered=lambda server: injected(server, SLOW_DISK),
        )
    assert verdict.lost and verdict.lost_rows, f"the harness saw no loss: {verdict}"
