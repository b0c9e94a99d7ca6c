"""The fleet at work, until it is stopped.

For the first minutes a run begins every few seconds, so that there is something to see; each has
little to do. Afterwards every agent runs as often as in the past, and does as much: the charts
keep their scale, however long the demo goes on.
"""

import heapq
import itertools
import random
import time

from client import Refused
from fleet import FLEET
from past import HOUR, followers, workflow_of
from runs import Run

LIVELY = 180.0  # seconds
PAUSE = (2.0, 6.0)  # seconds between starts, at first
LENGTH = (8.0, 45.0)  # seconds of a run, at first
PART = 0.05  # of what a usual run does, at first

ACTIVE = [agent for agent in FLEET if agent.weight > 0]

order = itertools.count()


class Agenda:
    """What is to be sent, and when."""

    def __init__(self, client, tenant, began):
        self.client, self.tenant = client, tenant
        self.heap = []
        self.lively_until = began + LIVELY
        self.next_lively = began
        self.due = [self.lively_until + random.uniform(0, one.every_hours * HOUR) for one in ACTIVE]
        self.begin_with_a_failure(began)

    def add(self, at, path, body):
        heapq.heappush(self.heap, (at, next(order), path, body))

    def add_run(self, run):
        for at, event in run.events():
            self.add(at, "/api/v1/telemetry", event)
        business = run.business()
        if business is not None:
            self.add(run.end, "/api/v1/telemetry/business", business)
        for use in run.llm():
            self.add(run.end, "/api/v1/telemetry/llm", use)

    def begin_with_a_failure(self, now):
        """After those with which its past ends: its alert is the first thing to happen."""
        (agent,) = [one for one in ACTIVE if one.habit == "failing"]
        run = Run(self.tenant, agent, now, now, None, LENGTH[0], PART)
        run.failed = True
        self.add_run(run)

    def start(self, agent, now, length=None, part=1.0):
        leads = any(other.follows == agent.name for other in FLEET)
        run = Run(self.tenant, agent, now, now, workflow_of(now) if leads else None, length, part)
        self.add_run(run)
        for after in followers(self.tenant, run, now, length, part):
            self.add_run(after)

    def start_due(self, now):
        if self.next_lively <= now < self.lively_until:
            (agent,) = random.choices(ACTIVE, [one.weight for one in ACTIVE])
            self.start(agent, now, random.uniform(*LENGTH), PART)
            self.next_lively = now + random.uniform(*PAUSE)
        for i, agent in enumerate(ACTIVE):
            while self.due[i] <= now:  # several, dated as they were due, when the machine has slept
                self.start(agent, self.due[i])
                self.due[i] += agent.every_hours * HOUR

    def send_due(self, now):
        while self.heap and self.heap[0][0] <= now:
            _, _, path, body = heapq.heappop(self.heap)
            try:
                self.client.post(path, body)
            except Refused as problem:  # the agent was switched off, or the key revoked
                print(f"demo: {problem}", flush=True)


def live(client, tenant, stop):
    """Until `stop` is set."""
    agenda = Agenda(client, tenant, time.time())
    while not stop.wait(0.2):
        now = time.time()
        agenda.start_due(now)
        agenda.send_due(now)
