"""A workspace's metrics: well-formed, equal to what the other reads say, and bounded."""

import os
import shutil
import sqlite3
import subprocess
import uuid
from contextlib import closing
from datetime import datetime, timezone

import pytest
from exposition import read
from people import tenant_person
from stored import stored

TYPE = "text/plain; version=0.0.4; charset=utf-8"
AGENT = 'odd "name" \\ with\na line'
CLASSES = ("input", "output", "cache_read", "cache_write")
# set by the long tests, which fetch it; a system may have it too
PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")


def now():
    return datetime.now(timezone.utc).isoformat()


def plain(text):
    """A label's value without its escapes."""
    return text.replace("\\\\", "\0").replace('\\"', '"').replace("\\n", "\n").replace("\0", "\\")


def samples(families, name):
    """{labels: value} of a family, without the common prefix."""
    family = families[f"muster_workspace_{name}"]
    assert family.type == "gauge" and family.help.endswith(".")
    return {
        tuple(plain(value) for _, value in sorted(labels)): number
        for (_, labels), number in family.samples.items()
    }


def scrape(tenant, client=None, query=""):
    answer = (client or tenant.client).get(tenant.path(f"metrics{query}"))
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == TYPE
    assert int(answer.headers["RateLimit-Limit"]) > 0
    return read(answer.body.decode()), answer.body


@pytest.fixture(scope="module")
def filled(server):
    """A workspace with two agents: runs in every state, tokens with and without a price, KPIs."""
    tenant = server.add_tenant()
    post = tenant.client.post
    kpis = [{"key": "leads", "label": "Leads", "unit": "count", "agg": "sum"},
            {"key": "speed", "label": "Speed", "unit": "ms", "agg": "avg"}]  # fmt: skip
    declared = {"agent_name": AGENT, "business_kpis": kpis, "interval_seconds": 3600}
    assert post("/api/v1/agents/register", declared).status == 200
    ends = ("completed", "completed", "failed", None)
    events = []
    for end in ends:
        event = tenant.event(agent_name=AGENT, timestamp=now())
        events.append(event)
        if end:
            events.append({**event, "event_id": str(uuid.uuid4()), "event": end})
    events.append(tenant.event(agent_name="old", timestamp="2025-01-01T00:00:00Z"))
    assert post("/api/v1/telemetry/batch", {"events": events}).json()["accepted"] == len(events)
    model = f"priced-{tenant.slug}"
    server.cli("price", "set", model, "--input", "3", "--output", "15")
    for name in (model, "unheard-of"):
        usage = {"agent_name": AGENT, "run_id": events[0]["run_id"], "model": name,
                 "timestamp": now(), "input_tokens": 1000, "output_tokens": 200,
                 "cache_read_tokens": 30, "cache_write_tokens": 4, "calls": 2}  # fmt: skip
        assert post("/api/v1/telemetry/llm", usage).status == 202
    for n in (2, 3):
        report = {"agent_name": AGENT, "run_id": str(uuid.uuid4()), "timestamp": now(),
                  "metrics": {"leads": n, "speed": n / 2, "mood": "good", "loose": n}}  # fmt: skip
        assert post("/api/v1/telemetry/business", report).status == 202
    return tenant


@pytest.mark.smoke
def test_the_metrics_are_what_the_other_reads_say(filled):
    families, _ = scrape(filled)
    get = lambda path: filled.client.get(filled.path(path)).json()  # noqa: E731
    agents = get("agents")["agents"]
    states = samples(families, "agents")
    for (state,), n in states.items():
        assert n == sum(agent["state"] == state for agent in agents), state
    assert sum(states.values()) == len(agents) == 2
    assert samples(families, "agent_state") == {
        (agent["agent_name"], agent["state"]): 1 for agent in agents
    }
    seen = samples(families, "agent_last_seen_timestamp_seconds")
    for agent in agents:
        at = datetime.fromisoformat(agent["last_seen_at"].replace("Z", "+00:00")).timestamp()
        assert abs(seen[(agent["agent_name"],)] - at) < 0.001
    assert samples(families, "runs") == {
        (AGENT, "completed"): 2, (AGENT, "failed"): 1, (AGENT, "in_progress"): 1,
    }  # fmt: skip
    tokens, cost = samples(families, "llm_tokens"), samples(families, "llm_cost_usd")
    groups = get("llm/usage?group_by=agent,model&time_range=24h")
    for group in groups["groups"]:
        name = (group["agent_name"], group["model"])
        for which in CLASSES:
            assert tokens[(name[0], which, name[1])] == group[f"{which}_tokens"]
        assert samples(families, "llm_calls")[name] == 2
        assert cost.get(name) == (group["cost"] and float(group["cost"]))
    assert len(tokens) == len(CLASSES) * 2 and len(cost) == 1
    assert samples(families, "llm_unpriced_models") == {(): 1}
    kpis = samples(families, "kpi")
    rows = [r for r in get("business/summary?time_range=24h")["kpis"] if r["key"] != "mood"]
    assert kpis == {
        (r["agent_name"], r["agg"] or "last", r["key"], r["unit"] or ""): r["value"] for r in rows
    }
    assert kpis[(AGENT, "sum", "leads", "count")] == 5
    assert kpis[(AGENT, "avg", "speed", "ms")] == 1.25
    assert samples(families, "range_seconds") == {(): 86400}
    assert set(samples(families, "truncated").values()) == {0}


def test_a_wider_range_counts_more_and_a_bad_one_is_refused(filled):
    families, _ = scrape(filled, query="?time_range=all")
    assert samples(families, "runs")[("old", "in_progress")] == 1
    assert "muster_workspace_range_seconds" not in families
    narrow, _ = scrape(filled, query="?time_range=2025-01-01T00:00:00Z/2025-01-01T00:00:01Z")
    assert list(samples(narrow, "runs")) == [("old", "in_progress")]
    assert samples(narrow, "kpi") == samples(narrow, "llm_tokens") == {}
    answer = filled.client.get(filled.path("metrics?time_range=soon"))
    assert (answer.status, answer.json()["detail"][0]["loc"]) == (422, ["query", "time_range"])


def test_read_only_keys_and_members_may_scrape(filled):
    reader = filled.server.client(filled.add_key(None, "--read-only"))
    assert samples(scrape(filled, reader)[0], "agents")[("up",)] == 1
    assert samples(scrape(filled, tenant_person(filled, "member"))[0], "agents")[("up",)] == 1
    assert reader.request("HEAD", filled.path("metrics")).status == 200


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed; make sdk-test fetches it")
def test_promtool_accepts_it(filled):
    text = scrape(filled)[1]
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def insert(server, *statements):
    """While the server is stopped: only one process ever writes the embedded database."""
    server.stop()
    with closing(sqlite3.connect(server.data / "muster.db")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    server.start()


NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})"
AGENTS = """INSERT INTO agents (tenant_id, agent_name, enabled, first_seen_at)
    {numbers} SELECT {tenant}, printf('a%05d', i), 1, 0 FROM n"""
SIGNS = """INSERT INTO agent_signs (tenant_id, agent_id, last_seen_at)
    SELECT tenant_id, agent_id, 0 FROM agents WHERE tenant_id = {tenant}"""
RUNS = """INSERT INTO runs (tenant_id, run_id, agent_id, event_count, start_at, first_at, last_at,
        closing_seq, closing_event, closing_message, step_seq, step_message, version_seq,
        agent_version)
    {numbers} SELECT {tenant}, printf('%032d', i),
        (SELECT MIN(agent_id) FROM agents WHERE tenant_id = {tenant}),
        1, i, i, i, 0, 0, '', 0, '', 0, '' FROM n"""


def test_a_large_workspace_is_cut_and_says_so(own_server, store):
    if store == "postgres":
        pytest.skip("the bounds are the same text for both stores, and rows are quick to add here")
    tenant = own_server.add_tenant()
    assert samples(scrape(tenant)[0], "runs") == samples(scrape(tenant)[0], "agent_state") == {}
    (row,) = stored(own_server, f"SELECT tenant_id FROM tenants WHERE slug = '{tenant.slug}'")
    fill = {"tenant": row["tenant_id"]}
    insert(
        own_server,
        AGENTS.format(numbers=NUMBERS.format(1100), **fill),
        SIGNS.format(**fill),
        RUNS.format(numbers=NUMBERS.format(10_001), **fill),
    )
    tenant.client = own_server.client(tenant.token)
    families, _ = scrape(tenant, query="?time_range=all")
    assert sum(samples(families, "agents").values()) == 1100
    assert len(samples(families, "agent_state")) == 1000
    assert samples(families, "runs") == {("a00001", "in_progress"): 10_000}
    assert samples(families, "truncated") == {
        ("agents",): 1, ("runs",): 1, ("llm",): 0, ("kpis",): 0,
    }  # fmt: skip
