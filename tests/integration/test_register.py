"""POST /api/v1/agents/register: who an agent is, what it reports, what it needs."""

import json
import uuid

import pytest
from stored import of_tenant, stored

PATH = "/api/v1/agents/register"

FULL = {
    "agent_name": "collector",
    "agent_version": "1.2",
    "description": "collects",
    "telemetry_doc": "what it reports",
    "business_kpis": [
        {"key": "orders", "label": "Orders"},
        {"key": "stock", "label": "Stock", "unit": "count", "agg": "last"},
        {"key": "sales", "unit": "money:EUR", "agg": "sum"},
    ],
    "interval_seconds": 3600,
    "inputs": [{"key": "in", "type": "string", "required": False}],
    "outputs": [{"key": "out"}],
    "config_schema": {
        "version": 2,
        "params": [
            {"key": "url", "default": "http://localhost"},
            {"key": "retries", "value_type": "integer", "default": "3"},
            {"key": "api_key", "required": True},
        ],
    },
}


def register(client, **fields):
    answer = client.post(PATH, {"agent_name": "collector", **fields})
    assert answer.status == 200, answer.body
    return answer.json()


def kpis(tenant):
    return stored(
        tenant.server,
        f"SELECT key, label, unit, agg FROM kpis WHERE {of_tenant(tenant)} ORDER BY key",
    )


def agents(tenant):
    return stored(
        tenant.server,
        "SELECT agent_name, enabled, registered_version, description, telemetry_doc,"
        " interval_seconds, inputs, outputs, config_schema FROM agents"
        f" WHERE {of_tenant(tenant)} ORDER BY agent_name",
    )


def catalog(tenant):
    rows = stored(
        tenant.server,
        f"SELECT key, secret, edit, see FROM security_catalog WHERE {of_tenant(tenant)}",
    )
    return {row["key"]: (row["secret"], row["edit"], row["see"]) for row in rows}


@pytest.mark.smoke
def test_what_was_registered_is_answered_and_stored(tenant):
    expected = {
        "status": "registered", "agent_name": "collector", "agent_version": "1.2",
        "kpis": 3, "params": 3, "warnings": [],
    }  # fmt: skip
    answer = tenant.client.post(PATH, FULL)
    assert (answer.status, answer.json()) == (200, expected)
    assert list(answer.json()) == list(expected)
    (row,) = agents(tenant)
    assert json.loads(row["inputs"]) == [{"key": "in", "type": "string", "required": False}]
    assert json.loads(row["outputs"]) == [{"key": "out", "type": "any", "required": True}]
    params = json.loads(row["config_schema"])["params"]
    assert [param["key"] for param in params] == ["url", "retries", "api_key"]
    assert (row["description"], row["interval_seconds"]) == ("collects", 3600)
    assert kpis(tenant) == [
        {"key": "orders", "label": "Orders", "unit": "count", "agg": "sum"},
        {"key": "sales", "label": "", "unit": "money:EUR", "agg": "sum"},
        {"key": "stock", "label": "Stock", "unit": "count", "agg": "last"},
    ]
    assert catalog(tenant) == {
        "url": (0, "admin", "member"),
        "retries": (0, "admin", "member"),
        "api_key": (1, "admin", "nobody"),
    }


def test_the_same_again_changes_nothing_and_less_replaces_whole(tenant):
    assert register(tenant.client, **FULL)["status"] == "registered"
    before = agents(tenant), kpis(tenant), catalog(tenant)
    assert register(tenant.client, **FULL)["status"] == "updated"
    assert (agents(tenant), kpis(tenant), catalog(tenant)) == before
    again = register(tenant.client, business_kpis=[{"key": "orders"}])
    assert (again["status"], again["agent_version"], again["kpis"], again["params"]) == (
        "updated", "", 1, 0,
    )  # fmt: skip
    (row,) = agents(tenant)
    for name in ("description", "telemetry_doc", "registered_version"):
        assert row[name] == ""
    for name in ("interval_seconds", "inputs", "outputs", "config_schema"):
        assert row[name] is None
    assert kpis(tenant) == [{"key": "orders", "label": "", "unit": "count", "agg": "sum"}]
    assert catalog(tenant) == before[2]


def report(tenant, metrics, agent="collector"):
    body = {
        "agent_name": agent, "run_id": str(uuid.uuid4()), "timestamp": "2025-01-02T03:04:05Z",
        "metrics": metrics,
    }  # fmt: skip
    answer = tenant.client.post("/api/v1/telemetry/business", body)
    assert answer.status == 202
    return answer.json()["undeclared"]


def test_declared_keys_are_not_undeclared(tenant):
    long = "k" * 5000
    metrics = {"orders": 1, "other": 2, long: 3, long + "x": 4}
    assert report(tenant, metrics) == list(metrics)
    assert register(tenant.client, **FULL)["status"] == "updated"  # its report made it known
    assert report(tenant, metrics) == ["other", long, long + "x"]
    register(tenant.client, business_kpis=[{"key": long}, {"key": "other"}])
    assert report(tenant, metrics) == ["orders", long + "x"]
    assert report(tenant, metrics, agent="another") == list(metrics)
    register(tenant.client)
    assert report(tenant, metrics) == list(metrics)


LONG = "0123456789abcdef" * 3 + "0123456789abcde"  # a name is quoted by its first 64 bytes
UNITS = "is none of count, money:<ISO currency code>, percent, duration"
AGGS = "is none of sum, last, avg, max; treated as last"
TYPES = "is none of string, integer, number, boolean, json, list; treated as string"
ODD_KPIS = [  # unit or aggregation, and what is said of it
    ({"unit": "count", "agg": "last"}, None),
    ({"unit": "percent", "agg": "avg"}, None),
    ({"unit": "duration", "agg": "max"}, None),
    ({"unit": "money:EUR"}, None),
    *(({"unit": unit}, f"unit of KPI 'k%d': '{unit}' {UNITS}")
      for unit in ("money:eur", "money:", "money:EURO", "", "apples")),
    *(({"agg": agg}, f"agg of KPI 'k%d': '{shown}' {AGGS}")
      for agg, shown in (("Sum", "Sum"), (LONG + "f", LONG + "f"), (LONG + "ff", LONG + "f…"), (LONG + "€", LONG + "…"))),
]  # fmt: skip
ODD_PARAMS = [
    ({"default": "x"}, None),
    ({"value_type": "integer"}, None),
    ({"value_type": "integer", "default": "5"}, None),
    ({"value_type": "integer", "default": "x"}, "default of parameter 'k%d': not a valid integer; treated as null"),
    ({"value_type": "list", "default": "a,b"}, "default of parameter 'k%d': not a valid list; treated as null"),
    ({"value_type": "int", "default": "x"}, f"value_type of parameter 'k%d': 'int' {TYPES}"),
]


def test_words_outside_the_vocabularies_are_stored_and_named(tenant):
    said = register(
        tenant.client,
        business_kpis=[{"key": f"k{i}", **members} for i, (members, _) in enumerate(ODD_KPIS)],
        config_schema={"params": [{"key": f"k{i}", **members} for i, (members, _) in enumerate(ODD_PARAMS)]},
    )
    assert said["warnings"] == [
        text % i for rows in (ODD_KPIS, ODD_PARAMS) for i, (_, text) in enumerate(rows) if text
    ]
    stored_units = {row["key"]: row["unit"] for row in kpis(tenant)}
    assert stored_units["k8"] == "apples"


def test_a_key_declared_twice_is_refused(tenant):
    twice = [{"key": "k"}, {"key": "other"}, {"key": "k"}]
    for body, where in (
        ({"business_kpis": twice}, ["body", "business_kpis", 2]),
        ({"config_schema": {"params": twice}}, ["body", "config_schema", "params", 2]),
    ):
        answer = tenant.client.post(PATH, {"agent_name": "a", **body})
        assert answer.status == 422
        (item,) = answer.json()["detail"]
        assert (item["type"], item["loc"]) == ("value_error", where)
    assert agents(tenant) == []


def test_a_new_agent_counts_against_the_cap(server):
    tenant = server.add_tenant("--max-agents", "2")
    register(tenant.client, agent_name="a")
    assert tenant.client.post("/api/v1/telemetry", tenant.event(agent_name="b")).status == 202
    answer = tenant.client.post(PATH, {**FULL, "agent_name": "c"})
    sentence = f"Agent cap reached: the plan of tenant '{tenant.slug}' allows 2 agents"
    assert (answer.status, answer.json()) == (403, {"detail": sentence})
    assert register(tenant.client, agent_name="b")["status"] == "updated"
    assert [row["agent_name"] for row in agents(tenant)] == ["a", "b"]
    assert catalog(tenant) == {}
    tenant.client.close()


def test_a_disabled_agent_registers_and_stays_disabled(tenant):
    register(tenant.client)
    tenant.server.cli("agent", "disable", "collector", "--tenant", tenant.slug)
    assert register(tenant.client, description="new")["status"] == "updated"
    (row,) = agents(tenant)
    assert (row["enabled"], row["description"]) == (0, "new")


def test_registering_again_never_changes_the_security_catalog(tenant):
    params = [{"key": "password"}, {"key": "plain"}]
    register(tenant.client, config_schema={"params": params})
    before = catalog(tenant)
    assert before == {"password": (1, "admin", "nobody"), "plain": (0, "admin", "member")}
    attempts = [
        {"secret": False}, {"secret": 0}, {"edit": "member"}, {"see": "member"}, {"see": "admin"},
        {"label": "not secret"}, {"value_type": "integer"}, {"help": "public"},
        {"default": "x"}, {"required": True}, {"opciones": ["a"]}, {"restart_required": True},
        {"default": "vault:password"}, {"secret": None}, {"see": "everybody"}, {"full_key": "x"},
        {"security": {"secret": False}}, {"created_at": 0},
    ]  # fmt: skip
    for attempt in attempts:
        for agent in ("collector", "another"):
            changed = [{**param, **attempt} for param in params]
            register(tenant.client, agent_name=agent, config_schema={"params": changed})
            assert catalog(tenant) == before
    register(tenant.client)
    assert catalog(tenant) == before


@pytest.mark.parametrize("length", [256, 257, 1024, 1025, 5000])
def test_names_of_any_length_register(tenant, length):
    for last in "ab":
        name = "€" * (length - 1) + last
        answer = register(tenant.client, agent_name=name, config_schema={"params": [{"key": name}]})
        assert (answer["status"], answer["agent_name"]) == ("registered", name)
        assert register(tenant.client, agent_name=name)["status"] == "updated"
    assert len(agents(tenant)) == len(catalog(tenant)) == 2


MOST = 1000  # of each list of a registration


def test_a_registration_full_of_declarations_is_taken(tenant):
    keys = [{"key": str(i), "unit": "?"} for i in range(MOST)]
    said = register(tenant.client, business_kpis=keys, inputs=keys, outputs=keys)
    assert (said["kpis"], len(said["warnings"])) == (MOST, 101)
    assert said["warnings"][-1] == "and 900 more"
    params = [{"key": f"p{i}"} for i in range(MOST)]
    said = register(tenant.client, config_schema={"params": params})
    assert said["params"] == MOST
    assert len(catalog(tenant)) == MOST
    assert kpis(tenant) == []


def test_the_catalog_of_a_tenant_ends_somewhere(tenant):
    for i in range(10):
        params = [{"key": f"{i}_{j}"} for j in range(MOST)]
        said = register(tenant.client, config_schema={"params": params})
        assert said["warnings"] == []
    said = register(tenant.client, config_schema={"params": [{"key": "one_more"}]})
    assert (said["params"], len(said["warnings"])) == (1, 1)
    assert "10000 parameters" in said["warnings"][0]
    assert len(catalog(tenant)) == 10 * MOST


def test_what_is_declared_again_replaces_what_was_declared_before(tenant):
    """Some keys stay as they are, some change, some go and some are new."""

    def declare(**labels):
        register(tenant.client, business_kpis=[{"key": k, "label": v} for k, v in labels.items()])
        return {row["key"]: row["label"] for row in kpis(tenant)}

    for labels in ({"a": "1", "b": "2"}, {"b": "2", "a": "1"}, {"b": "2", "c": "3"},
                   {"b": "other", "c": "3"}, {"d": ""}, {}, {"a": "1"}):  # fmt: skip
        assert declare(**labels) == labels


def test_a_registration_outlives_a_kill(own_server):
    tenant = own_server.add_tenant()
    register(tenant.client, **FULL)
    tenant.client.close()
    own_server.kill()
    own_server.start()
    tenant.client = own_server.client(tenant.token)
    assert len(kpis(tenant)) == len(catalog(tenant)) == 3
    assert register(tenant.client, **FULL)["status"] == "updated"
    tenant.client.close()


@pytest.mark.parametrize("order", ["name", "trouble"])
def test_a_page_of_agents_is_not_longer_for_long_versions(tenant, order):
    for n in range(20):
        register(tenant.client, agent_name=f"agent-{n}", agent_version="v" * 900_000)
    page = tenant.client.get(tenant.path(f"agents?limit=50&order={order}"))
    assert page.status == 200, page.body[:200]
    assert [len(agent["agent_version"]) for agent in page.json()["agents"]] == [1024] * 20
