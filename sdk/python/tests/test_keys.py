"""A rotation never locks the agent out, wherever it is interrupted."""

import json
import subprocess
import sys
import time

import muster
import pytest
from muster.state import open_state

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


def test_a_rotation_that_has_just_ended_is_not_done_again_in_the_background(workspace, make_agent):
    keys = make_agent(rotator(workspace, make_agent), "rotator").keys
    refreshed = []

    def refresh(old):
        refreshed.append(old)
        return f"{old}-{len(refreshed)}"

    assert keys.rotate(refresh) and len(refreshed) == 1
    # the background had seen it unfinished, and has the lock only now
    assert not keys.rotate(refresh, only_unfinished=True) and len(refreshed) == 1
    keys.unfinished = True  # the answer was lost
    assert keys.rotate(refresh, only_unfinished=True) and len(refreshed) == 2


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


def wait_until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_rotation_whose_answer_was_lost_is_done_again(
    clocked_workspace, make_agent, monkeypatch
):
    monkeypatch.setattr("muster.agent.KEY_EVERY_S", 0.05)
    settings = rotator(clocked_workspace, make_agent)
    agent = make_agent(settings, "rotator")
    assert agent.flush(120)
    exchange, lost = agent.transport.exchange, []

    def lossy(method, path, *rest):
        answer = exchange(method, path, *rest)
        if path.endswith("refresh-key") and not lost:
            lost.append(answer)
            raise muster.Unavailable("the connection broke")
        return answer

    agent.transport.exchange = lossy
    with pytest.raises(muster.Unavailable):
        agent.rotate_key()
    wait_until(lambda: agent.keys.token != settings["token"] and not agent.keys.unfinished)
    clocked_workspace.clock.advance(301)  # the old key is over
    agent.transport.call("GET", LIMITS)


def test_keys_are_rotated_in_the_background_and_reports_go_on(workspace, make_agent, monkeypatch):
    monkeypatch.setattr("muster.agent.KEY_EVERY_S", 0.05)
    reader = workspace.tenant.token
    settings = rotator(workspace, make_agent)
    agent = make_agent(settings, "rotator", rotate_every=0.05)
    seen = {settings["token"]}
    wait_until(lambda: seen.add(agent.keys.token) or len(seen) > 2)
    agent._rotate_at = agent.rotate_every = float("inf")  # the service allows ten in an hour
    with agent.run() as run:
        pass
    assert agent.flush(120)
    workspace.tenant.token = reader
    assert len(workspace.events(run.id)) == 2


def test_a_disk_that_refuses_a_rotation_in_the_background_does_not_stop_the_reports(
    workspace, make_agent, monkeypatch, caplog
):
    monkeypatch.setattr("muster.agent.KEY_EVERY_S", 0.01)
    monkeypatch.setattr("muster.sender.BACKOFF_MAX_S", 0.05)
    attempts = []

    def full(*_):
        attempts.append(1)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("muster.keys.reserve", full)
    reader = workspace.tenant.token
    settings = rotator(workspace, make_agent)
    agent = make_agent(settings, "rotator", rotate_every=0)
    with agent.run() as run:
        pass
    assert agent.flush(120)
    workspace.tenant.token = reader
    assert len(workspace.events(run.id)) == 2
    wait_until(lambda: len(attempts) > 2)  # it is still tried
    assert caplog.text.count("No space left") == 1


def test_a_folder_that_can_only_be_read_still_has_the_key(workspace, make_agent, monkeypatch):
    settings = rotator(workspace, make_agent)
    agent = make_agent(settings, "rotator")
    agent.rotate_key()
    agent.rotate_key()  # the given key is not even the previous one

    def read_only(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("muster.state.tempfile.TemporaryFile", read_only)
    again = make_agent(settings, "rotator")
    assert again.state is None and again.keys.token == agent.keys.token
    with again.run():
        pass
    assert again.flush(120)
    with pytest.raises(muster.MusterError, match="can be written"):
        again.rotate_key()


@pytest.mark.parametrize(
    "spelled", ["https://h.example", "https://H.example/", "http://h.example:80", "https://h.example:443/"]
)
def test_one_service_has_one_folder_however_its_url_is_written(tmp_path, spelled):
    plain = open_state(tmp_path, "http://h.example", "t", "a")
    assert open_state(tmp_path, spelled, "t", "a") == plain
    assert open_state(tmp_path, "http://h.example:8080", "t", "a") != plain
