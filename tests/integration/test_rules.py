"""Rules: what a tenant is alerted of, failed runs, KPIs out of bounds and budgets."""

import itertools
import json
import uuid
from datetime import timedelta

import pytest
from conftest import running
from hooks import DAY, EPOCH, HOUR, LOCAL, alerts, report
from people import tenant_person
from receiver import receiving
from stored import of_tenant, stored
from test_alerts import closed, listen, messages, now_text, second_server, stays, time_to_tick
from test_checksums import damage
from test_live import Live
from waiting import always, until, until_judged

pytestmark = pytest.mark.administered

DEFAULT = {
    "run_failed": True, "run_stuck": True, "kpis": [], "budgets": [], "failure_rates": [],
    "durations": [], "reminder_hours": None,
}  # fmt: skip
MINUTE = 61  # and a bit
REST = 601  # after a start or a step of the clock no KPI and no budget is judged


@pytest.fixture
def world(own_server, clock):
    tenant = own_server.add_tenant("--max-agents", "50")
    own_server.clock = clock
    clock.advance(REST)
    yield tenant
    tenant.client.close()


def until_so(tenant, is_so):
    return until_judged(is_so, tenant.server.clock, tenant.server)


def until_open(tenant, **query):
    (alert,) = until_so(tenant, lambda: alerts(tenant, state="open", **query))
    return alert


def until_closed(tenant, alert):
    return until_so(tenant, lambda: closed(tenant, alert))


def set_rules(tenant, **rules):
    """By a new user, since a session does not last when the clock is moved. Failed runs are an alert
    only where that is said."""
    person = tenant_person(tenant, "admin")
    answer = person.request("PUT", tenant.path("rules"), {"run_failed": False, **rules})
    assert answer.status == 200, answer.body
    person.close()


def kpi(key="leads", **more):
    return {"key": key, "agent_name": None, "range": "24h", "below": None, "above": None,
            "paused": False, **more}  # fmt: skip


def declare(tenant, name="worker", **aggs):
    kpis = [{"key": k, "label": k, "unit": "count", "agg": agg} for k, agg in aggs.items()]
    body = {"agent_name": name, "business_kpis": kpis}
    assert tenant.client.post("/api/v1/agents/register", body).status == 200


def business(tenant, clock, name="worker", **metrics):
    body = {"agent_name": name, "run_id": str(uuid.uuid4()), "timestamp": now_text(clock),
            "metrics": metrics}  # fmt: skip
    assert tenant.client.post("/api/v1/telemetry/business", body).status == 202


def spend(tenant, clock, dollars, model="m"):
    """At a dollar for a thousand tokens."""
    body = {"agent_name": "worker", "run_id": str(uuid.uuid4()), "model": model,
            "timestamp": now_text(clock), "input_tokens": round(dollars * 1000),
            "output_tokens": 0}  # fmt: skip
    assert tenant.client.post("/api/v1/telemetry/llm", body).status == 202


def test_rules_are_shown_and_replaced_whole(world, tmp_path):
    person, path = tenant_person(world, "admin"), world.path("rules")
    assert person.get(path).json() == DEFAULT
    rules = {
        "run_failed": True, "run_stuck": False,
        "kpis": [kpi(below=1.5), kpi("cost", agent_name="ü", range="7d", above=10)],
        "budgets": [{"amount": "10.00", "per": "day", "agent_name": None, "model": None,
                     "hard": False, "paused": False},
                    {"amount": "0.5", "per": "month", "agent_name": "ü", "model": "m",
                     "hard": True, "paused": True}],
        "failure_rates": [{"agent_name": None, "runs": 20, "percent": 12.5, "paused": False}],
        "durations": [{"agent_name": "ü", "runs": 10, "percentile": 50, "seconds": 60,
                       "paused": True}],
        "reminder_hours": 6,
    }  # fmt: skip
    answer = person.request("PUT", path, rules)
    assert (answer.status, answer.json()) == (200, rules)
    assert person.get(path).json() == rules
    done = world.server.cli("rule", "show", "--tenant", world.slug)
    assert done.splitlines() == [
        "run_failed on", "run_stuck  off", "kpi        leads over 24h, below 1.5",
        "kpi        cost over 7d of agent 'ü', above 10", "budget     10.00 USD per day",
        "budget     0.5 USD per month of agent 'ü' with model 'm', hard (paused)",
        "failures   above 12.5 % of 20 runs",
        "duration   p50 of 10 runs of agent 'ü' above 60 s (paused)",
        "reminder   after 6 h",
    ]  # fmt: skip
    few = {"kpis": [{"key": "leads", "below": 1}]}
    assert person.request("PUT", path, few).json() == {**DEFAULT, "kpis": [kpi(below=1)]}
    file = tmp_path / "rules.json"
    file.write_text("{}")
    done = world.server.cli("rule", "set", str(file), "--tenant", world.slug, "--json")
    assert json.loads(done) == person.get(path).json() == DEFAULT
    other = world.server.add_tenant()
    assert other.client.get(path).status == 403
    other.client.close()
    person.close()
    (entry, *_) = json.loads(
        world.server.cli("audit", "list", "--tenant", world.slug, "--action", "rules.set", "--json")
    )["entries"]
    assert entry["detail"] == {"run_failed": True, "run_stuck": True, "kpis": 0, "budgets": 0,
                               "failure_rates": 0, "durations": 0}  # fmt: skip


BAD = [
    ({"run_failed": 1}, ["run_failed"]),
    ({"kpis": [{"below": 1}]}, ["kpis", 0, "key"]),
    ({"kpis": [{"key": "a"}]}, ["kpis", 0, "below"]),
    ({"kpis": [{"key": "a", "below": "1"}]}, ["kpis", 0, "below"]),
    ({"kpis": [{"key": "a", "below": 1, "range": "today"}]}, ["kpis", 0, "range"]),
    ({"kpis": [{"key": "a", "below": 1, "range": "0h"}]}, ["kpis", 0, "range"]),
    ({"kpis": [{"key": "a", "below": 1, "range": "93d"}]}, ["kpis", 0, "range"]),
    ({"kpis": [{"key": "a", "below": 1, "range": "2025-01-01T00:00z"}]}, ["kpis", 0, "range"]),
    ({"kpis": [{"key": "a", "below": 1}] * 51}, ["kpis"]),
    ({"budgets": [{"amount": "1", "per": "week"}]}, ["budgets", 0, "per"]),
    ({"budgets": [{"amount": 1, "per": "day"}]}, ["budgets", 0, "amount"]),
    ({"budgets": [{"amount": "-1", "per": "day"}]}, ["budgets", 0, "amount"]),
    ({"budgets": [{"amount": "0.0000001", "per": "day"}]}, ["budgets", 0, "amount"]),
    ({"budgets": [{"amount": "1", "per": "day"}] * 51}, ["budgets"]),
    ({"failure_rates": [{"runs": 20}]}, ["failure_rates", 0, "percent"]),
    ({"failure_rates": [{"percent": 100}]}, ["failure_rates", 0, "percent"]),
    ({"failure_rates": [{"percent": 10, "runs": 501}]}, ["failure_rates", 0, "runs"]),
    ({"durations": [{"seconds": -1}]}, ["durations", 0, "seconds"]),
    ({"durations": [{"seconds": 1, "percentile": 0}]}, ["durations", 0, "percentile"]),
    ({"reminder_hours": 0}, ["reminder_hours"]),
]


def test_bad_rules_change_nothing(tenant):
    person, path = tenant_person(tenant, "admin"), tenant.path("rules")
    for body, place in BAD:
        answer = person.request("PUT", path, body)
        assert answer.status == 422, body
        assert [item["loc"] for item in answer.json()["detail"]] == [["body", *place]], body
    assert person.get(path).json() == DEFAULT
    person.close()


def fail(tenant, run, **fields):
    report(tenant, run_id=run, event="failed", **fields)


def test_a_failed_run_is_told_of_once(world, clock):
    listen(world)
    before, run, later = (str(uuid.uuid4()) for _ in range(3))
    set_rules(world, run_failed=False)
    fail(world, before)
    set_rules(world, run_failed=True)
    failure = {"event_id": "e1", "error_type": "Timeout", "error_message": "no answer"}
    report(world, run_id=run)
    assert alerts(world) == []
    for _ in range(2):
        fail(world, run, **failure)  # the second is a duplicate
    report(world, run_id=run, event="completed", timestamp="2100-01-01T00:00:00Z")
    fail(world, run, timestamp="2100-01-02T00:00:00Z")  # closed again
    fail(world, before)
    set_rules(world, run_failed=False)
    fail(world, later)
    second, first = alerts(world, type="run.failed")
    assert [a["run_id"] for a in (first, second)] == [run, before]
    assert (first["type"], first["agent_name"]) == ("run.failed", "worker")
    assert (first["state"], first["closed_by"]) == ("closed", "event")
    assert first["detail"] == {"error_type": "Timeout", "error_message": "no answer"}
    told = [(t, d) for t, d in messages(world) if t == "run.failed"]
    assert [(t, d["run_id"], d["alert_id"]) for t, d in told] == [
        ("run.failed", a["run_id"], a["alert_id"]) for a in (first, second)
    ]
    assert told[0][1]["summary"] == f"Run {run} of agent 'worker' failed: Timeout"


def test_a_new_workspace_is_told_of_the_first_run_that_fails(tenant):
    """Nobody has set a rule; a rule that is set about something else changes nothing."""
    listen(tenant)
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    fail(tenant, first, error_type="Timeout")
    assert [a["run_id"] for a in alerts(tenant, type="run.failed")] == [first]
    assert [(t, d["run_id"]) for t, d in messages(tenant)] == [("run.failed", first)]
    person = tenant_person(tenant, "admin")
    few = {"kpis": [{"key": "leads", "below": 1}]}
    assert person.request("PUT", tenant.path("rules"), few).json()["run_failed"] is True
    person.close()
    fail(tenant, second)
    assert [a["run_id"] for a in alerts(tenant, type="run.failed")] == [second, first]


def test_a_batch_of_failures_is_an_alert_and_a_message_of_each_run(world):
    listen(world)
    set_rules(world, run_failed=True)
    runs = [str(uuid.uuid4()) for _ in range(250)]
    events = [world.event(event="failed", run_id=run, agent_name=f"a{i % 3}", error_type=f"e{i}")
              for i, run in enumerate([*runs, runs[7]])]  # fmt: skip
    answer = world.client.post("/api/v1/telemetry/batch", {"events": events})
    assert (answer.status, answer.json()["accepted"]) == (202, 251)
    of_failed = f"type = 'run.failed' AND {of_tenant(world)}"
    rows = stored(world.server, f"SELECT alert_id, subject, detail FROM alerts WHERE {of_failed}")
    assert sorted(row["subject"] for row in rows) == sorted(runs)
    assert {row["subject"]: json.loads(row["detail"])["error_type"] for row in rows} == {
        run: f"e{i}" for i, run in enumerate(runs)
    }
    told = stored(world.server, f"SELECT data FROM messages WHERE {of_failed}")
    said = [json.loads(row["data"]) for row in told]
    assert {(d["alert_id"], d["run_id"]) for d in said} == {(r["alert_id"], r["subject"]) for r in rows}
    assert all(f"Run {d['run_id']} of agent 'a" in d["summary"] for d in said) and len(said) == 250


def test_a_thousand_failed_runs_of_an_hour_have_an_alert_of_their_own(world, clock):
    set_rules(world, run_failed=True)
    of_failed = f"type = 'run.failed' AND {of_tenant(world)}"

    def fail_many(n):
        events = [world.event(event="failed", run_id=str(uuid.uuid4())) for _ in range(n)]
        answer = world.client.post("/api/v1/telemetry/batch", {"events": events})
        assert answer.json()["accepted"] == n
        (row,) = stored(world.server, f"SELECT COUNT(*) AS n FROM alerts WHERE {of_failed}")
        return row["n"]

    assert [fail_many(n) for n in (600, 600, 3)] == [600, 1000, 1000]
    clock.advance(HOUR + 1)
    assert fail_many(5) == 1005


def test_a_failure_is_stored_whatever_it_says(world):
    """As JSON it is six times as long, and more than a message may hold: the alert has it."""
    listen(world)
    set_rules(world, run_failed=True)
    run, text = str(uuid.uuid4()), "\x01" * 16000
    name = "\x03" * 256
    fail(world, run, name=name, error_type="\x02" * 256, error_message=text, message=text)
    (alert,) = alerts(world, type="run.failed")
    assert (alert["run_id"], alert["detail"]["message"]) == (run, text[:1000])
    ((kind, data),) = [(t, d) for t, d in messages(world) if t == "run.failed"]
    assert (kind, data["alert_id"], data["detail"]) == ("run.failed", alert["alert_id"], {})


def test_a_failure_that_does_not_stand_is_no_alert(world):
    set_rules(world, run_failed=True)
    run, other = str(uuid.uuid4()), str(uuid.uuid4())
    report(world, run_id=run, event="completed", timestamp="2025-01-02T00:00:00Z")
    fail(world, run, timestamp="2025-01-01T00:00:00Z")
    assert alerts(world) == []
    events = [
        world.event(agent_name="worker", run_id=run_id, event=event, event_id=event_id)
        for run_id, event, event_id in [
            (other, "started", "a"), (other, "failed", "b"), (other, "failed", "b"),
            (other, "failed", "c"), (run, "in_progress", "d"),
        ]
    ]  # fmt: skip
    answer = world.client.post("/api/v1/telemetry/batch", {"events": events})
    assert (answer.status, answer.json()["accepted"]) == (202, 4)
    assert [a["run_id"] for a in alerts(world, type="run.failed")] == [other]


def test_a_muted_agents_failures_are_told_to_nobody(world):
    listen(world)
    set_rules(world, run_failed=True)
    report(world)
    person = tenant_person(world, "member")
    body = {"until": "2100-01-01T00:00:00Z"}
    assert person.request("PUT", world.path("agents/worker/mute"), body).status == 200
    person.close()
    for _ in range(3):
        fail(world, str(uuid.uuid4()))
    assert [a["muted"] for a in alerts(world)] == [True] * 4  # of the runs and of the agent
    assert messages(world) == []


def test_those_who_listen_hear_that_a_rule_is_gone(world, clock):
    declare(world, leads="sum")
    business(world, clock, leads=1)
    set_rules(world, kpis=[kpi(below=2)])
    clock.advance(MINUTE)
    alert = until_open(world)
    live = Live(world)
    live.next()
    set_rules(world)
    told = live.until("alert")
    assert (told["alert_id"], told["state"], told["closed_by"]) == (
        alert["alert_id"],
        "closed",
        "rule",
    )
    live.close()


def test_a_failure_reaches_the_webhook(store, tmp_path):
    with running(store, tmp_path, arguments=LOCAL) as server, receiving() as receiver:
        tenant = server.add_tenant()
        added = server.run("webhook", "add", receiver.url, "--tenant", tenant.slug, "--types", "run.failed",
                           *LOCAL)  # fmt: skip
        assert added.returncode == 0, added.stderr
        set_rules(tenant, run_failed=True)
        run = str(uuid.uuid4())
        fail(tenant, run)
        told = receiver.next().json()
        assert (told["type"], told["data"]["run_id"]) == ("run.failed", run)
        tenant.client.close()


def test_stuck_runs_are_told_of_only_where_that_is_wanted(world, clock):
    other = world.server.add_tenant()
    for tenant in (world, other):
        report(tenant, timestamp=now_text(clock))
    set_rules(world, run_stuck=False)
    clock.advance(DAY + 300)
    until_open(other)
    assert alerts(world) == []
    listen(other)
    set_rules(other, run_stuck=False)
    clock.advance(MINUTE)
    closed = until(lambda: alerts(other, state="closed"))
    assert [a["closed_by"] for a in closed] == ["rule"]
    assert messages(other) == []
    other.client.close()


def test_a_kpi_out_of_bounds_is_one_alert_until_it_is_back(world, clock):
    listen(world)
    declare(world, leads="sum")
    rule = kpi(below=10)
    set_rules(world, kpis=[rule])
    business(world, clock, leads=4)
    clock.advance(MINUTE)
    alert = until_open(world)
    assert (alert["type"], alert["agent_name"], alert["run_id"]) == ("kpi.crossed", None, None)
    assert {**alert["detail"], "paused": False} == {**rule, "value": 4}
    business(world, clock, leads=1)
    clock.advance(MINUTE)
    stays(world, [(alert["alert_id"], "open")])
    business(world, clock, name="other", leads=5)
    declare(world, "other", leads="sum")
    clock.advance(MINUTE)
    assert until_closed(world, alert)["closed_by"] == "recovered"
    clock.advance(DAY - HOUR)
    business(world, clock, leads=3)
    clock.advance(HOUR)
    again = until_open(world)
    assert again["detail"]["value"] == 3
    told = messages(world)
    assert [(t, d["alert_id"]) for t, d in told] == [
        ("kpi.crossed", alert["alert_id"]),
        ("kpi.recovered", alert["alert_id"]),
        ("kpi.crossed", again["alert_id"]),
    ]
    assert [d["summary"] for _, d in told[:2]] == [
        "KPI 'leads' over the last 24h is 4, below 10",
        "KPI 'leads' over the last 24h is 10, within its limits again",
    ]
    set_rules(world, kpis=[kpi(below=11)])  # another rule
    assert until_closed(world, again)["closed_by"] == "rule"
    assert len(messages(world)) == 3
    clock.advance(MINUTE)
    assert until_open(world)["detail"]["below"] == 11


def test_a_rule_that_cannot_be_evaluated_leaves_the_others_alone(world, clock):
    declare(world, leads="sum", sales="sum")
    set_rules(world, kpis=[kpi("leads", below=10), kpi("sales", below=10)])
    # in the hour of the evaluation: whole hours are read from their sums, which are not damaged
    soon = EPOCH + timedelta(seconds=int(clock.now()) + REST + MINUTE)
    body = {"agent_name": "worker", "run_id": str(uuid.uuid4()),
            "timestamp": soon.strftime("%Y-%m-%dT%H:%M:%SZ"), "metrics": {"leads": 1, "sales": 1}}  # fmt: skip
    assert world.client.post("/api/v1/telemetry/business", body).status == 202
    damage(world, "UPDATE business_values SET integer_value = 2 WHERE key = 'leads'")
    clock.advance(REST + MINUTE)
    assert until_open(world)["detail"]["key"] == "sales"
    assert "rule 1 of tenant" in world.server.log()


def test_many_rules_that_are_crossed_at_once_open_an_alert_each(world, clock):
    """More than one transaction has room for: the rest follows in further turns."""
    keys = [f"k{i}" for i in range(50)]
    declare(world, **dict.fromkeys(keys, "sum"))
    set_rules(world, kpis=[kpi(key, below=10) for key in keys])
    business(world, clock, **dict.fromkeys(keys, 1))

    clock.advance(MINUTE)
    shown = lambda: {a["detail"]["key"] for a in alerts(world, limit=100)}  # noqa: E731
    until_so(world, lambda: shown() == set(keys))
    assert len(alerts(world, limit=100)) == len(keys)


def test_nothing_is_zero_only_where_runs_succeed(world, clock):
    """No output: `idle` has no runs, `broken` only failed ones, `empty` completed one."""
    set_rules(world)
    for name in ("idle", "broken", "empty", "mean"):
        declare(world, name, leads="avg" if name == "mean" else "sum")
    report(world, "broken", event="failed", timestamp=now_text(clock))
    for name in ("empty", "mean"):
        report(world, name, event="completed", timestamp=now_text(clock))
    names = ["nobody", "idle", "broken", "mean", "empty"]
    set_rules(world, kpis=[kpi(agent_name=name, below=1) for name in names])
    clock.advance(MINUTE)
    alert = until_open(world)
    assert (alert["agent_name"], alert["detail"]["value"]) == ("empty", 0)
    clock.advance(DAY)  # no runs any more: no reason to say that it is well
    stays(world, [(alert["alert_id"], "open")])
    world.server.cli("agent", "delete", "empty", "--tenant", world.slug)
    clock.advance(MINUTE)
    until_closed(world, alert)


def test_nothing_is_expected_of_an_agent_that_is_switched_off(world, clock):
    for name in ("on", "off"):
        declare(world, name, leads="sum")
        business(world, clock, name, leads=1)
    set_rules(world, kpis=[kpi(agent_name=name, below=2) for name in ("on", "off")])
    clock.advance(MINUTE)
    until_so(world, lambda: len(alerts(world, state="open")) == 2)
    world.server.cli("agent", "disable", "off", "--tenant", world.slug)
    clock.advance(MINUTE)
    (over,) = until_so(world, lambda: alerts(world, state="closed"))
    assert (over["agent_name"], over["closed_by"]) == ("off", "recovered")
    clock.advance(MINUTE)
    stays(world, [(a["alert_id"], a["state"]) for a in alerts(world)])


@pytest.mark.parametrize("what", ["downtime", "a step ahead", "a step back"])
def test_our_own_absence_is_nobodys_failure(world, clock, own_server, what):
    """Output of the last hours is missing because we were not there, or the clock says so."""
    declare(world, leads="sum")
    business(world, clock, leads=10)
    rules = {"kpis": [kpi(range="6h", below=5)]}
    set_rules(world, **rules)
    clock.advance(MINUTE)
    time_to_tick(world)
    if what == "downtime":
        own_server.stop()
        clock.advance(6 * HOUR)
        own_server.start()
        world.client.close()
        world.client = own_server.client(world.token)
    else:
        clock.step(7 * HOUR if what == "a step ahead" else -7 * HOUR)
    report(world, event="completed", timestamp=now_text(clock))
    time_to_tick(world)
    clock.advance(MINUTE)
    stays(world, [])
    business(world, clock, leads=9)  # what could not be told us before
    clock.advance(REST)
    stays(world, [])


def test_other_totals_have_bounds_too(world, clock):
    declare(world, total="sum", mean="avg", top="max", state="last", words="last")
    for n in (1, 2, 6):
        business(world, clock, total=n, mean=n, top=n, state=n, words="many", undeclared=n)
    crossed = [kpi("total", above=8.5), kpi("mean", above=2.5), kpi("mean", below=3.5),
               kpi("top", above=5), kpi("undeclared", above=5),
               kpi("state", below=0, above=5)]  # fmt: skip
    kept = [kpi("total", above=9, below=9), kpi("mean", below=3), kpi("top", above=6),
            kpi("words", above=1), kpi("unheard", below=1), kpi("unheard", above=-1)]  # fmt: skip
    set_rules(world, kpis=kept + crossed)
    clock.advance(MINUTE)
    until_so(world, lambda: len(alerts(world)) == len(crossed))
    found = [{**a["detail"], "paused": False} for a in alerts(world)]
    assert all(one.pop("value") is not None for one in found)
    assert sorted(found, key=str) == sorted(crossed, key=str)
    set_rules(world, kpis=[])
    assert {a["closed_by"] for a in alerts(world)} == {"rule"}


def test_a_budget_is_exceeded_once_in_its_period(world, clock):
    listen(world)
    to_noon = (12 * HOUR - clock.now()) % DAY
    clock.advance(to_noon)
    world.server.cli("price", "set", "m", "--input", "1000", "--output", "0")
    budgets = [{"amount": "10.00", "per": "day"}, {"amount": "1000", "per": "month"}]
    set_rules(world, budgets=budgets, kpis=[kpi("control", above=0)])
    spend(world, clock, 10)
    spend(world, clock, 99, model="unknown")  # has no price
    business(world, clock, control=1)
    clock.advance(MINUTE)
    (control,) = until_so(world, lambda: alerts(world))  # all were looked at
    assert control["type"] == "kpi.crossed"
    spend(world, clock, 0.25)
    clock.advance(MINUTE)
    alert = until_open(world, type="budget.exceeded")
    assert alert["detail"] == {**budgets[0], "cost": "10.25"}
    assert alert["since_at"][10:] == "T00:00:00Z"
    spend(world, clock, 5)
    clock.advance(MINUTE)
    stays(world, [(alert["alert_id"], "open"), (control["alert_id"], "open")])
    clock.advance(12 * HOUR)
    assert until_closed(world, alert)["closed_by"] == "recovered"
    told = [(t, d["summary"]) for t, d in messages(world) if t.startswith("budget")]
    assert told == [
        ("budget.exceeded", "LLM cost is 10.25 USD this day, over the budget of 10.00 USD"),
        ("budget.recovered", "LLM cost is 0.00 USD this day, within the budget of 10.00 USD again"),
    ]
    now = EPOCH + timedelta(seconds=clock.now())
    spend(world, clock, 1001)
    clock.advance(MINUTE)
    exceeded = lambda: alerts(world, state="open", type="budget.exceeded")  # noqa: E731
    both = until_so(world, lambda: len(found := exceeded()) == 2 and found)
    assert {a["detail"]["per"]: a["since_at"][:10] for a in both} == {
        "day": now.date().isoformat(), "month": now.date().replace(day=1).isoformat()
    }  # fmt: skip


def test_budgets_of_an_agent_and_of_a_model_count_only_these(world, clock):
    clock.advance((12 * HOUR - clock.now()) % DAY)
    for model in ("m", "other"):
        world.server.cli("price", "set", model, "--input", "1000", "--output", "0")
    budgets = [
        {"amount": "10.00", "per": "day", "agent_name": "worker"},
        {"amount": "10.00", "per": "day", "agent_name": "missing"},
        {"amount": "10.00", "per": "day", "model": "other"},
        {"amount": "3.00", "per": "day", "agent_name": "worker", "model": "other"},
    ]
    set_rules(world, budgets=budgets)
    spend(world, clock, 9)
    spend(world, clock, 2, model="other")
    clock.advance(MINUTE)
    alert = until_open(world)
    assert alert["detail"] == {**budgets[0], "cost": "11.00"}
    assert alert["agent_name"] == "worker"
    spend(world, clock, 2, model="other")
    clock.advance(MINUTE)
    second = until_so(world, lambda: [a for a in alerts(world, state="open")
                                      if a["alert_id"] != alert["alert_id"]])  # fmt: skip
    assert [a["detail"] for a in second] == [{**budgets[3], "cost": "4.00"}]


def test_a_budget_that_is_exceeded_in_the_next_period_too_is_told_anew(world, clock):
    """Spent in the first minute of the day: there was no look in between."""
    listen(world)
    clock.advance((12 * HOUR - clock.now()) % DAY)
    world.server.cli("price", "set", "m", "--input", "1000", "--output", "0")
    set_rules(world, budgets=[{"amount": "10.00", "per": "day"}])
    spend(world, clock, 11)
    clock.advance(MINUTE)
    first = until_open(world)
    tomorrow = EPOCH + timedelta(seconds=clock.now() + DAY)
    body = {"agent_name": "worker", "run_id": str(uuid.uuid4()), "model": "m",
            "timestamp": tomorrow.date().isoformat() + "T00:00:01Z", "input_tokens": 12_000,
            "output_tokens": 0}  # fmt: skip
    assert world.client.post("/api/v1/telemetry/llm", body).status == 202
    clock.advance(12 * HOUR)
    assert until_closed(world, first)["closed_by"] == "recovered"
    second = until_open(world)
    assert second["since_at"] == tomorrow.date().isoformat() + "T00:00:00Z"
    assert [(t, d["alert_id"]) for t, d in messages(world)] == [
        ("budget.exceeded", first["alert_id"]),
        ("budget.exceeded", second["alert_id"]),
        ("budget.recovered", first["alert_id"]),
    ]
    clock.advance(MINUTE)
    stays(world, [(second["alert_id"], "open"), (first["alert_id"], "closed")])


def test_a_restart_does_not_repeat_an_alert(world, clock, own_server):
    declare(world, leads="sum")
    business(world, clock, leads=1)
    set_rules(world, run_failed=True, kpis=[kpi(below=10)])
    runs = [str(uuid.uuid4()) for _ in range(3)]
    for run in runs:
        fail(world, run)
    clock.advance(MINUTE)
    until_open(world, type="kpi.crossed")
    before = [(a["alert_id"], a["state"]) for a in alerts(world)]
    assert sorted(state for _, state in before) == [*["closed"] * 3, "open", "open"]
    own_server.kill()
    own_server.start()
    world.client.close()
    world.client = own_server.client(world.token)
    for run in runs:
        fail(world, run)
    clock.advance(REST)
    stays(world, before)


def test_two_servers_open_one_alert_of_a_rule(world, clock, own_server, tmp_path):
    if not own_server.database:
        return  # only one process has the embedded store
    with second_server(own_server, tmp_path) as other:
        time_to_tick(world, other)
        clock.advance(REST)  # now it judges too
        listen(world)
        declare(world, leads="sum")
        business(world, clock, leads=1)
        set_rules(world, run_failed=True, kpis=[kpi(below=n) for n in range(2, 42)])
        client = other.client(world.token)
        # Both have the rules then. A round that began after the rest may have judged them already.
        always(lambda: True, own_server, other)
        for each, run in itertools.product((world.client, client), [str(uuid.uuid4()) for _ in range(3)]):
            body = world.event(agent_name="worker", run_id=run, event="failed")
            assert each.post("/api/v1/telemetry", body).status == 202
        clock.advance(MINUTE)
        until_so(world, lambda: len(alerts(world, limit=100)) == 44)
        for _ in range(3):
            clock.advance(MINUTE)
            stays(world, [(a["alert_id"], a["state"]) for a in alerts(world)], other)
        assert len(messages(world)) == 44
        client.close()
