"""GET /api/v1/agents/model and …/command-policy, and `muster model` and `muster policy`, by which they are set."""

import json

import pytest
from guidance import ask, await_told, check_tags, told

pytestmark = [pytest.mark.administered, pytest.mark.commands]

NO_MODEL = {"agent_name": "a", "model": None, "source": None}
NO_POLICY = {
    "agent_name": "a", "mode": "deny_all", "allow": [], "deny": [], "source": "platform",
    "version": 0, "updated_at": None,
}  # fmt: skip
LIST = {"mode": "allowlist", "allow": ["ls", 'echo "ü"\n'], "deny": ["rm"]}
DENY = {"mode": "denylist", "allow": [], "deny": ["rm"]}
ALL = {"mode": "allow_all", "allow": [], "deny": []}

# The last part of the path, the command, what is told where nothing is set, and three settings.
KINDS = [
    pytest.param(("model", "model", NO_MODEL, *({"model": m} for m in ("own", "ws", "p"))), id="model"),
    pytest.param(("command-policy", "policy", NO_POLICY, LIST, DENY, ALL), id="policy"),
]


@pytest.fixture
def policy(tmp_path):
    """Writes a policy to a file, and says where."""

    def write(value):
        path = tmp_path / "policy.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return str(path)

    return write


@pytest.fixture
def setting(policy):
    """The argument of the command that sets it."""
    return lambda value: value["model"] if "model" in value else policy(value)


@pytest.mark.parametrize("kind", KINDS)
def test_an_agents_own_beats_the_workspaces_beats_the_platforms(own_server, setting, kind):
    what, noun, nothing, own, workspace, platform = kind
    one, two = own_server.add_tenant(), own_server.add_tenant()
    where = ("--tenant", one.slug)
    assert told(one.client, what, "a") == nothing
    assert list(told(one.client, what, "a")) == list(nothing)
    own_server.cli(noun, "set", setting(platform))
    own_server.cli(noun, "set", setting(workspace), *where)
    own_server.cli(noun, "set", setting(own), *where, "--agent", "a")
    await_told(one.client, what, "a", **own, source="agent")
    await_told(one.client, what, "b", **workspace, source="workspace")
    await_told(two.client, what, "a", **platform, source="platform")
    own_server.cli(noun, "set", setting(platform), *where, "--agent", "a")
    await_told(one.client, what, "a", **platform, source="agent")
    own_server.cli(noun, "delete", *where, "--agent", "a")
    await_told(one.client, what, "a", **workspace, source="workspace")
    own_server.cli(noun, "delete", *where)
    await_told(one.client, what, "a", **platform, source="platform")
    for tenant in (one, two):
        tenant.client.close()
    own_server.restart()
    one.client = own_server.client(one.token)
    assert told(one.client, what, "a")["source"] == "platform"
    own_server.cli(noun, "delete")
    await_told(one.client, what, "a", **nothing)
    one.client.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_changes_the_etag(tenant, setting, kind):
    what, noun, _, own, workspace, _ = kind
    tags = [check_tags(tenant.client, what, "a")]
    for value in (own, workspace):
        tenant.server.cli(noun, "set", setting(value), "--tenant", tenant.slug, "--agent", "a")
        await_told(tenant.client, what, "a", **value)
        tags.append(check_tags(tenant.client, what, "a"))
    assert len(set(tags)) == 3
    answer = ask(tenant.client, what, "a", headers={"If-None-Match": tags[0]})
    assert answer.status == 200
    assert check_tags(tenant.client, what, "b") not in tags


def test_names_of_any_length_are_told_apart(tenant):
    for end in "01":  # beyond what a key of the store holds
        tenant.server.cli("model", "set", f"m{end}", "--tenant", tenant.slug, "--agent", "x" * 3000 + end)
    for end in "01":
        await_told(tenant.client, "model", "x" * 3000 + end, model=f"m{end}", source="agent")


def test_the_commands_say_which_model_holds(tenant):
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
def test_a_model_that_cannot_be_set_is_refused_with_a_sentence(tenant, arguments, status, word):
    done = tenant.server.run("model", *(a.format(slug=tenant.slug) for a in arguments))
    assert (done.returncode, done.stdout) == (status, "")
    assert word in done.stderr
    assert told(tenant.client, "model", "a")["model"] is None


def test_the_commands_say_which_policy_holds(tenant, policy):
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
    assert told(tenant.client, "command-policy", "a") == NO_POLICY


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
