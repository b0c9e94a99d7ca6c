"""Webhooks and the agents that give them something to tell, for tests of delivery."""

import json
from datetime import datetime, timedelta, timezone
from urllib.parse import urlencode

from waiting import until

LOCAL = ["--webhook-allow-http", "1", "--webhook-allow-private", "1"]
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
HOUR, DAY = 3600, 86400
ALLOWED = HOUR + HOUR // 2  # of an agent with an interval of an hour


def seconds(text):
    """A date-time of an answer, in seconds since 1970."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (moment - EPOCH) / timedelta(seconds=1)


def register(tenant, name="worker", interval=HOUR):
    body = {"agent_name": name, "interval_seconds": interval}
    answer = tenant.client.post("/api/v1/agents/register", body)
    assert answer.status == 200, answer.body


def report(tenant, name="worker", **fields):
    answer = tenant.client.post("/api/v1/telemetry", tenant.event(agent_name=name, **fields))
    assert answer.status == 202, answer.body


def fall_silent(tenant, clock, *names):
    """These are heard of once, and then not for longer than they may."""
    for name in names or ["worker"]:
        register(tenant, name)
        report(tenant, name)
    clock.advance(ALLOWED + 10)


def alerts(tenant, **query):
    """All of them, page by page."""
    found, cursor = [], {"limit": 1000}
    while cursor:
        answer = tenant.client.get(tenant.path("alerts?" + urlencode({**query, **cursor})))
        assert answer.status == 200, answer.body
        page = answer.json()
        found += page["alerts"]
        cursor = {"limit": 1000, "cursor": page["next"]} if page["next"] else None
    return found


def cli(tenant, *arguments):
    return tenant.server.run("webhook", *arguments, "--tenant", tenant.slug, "--json", *LOCAL)


def told(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def add(tenant, url, *options):
    """By a request where that is possible, which costs little; test_webhooks.py tests the command."""
    if not tenant.server.asks:
        return told(cli(tenant, "add", url, *options))
    body = {name[2:]: value for name, value in zip(options[::2], options[1::2])}
    if "types" in body:
        body["types"] = body["types"].split(",")
    if url.startswith("mailto:"):
        body["format"] = "email"
    return tenant.server.make(tenant.path("webhooks"), {"url": url, **body})


def all_of(tenant):
    """The tenant's webhooks."""
    if not tenant.server.asks:
        return told(cli(tenant, "list"))["webhooks"]
    answer = tenant.server.admin.get(tenant.path("webhooks"))
    assert answer.status == 200, answer.body
    return answer.json()["webhooks"]


def remove_all(tenant):
    for row in all_of(tenant):
        if tenant.server.asks:
            answer = tenant.server.admin.delete(tenant.path(f"webhooks/{row['webhook_id']}"))
            assert answer.status == 200, answer.body
        else:
            told(cli(tenant, "delete", row["webhook_id"]))


class Hook:
    """A webhook that was made for a test."""

    def __init__(self, tenant, url, *options):
        made = add(tenant, url, *options)
        self.tenant, self.id, self.secret = tenant, made["webhook_id"], made["secret"]
        self.last_at = {}  # of each delivery, as far as it was waited for

    def do(self, verb, *more):
        return told(cli(self.tenant, verb, self.id, *more))

    def row(self):
        return next(row for row in all_of(self.tenant) if row["webhook_id"] == self.id)

    def deliveries(self):
        """Newest first. By a request where that is possible: who waits asks many times."""
        server = self.tenant.server
        if not server.asks:
            return self.do("deliveries")["deliveries"]
        answer = server.admin.get(self.tenant.path(f"webhooks/{self.id}/deliveries"))
        assert answer.status == 200, answer.body
        return answer.json()["deliveries"]

    def until_delivery(self, is_so):
        """The newest delivery, as soon as it is so."""

        def look():
            rows = self.deliveries()
            return rows[0] if rows and is_so(rows[0]) else None

        return until(look)

    def until_told(self, attempts):
        """The newest delivery once this many attempts have ended."""

        def ended(row):
            news = row["last_at"] != self.last_at.get(row["delivery_id"])
            return news and row["attempts"] == attempts

        row = self.until_delivery(ended)
        self.last_at[row["delivery_id"]] = row["last_at"]
        return row
