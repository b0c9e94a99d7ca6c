"""Whatever an agent passes in, and whenever: its reports never break it, and never hold it up."""

import asyncio
import decimal
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time

import muster
import pytest
from muster import values



class Tensor:
    def __float__(self):
        raise RuntimeError("only one element tensors can be converted")


class Hostile(dict):
    def items(self):
        raise RuntimeError("no items")


@pytest.fixture
def watched(workspace, make_agent):
    """An agent of the real service, and the problems that it was told of."""
    problems = []
    agent = make_agent(workspace.settings, on_error=problems.append)
    return agent, problems


STEPS = [
    ({"metrics": {"v": 10**400, "ok": 1}}, "metrics", {"ok": 1}),
    ({"metrics": {"v": Tensor(), "ok": 1}}, "metrics", {"ok": 1}),
    ({"metrics": {"v": "7", "w": decimal.Decimal("1.5")}}, "metrics", {"v": 7, "w": 1.5}),
    ({"metrics": Hostile(a=1)}, "metrics", {}),
    ({"output": {"v": 10**400, "w": 10**5000}}, "output", {"v": None, "w": None}),
    ({"output": [1, 2]}, "output", {"value": [1, 2]}),
    ({"output": Hostile(a=1)}, "output", {"value": "<Hostile>"}),
    ({"links": None}, "links", []),
    ({"links": "http://x/y"}, "links", ["http://x/y"]),
    ({"links": 7}, "links", ["7"]),
    ({"metadata": ["a"]}, "metadata", {"value": "['a']"}),
    ({"metadata": Hostile(a=1)}, "metadata", {}),
    ({"source": "caf\udce9\0.py:3"}, "source", "caf?\ufffd.py:3"),
]


def test_odd_arguments_of_a_step_arrive_as_far_as_they_mean_something(workspace, watched):
    agent, problems = watched
    with agent.run() as run:
        for given, _, _ in STEPS:
            run.step("x", **given)
    assert agent.flush(120) and problems == []
    arrived = workspace.events(run.id)[1:-1]
    assert [event[name] for event, (_, name, _) in zip(arrived, STEPS)] == [row[2] for row in STEPS]


@pytest.mark.parametrize(
    ("given", "stored"),
    [(float("nan"), None), ("many", None), (2**70, 2**63 - 1), (1e30, 2**63 - 1), ("12", 12)],
)
def test_odd_figures_do_not_keep_a_run_open(workspace, watched, given, stored):
    agent, problems = watched
    with agent.run() as run:
        run.complete("x", records_processed=given, output=[1], metadata="m")
    assert agent.flush(120) and problems == []
    last = workspace.events(run.id)[-1]
    assert (last["event"], last["records_processed"]) == ("completed", stored)
    assert last["output"] == {"value": [1]} and last["metadata"] == {"value": "m"}


@pytest.mark.parametrize("text", ["caf\udce9.txt", "a\0b"])
def test_an_exception_with_any_text_fails_the_run(workspace, watched, text):
    agent, problems = watched
    with pytest.raises(FileNotFoundError), agent.run() as run:
        raise FileNotFoundError(text)
    assert agent.flush(120) and problems == []
    last = workspace.events(run.id)[-1]
    assert (last["event"], last["error_type"]) == ("failed", "FileNotFoundError")
    assert "FileNotFoundError" in last["output"]["traceback"]


def test_odd_token_counts_are_not_counted_and_the_others_are(workspace, watched):
    agent, problems = watched
    with agent.run() as run:
        for odd in (float("nan"), float("inf"), -5, 2**70):
            run.llm("odd", {"prompt_tokens": odd}, calls="many")
        run.llm("m", input_tokens=float("nan"), output_tokens=3)
        run.llm("m", input_tokens=2)
    assert agent.flush(120) and problems == []
    usage = workspace.usage()
    assert (usage["m"]["input_tokens"], usage["m"]["output_tokens"]) == (2, 3)
    assert usage["odd"]["input_tokens"] == 2**63 - 1 and usage["odd"]["calls"] == 0


def test_a_call_that_cannot_be_reported_is_told_each_time_and_logged_once(watched, caplog):
    agent, problems = watched
    with agent.run(run_id="no id") as run:
        for _ in range(3):
            run.kpi("k", None)
        run.progress(None)
        run.progress("3", 10)
        run.breakdown("b", by="c", points=[{"c": "x" * 9999, "value": 1}] * 999)
    assert agent.flush(120)
    said = [problem.detail.partition(" could")[0] for problem in problems]
    assert said == ["run._take_id()"] + ["run.kpi()"] * 3 + ["run.progress()", "run.breakdown()"]
    assert {problem.kind for problem in problems} == {"invalid"} and agent.stats["invalid"] == 6
    assert caplog.text.count("run.kpi() could not report") == 1


def family(children):
    """A tree whose members know their parent."""
    root = {"name": "root", "children": []}
    for number in range(children):
        root["children"].append({"name": number, "parent": root})
    return root


def test_a_value_that_contains_itself_is_followed_once(workspace, watched):
    agent, problems = watched
    with agent.run() as run:
        run.step("tree", output=family(6))
    assert agent.flush(120) and problems == []
    children = workspace.events(run.id)[1]["output"]["children"]
    assert [child["parent"] for child in children] == ["<cycle>"] * 6


def test_a_value_is_followed_for_a_bounded_number_of_nodes():
    leaf = ["x"]
    for _ in range(30):
        leaf = [leaf] * 10  # ten times as many with each level, and no cycle
    found, nodes = [values.plain(leaf)], 0
    while found:
        each = found.pop()
        nodes += 1
        found += each if isinstance(each, list) else []
    assert nodes <= 2 * values.NODES_MAX


def test_a_step_too_large_to_send_loses_its_output_and_arrives(workspace, watched):
    agent, problems = watched
    with agent.run() as run:
        run.step("big", output={"a": ["y" * 16000] * 400})
        run.step("bigger", metadata={n: "\1" * 16000 for n in range(100)})
        run.step("after")
    assert agent.flush(120) and problems == []
    _, big, bigger, after, _ = workspace.events(run.id)
    assert big["message"] == "big" and big["output"] is None
    assert big["metadata"]["muster.cut"].startswith("output of 64")
    assert set(bigger["metadata"]) == {"muster.cut"} and after["message"] == "after"


@pytest.mark.parametrize("method", ["write", "open"])
def test_a_signal_handler_may_report_in_the_middle_of_a_report(
    workspace, watched, monkeypatch, method
):
    agent, _ = watched
    run = agent.run()
    handler = signal.signal(signal.SIGUSR1, lambda *_: run.kpi("seen", 1, add=True) or run.step("h"))
    real = getattr(os, method)

    def interrupted(*args):
        monkeypatch.setattr(f"muster.spool.os.{method}", real)
        signal.raise_signal(signal.SIGUSR1)
        return real(*args)

    try:
        for lane in agent._sender.lanes:
            lane.linger = 3600.0
            lane.queue.segment_bytes = 1  # so that every report opens a file
        monkeypatch.setattr(f"muster.spool.os.{method}", interrupted)
        run.step("interrupted")
        monkeypatch.setattr(f"muster.spool.os.{method}", interrupted)
        run.kpi("seen", 1, add=True)
    finally:
        signal.signal(signal.SIGUSR1, handler)
    run.complete()
    assert agent.flush(120)
    events = workspace.events(run.id)
    assert [event["message"] for event in events] == ["", "interrupted", "h", "h", ""]
    assert [event["seq"] for event in events] == list(range(5)) and workspace.kpis() == {"seen": 3}


def test_totals_of_many_threads_leave_in_their_order(workspace, watched):
    agent, _ = watched
    run = agent.run()

    def work():
        for _ in range(200):
            run.llm("m", input_tokens=1)
            run.kpi("k", 1, add=True)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert agent.flush(120)
    assert workspace.usage()["m"]["input_tokens"] == 1200 and workspace.kpis() == {"k": 1200}


def test_a_clock_that_is_set_back_does_not_lose_a_kpi(workspace, watched, monkeypatch):
    agent, problems = watched
    run = agent.run()
    run.kpi("stepped", 1)
    assert agent.flush(120)
    real = time.time
    monkeypatch.setattr("muster.run.time.time", lambda: real() - 3600)
    run.kpi("stepped", 12)
    run.complete()
    assert agent.flush(120) and problems == []
    assert workspace.kpis() == {"stepped": 12}


def test_a_generator_is_a_run_until_it_ends(workspace, watched):
    agent, _ = watched

    @agent.task
    def counting():
        muster.current_run().step("at work")
        got = yield 1
        assert got == "sent"
        yield 2
        raise ValueError("late")

    @agent.task
    def stopped():
        yield 1

    @agent.task
    async def later():
        muster.current_run().step("at work")
        yield 1
        raise ValueError("late")

    work = counting()
    assert next(work) == 1 and muster.current_run() is None and work.send("sent") == 2
    with pytest.raises(ValueError):
        next(work)
    for _ in stopped():
        break

    async def consume():
        async for _ in later():
            assert muster.current_run() is None

    with pytest.raises(ValueError):
        asyncio.run(consume())
    assert agent.flush(120)
    found = {workspace.events(run["run_id"])[0]["message"]: run for run in workspace.runs()}
    assert {name: run["status"] for name, run in found.items()} == {
        "counting": "failed", "stopped": "completed", "later": "failed",
    }  # fmt: skip
    assert found["counting"]["event_count"] == found["later"]["event_count"] == 3


def test_a_file_system_without_locks_leaves_an_agent_that_reports(workspace, make_agent, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("muster.state.fcntl.flock", none)
    agent = make_agent(workspace.settings)
    with agent.run() as run:
        run.step("still here")
    assert agent.flush(120) and len(workspace.events(run.id)) == 3


FULL_DISK = """
import json, resource, muster
agent = muster.Agent("collector")
assert agent.flush(100)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # from here on no file takes a byte
with agent.run() as run:
    run.step("the service is up, the disk is full")
    run.kpi("k", 1)
    run.llm("m", input_tokens=1)
print(json.dumps([run.id, agent.flush(100), agent.stats["dropped"]]))
"""


def test_a_full_disk_loses_nothing_while_the_service_is_up(workspace):
    done = subprocess.run([sys.executable, "-c", FULL_DISK], env=workspace.environment,
                          capture_output=True, text=True, timeout=200, check=True)  # fmt: skip
    run_id, flushed, dropped = json.loads(done.stdout)
    assert (flushed, dropped) == (True, 0)
    assert len(workspace.events(run_id)) == 3 and workspace.kpis() == {"k": 1}
    assert workspace.usage()["m"]["input_tokens"] == 1
    assert "reports are kept in memory" in done.stderr
