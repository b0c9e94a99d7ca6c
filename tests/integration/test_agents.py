"""Agents as front ends read them: how they are doing, what they declared, what they ran."""

import json
from datetime import datetime, timedelta, timezone
from urllib.parse import quote, urlencode

import pytest
from waiting import until

pytestmark = pytest.mark.administered

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
T0 = datetime(2025, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
LISTED = [
    "agent_name", "agent_version", "description", "enabled", "state", "interval_seconds",
    "schedule", "first_seen_at", "last_seen_at", "next_expected_at", "silent_at",
    "maintenance_until", "registered_at", "muted_until", "open_runs", "last_run",
]  # fmt: skip
OF_ONE = [
    "telemetry_doc", "business_kpis", "inputs", "outputs", "config_schema", "versions", "counts",
    "model", "last_model", "last_model_at", "command_policy",
]  # fmt: skip


def at(seconds):
    return (T0 + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def run_id(number):
    return f"3f2b8c1e-9a4d-4e6f-8b7a-{number:012}"


def seconds(text):
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (moment - EPOCH) / timedelta(seconds=1)


def register(tenant, name, **fields):
    answer = tenant.client.post("/api/v1/agents/register", {"agent_name": name, **fields})
    assert answer.status == 200, answer.body


def report(tenant, name="collector", **fields):
    answer = tenant.client.post("/api/v1/telemetry", tenant.event(agent_name=name, **fields))
    assert answer.status == 202, answer.body
    return answer.json()["status"]


def ask(tenant, rest="agents", client=None, headers=None, **query):
    path = tenant.path(rest) + "?" * bool(query) + urlencode(query)
    return (client or tenant.client).get(path, headers=headers)


def page(tenant, **query):
    answer = ask(tenant, **query)
    assert answer.status == 200, answer.body
    return answer.json()


def listed(tenant, **query):
    return {a["agent_name"]: a for a in page(tenant, **query)["agents"]}


def one(tenant, name):
    answer = ask(tenant, f"agents/{quote(name, safe='')}")
    assert answer.status == 200, answer.body
    return answer.json()


def test_a_tenant_without_agents_has_an_empty_page(tenant):
    assert page(tenant) == {"agents": [], "next": None}


def test_states_go_by_the_clock(own_server, clock):
    tenant = own_server.add_tenant()
    register(tenant, "hourly", interval_seconds=3600)
    register(tenant, "never-seen", interval_seconds=3600)
    report(tenant, "no-interval")
    register(tenant, "zero", interval_seconds=0)
    report(tenant, "zero")
    register(tenant, "off", interval_seconds=3600)
    report(tenant, "off")
    own_server.cli("agent", "disable", "off", "--tenant", tenant.slug)

    def states():
        return {name: a["state"] for name, a in listed(tenant).items()}

    fixed = {
        "never-seen": "never_reported", "no-interval": "unscheduled", "zero": "unscheduled",
        "off": "disabled",
    }  # fmt: skip
    assert states() == {**fixed, "hourly": "never_reported"}  # registering is no sign of life
    report(tenant, "hourly")
    agent = listed(tenant)["hourly"]
    seen = seconds(agent["last_seen_at"])
    assert abs(seen - clock.now()) < 60
    assert seconds(agent["next_expected_at"]) == pytest.approx(seen + 3600)
    assert seconds(agent["silent_at"]) == pytest.approx(seen + 5400)
    off = listed(tenant)["off"]
    assert (off["next_expected_at"], off["silent_at"]) == (None, None)
    for passed, state in [(0, "up"), (3540, "up"), (60, "late"), (1740, "late"), (60, "silent")]:
        clock.advance(passed)
        assert states() == {**fixed, "hourly": state}, passed
        assert list(listed(tenant, state=state)) == ["hourly"]
    register(tenant, "hourly", interval_seconds=36000)
    assert states()["hourly"] == "up"  # at once
    assert one(tenant, "hourly")["state"] == "up"
    tenant.client.close()


def test_trouble_is_listed_first_and_counted_by_the_server(own_server, clock):
    tenant = own_server.add_tenant()
    register(tenant, "b-new", interval_seconds=60)
    report(tenant, "c-free")
    for name, interval in [("z-silent", 60), ("y-late", 3600), ("a-up", 86400), ("d-off", 60)]:
        register(tenant, name, interval_seconds=interval)
        report(tenant, name)
    own_server.cli("agent", "disable", "d-off", "--tenant", tenant.slug)
    clock.advance(3700)

    def names(**query):
        got = page(tenant, order="trouble", **query)
        assert got["next"] is None
        return [a["agent_name"] for a in got["agents"]], got["counts"]

    order = ["z-silent", "y-late", "b-new", "a-up", "c-free", "d-off"]
    counts = dict.fromkeys(
        ["up", "late", "silent", "unscheduled", "never_reported", "disabled"], 1
    )
    assert names() == (order, counts)
    for offset in range(len(order) + 2):
        assert names(offset=offset, limit=2) == (order[offset : offset + 2], counts), offset
    assert names(state="late") == (["y-late"], counts)
    none = dict.fromkeys(counts, 0)
    assert names(q="SILENT") == (["z-silent"], {**none, "silent": 1})
    assert names(q="nothing") == ([], none)
    assert "counts" not in page(tenant)
    tenant.client.close()


def test_agents_are_listed_by_name_and_by_when_they_were_seen(own_server, clock):
    tenant = own_server.add_tenant()
    for name in ("new-b", "new-a"):
        register(tenant, name, interval_seconds=60)
    for name in ("c", "A", "b"):
        report(tenant, name)
        clock.advance(60)

    def names(order, **query):
        got = page(tenant, order=order, **query)
        assert got["next"] is None
        assert (got["counts"]["unscheduled"], got["counts"]["never_reported"]) == (3, 2)
        return [a["agent_name"] for a in got["agents"]]

    by_name, never = ["A", "b", "c", "new-a", "new-b"], ["new-a", "new-b"]
    expected = {
        ("agent", "false"): by_name,
        ("agent", "true"): by_name[::-1],
        ("last_seen", "false"): ["b", "A", "c", *never],
        ("last_seen", "true"): ["c", "A", "b", *never],
    }
    for (order, reverse), wanted in expected.items():
        assert names(order, reverse=reverse) == wanted
        for offset in range(len(wanted) + 2):
            part = names(order, reverse=reverse, offset=offset, limit=2)
            assert part == wanted[offset : offset + 2], (order, reverse, offset)
        chosen = names(order, reverse=reverse, state="never_reported")
        assert chosen == [name for name in wanted if name in never]
    report(tenant, "c")
    assert names("last_seen")[0] == "c", "what is seen now counts, before it is stored"
    assert names("agent", reverse="false", state="silent") == []
    tenant.client.close()


NAMES = ["A", "B b", "a", "a/b", "b", "z", "ä", "Ω", "日本"]  # in the order of their bytes


def test_pages_go_by_the_bytes_of_names(tenant):
    for name in reversed(NAMES):
        register(tenant, name)
    assert list(listed(tenant)) == NAMES
    for limit in (1, 3, 10):
        found, cursor = [], {}
        while cursor is not None:
            got = page(tenant, limit=limit, **cursor)
            found += [a["agent_name"] for a in got["agents"]]
            cursor = {"cursor": got["next"]} if got["next"] is not None else None
        assert found == NAMES, limit
    assert page(tenant, cursor="zz")["agents"][0]["agent_name"] == "ä"


def test_names_are_searched(tenant):
    for name in ["Mail-Reader", "mail sender", "x", "ÄRGER"]:
        register(tenant, name)
    cases = {"MAIL": 2, "mail-": 1, "": 4, "READER": 1, "nothing": 0, "ÄR": 1, "%": 0, "är": 0}
    for part, n in cases.items():
        assert len(page(tenant, q=part)["agents"]) == n, part
    assert [a["agent_name"] for a in page(tenant, q="a", state="never_reported")["agents"]] == [
        "Mail-Reader", "mail sender",
    ]  # fmt: skip
    assert page(tenant, state="up") == {"agents": [], "next": None}


def test_runs_of_an_agent(tenant):
    for i in range(25):
        closing = [{}, {"event": "completed"}, {"event": "failed", "duration_ms": 7}][i % 3]
        report(tenant, run_id=run_id(i), timestamp=at(i), agent_version=f"{i // 10}")
        if closing:
            report(tenant, run_id=run_id(i), timestamp=at(i + 2), **closing)
    report(tenant, "other", run_id=run_id(99), timestamp=at(99))
    assert "recent_runs" not in listed(tenant)["collector"]
    agent = listed(tenant, include_runs="true")["collector"]
    runs = agent["recent_runs"]
    assert [r["run_id"] for r in runs] == [run_id(i) for i in range(24, 4, -1)]
    assert agent["last_run"] == runs[0]
    assert agent["open_runs"] == sum(r["status"] == "in_progress" for r in runs) == 7
    assert [r["status"] for r in runs[:3]] == ["in_progress", "failed", "completed"]
    assert [r["duration_ms"] for r in runs[:3]] == [None, 7, 2000]
    assert agent["agent_version"] == "2"
    detail = one(tenant, "collector")
    assert detail["counts"] == {
        "runs": 25, "in_progress": 9, "completed": 8, "failed": 8, "median_duration_ms": 7,
        "counted_since": None, "newest_at": at(24),
    }  # fmt: skip
    assert detail["versions"] == [
        {"agent_version": v, "runs": n, "first_run_at": at(a), "last_run_at": at(b)}
        for v, n, a, b in [("2", 5, 20, 24), ("1", 10, 10, 19), ("0", 10, 0, 9)]
    ]


def test_the_model_that_an_agent_used_last(tenant):
    """Beside the one that is set for it: of the last 30 days, and not that of another agent."""
    now = datetime.now(timezone.utc).replace(microsecond=0)

    def used():
        detail = one(tenant, "collector")
        return detail["last_model"], detail["last_model_at"]

    def use(model, agent_name="collector", number=1, **ago):
        time = (now - timedelta(**ago)).isoformat().replace("+00:00", "Z")
        usage = {"agent_name": agent_name, "client_id": tenant.slug, "run_id": run_id(number),
                 "timestamp": time, "model": model, "input_tokens": 1}  # fmt: skip
        answer = tenant.client.post("/api/v1/telemetry/llm", usage)
        assert answer.status == 202, answer.body
        return model, time

    report(tenant)
    assert used() == (None, None)
    use("gone", days=40)
    assert used() == (None, None)
    old = use("old", number=2, days=20)
    assert used() == old
    new = use("new", minutes=5)
    use("late", number=2, minutes=7)  # reported later, but of before
    use("other", "another", seconds=1)
    assert used() == new
    assert use("newest", number=3, minutes=-2) == used()  # its clock is ahead


def test_all_that_an_agent_declared(tenant):
    declared = {
        "agent_version": "2.0",
        "description": "x" * 2000,
        "telemetry_doc": "what it reports",
        "interval_seconds": 60,
        "business_kpis": [
            {"key": "a", "label": "A", "unit": "count", "agg": "sum"},
            {"key": "b", "label": "", "unit": "percent", "agg": "avg"},
        ],
        "inputs": [{"key": "i", "type": "text", "required": False}],
        "outputs": [{"key": "o"}],
        "config_schema": {"version": 3, "params": [{"key": "p", "default": "5"}]},
    }
    report(tenant, agent_version="1.0", timestamp=at(0))
    register(tenant, "collector", **declared)
    tenant.server.cli("model", "set", "small", "--tenant", tenant.slug, "--agent", "collector")
    (short,) = page(tenant)["agents"]
    assert short["description"] == "x" * 1024
    assert short["agent_version"] == "2.0"  # registered after the run
    agent = one(tenant, "collector")
    assert list(agent) == [*LISTED, "recent_runs", *OF_ONE]
    for key in ("agent_version", "description", "telemetry_doc", "interval_seconds",
                "business_kpis", "inputs"):  # fmt: skip
        assert agent[key] == declared[key]
    assert agent["outputs"] == [{"key": "o", "type": "any", "required": True}]
    assert agent["config_schema"]["version"] == 3
    assert agent["config_schema"]["params"][0]["default"] == "5"
    model = {"agent_name": "collector", "model": "small", "source": "agent"}
    until(lambda: one(tenant, "collector")["model"] == model)
    policy = agent["command_policy"]
    assert (policy["mode"], policy["source"]) == ("deny_all", "platform")
    assert [v["agent_version"] for v in agent["versions"]] == ["1.0"]


def test_a_default_that_not_everybody_may_see_is_not_told(tenant):
    params = [{"key": key, "default": "planted-default"} for key in ("api_key", "region")]
    register(tenant, "careless", config_schema={"params": params})
    answer = tenant.client.get(tenant.path("agents/careless")).json()
    told = {p["key"]: p["default"] for p in answer["config_schema"]["params"]}
    assert told == {"api_key": "", "region": "planted-default"}


def test_a_name_of_any_length_and_spelling(tenant):
    names = ["n" * 5000, "with/slash ü?&#"]
    for name in names:
        register(tenant, name)
    assert set(listed(tenant)) == set(names)
    for name in names[1:]:  # a path has room for 8 KiB
        assert one(tenant, name)["agent_name"] == name


def test_an_agent_that_nobody_knows(tenant):
    answer = ask(tenant, "agents/nobody")
    assert answer.status == 404
    detail = f"There is no agent 'nobody' in tenant '{tenant.slug}'"
    assert answer.json() == {"detail": detail}


@pytest.mark.parametrize("rest", ["agents", "agents/collector", "dashboard/runs", "workflows/w"])
def test_an_unchanged_answer_is_not_sent_again(tenant, rest):
    report(tenant, workflow_run_id="w")
    first = ask(tenant, rest)
    tag = first.headers["ETag"]
    again = ask(tenant, rest, headers={"If-None-Match": tag})
    assert (first.status, again.status, again.body) == (200, 304, b"")
    assert again.headers["ETag"] == tag
    report(tenant, workflow_run_id="w")
    changed = ask(tenant, rest, headers={"If-None-Match": tag})
    assert changed.status == 200
    assert changed.headers["ETag"] != tag


def test_the_command_lists_agents(own_server, clock):
    tenant = own_server.add_tenant()
    register(tenant, "worker", interval_seconds=60)
    report(tenant, "worker")
    register(tenant, "quiet one")
    clock.advance(7200)
    lines = own_server.cli("agent", "list", "--tenant", tenant.slug).splitlines()
    assert [line.split(None, 1) for line in lines] == [
        ["STATE", "LAST SEEN  NAME"], ["never_reported", "never      quiet one"],
        ["silent", "2h ago     worker"],
    ]  # fmt: skip
    said = json.loads(own_server.cli("agent", "list", "--tenant", tenant.slug, "--json"))
    assert [a["agent_name"] for a in said["agents"]] == ["quiet one", "worker"]
    assert own_server.run("agent", "list").returncode == 2
    assert own_server.run("agent", "list", "--tenant", "no-such").returncode == 1
    tenant.client.close()
