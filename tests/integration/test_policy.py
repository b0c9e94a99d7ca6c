"""GET /api/v1/agents/command-policy, and `muster policy`, by which it is set."""

import json

import pytest
from guidance import await_told, check_operator_only, check_own_name_only, check_tags, told

pytestmark = [pytest.mark.administered, pytest.mark.commands]

NOTHING = {
    "agent_name": "a", "mode": "deny_all", "allow": [], "deny": [], "source": "platform",
    "version": 0, "updated_at": None,
}  # fmt: skip
LIST = {"mode": "allowlist", "allow": ["ls", 'echo "ü"\n'], "deny": ["rm"]}


@pytest.fixture
def policy(tmp_path):
    """Writes a policy to a file, and says where."""

    def write(value):
        path = tmp_path / "policy.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return str(path)

    return write


def test_nothing_is_allowed_where_nothing_is_set(tenant):
    said = told(tenant.client, "command-policy", "a")
    assert said == NOTHING
    assert list(said) == list(NOTHING)


def test_an_agents_policy_beats_the_workspaces_beats_the_platforms(own_server, policy):
    one, two = own_server.add_tenant(), own_server.add_tenant()
    what, where = "command-policy", ("--tenant", one.slug)
    own_server.cli("policy", "set", policy({"mode": "allow_all"}))
    own_server.cli("policy", "set", policy({"mode": "denylist", "deny": ["rm"]}), *where)
    own_server.cli("policy", "set", policy(LIST), *where, "--agent", "a")
    said = await_told(one.client, what, "a", **LIST, source="agent", version=1)
    assert said["updated_at"]
    await_told(one.client, what, "b", mode="denylist", allow=[], deny=["rm"], source="workspace")
    await_told(two.client, what, "a", mode="allow_all", source="platform", version=1)
    own_server.cli("policy", "set", policy({"mode": "deny_all"}), *where, "--agent", "a")
    await_told(one.client, what, "a", mode="deny_all", allow=[], deny=[], source="agent", version=2)
    own_server.cli("policy", "delete", *where, "--agent", "a")
    await_told(one.client, what, "a", mode="denylist", source="workspace")
    own_server.cli("policy", "delete", *where)
    await_told(one.client, what, "a", mode="allow_all", source="platform")
    for tenant in (one, two):
        tenant.client.close()
    own_server.restart()
    one.client = own_server.client(one.token)
    assert told(one.client, what, "a")["mode"] == "allow_all"
    own_server.cli("policy", "delete")
    await_told(one.client, what, "a", **NOTHING)
    one.client.close()


def test_a_change_changes_the_etag(tenant, policy):
    before = check_tags(tenant.client, "command-policy", "a")
    tags = {before}
    for version in (1, 2):  # the same again is another version
        tenant.server.cli("policy", "set", policy(LIST), "--tenant", tenant.slug)
        await_told(tenant.client, "command-policy", "a", version=version)
        tags.add(check_tags(tenant.client, "command-policy", "a"))
    assert len(tags) == 3


def test_a_key_of_an_agent_asks_for_its_own_name_alone(tenant):
    check_own_name_only(tenant, "command-policy")


def test_only_the_operator_sets_and_sees_policies(tenant):
    check_operator_only(tenant, "command-policy", LIST)


def test_the_commands_say_what_holds(tenant, policy):
    where = ("--tenant", tenant.slug)
    cli = tenant.server.cli
    assert cli("policy", "show", *where) == "deny_all (no policy is set)\n"
    assert cli("policy", "delete", *where) == "deny_all (no policy is set)\n"
    text = 'allowlist (set for the workspace, version 1)\nallow ls\nallow echo "ü"\\x0a\ndeny  rm\n'
    assert cli("policy", "set", policy(LIST), *where) == text
    assert cli("policy", "show", *where, "--agent", "a") == text
    said = json.loads(cli("policy", "show", *where, "--agent", "a", "--json"))
    assert said.pop("updated_at")
    assert said == {
        "tenant": tenant.slug, "agent_name": "a", **LIST, "source": "workspace", "version": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("", "body"),
        ("{", "' is not valid JSON: error at byte 1"),
        ("[]", "body"),
        ({}, "mode"),
        ({"mode": "maybe"}, "mode"),
        ({"mode": "allowlist", "allow": "ls"}, "allow"),
        ({"mode": "allowlist", "allow": [1]}, "allow"),
        pytest.param({"mode": "denylist", "deny": ["x"] * 1001}, "deny", id="long"),
        pytest.param("x" * ((1 << 20) + 1), "too large", id="large"),
    ],
)
def test_a_file_that_is_no_policy_changes_nothing(tenant, policy, value, word):
    done = tenant.server.run("policy", "set", policy(value), "--tenant", tenant.slug)
    assert (done.returncode, done.stdout) == (1, "")
    assert word in done.stderr and done.stderr.startswith("muster: '/"), done.stderr
    assert told(tenant.client, "command-policy", "a") == NOTHING


def test_a_file_that_is_not_there_is_an_error(tenant):
    done = tenant.server.run("policy", "set", "/no/such/file", "--tenant", tenant.slug)
    assert (done.returncode, done.stdout) == (1, "")
    assert "/no/such/file" in done.stderr


def test_the_operator_sets_shows_and_unsets_over_the_socket(own_server):
    if own_server.database:
        return  # no socket: the commands speak to PostgreSQL themselves
    tenant = own_server.add_tenant()
    operator = own_server.operator()
    what = "command-policy"
    paths = {
        "platform": f"/api/v1/platform/{what}",
        "workspace": tenant.path(what),
        "agent": tenant.path(f"agents/a/{what}"),
    }
    for source, path in paths.items():
        put = operator.request("PUT", path, LIST)
        assert (put.status, put.json()["source"], put.json()["allow"]) == (
            200, source, LIST["allow"],
        )  # fmt: skip
        assert operator.get(path).json() == put.json()
        assert told(tenant.client, what, "a")["source"] == source  # at once
    for source, left in zip(
        ("agent", "workspace", "platform"), ("workspace", "platform", "platform"), strict=True
    ):
        assert operator.request("DELETE", paths[source]).json()["source"] == left
        assert told(tenant.client, what, "a")["source"] == left
    assert told(tenant.client, what, "a") == NOTHING
    operator.close()
    tenant.client.close()


def test_the_policies_of_a_workspace_are_bounded(server, tenant, policy):
    """Each process has all policies in memory."""
    large = {"mode": "denylist", "deny": [f"{i:03}" + "x" * 997 for i in range(1000)]}
    where = ("--tenant", tenant.slug, "--agent")
    for i in range(4):
        server.cli("policy", "set", policy(large), *where, f"a{i}")
    done = server.run("policy", "set", policy(large), *where, "a4")
    assert done.returncode == 1 and "has as many command policies as it may" in done.stderr
    await_told(tenant.client, "command-policy", "a3", mode="denylist", source="agent")
    assert told(tenant.client, "command-policy", "a4")["source"] == "platform"
    server.cli("policy", "delete", *where, "a0")
    server.cli("policy", "set", policy(large), *where, "a4")
    await_told(tenant.client, "command-policy", "a4", mode="denylist", source="agent", version=1)
    server.cli("policy", "set", policy({"mode": "deny_all"}), *where, "a1")
