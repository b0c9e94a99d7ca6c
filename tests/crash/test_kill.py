"""kill -9 at random instants under load: what was acknowledged is there, exactly once.

KILLS and CLIENTS raise the numbers (scripts/crash does), SEED repeats a run. The same harness is
turned on a server that acknowledges before it commits, and must catch it.
"""

import os
import random
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from ledger import Verdict, check_files, check_resend, check_stored
from load import join, start_senders
from muster import ROOT, Postgres, Server

KILLS = int(os.environ.get("KILLS", "50"))
CLIENTS = int(os.environ.get("CLIENTS", "32"))
SEED = int(os.environ.get("SEED", str(random.SystemRandom().randrange(2**32))))
ACK_EARLY = Path(os.environ.get("MUSTER_TEST_ACK_EARLY", ROOT / "build/asan/muster_ack_early"))
LOAD_MIN_S, LOAD_MAX_S = 0.02, 0.3


@contextmanager
def new_server(store, folder):
    postgres = Postgres() if store == "postgres" else None
    database = postgres.create() if postgres else None
    server = Server(folder / "data", database)
    server.recorder = None  # tests/contract need not see these
    try:
        yield server.start()
    finally:
        if server.process is not None:
            server.kill()
        if postgres:
            postgres.drop(database)


def one_kill(server, tenant, instant_s, verdict):
    """Load, kill, restart, compare. Returns what was sent."""
    senders, _ = start_senders(server, tenant, CLIENTS)
    time.sleep(instant_s)  # not a wait for anything: the random instant itself
    server.kill()
    sent = join(senders)
    refused = [s.refused for s in sent if s.refused]
    assert not refused, f"answers other than 202 under load: {refused[:5]}"
    if server.database is None:
        check_files(verdict, server.data)
    server.start()
    tenant.client = server.client(tenant.token)
    stored = check_stored(verdict, tenant, sent)
    if sent:
        check_resend(verdict, tenant, sent, stored)
    return sent


def campaign(server, tenant, kills, until=lambda verdict: False):
    """Kills `kills` times, or until the verdict is what `until` looks for."""
    chance = random.Random(SEED)
    verdict, requests, done = Verdict(), [], 0
    while done < kills and not until(verdict):
        requests += one_kill(server, tenant, chance.uniform(LOAD_MIN_S, LOAD_MAX_S), verdict)
        done += 1
    print(f"{done} kills, {CLIENTS} clients, SEED={SEED}: {verdict}")
    return verdict, requests


@pytest.mark.parametrize(
    ("store", "kills"), [("sqlite", KILLS), ("postgres", max(KILLS // 5, 1))]
)
def test_no_acknowledged_event_is_lost_or_doubled(store, kills, tmp_path):
    with new_server(store, tmp_path) as server:
        tenant = server.add_tenant()
        verdict, requests = campaign(server, tenant, kills)
        assert verdict.good(), verdict
        assert verdict.acked > kills, f"hardly anything was acknowledged: {verdict}"
        last = Verdict()  # and all of it once more, after everything that came later
        check_stored(last, tenant, requests)
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
        verdict, _ = campaign(server, tenant, 200, until=lambda verdict: verdict.lost)
    assert verdict.lost, f"the harness saw no loss: {verdict}"
