"""A rotation never locks the agent out, wherever it is interrupted."""

import json
import subprocess
import sys

import muster
import pytest

LIMITS = "/api/v1/limits"

# Rotates, and dies at the named point as if it were killed there.
ROTATOR = """
import os, sys, muster, muster.keys
point = sys.argv[1]
agent = muster.Agent("rotator", exit_timeout=0)
exchange, replace = agent.transport.exchange, muster.keys.replace_durably

def dying_exchange(method, path, *rest):
    if path.endswith("refresh-key") and point == "before the request":
        os._exit(9)
    answer = exchange(method, path, *rest)
    if path.endswith("refresh-key") and point == "after the answer":
        os._exit(9)
    return answer

def dying_replace(room, path, content):
    replace(room, path, content)
    if point == "after the write":
        os._exit(9)

agent.transport.exchange, muster.keys.replace_durably = dying_exchange, dying_replace
agent.rotate_key()
os._exit(0)
"""


def rotator(workspace, make_agent, **more):
    settings = {**workspace.settings, "token": workspace.tenant.add_key("rotator")}
    workspace.tenant.token, settings["state_dir"] = settings["token"], workspace.state
    return settings


def die_at(point, workspace, settings):
    environment = {**workspace.environment, "MUSTER_TOKEN": settings["token"]}
    done = subprocess.run([sys.executable, "-c", ROTATOR, point], env=environment, check=False)
    return done.returncode


def test_a_rotated_key_is_used_at_once_and_by_the_next_process(workspace, make_agent):
    settings = rotator(workspace, make_agent)
    agent = make_agent(settings, "rotator")
    assert agent.rotate_key() and agent.keys.token != settings["token"]
    kept = json.loads(agent.keys.path.read_bytes())
    assert kept["token"] == agent.keys.token and not kept["rotating"]
    assert agent.keys.path.stat().st_mode & 0o777 == 0o600
    again = make_agent(settings, "rotator")  # the environment still has the first key
    assert again.keys.token == agent.keys.token
    assert again.rotate_key() and again.keys.token != agent.keys.token
    assert not agent.rotate_key(), "it has been rotated by the other one"
    assert agent.keys.token == again.keys.token


@pytest.mark.parametrize("point", ["before the request", "after the answer", "after the write"])
def test_a_crash_at_any_point_leaves_a_key_that_works(workspace, make_agent, point):
    settings = rotator(workspace, make_agent)
    assert die_at(point, workspace, settings) == 9
    agent = make_agent(settings, "rotator")
    with agent.run():
        pass
    assert agent.flush(120), "the next start reports with a key that works"
    agent.transport.call("GET", LIMITS)
    assert not agent.keys.unfinished
    assert agent.keys.token != settings["token"]


def test_the_new_key_outlives_the_old_one(clocked_workspace, make_agent):
    settings = rotator(clocked_workspace, make_agent)
    assert die_at("after the answer", clocked_workspace, settings) == 9
    agent = make_agent(settings, "rotator")
    assert agent.flush(120)
    clocked_workspace.clock.advance(301)
    agent.transport.call("GET", LIMITS)
    with pytest.raises(muster.Refused):
        muster.transport.checked(agent.transport.exchange("GET", LIMITS, settings["token"]))


def test_a_disk_that_refuses_stops_the_rotation_before_the_request(
    workspace, make_agent, monkeypatch
):
    settings = rotator(workspace, make_agent)
    agent = make_agent(settings, "rotator")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("muster.keys.reserve", full)
    with pytest.raises(OSError, match="No space"):
        agent.rotate_key()
    assert agent.keys.token == settings["token"]
    agent.transport.call("GET", LIMITS)


def test_a_key_given_by_the_operator_takes_precedence(workspace, make_agent):
    settings = rotator(workspace, make_agent)
    agent = make_agent(settings, "rotator")
    agent.rotate_key()
    fresh = workspace.tenant.add_key("rotator")
    assert make_agent({**settings, "token": fresh}, "rotator").keys.token == fresh


def test_a_successor_that_was_replaced_leads_back_to_the_old_key(workspace, make_agent):
    settings = rotator(workspace, make_agent)
    assert die_at("after the write", workspace, settings) == 9
    written = next(workspace.state.glob("rotator-*/key.json"))
    successor = json.loads(written.read_bytes())["token"]
    other = workspace.server.client(settings["token"])
    assert other.post("/api/v1/agents/refresh-key").status == 200  # replaces the unused successor
    other.close()
    agent = make_agent(settings, "rotator")
    assert agent.keys.token == successor
    assert agent.flush(120) and agent.stats["retries"] == 0
    agent.rotate_key()
    assert agent.keys.token not in (successor, settings["token"])
    agent.transport.call("GET", LIMITS)
