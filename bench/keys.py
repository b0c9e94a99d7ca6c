"""A fleet of 400,000 keys on PostgreSQL: what a node needs to know them, and what a change costs."""

import http.client
import json
import re
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

from common import Row
from servers import Muster, Node, Postgres

KEYS, TENANTS, MODELS = 400_000, 400, 40_000
LINES, TURNS = 8, 5  # keys that are rotated, and how often each

FILL = f"""
INSERT INTO tenants (tenant_id, slug, name, max_agents, rate_limit, created_at) OVERRIDING SYSTEM VALUE
    SELECT 1000 + t, 'fleet-' || t, '', 1000000, 1000000, 0 FROM generate_series(1, {TENANTS}) t;
INSERT INTO keys (tenant_id, key_id, digest, agent_name, label, created_at, line)
    SELECT 1001 + i % {TENANTS}, 'key_' || left(md5(i::text), 16),
           decode(md5('a' || i) || md5('b' || i), 'hex'), 'invoice-bot-' || i, '', 1,
           'key_' || left(md5(i::text), 16)
    FROM generate_series(1, {KEYS}) i;
"""
# What agents must use, of which a change of a key loads nothing.
DIRECTIVES = f"""
INSERT INTO agent_models (tenant_id, scope, agent_name, model, updated_at)
    SELECT 1001 + i % {TENANTS}, 2, 'invoice-bot-' || i, 'claude-sonnet-4', 1
    FROM generate_series(1, {MODELS}) i;
"""
RELOAD = """
UPDATE change_numbers SET number = number + 1 WHERE topic = 'registry';
UPDATE change_numbers SET number = (SELECT number FROM change_numbers WHERE topic = 'registry')
    WHERE topic = 'registry_all';
"""


def private_bytes(server):
    text = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text(encoding="ascii")
    return 1024 * sum(int(n) for n in re.findall(r"Private_\w+:\s+(\d+)", text))


def exact_cpu_ms(server):
    """By the scheduler's count, which has no ticks; threads that end meanwhile are not in it."""
    spent = 0
    for path in Path(f"/proc/{server.process.pid}/task").glob("*/schedstat"):
        with suppress(OSError):
            spent += int(path.read_text(encoding="ascii").split()[0])
    return spent / 1e6


def ask(connection, token, method, path):
    """The answer, and how many milliseconds it took."""
    began = time.monotonic()
    connection.request(method, path, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    body = answer.read()
    took_ms = 1000 * (time.monotonic() - began)
    if answer.status != 200:
        raise RuntimeError(f"{method} {path} was answered {answer.status}: {body}")
    return json.loads(body), took_ms


def rotate(connection, token):
    """The new token, and how long that took; by an agent that has used its key, as they do."""
    ask(connection, token, "GET", "/api/v1/limits")
    body, took_ms = ask(connection, token, "POST", "/api/v1/agents/refresh-key")
    return body["token"], took_ms


def rotations(server, tokens):
    """The milliseconds of each; they come ten times a second."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    took = []
    for _ in range(TURNS):
        for i, token in enumerate(tokens):
            tokens[i], took_ms = rotate(connection, token)
            took.append(took_ms)
            time.sleep(0.1)
    connection.close()
    return took


def keys(_):
    with Postgres() as database, Muster(database=database.url) as first:
        tokens = [first.admin("key", "add", "--tenant", "bench") for _ in range(LINES)]
        with Node(first, database.url) as empty:
            empty.wait_for_rest()
            without = private_bytes(empty)
        database.run_in(FILL + RELOAD)
        other = Node(first, database.url)
        seconds = other.start()
        try:
            other.wait_for_rest()
            first.wait_for_rest()
            each = (private_bytes(other) - without) / KEYS
            yield Row(f"PostgreSQL: start with {KEYS:,} keys", seconds, "s", "", True)
            yield Row("memory of a key that is not used on a node", each, "bytes", "<= 300", each <= 300)
            database.run_in(DIRECTIVES + RELOAD)
            other.wait_for_rest()
            first.wait_for_rest()
            before, began = exact_cpu_ms(other), time.monotonic()
            took = rotations(first, tokens)
            lasted, spent = time.monotonic() - began, exact_cpu_ms(other) - before
            before, began = exact_cpu_ms(other), time.monotonic()
            time.sleep(5)
            idle = (exact_cpu_ms(other) - before) * lasted / (time.monotonic() - began)
        finally:
            other.__exit__()
    cpu_ms = max(0, spent - idle) / len(took)
    yield Row(f"a rotation of one of {KEYS:,} keys", median(took), "ms", "<= 5", median(took) <= 5,
              rounds={"ms": took})  # fmt: skip
    yield Row("CPU of each other node for it", cpu_ms, "ms", "<= 1", cpu_ms <= 1,
              rounds={"spent": [spent], "idle": [idle]})  # fmt: skip
