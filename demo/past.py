"""What the fleet did in the last thirty days, sent as fast as the service takes it."""

import itertools
import random
import uuid
from concurrent.futures import ThreadPoolExecutor

from fleet import FLEET
from runs import DAY, HISTORY_DAYS, Run, stamp

SENDERS = 8
BATCH = 1000
HOUR = 3600
STREAK = 4  # runs that failed last: with one more, at least a fifth of twenty did


def _moments(agent, now):
    """When it ran, oldest first; the last one has ended by now."""
    every = agent.every_hours * HOUR
    last = now - 9 * DAY if agent.habit == "disabled" else now - agent.seconds * 2.5 - 60
    first = now - HISTORY_DAYS * DAY
    return sorted(
        at + random.uniform(0, every * 0.02)
        for at in itertools.takewhile(
            lambda at: at > first, (last - every * 0.02 - k * every for k in itertools.count())
        )
    )


def workflow_of(at):
    """Its own for each chain, however many begin in a minute."""
    return f"invoices-{stamp(at)[:16]}-{uuid.uuid4().hex[:6]}"


def _chain(tenant, agent, at, now):
    """The run, and those of the agents that go on with what it did."""
    starts_workflow = any(other.follows == agent.name for other in FLEET)
    run = Run(tenant, agent, at, now, workflow_of(at) if starts_workflow else None)
    yield run
    yield from followers(tenant, run, now)


def followers(tenant, run, now, seconds=None, part=1.0):
    while run is not None and not run.failed:
        after = next((one for one in FLEET if one.follows == run.agent.name), None)
        run = after and Run(tenant, after, run.end + 2, now, run.workflow, seconds, part)
        if run is not None:
            yield run


def runs_of_the_past(tenant, now):
    for agent in FLEET:
        if agent.follows:
            continue
        moments = _moments(agent, now)
        for i, at in enumerate(moments):
            for run in _chain(tenant, agent, at, now):
                run.failed = run.failed or (agent.habit == "failing" and i >= len(moments) - STREAK)
                yield run


def _events(tenant, runs, now):
    for run in runs:
        for _, event in run.events():
            yield event
    for agent in FLEET:
        if agent.habit == "stuck":
            stuck = Run(tenant, agent, now - DAY + 90, now)  # a day old in a moment
            stuck.failed = False
            for _, event in stuck.events(close=False):
                yield event


def send_past(client, tenant, now):
    """How many runs and requests it took."""
    runs = [run for run in runs_of_the_past(tenant, now) if run.end < now]
    events = list(_events(tenant, runs, now))
    batches = [events[i : i + BATCH] for i in range(0, len(events), BATCH)]
    work = [("/api/v1/telemetry/batch", {"events": batch}) for batch in batches]
    work += [("/api/v1/telemetry/business", body) for run in runs if (body := run.business())]
    work += [("/api/v1/telemetry/llm", body) for run in runs for body in run.llm()]
    with ThreadPoolExecutor(SENDERS) as pool:
        for _ in pool.map(lambda one: client.post(*one), work):
            pass  # a refusal is raised here
    return len(runs), len(work)
