"""Business and LLM reports of the crash test: their bodies, the rows they must become, and reading.

A row is {identity: content}. The identity tells rows apart as the store must; the content is what
was reported, without the time of arrival.
"""

import json
from collections import Counter

from stored import of_tenant, stored

T0_S = 1735787045  # 2025-01-02T03:04:05Z


def moment(number):
    """The timestamp of the report `number`, and the same in microseconds: later for a later one."""
    minute, second = divmod(number, 60)
    hour, minute = divmod(minute, 60)
    text = f"2025-01-02T{4 + hour:02}:{minute:02}:{second:02}Z"
    return text, (T0_S + 55 * 60 + 55 + number) * 1_000_000


def business(slug, run_id, number):
    """A body, its rows, and the row that each later report of the run replaces."""
    text, at = moment(number)
    body = {
        "agent_name": "crash",
        "client_id": slug,
        "run_id": run_id,
        "timestamp": text,
        "metrics": {"last": number, f"real {number}": number + 0.5, f"text {number}": f"{number}"},
        "breakdowns": [
            {"metric": f"cells {number}", "by": "side", "slices": {"left": number, "right": 1}}
        ],
    }
    rows = {
        ("value", run_id, f"real {number}"): (number + 0.5, at),
        ("value", run_id, f"text {number}"): (f"{number}", at),
        ("breakdown", run_id, f"cells {number}", '["side"]'): (
            [["left", number], ["right", 1]],
            at,
        ),
    }
    return body, rows, {("value", run_id, "last"): (number, at)}


def llm(slug, run_id, number):
    """A body and its row; nothing is replaced."""
    text, at = moment(number)
    tokens = {
        "input_tokens": number,
        "output_tokens": number + 1,
        "cache_read_tokens": number + 2,
        "cache_write_tokens": number + 3,
        "calls": number + 4,
    }
    model = f"model {number % 3}"
    body = {
        "agent_name": "crash",
        "agent_version": f"1.{number}",
        "client_id": slug,
        "run_id": run_id,
        "timestamp": text,
        "model": model,
        **tokens,
    }
    return body, {("usage", run_id, at, model): (*tokens.values(), f"1.{number}")}, {}


VALUES = """SELECT r.run_id, v.key, v.timestamp, v.received_at, v.integer_value, v.real_value,
    v.text_value FROM business_values v JOIN business_runs r ON r.run_no = v.run_no
    AND r.tenant_id = v.tenant_id AND r.agent_id = v.agent_id"""
BREAKDOWNS = """SELECT r.run_id, b.metric, b.dimensions, b.timestamp, b.received_at, b.cells
    FROM business_breakdowns b JOIN business_runs r ON r.run_no = b.run_no
    AND r.tenant_id = b.tenant_id AND r.agent_id = b.agent_id"""
USAGE = """SELECT u.run_id, u.timestamp, u.model, u.received_at, u.input_tokens, u.output_tokens,
    u.cache_read_tokens, u.cache_write_tokens, u.calls, u.agent_version FROM llm_usage u"""


def read_value(row):
    given = [row[k] for k in ("integer_value", "real_value", "text_value") if row[k] is not None]
    content = (given[0] if len(given) == 1 else given, row["timestamp"])
    return ("value", row["run_id"], row["key"]), content


def read_breakdown(row):
    identity = ("breakdown", row["run_id"], row["metric"], row["dimensions"])
    return identity, (json.loads(row["cells"]), row["timestamp"])


def read_usage(row):
    identity = ("usage", row["run_id"], row["timestamp"], row["model"])
    return identity, tuple(list(row.values())[4:])


class Stored:
    """All rows of some runs as they are in the files of a server, which may be dead."""

    def __init__(self, tenant, run_ids):
        self.rows, self.arrived, self.times = {}, {}, Counter()
        if not run_ids:
            return
        runs = "', '".join(sorted(run_ids))
        for sql, alias, read in (
            (VALUES, "r", read_value),
            (BREAKDOWNS, "r", read_breakdown),
            (USAGE, "u", read_usage),
        ):
            mine = f" WHERE {alias}.{of_tenant(tenant)} AND {alias}.run_id IN ('{runs}')"
            for row in stored(tenant.server, sql + mine):
                identity, content = read(row)
                self.rows[identity] = content
                self.arrived[identity] = row["received_at"]
                self.times[identity] += 1
