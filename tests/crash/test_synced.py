"""No 202 leaves before the sync that covers it returned, by a record of the server's calls."""

import os
import threading
import uuid

import synced
from load import CHANNELS, Sender, join
from strace import attached
from test_kill import ACK_EARLY, new_server

REQUESTS = int(os.environ.get("TRACED", "500"))
SENDERS = 16


class NewRuns(Sender):
    """Each request is of a run of its own, so that each answer has ids that were never stored."""

    def request(self, number):
        self.run_id = str(uuid.uuid4())
        return super().request(number)


def traced(server, tenant):
    """What the checker says of REQUESTS requests; all of them must be in the record."""
    stop = threading.Event()
    with attached(server, *synced.OPTIONS) as lines:
        senders = [
            NewRuns(server.address, tenant, CHANNELS[i % 4], stop, REQUESTS // SENDERS + 1)
            for i in range(SENDERS)
        ]
        for sender in senders:
            sender.start()
        sent = join(senders)
    checker = synced.check(lines)
    print(
        f"{checker.answers} answers of 202, {checker.syncs} syncs,"
        f" {len(checker.early)} ids acknowledged too early"
    )
    acked = sum(s.acked for s in sent)
    assert checker.answers == acked == len(sent) >= REQUESTS, "some answers are not in the record"
    return checker


def test_no_answer_leaves_before_its_sync(tmp_path):
    with new_server("sqlite", tmp_path) as server:
        checker = traced(server, server.add_tenant())
    assert not checker.early
    assert checker.syncs >= REQUESTS // SENDERS


def test_answers_that_leave_before_their_sync_are_seen(tmp_path):
    with new_server("sqlite", tmp_path) as server:
        tenant = server.add_tenant()
        server.stop()
        server.binary = ACK_EARLY
        server.start()
        assert traced(server, tenant).early
