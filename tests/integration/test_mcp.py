"""The Model Context Protocol: messages as its specification has them, and tools that answer what
the ordinary reads answer, to the same keys and within the same bounds."""

import json
import uuid
from datetime import datetime, timezone
from urllib.parse import quote, urlencode

import pytest
from muster import ROOT

AGENT = 'odd "name" \\ of an agent'
NEWEST = "2025-06-18"
# tool: its operation's path, below the workspace; {…} are arguments
PATHS = {
    "list_agents": "agents",
    "get_agent": "agents/{agent_name}",
    "list_runs": "dashboard/runs",
    "get_run_totals": "dashboard/totals",
    "get_run_events": "runs/{run_id}/events",
    "get_kpi_catalog": "business/catalog",
    "get_kpi_summary": "business/summary",
    "get_kpi_series": "business/series",
    "get_kpi_breakdown": "business/breakdown",
    "get_llm_usage": "llm/usage",
    "list_alerts": "alerts",
}


def now():
    return datetime.now(timezone.utc).isoformat()


class Speaker:
    """A client of the protocol with a key."""

    def __init__(self, client):
        self.client, self.last = client, 0

    def send(self, message, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post("/mcp", message, headers=named)

    def ask(self, method, **params):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        answer = self.send(message, MCP_Protocol_Version=NEWEST)
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json"), answer.body
        got = answer.json()
        assert (got["jsonrpc"], got["id"]) == ("2.0", self.last)
        assert ("result" in got) != ("error" in got)
        return got

    def call(self, tool, **arguments):
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]

    def read(self, tool, **arguments):
        """The answer of a tool, which its text repeats."""
        result = self.call(tool, **arguments)
        assert result["isError"] is False, result
        (content,) = result["content"]
        assert content["type"] == "text"
        assert json.loads(content["text"]) == result["structuredContent"]
        return result["structuredContent"]

    def fail(self, tool, **arguments):
        """The sentence of a tool that failed."""
        result = self.call(tool, **arguments)
        assert result["isError"] is True and "structuredContent" not in result
        return result["content"][0]["text"]


@pytest.fixture(scope="module")
def filled(server):
    """A workspace with runs, KPIs, tokens and an open alert, and its read-only key."""
    tenant = server.add_tenant()
    post = tenant.client.post
    kpis = [{"key": "leads", "label": "Leads", "unit": "count", "agg": "sum"}]
    declared = {"agent_name": AGENT, "business_kpis": kpis, "interval_seconds": 3600}
    assert post("/api/v1/agents/register", declared).status == 200
    assert server.admin.request("PUT", tenant.path("rules"), {"run_failed": True}).status == 200
    tenant.runs = [str(uuid.uuid4()) for _ in range(5)]
    events = []
    for run in tenant.runs:
        for kind in ("started", "in_progress", "failed"):
            events.append(tenant.event(agent_name=AGENT, run_id=run, event=kind, timestamp=now(),
                                       message=f'says "{kind}"', seq=len(events)))  # fmt: skip
    assert post("/api/v1/telemetry/batch", {"events": events}).json()["accepted"] == len(events)
    usage = {"agent_name": AGENT, "run_id": tenant.runs[0], "model": "m", "timestamp": now(),
             "input_tokens": 1000, "output_tokens": 200}  # fmt: skip
    assert post("/api/v1/telemetry/llm", usage).status == 202
    report = {"agent_name": AGENT, "run_id": tenant.runs[0], "timestamp": now(),
              "metrics": {"leads": 7}}  # fmt: skip
    assert post("/api/v1/telemetry/business", report).status == 202
    tenant.speaker = Speaker(server.client(tenant.add_key(None, "--read-only")))
    return tenant


@pytest.mark.smoke
def test_a_client_can_begin_and_see_the_tools(filled):
    begun = filled.speaker.ask("initialize", protocolVersion=NEWEST, capabilities={},
                               clientInfo={"name": "test", "version": "1"})["result"]  # fmt: skip
    assert begun["protocolVersion"] == NEWEST
    assert begun["capabilities"] == {"tools": {}}
    assert begun["serverInfo"]["name"] == "muster" and begun["serverInfo"]["version"]
    assert filled.slug in begun["instructions"]
    answer = filled.speaker.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status, answer.body) == (202, b"")
    assert filled.speaker.ask("ping")["result"] == {}
    listed = filled.speaker.ask("tools/list")["result"]
    assert "nextCursor" not in listed
    assert [tool["name"] for tool in listed["tools"]] == list(PATHS)
    for tool in listed["tools"]:
        assert tool["title"] and tool["description"].endswith(".")
        assert tool["annotations"]["readOnlyHint"] is True
        schema = tool["inputSchema"]
        assert schema["type"] == "object" and "slug" not in schema["properties"]
        assert set(schema.get("required", [])) <= set(schema["properties"])
        assert all(member["description"] and "anyOf" not in member
                   for member in schema["properties"].values())  # fmt: skip


ARGUMENTS = {
    "list_agents": {"order": "trouble", "include_runs": True},
    "get_agent": {"agent_name": AGENT},
    "list_runs": {"limit": 3, "status": "failed", "agent_name": AGENT},
    "get_run_totals": {"time_range": "24h"},
    "get_run_events": {"run_id": None, "limit": 2},
    "get_kpi_catalog": {},
    "get_kpi_summary": {"time_range": "7d"},
    "get_kpi_series": {"key": "leads", "time_range": "7d"},
    "get_kpi_breakdown": {"metric": "leads"},
    "get_llm_usage": {"group_by": "agent,model", "time_range": "7d"},
    "list_alerts": {"state": "closed", "type": "run.failed", "limit": 2},
}


@pytest.mark.parametrize("tool", PATHS)
def test_a_tool_answers_what_the_ordinary_read_answers(filled, tool):
    arguments = dict(ARGUMENTS[tool])
    if "run_id" in arguments:
        arguments["run_id"] = filled.runs[0]
    path = PATHS[tool].format(**{name: quote(str(value), safe="") for name, value in arguments.items()})
    query = {k: str(v).lower() if v is True else v for k, v in arguments.items()
             if f"{{{k}}}" not in PATHS[tool]}  # fmt: skip
    expected = filled.client.get(filled.path(f"{path}?{urlencode(query)}")).json()
    found = filled.speaker.read(tool, **arguments)
    for moment in ("since", "until"):  # ranges end now
        assert (moment in found) == (moment in expected)
        found.pop(moment, None), expected.pop(moment, None)
    assert found == expected
    assert any(found.values()), "an empty answer shows nothing"


def test_pages_are_bounded_and_lead_to_each_other(filled):
    seen, cursor = [], {}
    while True:
        page = filled.speaker.read("list_runs", limit=2, **cursor)
        assert len(page["runs"]) <= 2
        seen += [run["run_id"] for run in page["runs"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert sorted(seen) == sorted(filled.runs)
    narrative = filled.speaker.read("get_run_events", run_id=filled.runs[0], limit=2)
    rest = filled.speaker.read("get_run_events", run_id=filled.runs[0], cursor=narrative["next"])
    assert [e["event"] for e in narrative["events"] + rest["events"]] == [
        "started", "in_progress", "failed"]  # fmt: skip
    assert "less than or equal to 1000" in filled.speaker.fail(
        "get_run_events", run_id=filled.runs[0], limit=1001)  # fmt: skip


def test_a_narrative_has_at_most_100_events_unless_more_are_asked_for(tenant):
    run = str(uuid.uuid4())
    events = [tenant.event(agent_name="a", run_id=run, event="in_progress", seq=n) for n in range(120)]
    assert tenant.client.post("/api/v1/telemetry/batch", {"events": events}).status == 202
    page = Speaker(tenant.client).read("get_run_events", run_id=run)
    assert len(page["events"]) == 100 and page["next"]


def test_an_answer_that_is_too_large_says_how_to_get_a_smaller_one(tenant):
    run, long = str(uuid.uuid4()), "x" * 10000
    events = [tenant.event(agent_name="a", run_id=run, event="in_progress", seq=n, message=long)
              for n in range(120)]  # fmt: skip
    assert tenant.client.post("/api/v1/telemetry/batch", {"events": events}).status == 202
    speaker = Speaker(tenant.client)
    assert "larger than 1 MiB" in speaker.fail("get_run_events", run_id=run, limit=120)
    assert len(speaker.read("get_run_events", run_id=run, limit=90)["events"]) == 90


def test_what_a_model_can_mend_is_an_error_of_the_tool(filled):
    fail = filled.speaker.fail
    assert "less than or equal to 1000" in fail("list_runs", limit=5000)
    assert "valid integer" in fail("list_runs", limit="5")
    assert "Extra inputs" in fail("list_runs", slug="another")
    assert "Field required" in fail("get_run_events")
    assert "UUID" in fail("get_run_events", run_id="7")
    assert "time_range" in fail("get_llm_usage", time_range="whenever")
    assert "group_by" in fail("get_llm_usage", group_by="nonsense")
    assert "time_range" in fail("get_kpi_summary", time_range="whenever")
    names = ",".join(f"d{i}" for i in range(33))
    assert "at most 32 dimension names" in fail("get_kpi_breakdown", metric="leads", by=names)
    assert "unchanged next" in fail("list_runs", cursor="mine")
    assert str(uuid.UUID(int=7)) in fail("get_run_events", run_id=str(uuid.UUID(int=7)))
    assert "nobody" in fail("get_agent", agent_name="nobody")
    assert filled.speaker.read("list_runs", status=None, limit=1)["runs"]


def test_wrong_messages_are_errors_of_json_rpc(filled):
    def error(message, **headers):
        answer = filled.speaker.send(message, **headers)
        return answer.status, answer.json()["error"]["code"], answer.json()["id"]

    ask = {"jsonrpc": "2.0", "id": "a", "method": "tools/call"}
    assert error(b"{") == (400, -32700, None)
    assert error(b"") == (400, -32700, None)
    assert error([ask]) == (400, -32600, None)
    assert error({"id": 1, "method": "ping"}) == (400, -32600, None)
    assert error({**ask, "jsonrpc": "1.0"}) == (400, -32600, None)
    assert error({**ask, "id": {}}) == (400, -32600, None)
    assert error({"jsonrpc": "2.0", "id": 1}) == (400, -32600, 1)
    assert error({**ask, "params": [1]}) == (400, -32600, None)
    assert error({**ask, "method": "resources/list"}) == (200, -32601, "a")
    assert error(ask) == (200, -32602, "a")
    assert error({**ask, "params": {"name": "delete_tenant"}}) == (200, -32602, "a")
    assert error({**ask, "params": {"name": "list_runs", "arguments": []}}) == (200, -32602, "a")
    assert error({**ask, "method": "initialize"}) == (200, -32602, "a")
    assert error({**ask, "method": "tools/list", "params": {"cursor": "x"}}) == (200, -32602, "a")
    assert error(ask, MCP_Protocol_Version="1999-01-01") == (400, -32000, None)
    assert error(ask, Content_Type="text/plain") == (415, -32000, None)
    assert error(b" " * (65 << 10)) == (413, -32000, None)


@pytest.mark.parametrize(
    ("asked", "given"),
    [("2025-03-26", "2025-03-26"), ("2024-11-05", "2024-11-05"), ("2199-01-01", NEWEST)],
)
def test_other_revisions_are_negotiated(filled, asked, given):
    begun = filled.speaker.ask("initialize", protocolVersion=asked, capabilities={}, clientInfo={})
    assert begun["result"]["protocolVersion"] == given
    answer = filled.speaker.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, MCP_Protocol_Version=given)
    assert answer.status == 200


def test_there_are_no_streams_and_no_sessions(filled):
    for method in ("GET", "DELETE"):
        answer = filled.speaker.client.request(method, "/mcp", headers={"Accept": "text/event-stream"})
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
    answer = filled.speaker.send({"jsonrpc": "2.0", "id": 1, "result": {}})  # a response
    assert (answer.status, answer.body) == (202, b"")
    assert answer.headers["Mcp-Session-Id"] is None


def test_pages_of_other_sites_are_refused_even_if_their_name_leads_here(filled):
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    port = filled.client.connection.port
    own = f"127.0.0.1:{port}"
    statuses = {
        (f"http://{own}", own): 200,
        (f"http://localhost:{port}", f"localhost:{port}"): 200,
        (f"http://[::1]:{port}", f"[::1]:{port}"): 200,
        (f"http://localhost:{port}", own): 403,
        ("http://evil.example", own): 403,
        ("http://evil.example", "evil.example"): 403,  # DNS rebinding
        (f"http://localhost.evil.example:{port}", f"localhost.evil.example:{port}"): 403,
        ("null", own): 403,
        ("", own): 403,
    }
    for (origin, host), status in statuses.items():
        answer = filled.speaker.send(ping, Origin=origin, Host=host)
        assert answer.status == status, (origin, host, answer.body)


def test_a_tool_reads_only_the_workspace_of_its_key(filled, tenant):
    speaker = Speaker(tenant.client)
    assert speaker.read("list_runs")["runs"] == []
    assert "There is no" in speaker.fail("get_run_events", run_id=filled.runs[0])
    refused = Speaker(tenant.agent_client("a")).send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert refused.status == 403 and "agent key" in refused.json()["error"]["message"]


def test_messages_count_against_the_rate_limit_of_the_key(server):
    speaker = Speaker(server.add_tenant(rate_limit=2).client)
    assert speaker.read("list_agents")["agents"] == []
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert speaker.send(ping).headers["RateLimit-Remaining"] == "0"
    refused = speaker.send(ping)
    assert refused.status == 429 and int(refused.headers["Retry-After"]) > 0
    assert refused.json()["error"]["code"] == -32000


def test_the_example_of_the_document_is_what_the_service_answers(tenant):
    operation = json.loads((ROOT / "docs/openapi.json").read_text())["paths"]["/mcp"]["post"]
    sent = operation["requestBody"]["content"]["application/json"]["example"]
    answer = tenant.client.post("/mcp", sent)
    assert answer.json() == operation["responses"]["200"]["content"]["application/json"]["example"]
