"""A thousand agents, our own downtime, and several servers on one PostgreSQL: one alert each."""

import json
import threading
from collections import Counter

from conftest import running
from hooks import LOCAL, Hook, alerts, seconds
from muster import Clock
from nodes import more_servers
from receiver import receiving
from stored import of_tenant, stored
from waiting import always, until

AGENTS = 1000
INTERVAL, GRACE, LEEWAY = 60, 60, 30
NAMES = [f"agent-{i:04}" for i in range(AGENTS)]


def in_parallel(server, tenant, names, send, clients=8):
    """Each name once, by a few clients at a time, so that they share transactions."""
    trouble = []

    def run(part):
        client = server.client(tenant.token)
        try:
            for name in part:
                send(client, name)
        except Exception as error:  # a thread's exception would go unseen
            trouble.append(error)
        finally:
            client.close()

    threads = [threading.Thread(target=run, args=(names[i::clients],)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not trouble, trouble[0]


def register_all(server, tenant):
    def send(client, name):
        body = {"agent_name": name, "interval_seconds": INTERVAL}
        assert client.post("/api/v1/agents/register", body).status == 200

    in_parallel(server, tenant, NAMES, send)


def report_all(server, tenant):
    client = server.client(tenant.token)
    for i in range(0, AGENTS, 100):
        events = [tenant.event(agent_name=name) for name in NAMES[i : i + 100]]
        answer = client.post("/api/v1/telemetry/batch", {"events": events})
        assert answer.status == 202, answer.body
    client.close()


def until_heard(server, tenant, since_s):
    """The others know it when it is stored, seconds later: the clock must not leap over that."""
    heard = f"last_seen_at > {int(since_s * 1_000_000)}"
    sql = f"SELECT COUNT(*) AS n FROM agent_signs WHERE {of_tenant(tenant)} AND {heard}"
    until(lambda: stored(server, sql)[0]["n"] == AGENTS)


def none_opens(tenant, servers):
    always(lambda: alerts(tenant) == [], *servers)


def check_told(server, tenant, receiver):
    """Every alert has one message; every message came, with its id, and no other."""
    rows = stored(server, f"SELECT message_id, data FROM messages WHERE {of_tenant(tenant)}")
    of_alert = Counter(json.loads(row["data"])["alert_id"] for row in rows)
    assert of_alert == Counter(alert["alert_id"] for alert in alerts(tenant))
    left = {row["message_id"] for row in rows}
    known = set(left)
    while left:
        message = receiver.next()
        assert message.id in known
        left.discard(message.id)


def test_a_thousand_silences_are_a_thousand_alerts(store, tmp_path):
    nodes = 3 if store == "postgres" else 1  # only one process has the embedded store
    clock = Clock(tmp_path)
    more = {"arguments": LOCAL, "environment": clock.environment}
    with running(store, tmp_path, **more) as server, receiving() as receiver:
        tenant = server.add_tenant("--max-agents", str(AGENTS))
        hook = Hook(tenant, receiver.url)
        register_all(server, tenant)
        report_all(server, tenant)
        server.stop()
        clock.advance(3600)  # an hour in which no agent could be heard
        server.start()
        tenant.client = server.client(tenant.token)
        with more_servers(server, tmp_path, nodes - 1) as others:
            none_opens(tenant, [server, *others])
            began_at = clock.now()
            report_all([server, *others][-1], tenant)  # heard by one, known to all
            reported_at = clock.now()
            until_heard(server, tenant, reported_at - 60)
            clock.advance(INTERVAL + GRACE + 3 - (clock.now() - reported_at))
            advanced_at = clock.now()
            until(lambda: len(alerts(tenant)) >= AGENTS)
            found, opened_s = alerts(tenant), clock.now() - advanced_at  # on a busy machine many
            assert sorted(alert["agent_name"] for alert in found) == NAMES
            silences = [seconds(alert["opened_at"]) - seconds(alert["since_at"]) for alert in found]
            assert INTERVAL + GRACE <= min(silences)
            assert max(silences) <= INTERVAL + GRACE + LEEWAY + (reported_at - began_at) + opened_s
            check_told(server, tenant, receiver)
            until(lambda: hook.row()["waiting"] == 0)
            assert len(alerts(tenant)) == AGENTS and hook.row()["dead"] == 0
        tenant.client.close()
