"""The fleet at work, a run every few seconds, until it is stopped."""

import heapq
import itertools
import random
import time

from client import Refused
from fleet import FLEET
from past import followers, workflow_of
from runs import Run

PAUSE = (2.0, 6.0)  # seconds between starts
LENGTH = (8.0, 45.0)  # seconds of a run, while we look

order = itertools.count()


class Agenda:
    """What is to be sent, and when."""

    def __init__(self, client, tenant):
        self.client, self.tenant = client, tenant
        self.heap = []

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

    def start_something(self, now):
        active = [agent for agent in FLEET if agent.weight > 0]
        (agent,) = random.choices(active, [one.weight for one in active])
        leads = any(other.follows == agent.name for other in FLEET)
        workflow = workflow_of(now) if leads else None
        run = Run(self.tenant, agent, now, now, workflow, random.uniform(*LENGTH))
        self.add_run(run)
        for after in followers(self.tenant, run, now, random.uniform(*LENGTH)):
            self.add_run(after)

    def send_due(self, now):
        while self.heap and self.heap[0][0] <= now:
            _, _, path, body = heapq.heappop(self.heap)
            try:
                self.client.post(path, body)
            except Refused as problem:  # the agent was switched off, or the key revoked
                print(f"demo: {problem}", flush=True)


def live(client, tenant, stop):
    """Until `stop` is set."""
    agenda = Agenda(client, tenant)
    next_start = time.time()
    while not stop.wait(0.2):
        now = time.time()
        if now >= next_start:
            agenda.start_something(now)
            next_start = now + random.uniform(*PAUSE)
        agenda.send_due(now)
