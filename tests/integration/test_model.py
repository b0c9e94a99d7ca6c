"""GET /api/v1/agents/model, and `muster model`, by which it is set."""

import json

import pytest
from guidance import (
    ask,
    await_told,
    check_operator_only,
    check_own_name_only,
    check_tags,
    told,
)

pytestmark = [pytest.mark.administered, pytest.mark.commands]


def test_nothing_is_told_where_nothing_is_set(tenant):
    said = told(tenant.client, "model", "never-seen")
    assert said == {"agent_name": "never-seen", "model": None, "source": None}
    assert list(said) == ["agent_name", "model", "source"]


def test_an_agents_model_beats_the_workspaces_beats_the_platforms(own_server):
    one, two = own_server.add_tenant(), own_server.add_tenant()
    own_server.cli("model", "set", "p", "--tenant", one.slug)
    own_server.cli("model", "set", "default")
    own_server.cli("model", "set", "ws", "--tenant", one.slug)
    own_server.cli("model", "set", "own", "--tenant", one.slug, "--agent", "a")
    await_told(one.client, "model", "a", model="own", source="agent")
    await_told(one.client, "model", "b", model="ws", source="workspace")
    await_told(two.client, "model", "a", model="default", source="platform")
    own_server.cli("model", "delete", "--tenant", one.slug)
    await_told(one.client, "model", "b", model="default", source="platform")
    await_told(one.client, "model", "a", model="own", source="agent")
    own_server.cli("model", "delete", "--tenant", one.slug, "--agent", "a")
    await_told(one.client, "model", "a", model="default", source="platform")
    for tenant in (one, two):
        tenant.client.close()
    own_server.restart()
    one.client = own_server.client(one.token)
    assert told(one.client, "model", "a")["model"] == "default"
    own_server.cli("model", "delete")
    await_told(one.client, "model", "a", model=None, source=None)
    one.client.close()


def test_a_change_changes_the_etag(tenant):
    before = check_tags(tenant.client, "model", "a")
    tenant.server.cli("model", "set", "gpt-ü", "--tenant", tenant.slug, "--agent", "a")
    await_told(tenant.client, "model", "a", model="gpt-ü")
    after = check_tags(tenant.client, "model", "a")
    assert before != after
    answer = ask(tenant.client, "model", "a", headers={"If-None-Match": before})
    assert (answer.status, answer.json()["model"]) == (200, "gpt-ü")
    assert check_tags(tenant.client, "model", "b") != after


def test_a_key_of_an_agent_asks_for_its_own_name_alone(tenant):
    check_own_name_only(tenant, "model")


def test_only_the_operator_sets_and_sees_models(tenant):
    check_operator_only(tenant, "model", {"model": "m"})


def test_the_commands_say_what_holds(tenant):
    where = ("--tenant", tenant.slug)
    cli = tenant.server.cli
    assert cli("model", "show", *where) == "no model is set\n"
    assert cli("model", "delete", *where) == "no model is set\n"
    assert cli("model", "set", "m", *where) == "m (set for the workspace)\n"
    assert cli("model", "show", *where, "--agent", "a/b") == "m (set for the workspace)\n"
    assert cli("model", "set", "n", *where, "--agent", "a/b") == "n (set for the agent)\n"
    said = json.loads(cli("model", "show", *where, "--agent", "a/b", "--json"))
    assert said.pop("updated_at")
    assert said == {"tenant": tenant.slug, "agent_name": "a/b", "model": "n", "source": "agent"}
    assert cli("model", "delete", *where, "--agent", "a/b") == "m (set for the workspace)\n"
    assert cli("model", "delete", *where) == "no model is set\n"


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (("set", "m", "--tenant", "no-such"), 1, "no-such"),
        (("set", "m", "--tenant", "No Slug"), 2, "No Slug"),
        (("set", "m", "--agent", "a"), 2, "--tenant"),
        (("set", "", "--tenant", "{slug}"), 1, "model"),
        (("set", "m" * 257, "--tenant", "{slug}"), 1, "256"),
        (("set",), 2, "missing"),
        (("show", "m"), 2, "unexpected"),
        (("delete", "--tenant", "{slug}", "--agent", ""), 2, "--agent"),
    ],
)
def test_what_cannot_be_set_is_refused_with_a_sentence(tenant, arguments, status, word):
    done = tenant.server.run("model", *(a.format(slug=tenant.slug) for a in arguments))
    assert (done.returncode, done.stdout) == (status, "")
    assert word in done.stderr
    assert told(tenant.client, "model", "a")["model"] is None


def test_the_operator_sets_shows_and_unsets_over_the_socket(own_server):
    if own_server.database:
        return  # no socket: the commands speak to PostgreSQL themselves
    tenant = own_server.add_tenant()
    operator = own_server.operator()
    for path, source in (
        ("/api/v1/platform/model", "platform"),
        (tenant.path("model"), "workspace"),
        (tenant.path("agents/a%2Fb/model"), "agent"),
    ):
        assert operator.get(path).json()["source"] != source
        put = operator.request("PUT", path, {"model": source})
        assert (put.status, put.json()["model"], put.json()["source"]) == (200, source, source)
        assert operator.get(path).json() == put.json()
        assert told(tenant.client, "model", "a/b")["source"] == source  # at once
    for path, left in (
        (tenant.path("agents/a%2Fb/model"), "workspace"),
        (tenant.path("model"), "platform"),
        ("/api/v1/platform/model", None),
    ):
        assert operator.request("DELETE", path).json()["source"] == left
        assert told(tenant.client, "model", "a/b")["model"] == left
        assert operator.request("DELETE", path).status == 200  # again changes nothing
    assert operator.request("PUT", "/api/v1/platform/model", {"model": ""}).status == 422
    assert operator.get("/api/v1/tenants/no-such/model").status == 404
    operator.close()
    tenant.client.close()
