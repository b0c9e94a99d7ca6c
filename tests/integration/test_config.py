"""GET /api/v1/agents/config: what holds for each parameter, with secrets; and who may set it."""

import json
from urllib.parse import quote

import pytest
from guidance import ask
from stored import of_tenant, stored

pytestmark = pytest.mark.administered

AGENT = "collector"


def param(key, value_type="string", **more):
    return {"key": key, "value_type": value_type, **more}


def register(tenant, *params, agent=AGENT):
    body = {"agent_name": agent, "config_schema": {"params": list(params)}}
    answer = tenant.client.post("/api/v1/agents/register", body)
    assert answer.status == 200, answer.body


def where(tenant, agent):
    return ("--tenant", tenant.slug) + (("--agent", agent) if agent else ())


def set_value(tenant, key, value, agent=None):
    said = tenant.server.cli("value", "set", key, value, *where(tenant, agent), "--json")
    return json.loads(said)


def refused_value(tenant, key, value, agent=None):
    done = tenant.server.run("value", "set", key, value, *where(tenant, agent))
    assert (done.returncode, done.stdout) == (1, ""), done
    return done.stderr


def set_secret(tenant, name, value, *more):
    tenant.server.cli("secret", "set", name, "--tenant", tenant.slug, *more, stdin=value)


@pytest.fixture
def agent(tenant):
    """A client with the agent's own key."""
    client = tenant.agent_client(AGENT)
    yield client
    client.close()


def config(client, agent=AGENT, **more):
    return ask(client, "config", agent, **more)


def resolved(client, agent=AGENT):
    answer = config(client, agent)
    assert answer.status == 200, answer.body
    return answer.json()


def audit(tenant, action="config.resolve"):
    return stored(
        tenant.server,
        f"SELECT actor, target, detail FROM audit_log WHERE {of_tenant(tenant)}"
        f" AND action = '{action}' ORDER BY seq",
    )


def test_an_agent_that_declared_nothing_has_an_empty_configuration(tenant, agent):
    assert resolved(agent) == {}
    tenant.client.post("/api/v1/agents/register", {"agent_name": AGENT})
    answer = config(agent)
    assert (answer.status, answer.body) == (200, b"{}")
    assert answer.headers["X-Config-Missing"] is None


def test_only_the_agents_own_key_gives_it(tenant, agent):
    answer = config(tenant.client)
    assert (answer.status, "own key" in answer.json()["detail"]) == (403, True)
    answer = config(agent, "other")
    assert (answer.status, answer.json()) == (
        403, {"detail": f"This key is bound to agent '{AGENT}'"},
    )  # fmt: skip
    stranger = tenant.server.client()
    assert config(stranger).status == 401
    stranger.close()


@pytest.mark.smoke
def test_an_agents_value_beats_the_workspaces_beats_the_default(tenant, agent):
    register(tenant, param("a", default="d"), param("b", default="d"), param("c", default="d"),
             param("none"), param("empty", default=""))  # fmt: skip
    set_value(tenant, "a", "workspace")
    set_value(tenant, "b", "workspace")
    set_value(tenant, "a", "agent", AGENT)
    set_value(tenant, "b", "of another", "other")
    set_value(tenant, "undeclared", "x", AGENT)
    expected = {"a": "agent", "b": "workspace", "c": "d", "none": None, "empty": None}
    said = resolved(agent)
    assert said == expected
    assert list(said) == list(expected)
    tenant.server.cli("value", "delete", "a", *where(tenant, AGENT))
    assert resolved(agent)["a"] == "workspace"
    tenant.server.cli("value", "delete", "a", *where(tenant, None))
    tenant.server.cli("value", "delete", "a", *where(tenant, None))  # again changes nothing
    assert resolved(agent)["a"] == "d"
    assert audit(tenant) == []  # no secret was given out


@pytest.mark.parametrize(
    ("value_type", "text", "expected"),
    [
        ("string", "5", '"5"'),
        ("string", 'ü "quoted"\n', '"ü \\"quoted\\"\\n"'),
        ("integer", "5", "5"),
        ("integer", "5.0", "5"),
        ("integer", " -7 ", "-7"),
        ("integer", "1e3", "1000"),
        ("integer", "9223372036854775807", "9223372036854775807"),
        ("number", "2.50", "2.5"),
        ("number", "12345678901234567890123", "12345678901234567890123"),
        ("boolean", "true", "true"),
        ("json", '{"a": [1, null]}', '{"a":[1,null]}'),
        ("json", '"x"', '"x"'),
        ("list", '[1, "b"]', '[1,"b"]'),
        ("of its own", "any", '"any"'),
    ],
)
def test_values_and_defaults_are_typed_as_declared(tenant, agent, value_type, text, expected):
    register(tenant, param("set", value_type), param("default", value_type, default=text))
    set_value(tenant, "set", text, AGENT)
    assert config(agent).body.decode() == f'{{"set":{expected},"default":{expected}}}'


MISFITS = [
    ("integer", "five"),
    ("integer", "5.5"),
    ("integer", ""),
    ("integer", "9223372036854775808"),
    ("number", "1e999"),
    ("integer", '"5"'),
    ("integer", "007"),
    ("boolean", "True"),
    ("json", "{"),
    ("list", "{}"),
    ("list", "a,b"),
]


@pytest.mark.parametrize(("value_type", "text"), MISFITS)
def test_a_value_that_does_not_fit_is_refused_when_it_is_set(tenant, agent, value_type, text):
    register(tenant, param("k", value_type, default=text))
    for place in (AGENT, None):
        said = refused_value(tenant, "k", text, place)
        assert value_type in said
        assert AGENT in said
    assert resolved(agent) == {"k": None}  # neither the value nor the default


def test_a_value_is_one_of_the_choices(tenant, agent):
    register(tenant, param("k", opciones=["red", "green"]), param("n", "integer", opciones=["1"]))
    assert "2 choices" in refused_value(tenant, "k", "blue", AGENT)
    assert "choices" in refused_value(tenant, "k", "blue")
    assert "choices" in refused_value(tenant, "n", "2", AGENT)
    set_value(tenant, "k", "green", AGENT)
    set_value(tenant, "n", "1")
    assert resolved(agent) == {"k": "green", "n": 1}


def test_what_no_longer_fits_after_a_registration_is_409(tenant, agent):
    set_value(tenant, "k", "text")
    register(tenant, param("other", default="x"), param("k", "integer"))
    answer = config(agent)
    assert (answer.status, "'k'" in answer.json()["detail"]) == (409, True)
    register(tenant, param("k"))
    assert resolved(agent) == {"k": "text"}


def test_required_keys_without_a_value_are_named(tenant, agent):
    register(tenant, param("a", required=True), param("b ü,", required=True), param("c"),
             param("d", required=True, default="x"), param("e", "integer", required=True),
             param("bad", "integer", required=True, default="x"))  # fmt: skip
    answer = config(agent)
    missing = ["a", "b ü,", "e", "bad"]
    assert answer.headers["X-Config-Missing"] == ",".join(quote(key) for key in missing)
    assert [answer.json()[key] for key in missing] == [None] * 4
    set_value(tenant, "a", "", AGENT)  # an empty value is one
    set_value(tenant, "e", "1")
    assert config(agent).headers["X-Config-Missing"] == "b%20%C3%BC%2C,bad"


def test_secrets_are_resolved_whole_and_inside(tenant, agent):
    register(tenant, param("url"), param("password"), param("port", "integer"), param("plain"))
    set_secret(tenant, "PW", "p w$\n{vault:X}")
    set_secret(tenant, "PORT", "5432")
    set_value(tenant, "password", "vault:PW", AGENT)
    set_value(tenant, "port", "vault:PORT", AGENT)
    set_value(tenant, "url", "pg://u:${vault:PW}@h:${vault:PORT}/${vault:PW}", AGENT)
    set_value(tenant, "plain", "a $ {vault:PW} vault:PW $vault:PW", AGENT)
    secret = "p w$\n{vault:X}"
    assert resolved(agent) == {
        "url": f"pg://u:{secret}@h:5432/{secret}",
        "password": secret,
        "port": 5432,
        "plain": "a $ {vault:PW} vault:PW $vault:PW",
    }
    (row,) = audit(tenant)
    assert row["actor"].startswith("key:key_")
    assert row["target"] == AGENT
    assert json.loads(row["detail"]) == {"secrets": ["PW", "PORT"]}


def test_the_same_secret_is_entered_once_an_hour_for_each_key(own_server, clock):
    tenant = own_server.add_tenant()
    agent = tenant.agent_client(AGENT)
    register(tenant, *(param(f"p{i}") for i in range(3)))
    for name in ("A", "B"):
        set_secret(tenant, name, f"value of {name}")
    set_value(tenant, "p0", "vault:A", AGENT)

    def entered(pull=agent):
        """What a pull adds to the log; the secrets themselves are always there."""
        before = len(audit(tenant))
        assert resolved(pull)["p0"].startswith("value of A")
        return [json.loads(row["detail"])["secrets"] for row in audit(tenant)[before:]]

    assert entered() == [["A"]]
    for _ in range(3):
        assert entered() == []
    register(tenant, *(param(f"p{i}") for i in range(4)))  # another answer, the same secret
    assert entered() == []
    set_value(tenant, "p1", "vault:B", AGENT)
    assert entered() == [["B"]]  # the one that is new
    set_secret(tenant, "A", "value of A, the next")
    assert entered() == [["A"]]
    other = tenant.agent_client(AGENT)
    assert entered(other) == [["A", "B"]]
    tenant.server.cli("secret", "delete", "A", "--tenant", tenant.slug)
    set_secret(tenant, "A", "value of A, once more")  # its versions are counted from 1 again
    assert entered() == [["A"]]
    clock.advance(3000)
    assert entered() == []
    clock.advance(601)
    assert entered() == [["A", "B"]]
    assert entered() == []
    for client in (agent, other, tenant.client):
        client.close()


def test_a_default_refers_to_nothing(tenant, agent):
    set_secret(tenant, "PW", "hidden", "--shared")
    register(tenant, param("a", default="vault:PW"), param("b", default="x${vault:PW}"))
    assert resolved(agent) == {"a": "vault:PW", "b": "x${vault:PW}"}
    assert audit(tenant) == []


def test_a_workspaces_value_has_shared_secrets_only(tenant, agent):
    register(tenant, param("a"), param("b", default="x"))
    set_secret(tenant, "OWN", "one")
    set_value(tenant, "a", "vault:OWN")
    answer = config(agent)
    assert answer.status == 409
    assert answer.json()["detail"] == (
        "parameter 'a' refers to secret 'OWN', which is not shared, so a value of the workspace "
        "may not refer to it"
    )
    set_value(tenant, "a", "vault:OWN", AGENT)
    assert resolved(agent)["a"] == "one"
    tenant.server.cli("value", "delete", "a", *where(tenant, AGENT))
    set_secret(tenant, "OWN", "two", "--shared")
    assert resolved(agent)["a"] == "two"


def test_a_secret_that_is_missing_or_does_not_fit_is_409_as_a_whole(tenant, agent):
    register(tenant, param("good", default="x"), param("n", "integer"), param("p"))
    set_secret(tenant, "PW", "seen-by-nobody")
    set_value(tenant, "p", "vault:PW", AGENT)
    set_value(tenant, "n", "${vault:NOT_YET}", AGENT)
    answer = config(agent)
    assert (answer.status, answer.json()) == (
        409, {"detail": "parameter 'n' refers to secret 'NOT_YET', which does not exist"},
    )  # fmt: skip
    set_secret(tenant, "NOT_YET", "seen-by-nobody")
    answer = config(agent)
    assert (answer.status, "'n'" in answer.json()["detail"]) == (409, True)
    assert b"seen-by-nobody" not in answer.body
    assert audit(tenant) == []
    set_secret(tenant, "NOT_YET", "12")
    assert resolved(agent) == {"good": "x", "n": 12, "p": "seen-by-nobody"}
    other = tenant.server.add_tenant()  # whose secret of that name is another one
    set_secret(other, "ONLY_THERE", "x", "--shared")
    set_value(tenant, "p", "vault:ONLY_THERE", AGENT)
    assert config(agent).status == 409
    other.client.close()


@pytest.mark.parametrize(
    "value",
    ["vault:", "vault:a b", "vault:a${x", "${vault:}", "a${vault:b", "${vault:a b}", "${vault:-}"],
)
def test_a_reference_that_is_none_is_refused_when_it_is_set(tenant, value):
    said = refused_value(tenant, "k", value, AGENT)
    assert "vault:" in said


def test_the_etag_tells_when_to_ask_again_and_nothing_about_secrets(tenant, agent):
    register(tenant, param("p"), param("q", default="1"))
    set_secret(tenant, "PW", "a")
    set_value(tenant, "p", "vault:PW", AGENT)

    def tag():
        answer = config(agent)
        assert answer.status == 200
        return answer.headers["ETag"]

    first = tag()
    assert tag() == first
    given = len(audit(tenant))
    assert given == 1  # the second time the log had it
    for value in (first, f"W/{first}", f'"x", {first}', "*"):
        answer = config(agent, headers={"If-None-Match": value})
        assert (answer.status, answer.body, answer.headers["ETag"]) == (304, b"", first)
    assert len(audit(tenant)) == given  # nothing was opened for it
    seen = {first}
    for change in (
        lambda: set_secret(tenant, "PW", "b"),
        lambda: set_secret(tenant, "PW", "a"),  # the same as at first, which an agent cannot see
        lambda: set_value(tenant, "q", "2"),
        lambda: register(tenant, param("p"), param("q", default="3"), param("r")),
    ):
        change()
        answer = config(agent, headers={"If-None-Match": ", ".join(seen)})
        assert answer.status == 200
        assert answer.headers["ETag"] not in seen
        seen.add(answer.headers["ETag"])
    other = tenant.server.add_tenant()
    register(other, param("p"), param("q", default="1"))
    client = other.agent_client(AGENT)
    assert config(client).headers["ETag"] not in seen
    client.close()
    other.client.close()


def test_a_parameter_that_is_secret_is_not_set_in_the_clear(tenant, agent):
    register(tenant, param("api_key"), param("max_tokens", "integer"))
    said = refused_value(tenant, "api_key", "sk-in-the-clear", AGENT)
    assert "secret set" in said
    assert "sk-in-the-clear" not in said
    assert "secret" in refused_value(tenant, "max_tokens", "5")
    tenant.server.cli("catalog", "set", "max_tokens", "--tenant", tenant.slug, "--secret", "no")
    set_value(tenant, "max_tokens", "5")
    set_secret(tenant, "KEY", "sk-1")
    set_value(tenant, "api_key", "Bearer ${vault:KEY}", AGENT)
    assert resolved(agent) == {"api_key": "Bearer sk-1", "max_tokens": 5}
    done = tenant.server.run(
        "catalog", "set", "max_tokens", "--tenant", tenant.slug, "--secret", "yes"
    )
    assert (done.returncode, "in plain text" in done.stderr) == (1, True)


def values(tenant, agent=None):
    said = json.loads(tenant.server.cli("value", "list", *where(tenant, agent), "--json"))
    return {row["key"]: row for row in said["values"]}


def test_the_list_tells_what_holds_and_hides_what_may_not_be_seen(tenant):
    register(tenant, param("a", "integer", required=True), param("d", default="x"),
             param("password"), param("token", default="dflt"), param("quiet"))  # fmt: skip
    set_value(tenant, "a", "1")
    set_value(tenant, "a", "2", AGENT)
    set_value(tenant, "extra", "e", AGENT)
    set_value(tenant, "only-here", "w")
    set_value(tenant, "password", "vault:PW", AGENT)
    set_value(tenant, "quiet", "loud", AGENT)
    cli = tenant.server.cli
    cli("catalog", "set", "quiet", "--tenant", tenant.slug, "--see", "nobody")
    rows = values(tenant, AGENT)
    assert list(rows) == ["a", "d", "password", "token", "quiet", "extra"]
    brief = {key: (r["value"], r["source"], r["hidden"], r["declared"]) for key, r in rows.items()}
    assert brief == {
        "a": ("2", "agent", False, True),
        "d": ("x", "default", False, True),
        "password": ("vault:PW", "agent", False, True),  # a reference tells an admin nothing new
        "token": (None, "default", True, True),
        "quiet": (None, "agent", True, True),
        "extra": ("e", "agent", False, False),
    }
    assert (rows["a"]["value_type"], rows["a"]["required"]) == ("integer", True)
    assert rows["a"]["author"].partition(" ")[0] == tenant.server.actor
    assert rows["d"]["author"] is None
    assert rows["password"]["secret"] is True
    shared = values(tenant)
    assert {key: r["value"] for key, r in shared.items()} == {"a": "1", "only-here": "w"}
    lines = cli("value", "list", *where(tenant, AGENT)).splitlines()
    assert lines[0].split() == ["KEY", "VALUE", "SOURCE", "REQUIRED"]
    assert lines[1].split() == ["a", "2", "agent", "yes"]
    assert "loud" not in "".join(lines)


ODD_KEYS = ['"quoted"', "back\\slash", "{a,b}", "null", "ünï ", "[1]", "'", "k" * 5000]


def test_the_list_finds_the_catalog_entry_of_any_key(tenant):
    """They are asked for together: none is mistaken for others."""
    register(tenant, *(param(key, default="d") for key in ODD_KEYS), param("other", default="d"))
    for key in ODD_KEYS:
        path = tenant.path(f"catalog/{quote(key, safe='')}")
        answer = tenant.server.admin.request("PATCH", path, {"edit": "member", "see": "nobody"})
        assert answer.status == 200, answer.body
    rows = values(tenant, AGENT)
    assert {key: (row["edit"], row["hidden"]) for key, row in rows.items()} == {
        **dict.fromkeys(ODD_KEYS, ("member", True)), "other": ("admin", False),
    }  # fmt: skip
    detail = tenant.client.get(tenant.path(f"agents/{AGENT}")).json()
    shown = {row["key"]: row["default"] for row in detail["config_schema"]["params"]}
    assert shown == {**dict.fromkeys(ODD_KEYS, ""), "other": "d"}


def test_what_is_set_in_one_place_is_bounded_and_so_is_its_list(tenant):
    """64 values of 64 KiB are as much as a workspace may have; its agents have room of their own."""
    admin, long = tenant.server.admin, "v" * 65_536

    def put(place, key, value=long):
        return admin.request("PUT", tenant.path(f"{place}/{key}"), {"value": value})

    for n in range(64):
        assert put("values", f"k{n}").status == 200
    refused = put("values", "more", "x")
    assert refused.status == 409, refused.body
    assert refused.json()["detail"].startswith("The workspace has as many values as it may")
    assert put("values", "k0", "shorter").status == 200, "what is there can be changed"
    assert put("values", "more", "x").status == 200
    assert put("agents/collector/values", "more").json()["value"] == long
    assert len(values(tenant)) == 65
    assert values(tenant, AGENT)["more"]["value"] == long
    deleted = admin.request("DELETE", tenant.path("agents/collector/values/more")).json()
    assert (deleted["value"], deleted["source"]) == ("x", "workspace")


def catalog(tenant):
    said = json.loads(tenant.server.cli("catalog", "list", "--tenant", tenant.slug, "--json"))
    assert said["next"] is None
    return {
        row["key"]: (row["secret"], row["edit"], row["see"]) for row in said["parameters"]
    }


def test_the_catalog_is_changed_by_people_alone(tenant):
    register(tenant, param("plain"), param("db_password"))
    set_value(tenant, "set_first", "x")
    set_value(tenant, "a_token", "vault:X", AGENT)
    first = {
        "a_token": (True, "admin", "nobody"),
        "db_password": (True, "admin", "nobody"),
        "plain": (False, "admin", "member"),
        "set_first": (False, "admin", "member"),
    }
    assert catalog(tenant) == first
    cli = tenant.server.cli
    said = cli("catalog", "set", "plain", "--tenant", tenant.slug, "--secret", "yes",
               "--edit", "member", "--see", "admin")  # fmt: skip
    assert said.split() == ["plain", "secret", "edit", "member", "see", "admin"]
    cli("catalog", "set", "db_password", "--tenant", tenant.slug, "--secret", "no")
    changed = first | {
        "plain": (True, "member", "admin"),
        "db_password": (False, "admin", "nobody"),
    }
    assert catalog(tenant) == changed
    register(tenant, param("plain"), param("db_password"))
    assert catalog(tenant) == changed
    assert len(audit(tenant, "catalog.set")) == 2
    assert [r["target"] for r in audit(tenant, "value.set")] == [
        "set_first", f"a_token of agent {AGENT}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (("value", "set", "k", "v"), 2, "--tenant"),
        (("value", "set", "k", "--tenant", "{slug}"), 2, "missing"),
        (("value", "set", "", "v", "--tenant", "{slug}"), 2, "KEY must not be empty"),
        (("value", "set", "k", "v", "--tenant", "no-such"), 1, "no-such"),
        (("value", "set", "k", "v", "--tenant", "{slug}", "--agent", ""), 2, "--agent"),
        (("value", "set", "k", "v" * 65537, "--tenant", "{slug}"), 1, "65536"),
        (("catalog", "set", "k", "--tenant", "{slug}", "--secret", "yes"), 1, "no parameter 'k'"),
        (("catalog", "set", "k", "--tenant", "{slug}", "--secret", "maybe"), 2, "maybe"),
        (("catalog", "set", "k", "--tenant", "{slug}", "--edit", "nobody"), 2, "nobody"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(tenant, arguments, status, word):
    done = tenant.server.run(*(a.format(slug=tenant.slug) for a in arguments))
    assert (done.returncode, done.stdout) == (status, "")
    assert word in done.stderr
    assert values(tenant) == {}


def test_names_may_be_of_any_length(tenant):
    key, name = "k" * 1500, "n" * 1200
    register(tenant, param(key), agent=name)
    set_value(tenant, key, "v", name)
    set_value(tenant, key + "x", "other", name)
    assert values(tenant, name)[key]["value"] == "v"
    assert key in catalog(tenant)


def test_the_catalog_has_pages_and_a_refused_value_is_not_echoed(tenant):
    register(tenant, param("k", "integer"), param("api_key"))
    admin = tenant.server.admin
    for base in ("values", "agents/collector/values"):
        bad = admin.request("PUT", tenant.path(f"{base}/k"), {"value": "SENSITIVE"})
        (problem,) = bad.json()["detail"]
        assert (bad.status, problem["loc"], problem["type"]) == (422, ["body", "value"], "value_error")
        assert b"SENSITIVE" not in bad.body
    page = admin.get(tenant.path("catalog?limit=1")).json()
    assert ([p["key"] for p in page["parameters"]], page["next"]) == (["api_key"], "api_key")
    page = admin.get(tenant.path("catalog?limit=1&after=api_key")).json()
    assert [p["key"] for p in page["parameters"]] == ["k"]
    patched = admin.request("PATCH", tenant.path("catalog/k"), {"see": "admin", "edit": None})
    assert (patched.json()["see"], patched.json()["edit"]) == ("admin", "admin")
    assert admin.request("PATCH", tenant.path("catalog/none"), {}).status == 404
