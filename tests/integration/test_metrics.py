"""Metrics: true, well-formed, and told to none but those who may ask."""

import http.client
import json
import re
import uuid
from pathlib import Path

import pytest
from conftest import running
from exposition import Malformed, read, value
from waiting import until

DASHBOARD = Path(__file__).resolve().parents[2] / "docs/grafana.json"
TOKEN = "a-token-for-scrapers"
TYPE = "text/plain; version=0.0.4; charset=utf-8"


@pytest.fixture
def scraped(store, tmp_path):
    """A server whose metrics a token gives."""
    with running(store, tmp_path, environment={"MUSTER_METRICS_TOKEN": TOKEN}) as server:
        yield server


def scrape(server):
    answer = server.client(TOKEN).get("/metrics")
    assert answer.status == 200 and answer.headers["Content-Type"] == TYPE
    return read(answer.body.decode())


@pytest.mark.smoke
def test_what_happens_is_counted(scraped):
    tenant = scraped.add_tenant("--max-agents", "1")
    event = tenant.event()
    for sent in (event, event, tenant.event(agent_name="one-too-many")):
        tenant.client.post("/api/v1/telemetry/batch", {"events": [sent]})
    tenant.client.post("/api/v1/telemetry", {})
    report = {"agent_name": "collector", "run_id": str(uuid.uuid4()),
              "timestamp": "2025-01-01T00:00:00Z"}  # fmt: skip
    tenant.client.post("/api/v1/telemetry/business", {**report, "metrics": {"k": 1}})
    tenant.client.post("/api/v1/telemetry/llm", {**report, "model": "m"})
    tenant.client.get("/nowhere")
    tenant.client.get(tenant.path("export/events"))
    seen = scrape(scraped)
    for verdict in ("accepted", "duplicate", "agent_cap_reached"):
        assert value(seen, "muster_events_total", verdict=verdict) == 1, verdict
    for channel in ("business", "llm"):
        assert value(seen, "muster_reports_total", channel=channel) == 1
    assert value(seen, "muster_requests_total", route="/api/v1/telemetry", status="422") == 1
    assert value(seen, "muster_requests_total", route="/api/v1/telemetry/batch") == 3
    assert value(seen, "muster_requests_total", route="", status="404") == 1
    assert value(seen, "muster_request_seconds_count", **{"class": "ingest"}) == 6
    assert value(seen, "muster_commits_total", result="ok") >= 4
    assert value(seen, "muster_commit_seconds_count") == value(seen, "muster_commits_total",
                                                               result="ok")  # fmt: skip
    for name in ("muster_store_bytes", "muster_connections", "muster_registry_number",
                 "process_resident_memory_bytes", "process_open_fds"):  # fmt: skip
        assert value(seen, name) > 0, name
    assert value(seen, "muster_healthy") == 1
    assert value(seen, "muster_queue_events") == 0
    # the client has the last chunk a moment before it is counted
    until(lambda: value(scrape(scraped), "muster_streams") == 0)


def test_alerts_are_counted(scraped):
    tenant = scraped.add_tenant()
    for _ in range(3):
        tenant.client.post("/api/v1/telemetry", tenant.event(event="failed"))
    seen = scrape(scraped)
    assert value(seen, "muster_alerts_opened_total", type="run.failed") == 3
    assert value(seen, "muster_alerts_opened_total", type="agent.silent") == 0
    # the failures are one open alert, which is counted with the next tick
    until(lambda: value(scrape(scraped), "muster_alerts_open") == 1)


def test_shares_are_shown_by_level_and_kind(scraped):
    tenant = scraped.add_tenant()
    refused = tenant.client.post("/api/v1/auth/login", b" " * 20_000)
    assert refused.status == 413
    seen = scrape(scraped)
    assert value(seen, "muster_budget_used", level="service", kind="connections") >= 1
    assert value(seen, "muster_budget_used", level="tenant", kind="body_bytes") == 0
    assert value(seen, "muster_budget_max", level="tenant", kind="body_bytes") == 8 << 20
    assert value(seen, "muster_budget_max", level="key", kind="body_bytes") == 6 << 20
    for level in ("service", "tenant", "key", "open", "address"):
        assert value(seen, "muster_budget_refused_total", level=level, kind="body_bytes") == 0
    assert value(seen, "muster_bodies_evicted_total") == 0


@pytest.mark.same_threads
def test_metrics_have_the_headers_of_all_answers(scraped):
    headers = scraped.client(TOKEN).get("/metrics").headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


@pytest.mark.same_threads
def test_no_label_names_a_tenant_or_agent(scraped):
    tenant = scraped.add_tenant(slug="a-secret-customer")
    tenant.client.post("/api/v1/telemetry", tenant.event(agent_name="a-secret-agent"))
    tenant.client.get(tenant.path("dashboard/runs"))
    assert b"secret" not in scraped.client(TOKEN).get("/metrics").body


REFUSED = [None, "wrong", TOKEN[:-1], TOKEN + "x", ""]


@pytest.mark.parametrize("token", REFUSED)
@pytest.mark.same_threads
def test_another_token_is_401(scraped, token):
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = scraped.client().get("/metrics", headers=headers)
    assert answer.status == 401 and "muster_" not in answer.body.decode()


def test_without_a_token_only_the_operator_is_told(server, tenant):
    for client in (server.client(), tenant.client):
        assert client.get("/metrics").status == 404
    if server.database is None:
        assert server.operator().get("/metrics").headers["Content-Type"] == TYPE


def test_health_says_to_its_token_what_it_says_to_all_while_all_is_well(scraped):
    """Which tenants are away, if some are, is seen on Citus (tests/cluster)."""
    scraped.add_tenant()
    for token in (None, TOKEN, "x" * len(TOKEN)):
        answer = scraped.client(token).get("/api/v1/health")
        assert (answer.status, answer.json()) == (200, {"status": "ok"})


def test_a_listener_of_its_own_answers_metrics_and_nothing_else(store, tmp_path):
    with running(store, tmp_path, arguments=["--metrics-listen", "127.0.0.1:0"]) as server:
        port = re.search(rb"metrics on 127.0.0.1:(\d+)", server.said)[1]
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=120)
        for method, path, status in (
            ("GET", "/metrics", 200),
            ("HEAD", "/metrics", 200),
            ("POST", "/metrics", 404),
            ("GET", "/api/v1/health", 404),
            ("GET", "/", 404),
        ):
            connection.request(method, path)
            answer = connection.getresponse()
            body = answer.read().decode()
            assert answer.status == status, (method, path)
            if (method, status) == ("GET", 200):
                assert "muster_build_info" in read(body)
        connection.close()
        assert server.client().get("/metrics").status == 404


BAD = [
    ({"MUSTER_METRICS_TOKEN": "too-short"}, "metrics_token"),
    ({"MUSTER_METRICS_LISTEN": "nowhere"}, "metrics_listen"),
]


@pytest.mark.parametrize("environment, named", BAD)
@pytest.mark.same_threads
def test_a_bad_setting_stops_the_start(tmp_path, environment, named):
    from muster import Server, Trouble

    with pytest.raises(Trouble, match=named):
        Server(tmp_path / "data", environment=environment).start()


def names_in(expression):
    without_labels = re.sub(r"\{[^}]*\}|\"[^\"]*\"", "", expression)
    return set(re.findall(r"\b(?:muster|process)_\w+", without_labels))


@pytest.mark.same_threads
def test_the_dashboard_shows_every_metric_and_none_that_is_not_there(scraped):
    tenant = scraped.add_tenant()
    tenant.client.post("/api/v1/telemetry", tenant.event())
    until(lambda: scrape(scraped)["muster_requests_total"].samples)  # counted when all is sent
    seen = scrape(scraped)
    samples = {name for family in seen.values() for name, _ in family.samples}
    board = json.loads(DASHBOARD.read_text())
    shown = set()
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            shown |= names_in(target["expr"])
    assert shown <= samples, shown - samples
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown}
    assert families == set(seen), families ^ set(seen)
    for variable in board["templating"]["list"][1:]:
        assert names_in(variable["query"]) <= samples
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)


GOOD = "# HELP a_total x\n# TYPE a_total counter\na_total 1\n"
FAULTS = [
    ("no end of line", GOOD[:-1]),
    ("no type", "# HELP a_total x\na_total 1\n"),
    ("no head", "a_total 1\n"),
    ("twice", GOOD + "a_total 2\n"),
    ("two places", GOOD + "# HELP b x\n# TYPE b gauge\nb 1\n" + GOOD),
    ("a stranger", GOOD + "b 1\n"),
    ("no number", GOOD.replace(" 1\n", " one\n")),
    ("bad labels", GOOD.replace("a_total 1", "a_total{x=1} 1")),
    ("a label twice", GOOD.replace("a_total 1", 'a_total{x="1",x="2"} 1')),
    ("a counter without its ending", GOOD.replace("a_total", "a")),
    ("a histogram that does not add up",
     '# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} 3\nh_bucket{le="+Inf"} 2\nh_sum 1\n'
     "h_count 2\n"),
    ("a histogram without end",
     '# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} 3\nh_sum 1\nh_count 3\n'),
]  # fmt: skip


@pytest.mark.parametrize("what, text", FAULTS)
@pytest.mark.same_threads
def test_the_reader_of_metrics_refuses(what, text):
    assert value(read(GOOD), "a_total") == 1
    with pytest.raises((Malformed, ValueError)):
        read(text)
