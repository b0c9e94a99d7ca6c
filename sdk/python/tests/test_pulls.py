"""Model, policy, document and configuration: fresh, unchanged, or the last known good."""

import json

import muster
import pytest


def test_the_answers_are_those_of_the_service(workspace, make_agent):
    slug, cli = workspace.tenant.slug, workspace.server.cli
    agent = make_agent(
        {**workspace.settings, "token": workspace.tenant.add_key("collector")},
        config=[muster.Param("size", value_type="integer", default="5")],
    )
    agent.register()
    assert agent.model() is None and agent.document() is None
    assert agent.model(default="m") == "m" and agent.document(default={"a": 1}) == {"a": 1}
    assert agent.policy()["mode"] == "deny_all" and agent.config() == {"size": 5}
    cli("model", "set", "small", "--tenant", slug)
    assert agent.model(default="m") == "small"


def test_an_unchanged_answer_is_not_transferred_again(scripted, make_agent):
    path = "/api/v1/agents/model"
    scripted.script[path] = [(200, {"ETag": '"1"'}, {"model": "a"}), (304, {}, {})]
    agent = make_agent(scripted.settings)
    assert agent.model() == "a" and agent.model() == "a"
    assert make_agent(scripted.settings).model() == "a", "the ETag is kept on disk"
    sent = [request[4]["If-None-Match"] for request in scripted.seen(path)]
    assert sent == [None, '"1"', '"1"']


@pytest.mark.parametrize("status", [503, 429, 500])
def test_the_last_known_good_is_used_while_the_service_is_away(scripted, make_agent, status):
    scripted.script["/api/v1/agents/config"] = [(200, {}, {"secret": "s"}), (status, {}, {})]
    scripted.script["/api/v1/agents/model"] = [(status, {}, {})]
    make_agent(scripted.settings).config()
    agent = make_agent(scripted.settings)
    assert agent.config() == {"secret": "s"}
    assert (agent.state / "config.json").stat().st_mode & 0o777 == 0o600
    assert agent.model(default="m") == "m"
    with pytest.raises(muster.Unavailable):
        agent.model()


def test_a_service_that_was_killed_leaves_what_it_last_said(own_workspace, make_agent):
    server = own_workspace.server
    server.arguments = ["--listen", f"127.0.0.1:{server.address[1]}"]
    settings = {**own_workspace.settings, "token": own_workspace.tenant.add_key("collector")}
    declared = [muster.Param("size", value_type="integer", default="5")]
    first = make_agent(settings, config=declared)
    first.register()
    assert (first.config(), first.policy()["mode"]) == ({"size": 5}, "deny_all")
    server.kill()
    agent = make_agent(settings, config=declared)  # another process, started during the outage
    assert (agent.config(), agent.policy()["mode"]) == ({"size": 5}, "deny_all")
    with pytest.raises(muster.Unavailable):
        agent.model()
    server.start()
    server.cli("model", "set", "small", "--tenant", own_workspace.tenant.slug)
    assert agent.model() == "small"


def test_a_revoked_key_gets_nothing_from_disk(scripted, make_agent):
    scripted.script["/api/v1/agents/config"] = [(200, {}, {"secret": "s"}), (401, {}, {})]
    agent = make_agent(scripted.settings)
    agent.config()
    with pytest.raises(muster.Refused):
        agent.config(default={})


def test_a_configuration_can_be_kept_off_the_disk(scripted, make_agent):
    scripted.script["/api/v1/agents/config"] = [(200, {"ETag": '"1"'}, {"secret": "s"})]
    agent = make_agent(scripted.settings)
    assert agent.config(keep=False) == {"secret": "s"}
    assert not (agent.state / "config.json").exists()


def test_a_broken_file_is_ignored(scripted, make_agent):
    scripted.script["/api/v1/agents/model"] = [(200, {}, {"model": "a"})]
    agent = make_agent(scripted.settings)
    (agent.state / "model.json").write_text(json.dumps({"body": 1})[:-3])
    assert agent.model() == "a"
