"""One run of an agent: its events, its business report and what it used of models."""

import math
import random
import uuid
from datetime import UTC, datetime

DAY = 86_400
HISTORY_DAYS = 30
LEAST = 2  # items of a run: the texts speak of several


def stamp(seconds):
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def whole(parts, total):
    """The parts as whole numbers with the same sum: what is rounded down goes to the largest rests."""
    numbers = [int(part) for part in parts]
    by_rest = sorted(range(len(parts)), key=lambda i: numbers[i] - parts[i])
    for i in by_rest[: total - sum(numbers)]:
        numbers[i] += 1
    return numbers


class Run:
    """`at` is when it begins; `now` is the end of the thirty days that growth is told over."""

    def __init__(self, tenant, agent, at, now, workflow=None, seconds=None, part=1.0):
        """`part`: how much it has to do, compared with a usual run."""
        self.tenant, self.agent, self.at, self.now = tenant, agent, at, now
        self.workflow, self.part = workflow, part
        self.id = str(uuid.uuid4())
        self.seconds = seconds or agent.seconds * random.lognormvariate(0, 0.35)
        self.failed = random.random() < agent.fails
        self.busy = self._busyness()
        self.n = max(LEAST, round(30 * self.busy * part * random.uniform(0.6, 1.5)))
        self.dropped = random.uniform(0, 0.4)

    def _busyness(self):
        """How much there is to do: by hour, by weekday, and growing slowly."""
        moment = datetime.fromtimestamp(self.at, UTC)
        by_hour = 1 + 0.35 * math.sin((moment.hour - 8) / 24 * 2 * math.pi)
        weekend = 0.3 if self.agent.weekdays and moment.weekday() >= 5 else 1
        return by_hour * weekend

    @property
    def end(self):
        return self.at + self.seconds

    def _event(self, kind, at, seq, **more):
        return {
            "event_id": f"{self.id}/{seq}",
            "client_id": self.tenant,
            "agent_name": self.agent.name,
            "agent_version": self.agent.version,
            "run_id": self.id,
            "event": kind,
            "timestamp": stamp(at),
            "seq": seq,
            "workflow_run_id": self.workflow,
            **more,
        }

    def _step(self, i, at):
        category, message, source = self.agent.steps[i]
        left = 1 - (i + 1) / len(self.agent.steps)  # each step has fewer items, the last all that are done
        n = round(self.n * (1 + self.dropped * left))
        slow = random.random() < 0.04
        return self._event(
            "in_progress", at, i + 1,
            category=category,
            source=source,
            message=message.format(n=n) + ("; slower than usual" if slow else ""),
            level="warning" if slow else "info",
            metrics={"items": n, "memory_mb": round(random.uniform(120, 380), 1)},
            metadata={"host": f"worker-{1 + hash(self.id) % 3}"},
        )  # fmt: skip

    def _close(self, seq):
        duration = round(self.seconds * 1000)
        if self.failed:
            kind, text = random.choice(self.agent.errors)
            return self._event(
                "failed", self.end, seq,
                level="error",
                duration_ms=duration,
                error_type=kind,
                error_message=text,
                output={"attempts": [{"n": n, "ms": n * 10_000} for n in (1, 2, 3)]},
                links=[f"https://runbooks.example.org/{kind.lower()}"],
            )  # fmt: skip
        return self._event(
            "completed", self.end, seq,
            level="success",
            duration_ms=duration,
            records_processed=self.n,
            message=f"Done: {self.n} items",
            output={"items": self.n, "batch": {"id": self.id[:8], "complete": True}},
        )  # fmt: skip

    def events(self, close=True):
        """(moment, event) in their order; a run that failed stops halfway."""
        steps = self.agent.steps
        count = max(1, len(steps) // 2) if self.failed else len(steps)
        yield self.at, self._event("started", self.at, 0, message="Woke up by schedule")
        for i in range(count if close else max(1, count - 1)):
            moment = self.at + self.seconds * (i + 1) / (count + 1)
            yield moment, self._step(i, moment)
        if close:
            yield self.end, self._close(count + 1)

    def _value(self, kpi):
        age = (self.now - self.at) / (HISTORY_DAYS * DAY)  # 1: at the beginning
        value = kpi.usual * (1 - kpi.growth * age) * (1 + random.uniform(-1, 1) * kpi.spread)
        if kpi.agg == "sum":
            value *= self.busy * self.part
        if kpi.unit == "percent":
            value = min(value, 100)
        if kpi.unit != "count" or kpi.agg == "avg":
            return round(value, 2)
        if kpi.agg == "sum":  # whole, and right on average, also where there is little to do
            value += random.random() - 0.5
        return max(0, round(value))

    def _breakdown(self, kpi, value):
        points = [({}, value)]
        for dimension, shares in kpi.by.items():
            points = [
                ({**where, dimension: name}, part * share)
                for where, part in points
                for name, share in shares.items()
            ]
        parts = [part for _, part in points]
        parts = whole(parts, value) if kpi.unit == "count" else [round(part, 2) for part in parts]
        if len(kpi.by) == 1:
            ((dimension, _),) = kpi.by.items()
            slices = {where[dimension]: part for (where, _), part in zip(points, parts)}
            return {"metric": kpi.key, "by": dimension, "slices": slices}
        rows = [{**where, "value": part} for (where, _), part in zip(points, parts)]
        return {"metric": kpi.key, "by": list(kpi.by), "points": rows}

    def _report(self, **more):
        return {
            "agent_name": self.agent.name,
            "agent_version": self.agent.version,
            "client_id": self.tenant,
            "run_id": self.id,
            "timestamp": stamp(self.end),
            "workflow_run_id": self.workflow,
            **more,
        }

    def business(self):
        """None: this run has nothing to tell."""
        if self.failed or not self.agent.kpis:
            return None
        values = {kpi.key: self._value(kpi) for kpi in self.agent.kpis}
        splits = [self._breakdown(kpi, values[kpi.key]) for kpi in self.agent.kpis if kpi.by]
        return self._report(metrics=values, breakdowns=splits)

    def llm(self):
        for use in self.agent.uses:
            size = self.busy * self.part * random.uniform(0.7, 1.4) * (0.4 if self.failed else 1)
            whole = round(use.input_tokens * size)
            cached = round(whole * use.cached)
            yield self._report(
                model=use.model,
                input_tokens=whole - cached,
                cache_read_tokens=cached,
                output_tokens=round(use.output_tokens * size),
                calls=max(1, round(use.calls * size)),
            )
