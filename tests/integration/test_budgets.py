"""Hard budgets, which stop agents, and the alert on the forecast of a monthly one."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hooks import ALLOWED, DAY, HOUR, alerts, register, report
from stored import of_tenant
from test_alerts import listen, messages
from test_checksums import alter
from test_rules import MINUTE, REST, set_rules, spend, until_closed, until_open, until_so
from waiting import always, until

pytestmark = pytest.mark.administered

HARD = {"amount": "10.00", "per": "day", "hard": True}


@pytest.fixture
def world(own_server, clock):
    tenant = own_server.add_tenant("--max-agents", "50")
    own_server.clock = clock
    clock.advance(REST)
    clock.advance((12 * HOUR - clock.now()) % DAY)
    for model in ("m", "other"):
        own_server.cli("price", "set", model, "--input", "1000", "--output", "0")
    own_server.cli("model", "set", "m", "--tenant", tenant.slug)
    yield tenant
    tenant.client.close()


def pull(tenant, name="worker", kind="model", **headers):
    return tenant.client.request("GET", f"/api/v1/agents/{kind}?agent_name={name}", headers=headers)


def until_model(tenant, status, name="worker"):
    return until_so(tenant, lambda: (answer := pull(tenant, name)).status == status and answer)


def exceed(tenant, clock, *budgets):
    set_rules(tenant, budgets=list(budgets))
    spend(tenant, clock, 11)
    clock.advance(MINUTE)
    return until_open(tenant, type="budget.exceeded")


def test_an_exceeded_hard_budget_refuses_the_model_and_nothing_else(world, clock):
    listen(world)
    before = pull(world)
    assert before.json() == {"agent_name": "worker", "model": "m", "source": "workspace"}
    alert = exceed(world, clock, HARD)
    assert alert["detail"] == {"amount": "10.00", "per": "day", "cost": "11.00", "hard": True}
    tomorrow = (datetime.fromtimestamp(clock.now(), UTC) + timedelta(days=1)).date().isoformat()
    refused = until_model(world, 402)
    assert refused.json() == {
        "detail": "The hard budget of 10.00 USD per day for LLM cost is exceeded: do not call a "
        f"model before {tomorrow}T00:00:00Z"
    }
    known = {"If-None-Match": before.headers["ETag"]}
    assert pull(world, **known).status == 402, "an ETag does not help"
    assert pull(world, kind="command-policy").status == 200
    spend(world, clock, 1)  # is accepted
    ((kind, message),) = [m for m in messages(world) if m[0].startswith("budget")]
    assert (kind, message["summary"]) == (
        "budget.exceeded",
        "LLM cost is 11.00 USD this day, over the budget of 10.00 USD; agents are told to stop "
        f"until {tomorrow}T00:00:00Z",
    )
    other = world.server.add_tenant()
    assert pull(other).status == 200
    other.client.close()
    clock.advance(12 * HOUR)
    assert until_model(world, 200).headers["ETag"] == before.headers["ETag"], "the day is over"
    until_closed(world, alert)


def test_a_hard_budget_holds_across_a_restart_and_ends_when_it_is_raised(world, clock, own_server):
    exceed(world, clock, HARD)
    until_model(world, 402)
    own_server.kill()
    own_server.start()
    world.client.close()
    world.client = own_server.client(world.token)
    assert pull(world).status == 402, "from the first request on"
    set_rules(world, budgets=[{**HARD, "amount": "20.00"}])
    until_model(world, 200)
    set_rules(world, budgets=[{**HARD, "hard": False}])
    clock.advance(REST)
    clock.advance(MINUTE)
    until_open(world, type="budget.exceeded")
    always(lambda: pull(world).status == 200, own_server)
    set_rules(world, budgets=[HARD])  # the same budget: its alert stays open
    until_model(world, 402)
    set_rules(world, budgets=[{**HARD, "paused": True}])
    until_model(world, 200)


def test_a_hard_budget_of_an_agent_or_a_model_stops_only_these(world, clock, own_server):
    own_server.cli("model", "set", "other", "--tenant", world.slug, "--agent", "careful")
    exceed(world, clock, {**HARD, "agent_name": "worker"})
    refused = until_model(world, 402)
    assert "for LLM cost of this agent is exceeded" in refused.json()["detail"]
    assert pull(world, "careful").status == pull(world, "reader").status == 200
    set_rules(world, budgets=[{**HARD, "model": "m"}])
    clock.advance(MINUTE)
    refused = until_model(world, 402, "reader")
    assert "for LLM cost with this model is exceeded" in refused.json()["detail"]
    assert pull(world, "careful").status == 200, "it uses another one"
    own_server.cli("model", "set", "other", "--tenant", world.slug)
    until_model(world, 200, "reader")


def test_rules_that_cannot_be_read_concern_their_tenant_alone(world, clock, own_server):
    """Its hard budget holds while its alert is open, and other tenants' alerts open."""
    other = own_server.add_tenant()
    register(other)
    report(other)
    exceed(world, clock, HARD)
    until_model(world, 402)
    alter(own_server, "UPDATE alert_rules SET rules = replace(rules, '\"day\"', '\"week\"') "
          f"WHERE {of_tenant(world)}")  # fmt: skip
    clock.advance(MINUTE)
    until(lambda: "are invalid" in own_server.log())
    clock.advance(ALLOWED + 10)
    assert until_open(other)["type"] == "agent.silent"
    assert pull(world).status == 402
    assert "tick failed" not in own_server.log()
    other.client.close()


def test_hard_budgets_that_cannot_be_loaded_keep_no_alert_from_opening(world, clock, own_server):
    register(world)
    report(world)
    alter(own_server, "ALTER TABLE alert_rules RENAME COLUMN hard_budgets TO hidden")
    until(lambda: "tick failed: " in own_server.log())
    clock.advance(ALLOWED + 10)
    assert until_open(world)["type"] == "agent.silent"
    alter(own_server, "ALTER TABLE alert_rules RENAME COLUMN hidden TO hard_budgets")


def spend_on(tenant, day, dollars):
    body = {"agent_name": "worker", "run_id": str(uuid.uuid4()), "model": "m",
            "timestamp": f"{day.date().isoformat()}T12:00:00Z", "input_tokens": dollars * 1000}  # fmt: skip
    assert tenant.client.post("/api/v1/telemetry/llm", body).status == 202


def test_the_forecast_of_a_monthly_budget_raises_an_alert_before_it_is_exceeded(world, clock):
    listen(world)
    now = datetime.fromtimestamp(clock.now(), UTC)
    tenth = (now.replace(day=1) + timedelta(days=32)).replace(day=10)
    clock.advance((tenth - now).total_seconds())
    spend_on(world, tenth - timedelta(days=3), 70)  # 10 dollars per day, for at least 18 days
    over = {"amount": "200.00", "per": "month"}
    budgets = [over, {"amount": "400.00", "per": "month"}, {"amount": "80.00", "per": "day"},
               {**over, "agent_name": "missing"}]  # fmt: skip
    set_rules(world, budgets=budgets)
    clock.advance(MINUTE)
    alert = until_open(world)
    assert alert["type"] == "budget.forecast"
    forecast = float(alert["detail"].pop("forecast"))
    assert alert["detail"] == {**over, "cost": "70.00"} and 245 < forecast < 295
    assert alert["since_at"] == f"{tenth.date().replace(day=1).isoformat()}T00:00:00Z"
    clock.advance(8 * DAY)  # at once; the days of which the forecast is made have no cost
    assert until_closed(world, alert)["closed_by"] == "recovered"
    first, last = [(t, d["summary"]) for t, d in messages(world)]
    assert first[0] == "budget.forecast"
    assert first[1].startswith(f"LLM cost will be {forecast:.2f} USD at the end of this month, over")
    assert last == ("budget.on_track", "LLM cost will be 70.00 USD at the end of this month, within "
                    "the budget of 200.00 USD again")  # fmt: skip
    assert [a["alert_id"] for a in alerts(world)] == [alert["alert_id"]]


def test_the_forecast_of_a_month_that_is_over_closes_just_below_the_budget_too(world, clock):
    """There the alert of this month would stay open, for a forecast goes up and down."""
    now = datetime.fromtimestamp(clock.now(), UTC)
    late = (now.replace(day=1) + timedelta(days=32)).replace(day=27)
    first = (late + timedelta(days=5)).replace(day=1)
    days = ((first + timedelta(days=32)).replace(day=1) - first).days
    clock.advance((late - now).total_seconds())
    spend_on(world, late - timedelta(days=9), 400)
    spend_on(world, late - timedelta(days=1), 70)  # 10 dollars per day, from the first on
    amount = f"{10 * (days - 0.5) / 0.975:.2f}"
    set_rules(world, budgets=[{"amount": amount, "per": "month"}])
    clock.advance(MINUTE)
    alert = until_open(world, type="budget.forecast")
    clock.advance((first - late).total_seconds())
    assert until_closed(world, alert)["closed_by"] == "recovered"
    assert alerts(world, state="open") == []
