"""What was acknowledged against what is there: events through the API, reports in the store.

There is no route yet that gives a report back as it came, so those are read in the database, that
of a dead server included.
"""

import sqlite3
from collections import Counter
from dataclasses import dataclass, field

from load import event
from reports import Stored
from waiting import until

RESEND_MAX = 80  # events sent again after each kill
RESEND_REPORTS_MAX = 20


@dataclass
class Verdict:
    """Event ids by what is wrong with them, and counts that prove that there was something."""

    acked: int = 0  # events
    reports: dict = field(default_factory=dict)  # acked, by path
    in_doubt: int = 0
    kept_in_doubt: int = 0  # stored although no answer came: allowed
    lost: list = field(default_factory=list)  # acked and not there
    lost_rows: list = field(default_factory=list)  # of reports: acked and missing, or not as acked
    doubled: list = field(default_factory=list)  # there more than once
    torn: list = field(default_factory=list)  # a batch or report stored in part
    strange: list = field(default_factory=list)  # there, and never sent or refused
    forgotten: list = field(default_factory=list)  # resent, and not called a duplicate
    changed: list = field(default_factory=list)  # resent reports that did not leave all as it was
    corrupt: list = field(default_factory=list)  # what integrity_check said

    def good(self):
        return not any(value for value in vars(self).values() if isinstance(value, list))

    def __str__(self):
        bad = {
            name: f"{len(value)} such as {value[:3]}"
            for name, value in vars(self).items()
            if isinstance(value, list) and value
        }
        kept = f"{self.kept_in_doubt} of {self.in_doubt} in doubt kept"
        reports = ", ".join(f"{n} of {path}" for path, n in sorted(self.reports.items()))
        return f"{self.acked} events acked, {reports}, {kept}, {bad or 'nothing wrong'}"


def stored_ids(tenant, run_id):
    """How often each event of a run is there; a run that never got through has none."""
    answer = tenant.client.get(tenant.path(f"runs/{run_id}/events"))
    if answer.status == 404:
        return Counter()
    assert answer.status == 200, (answer.status, answer.body[:500])
    return Counter(event["event_id"] for event in answer.json()["events"])


def count_stored(tenant, run_id):
    return sum(stored_ids(tenant, run_id).values())


def check_stored(verdict, tenant, requests):
    """Compares what is in the store with `requests` (all of their runs). Returns the stored ids."""
    requests = [sent for sent in requests if not sent.body]
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


def check_reports(verdict, tenant, requests):
    """The same for reports: every row of an acked one is there once, as it was sent."""
    requests = [sent for sent in requests if sent.body]
    there = Stored(tenant, {sent.run_id for sent in requests})
    newest = {}
    for sent in requests:  # those of a run in the order in which they were sent
        missing = [i for i, row in sent.rows.items() if there.rows.get(i) != row]
        if sent.acked:
            verdict.reports[sent.path] = verdict.reports.get(sent.path, 0) + 1
            verdict.lost_rows += missing
        else:
            verdict.in_doubt += 1
            verdict.kept_in_doubt += not missing
            if 0 < len(missing) < len(sent.rows):
                verdict.torn.append(missing[0])
            if not missing and sent.refused:
                verdict.strange.append(next(iter(sent.rows)))
        if sent.acked or not missing:
            newest.update(sent.replaced)
    verdict.lost_rows += [i for i, row in newest.items() if there.rows.get(i) != row]
    known = {identity for sent in requests for identity in sent.rows} | newest.keys()
    verdict.strange += [identity for identity in there.rows if identity not in known]
    verdict.doubled += [identity for identity, n in there.times.items() if n > 1]
    return there


def resend(tenant, requests):
    for sent in requests:
        answer = tenant.client.post(sent.path, sent.body)
        assert answer.status == 202, (answer.status, answer.body[:500])
        assert answer.json()["status"] == "accepted", answer.body


def check_resend_reports(verdict, tenant, requests):
    """Sends those in doubt, then a sample of all: from then on nothing may change."""
    requests = [sent for sent in requests if sent.body]
    runs = {sent.run_id for sent in requests}
    resend(tenant, [sent for sent in requests if not sent.acked])
    before = Stored(tenant, runs)
    for sent in requests:
        if not sent.acked:
            missing = [i for i, row in sent.rows.items() if before.rows.get(i) != row]
            verdict.forgotten += missing
    resend(tenant, requests[:: max(1, len(requests) // RESEND_REPORTS_MAX)])
    after = Stored(tenant, runs)
    everything = before.rows.keys() | after.rows.keys()
    verdict.changed += [
        identity
        for identity in everything
        if before.rows.get(identity) != after.rows.get(identity)
        or before.arrived.get(identity) != after.arrived.get(identity)
    ]
    verdict.doubled += [identity for identity, n in after.times.items() if n > 1]


def sample(requests):
    """(event_id, run_id) of whole requests, those in doubt first."""
    taken = []
    for sent in sorted(requests, key=lambda sent: sent.acked):
        if len(taken) + len(sent.event_ids) > RESEND_MAX:
            break
        taken += [(event_id, sent.run_id) for event_id in sent.event_ids]
    return taken


def send_event(tenant, body):
    """Until it is taken: a store on a busy machine may refuse it at first. The answer, and whether it was
    sent more than once."""
    answers = []

    def is_taken():
        answers.append(tenant.client.post("/api/v1/telemetry", body))
        return answers[-1].status != 503

    until(is_taken)
    assert answers[-1].status == 202, (answers[-1].status, answers[-1].body[:500])
    return answers[-1].json()["status"], len(answers) > 1


def check_resend(verdict, tenant, requests, stored):
    """Sends a sample again: what is stored must be a duplicate, what is not must be accepted. Whether one
    that was refused on the way is stored is in doubt."""
    for event_id, run_id in sample(requests):
        said, was_refused = send_event(tenant, event(tenant.slug, run_id, event_id, 0))
        expected = "duplicate" if stored[event_id] else "accepted"
        if said != expected and not (was_refused and said == "duplicate"):
            verdict.forgotten.append(f"{event_id} is {said}, not {expected}")


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
