"""What KPIs should be: the reports merged and totalled in the plainest way, in exact fractions."""

import json
import sys
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from fractions import Fraction

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MINUTE, HOUR, DAY = 60_000_000, 3_600_000_000, 86_400_000_000
LARGEST = sys.float_info.max
VOCABULARY = ("sum", "avg", "max")


def moment(us):
    """A time as the service writes it."""
    at = EPOCH + timedelta(microseconds=us)
    return at.replace(tzinfo=None).isoformat() + "Z"


def text(body):
    """JSON as the service writes it."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False)


def nearest(fraction):
    """The nearest double; beyond the largest it is the largest."""
    try:
        return fraction.numerator / fraction.denominator + 0.0
    except OverflowError:
        return LARGEST if fraction > 0 else -LARGEST


def total(agg, values):
    """Of [(timestamp, arrival, value)], as `agg` says; None without any."""
    if agg not in VOCABULARY:
        return max(values, key=lambda v: v[:2])[2] if values else None
    numbers = [v[2] for v in values if not isinstance(v[2], str)]
    if not numbers:
        return None
    if agg == "max":
        return max(numbers, key=lambda n: (Fraction(n), isinstance(n, int)))
    exact = sum(map(Fraction, numbers))
    if agg == "avg":
        return nearest(exact / len(numbers))
    if all(isinstance(n, int) for n in numbers) and -(2**63) <= exact < 2**63:
        return int(exact)
    return nearest(exact)


def bucket_start(bucket, us):
    if bucket == "week":
        return (us - 4 * DAY) // (7 * DAY) * (7 * DAY) + 4 * DAY
    if bucket == "month":
        at = (EPOCH + timedelta(microseconds=us)).replace(day=1, hour=0, minute=0, second=0,
                                                          microsecond=0)  # fmt: skip
        return (at - EPOCH) // timedelta(microseconds=1)
    length = {"minute": MINUTE, "hour": HOUR, "day": DAY}[bucket]
    return us // length * length


@dataclass
class Reference:
    """Takes the same reports as a server and gives the same answers."""

    declared: dict = field(default_factory=dict)  # (agent, key): (label, unit, agg)
    values: dict = field(default_factory=dict)  # (agent, run, key): (timestamp, arrival, value)
    splits: dict = field(default_factory=dict)  # (agent, run, metric, names): (timestamp, cells)
    arrivals: int = 0

    def declare(self, agent, kpis):
        self.declared = {k: v for k, v in self.declared.items() if k[0] != agent}
        for kpi in kpis:
            self.declared[agent, kpi["key"]] = (kpi["label"], kpi["unit"], kpi["agg"])

    def report(self, agent, run, timestamp, metrics, breakdowns=()):
        """`breakdowns`: [(metric, names, [(values…, number)])]."""
        self.arrivals += 1
        for key, value in metrics.items():
            value = 0.0 if isinstance(value, float) and value == 0 else value
            old = self.values.get((agent, run, key))
            if old is None or timestamp > old[0] or (timestamp == old[0] and not same(value, old[2])):
                self.values[agent, run, key] = (timestamp, self.arrivals, value)
        for metric, names, cells in breakdowns:
            order = sorted(range(len(names)), key=lambda i: names[i].encode())
            cells = [(*(c[i] for i in order), float(c[-1])) for c in cells]
            place = (agent, run, metric, tuple(names[i] for i in order))
            old = self.splits.get(place)
            if old is None or timestamp >= old[0]:
                self.splits[place] = (timestamp, self.arrivals, cells)

    def within(self, agent, key, since, until):
        return [v for (a, _, k), v in self.values.items()
                if a == agent and k == key and (since is None or since <= v[0]) and v[0] < until]  # fmt: skip

    def catalog(self):
        rows = [{"agent_name": a, "key": k, "label": d[0], "unit": d[1], "agg": d[2]}
                for (a, k), d in sorted(self.declared.items(), key=place_of)]  # fmt: skip
        return {"kpis": rows}

    def summary(self, since, until):
        rows = []
        reported = {(a, k) for a, _, k in self.values}
        for agent, key in sorted(reported | set(self.declared), key=encoded):
            values = self.within(agent, key, since, until)
            label, unit, agg = self.declared.get((agent, key), (None, None, None))
            declared = (agent, key) in self.declared
            if not declared and not values:
                continue
            before = [] if since is None else self.within(agent, key, 2 * since - until, since)
            rows.append({"agent_name": agent, "key": key, "label": label, "unit": unit, "agg": agg,
                         "declared": declared, "value": total(agg, values),
                         "reports": len(values), "previous": total(agg, before)})  # fmt: skip
        return {"since": None if since is None else moment(since), "until": moment(until),
                "kpis": rows, "truncated": False}  # fmt: skip

    def series(self, agent, key, since, until, bucket):
        """None where the agents do not agree."""
        agents = {a for a, _, k in self.values if k == key and agent in (None, a)}
        agents = agents or {a for a, k in self.declared if k == key and agent in (None, a)}
        kpis = [self.declared.get((a, key), (None, None, None)) for a in agents]
        ways = {agg if agg in VOCABULARY else "last" for _, _, agg in kpis}
        if len(ways) > 1:
            return None
        words, units = {agg for _, _, agg in kpis}, {unit for _, unit, _ in kpis}
        agg = words.pop() if len(words) == 1 else (ways or {None}).pop()
        buckets = {}
        for each in agents:
            for value in self.within(each, key, since, until):
                buckets.setdefault(bucket_start(bucket, value[0]), []).append(value)
        points = [(at, total(agg, values)) for at, values in sorted(buckets.items())]
        return {"agent_name": agent, "key": key,
                "unit": units.pop() if len(units) == 1 else None, "agg": agg, "bucket": bucket,
                "points": [{"t": moment(at), "value": v} for at, v in points if v is not None]}  # fmt: skip

    def breakdown(self, agent, metric, by, since, until):
        """Of metrics whose agents agree. "by": None where it cannot be rolled up."""
        rows = {p: s for p, s in self.splits.items()
                if p[2] == metric and agent in (None, p[0]) and since <= s[0] < until}  # fmt: skip
        words = {self.declared.get((p[0], metric), (None, None, "sum"))[2] for p in rows}
        words = words or {d[2] for (a, k), d in self.declared.items()
                          if k == metric and agent in (None, a)}  # fmt: skip
        agg = words.pop() if words else "sum"
        fitting = {p[3] for p in rows if set(by) <= set(p[3])}
        if agg not in ("sum", "max"):
            if fitting and not any(len(f) == len(by) for f in fitting):
                return None
            fitting = {f for f in fitting if len(f) == len(by)}
        chosen = {}
        for place in rows:
            if place[3] in fitting:
                best = chosen.get(place[:2])
                if best is None or rank(place[3]) < rank(best[3]):
                    chosen[place[:2]] = place
        groups = {}
        for place in chosen.values():
            timestamp, arrival, cells = rows[place]
            for i, cell in enumerate(cells):
                values = [cell[place[3].index(name)] for name in by]
                group = groups.setdefault(text(values)[1:-1], (values, []))
                group[1].append((timestamp, (arrival, i), cell[-1]))
        told = [(total(agg, numbers), ident, values)
                for ident, (values, numbers) in groups.items()]  # fmt: skip
        told.sort(key=lambda row: (-row[0], row[1].encode()))
        names = sorted({name for p in rows for name in p[3]}, key=str.encode)
        return {"metric": metric, "by": by, "agg": agg, "dimensions": names,
                "rows": [{"dimensions": dict(zip(by, values)), "value": value}
                         for value, _, values in told[:1000]],
                "truncated": len(told) > 1000}  # fmt: skip


def same(a, b):
    return type(a) is type(b) and a == b


def encoded(place):
    return tuple(part.encode() for part in place)


def place_of(item):
    return encoded(item[0])


def rank(names):
    return len(names), text(list(names)).encode()
