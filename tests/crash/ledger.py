"""What was acknowledged against what is there, read back through the API."""

import sqlite3
from collections import Counter
from dataclasses import dataclass, field

RESEND_MAX = 150  # events sent again after each kill


@dataclass
class Verdict:
    """Event ids by what is wrong with them, and counts that prove that there was something."""

    acked: int = 0
    in_doubt: int = 0
    kept_in_doubt: int = 0  # stored although no answer came: allowed
    lost: list = field(default_factory=list)  # acked and not there
    doubled: list = field(default_factory=list)  # there more than once
    torn: list = field(default_factory=list)  # a batch stored in part
    strange: list = field(default_factory=list)  # there, and never sent or refused
    forgotten: list = field(default_factory=list)  # resent, and not called a duplicate
    corrupt: list = field(default_factory=list)  # what integrity_check said

    def good(self):
        bad = (self.lost, self.doubled, self.torn, self.strange, self.forgotten, self.corrupt)
        return not any(bad)

    def __str__(self):
        bad = {
            name: f"{len(value)} such as {value[:3]}"
            for name, value in vars(self).items()
            if isinstance(value, list) and value
        }
        kept = f"{self.kept_in_doubt} of {self.in_doubt} in doubt kept"
        return f"{self.acked} acked, {kept}, {bad or 'nothing wrong'}"


def stored_ids(tenant, run_id):
    """How often each event of a run is there; a run that never got through has none."""
    answer = tenant.client.get(tenant.path(f"runs/{run_id}/events"))
    if answer.status == 404:
        return Counter()
    assert answer.status == 200, (answer.status, answer.body[:500])
    return Counter(event["event_id"] for event in answer.json()["events"])


def check_stored(verdict, tenant, requests):
    """Compares what is in the store with `requests` (all of their runs). Returns the stored ids."""
    stored = Counter()
    for run_id in {sent.run_id for sent in requests}:
        stored += stored_ids(tenant, run_id)
    for sent in requests:
        there = [event_id for event_id in sent.event_ids if stored[event_id]]
        if sent.acked:
            verdict.acked += len(sent.event_ids)
            verdict.lost += [e for e in sent.event_ids if not stored[e]]
        else:
            verdict.in_doubt += len(sent.event_ids)
            verdict.kept_in_doubt += len(there)
            if there and sent.refused:
                verdict.strange += there
            if there and len(there) < len(sent.event_ids):
                verdict.torn.append(sent.event_ids[0])
    known = {event_id for sent in requests for event_id in sent.event_ids}
    verdict.doubled += [event_id for event_id, n in stored.items() if n > 1]
    verdict.strange += [event_id for event_id in stored if event_id not in known]
    return stored


def sample(requests):
    """(event_id, run_id) of whole requests, those in doubt first."""
    taken = []
    for sent in sorted(requests, key=lambda sent: sent.acked):
        if len(taken) + len(sent.event_ids) > RESEND_MAX:
            break
        taken += [(event_id, sent.run_id) for event_id in sent.event_ids]
    return taken


def check_resend(verdict, tenant, requests, stored):
    """Sends a sample again: what is stored must be a duplicate, what is not must be accepted."""
    for event_id, run_id in sample(requests):
        event = {
            "event_id": event_id,
            "agent_name": "crash",
            "client_id": tenant.slug,
            "run_id": run_id,
            "event": "in_progress",
            "timestamp": "2025-01-02T03:04:05Z",
        }
        answer = tenant.client.post("/api/v1/telemetry", event)
        assert answer.status == 202, (answer.status, answer.body[:500])
        expected = "duplicate" if stored[event_id] else "accepted"
        if answer.json()["status"] != expected:
            verdict.forgotten.append(f"{event_id} is {answer.json()['status']}, not {expected}")


def is_sqlite(path):
    with path.open("rb") as file:
        return file.read(15) == b"SQLite format 3"


def check_files(verdict, data):
    """SQLite's own opinion of the files of a server that is dead; read only."""
    files = [path for path in data.rglob("*") if path.is_file() and is_sqlite(path)]
    assert files, f"{data}: no SQLite database"
    for path in files:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        said = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        connection.close()
        if said != ["ok"]:
            verdict.corrupt += said
