"""Kill the agent and the service at random instants: every report that was made is found once.

The agent prints the message of a step when it has reported it, with a KPI and tokens; from then on
they must not be lost. What it reported while it was being killed may or may not be there, but never
twice: each of its runs has the figures that it printed, or those of one step more.
"""

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter

ROUNDS = 3
AGENT = """
import itertools, sys, muster, muster.sender
muster.sender.BACKOFF_MAX_S = 0.2
muster.spool.SEGMENT_MAX_BYTES = 4096
agent = muster.Agent("victim", kpis=["steps"], exit_timeout=float(sys.argv[2]))
with agent.run() as run:
    print("run", run.id, flush=True)
    for number in itertools.count() if sys.argv[1] == "for ever" else range(int(sys.argv[1])):
        run.step(f"{run.id} {number}")
        run.kpi("steps", 1, add=True)
        run.llm("m", input_tokens=1)
        print(run.id, number, flush=True)
"""


def start_agent(workspace, steps, exit_timeout=120):
    return subprocess.Popen(
        [sys.executable, "-c", AGENT, str(steps), str(exit_timeout)],
        env=workspace.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def restart_at_random(server, stop):
    """Kills the service now and then; it comes back at the same address."""
    while not stop.wait(random.uniform(0.05, 0.3)):
        server.kill()
        stop.wait(random.uniform(0.0, 0.2))
        server.start()


def count_messages(workspace):
    found = Counter()
    for run in workspace.runs():
        found.update(event["message"] for event in workspace.events(run["run_id"]))
    return found


def figures(workspace, run_id):
    """What the service has stored of one run: its KPI, its tokens and its calls."""
    path = f"llm/usage?group_by=model&run_id={run_id}"
    usage = {row["model"]: row for row in workspace.read(path)["groups"]}.get("m")
    kpis = {row["key"]: row["value"] for row in workspace.read(f"runs/{run_id}/business")["kpis"]}
    return [kpis.get("steps", 0), *([usage["input_tokens"], usage["calls"]] if usage else [0, 0])]


def test_every_report_made_before_a_kill_arrives_exactly_once(own_workspace):
    server = own_workspace.server
    server.arguments = ["--listen", f"127.0.0.1:{server.address[1]}"]
    stop, made = threading.Event(), set()
    killer = threading.Thread(target=restart_at_random, args=(server, stop))
    killer.start()
    try:
        for _ in range(ROUNDS):
            agent = start_agent(own_workspace, "for ever")
            agent.stdout.readline()
            timer = threading.Timer(random.uniform(0.02, 0.6), agent.kill)
            timer.start()
            made.update(line.strip() for line in agent.stdout if line.endswith("\n"))
            assert agent.wait() == -signal.SIGKILL
            agent.stdout.close()
    finally:
        stop.set()
        killer.join()
    last = start_agent(own_workspace, 3)
    made.update(line.strip() for line in last.stdout if not line.startswith("run"))
    assert last.wait() == 0
    last.stdout.close()
    found = count_messages(own_workspace)
    assert len(made) > 20, "too few to mean anything"
    assert [message for message in made if found[message] != 1] == []
    assert [message for message, count in found.items() if message and count > 1] == []
    printed = Counter(message.split()[0] for message in made)
    for run in own_workspace.runs():
        least = printed[run["run_id"]]
        counts = figures(own_workspace, run["run_id"])
        assert all(least <= count <= least + 1 for count in counts), (least, counts)


OUTAGE = """
import os, muster, muster.spool
muster.spool.SEGMENT_MAX_BYTES = 4096
agent = muster.Agent("victim", kpis=["steps"])
run = agent.run()
for number in range(900):
    run.kpi("steps", 1, add=True)
    run.llm("m", input_tokens=1)
print(run.id, flush=True)
os._exit(9)
"""


def test_totals_of_a_process_that_died_in_an_outage_are_the_last_ones(own_workspace):
    server = own_workspace.server
    server.arguments = ["--listen", f"127.0.0.1:{server.address[1]}"]
    server.kill()
    died = subprocess.run([sys.executable, "-c", OUTAGE], env=own_workspace.environment,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # fmt: skip
    server.start()
    start_agent(own_workspace, 0).communicate()
    assert figures(own_workspace, died.stdout.strip()) == [900, 900, 900]


def test_reports_of_a_process_that_ended_during_an_outage_are_sent_by_the_next(own_workspace):
    server = own_workspace.server
    server.arguments = ["--listen", f"127.0.0.1:{server.address[1]}"]
    server.kill()
    first = start_agent(own_workspace, 20, exit_timeout=0)
    output = first.communicate()[0].split()
    assert first.returncode == 0
    server.start()
    last = start_agent(own_workspace, 0)
    last.communicate()
    assert [event["seq"] for event in own_workspace.events(output[1])] == list(range(22))


def test_a_forked_child_reports_for_itself(workspace, make_agent):
    agent = make_agent(workspace.settings)
    run = agent.run()
    run.step("parent before")
    run.llm("m", input_tokens=1)
    child = os.fork()
    if child == 0:
        run.step("child")
        run.llm("m", input_tokens=10)
        os._exit(0)  # without a flush: the parent adopts what the child left
    assert os.waitpid(child, 0)[1] == 0
    run.step("parent after")
    run.llm("m", input_tokens=100)
    run.complete()
    assert agent.flush(120)
    found = Counter(event["message"] for event in workspace.events(run.id))
    assert found == {"": 2, "parent before": 1, "child": 1, "parent after": 1}
    assert workspace.usage()["m"]["input_tokens"] == 111


def test_a_child_that_runs_on_sends_what_it_reports(workspace, make_agent):
    agent = make_agent(workspace.settings)
    run = agent.run()
    child = os.fork()
    if child == 0:
        run.step("child")
        os._exit(0 if agent.flush(20) else 1)
    assert os.waitpid(child, 0)[1] == 0
    found = Counter(event["message"] for event in workspace.events(run.id))
    assert found["child"] == 1 and sum(found.values()) <= 2
