"""SIGTERM under load: every request that had arrived is answered whole, and nothing is lost."""

import os
import random
import time

import pytest
from ledger import Verdict, check_reports, check_stored
from load import join, start_senders
from test_kill import CLIENTS, SEED, new_server

STOPS = int(os.environ.get("STOPS", "8"))


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_stop_under_load_answers_what_had_arrived(store, tmp_path):
    chance = random.Random(SEED)
    with new_server(store, tmp_path) as server:
        tenant = server.add_tenant()
        verdict = Verdict()
        for _ in range(STOPS):
            senders, stop = start_senders(server, tenant, CLIENTS)
            time.sleep(chance.uniform(0.05, 0.4))  # the random instant itself
            told_at = time.monotonic()
            server.stop()  # checks that it ends in time, with exit status 0
            stop.set()
            sent = join(senders)
            assert not [s for s in sent if s.partial], "a reply was cut off"
            unanswered = [
                s for s in sent
                if not s.acked and s.refused is None and s.sent_at and s.sent_at < told_at
            ]  # fmt: skip
            assert not unanswered, f"{len(unanswered)} requests had arrived and got no answer"
            assert {s.refused for s in sent} <= {None, 503}, "only 202 or 503 while stopping"
            server.start()
            tenant.client = server.client(tenant.token)
            check_stored(verdict, tenant, sent)
            check_reports(verdict, tenant, sent)
        print(f"{STOPS} stops, {CLIENTS} clients, SEED={SEED}: {verdict}")
        assert verdict.good(), verdict
        assert verdict.acked > STOPS, f"hardly anything was acknowledged: {verdict}"
