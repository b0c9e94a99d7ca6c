"""LLM usage and what it cost, held against a slow reference; equal on both stores to the byte."""

import csv
import io
import json
import random
import threading
import uuid
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from urllib.parse import quote

import pytest
from stored import of_tenant, stored
from usage_reference import TOKENS, Book, apart, cost, decimal, moment, usage

pytestmark = pytest.mark.administered

LLM = "/api/v1/telemetry/llm"
BEGIN = datetime(2025, 3, 1, tzinfo=timezone.utc)
GROUPINGS = ["model", "agent", "run", "day", "model,day", "agent,day", "day,agent,model",
             "run,model", "run,agent,day,model"]  # fmt: skip
MODELS = ["gpt-4o", "openai/gpt-4o", "gpt-4o-2024-08-06", "omni", "claude-x", "a/claude-x-20250101",
          "claude-x-20250101[1m]", "[1m]", "free", "late", "unknown", "gpt-4", "ü"]  # fmt: skip
ANSWERS = {}  # of the store that came first


def text(when):
    return when.isoformat().replace("+00:00", "Z")


def report(**fields):
    return {"agent_name": "a", "run_id": str(uuid.UUID(int=1)), "model": "m",
            "timestamp": "2025-03-01T12:00:00Z", **dict.fromkeys(TOKENS, 0), **fields}  # fmt: skip


def send(tenant, *reports):
    for each in reports:
        assert tenant.client.post(LLM, each).status == 202


def ask(tenant, **query):
    words = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return tenant.client.get(tenant.path(f"llm/usage?{words}"))


def asked(tenant, **query):
    answer = ask(tenant, **query)
    assert answer.status == 200, answer.body
    return answer.json()


DAY = "2025-03-01T00:00:00Z/2025-03-02T00:00:00Z"


@pytest.fixture
def shop(own_server, tmp_path):
    """A tenant on a server with prices of the test's own."""
    tenant = own_server.add_tenant()

    def price(*prices):
        path = tmp_path / "prices.json"
        path.write_text(json.dumps({"prices": prices}))
        own_server.cli("price", "import", str(path), "--format", "muster")

    tenant.price = price
    yield tenant
    tenant.client.close()


def random_prices(rng):
    def amount():
        return str(rng.choice(["0", "0.15", "2.5", "0.000000000001", "123.456789012345", "75"]))

    def row(model, valid_from=None, **more):
        optional = {n: amount() for n in ("cache_read", "cache_write") if rng.random() < 0.6}
        return {"model": model, "input": amount(), "output": amount(), **optional,
                "input_includes_cache": rng.random() < 0.5, "valid_from": valid_from,
                **more}  # fmt: skip

    rows = [row("gpt-4o", aliases=["omni"]), row("claude-x"), row("ü"),
            {"model": "free", "input": 0, "output": 0}]  # fmt: skip
    for model in ("gpt-4o", "claude-x", "late"):
        for when in rng.sample(range(0, 5 * 24 * 4), 3):  # quarters of hours
            odd = timedelta(microseconds=rng.choice([0, 0, 1, 777_777_777]))
            rows.append(row(model, text(BEGIN + when * timedelta(minutes=15) + odd)))
    return rows


def random_reports(rng, n, say=(True, False, None)):
    def tokens():
        return rng.choice([0, 1, 7, 1000, 123_456, 10**9, rng.randrange(-50, 5000)])

    runs = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(12)]
    reports = []
    for _ in range(n):
        when = BEGIN + timedelta(minutes=rng.randrange(-600, 5 * 24 * 60))
        each = report(
            agent_name=rng.choice(["a", "b", "ä"]), run_id=rng.choice(runs),
            model=rng.choice(MODELS),
            timestamp=text(when + timedelta(microseconds=rng.choice([0, 1, 59_999_999]))),
            **{name: tokens() for name in TOKENS},
        )  # fmt: skip
        if rng.random() < 0.3:
            each["input_includes_cache"] = rng.choice(say)
        if rng.random() < 0.02:
            each[rng.choice(TOKENS)] = rng.choice([2**36 + 1, -(2**36) - 1, 2**63 - 1, -(2**63)])
        reports.append(each)
        if rng.random() < 0.1:  # the same identity once more, with other numbers
            reports.append({**each, **{name: tokens() for name in TOKENS}})
        if rng.random() < 0.05:  # a retry
            reports.append(dict(reports[-1]))
    return reports


def last_of_each(reports):
    names = ("agent_name", "run_id", "model", "timestamp")
    return list({tuple(r[n] for n in names): r for r in reports}.values())


@pytest.mark.parametrize("seed", range(3))
def test_usage_is_what_a_slow_reference_says_on_both_stores(shop, seed):
    rng = random.Random(seed)
    prices, reports = random_prices(rng), random_reports(rng, 350)
    shop.price(*prices)
    send(shop, *reports)
    ranges = [(BEGIN, BEGIN + timedelta(days=5)), (BEGIN - timedelta(days=9), BEGIN)]
    ranges += [
        sorted(BEGIN + timedelta(microseconds=rng.randrange(5 * 86_400_000_000)) for _ in "ab")
        for _ in range(4)
    ]
    for since, until in ranges:
        for by in GROUPINGS:
            answer = ask(shop, time_range=f"{text(since)}/{text(until)}", group_by=by)
            expected = usage(last_of_each(reports), prices, text(since), text(until), by.split(","))
            assert answer.json() == expected, (seed, by)
            key = (seed, since, until, by)
            assert ANSWERS.setdefault(key, answer.body) == answer.body


CACHED = [
    # input, cache read, cache write, includes, with cache prices, without
    (1000, 0, 0, False, "0.001", "0.001"),
    (1000, 0, 0, True, "0.001", "0.001"),
    (1000, 400, 0, True, "0.00064", "0.001"),  # OpenAI: 600 of the 1000 are fresh
    (1000, 400, 0, False, "0.00104", "0.0014"),  # Anthropic: 400 beside the 1000
    (1000, 400, 100, True, "0.00074", "0.001"),
    (1000, 400, 100, False, "0.00124", "0.0015"),
    (500, 400, 100, True, "0.00024", "0.0005"),  # nothing is fresh
    (499, 400, 100, True, "0.000739", "0.000999"),  # cannot be inclusive
    (0, 400, 100, True, "0.00024", "0.0005"),
]


def test_cached_tokens_are_paid_once(shop):
    for i, (_, _, _, includes, _, _) in enumerate(CACHED):
        base = {"input": 1, "output": 5, "input_includes_cache": includes}
        shop.price({"model": f"with{i}", "cache_read": "0.1", "cache_write": "2", **base},
                   {"model": f"without{i}", **base})  # fmt: skip
    for i, (fresh, read, write, *_) in enumerate(CACHED):
        tokens = {"input_tokens": fresh, "cache_read_tokens": read, "cache_write_tokens": write}
        send(shop, *(report(model=f"{m}{i}", **tokens) for m in ("with", "without")))
    costs = {g["model"]: g["cost"] for g in asked(shop, time_range=DAY)["groups"]}
    for i, (*_, with_prices, without) in enumerate(CACHED):
        assert (costs[f"with{i}"], costs[f"without{i}"]) == (with_prices, without), CACHED[i]


@pytest.mark.parametrize("seed", range(2))
def test_an_export_says_what_each_report_cost_and_by_which_price(shop, seed):
    """Held against the reference, and its sum against the answer of the report of cost."""
    rng = random.Random(seed)
    prices, reports = random_prices(rng), random_reports(rng, 200)
    shop.price(*prices)
    send(shop, *reports)
    answer = shop.client.get(shop.path("export/llm?time_range=all"))
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert len(lines) == len(last_of_each(reports))
    names = ("agent_name", "run_id", "model", "timestamp")
    book, of = Book(prices), {tuple(r[n] for n in names): r for r in reports}
    listed = {p["price_id"]: p for p in json.loads(shop.server.cli("price", "list", "--json"))["prices"]}
    for line in lines:
        report = next(r for key, r in of.items() if key[:3] == tuple(line[n] for n in names[:3])
                      and moment(key[3]) == moment(line["timestamp"]))  # fmt: skip
        price = book.at(line["model"], moment(line["timestamp"]))
        if price is None:
            assert (line["cost_usd"], line["price"], line["price_id"]) == (None, "no price", None)
            continue
        assert line["cost_usd"] == decimal(cost(apart(report), price)), (line, report, price)
        assert line["price"] == price["model"] == listed[line["price_id"]]["model"]
        since = listed[line["price_id"]]["valid_from"]
        assert (since and moment(since)) == (price.get("valid_from") and moment(price["valid_from"]))
    total = sum(Fraction(line["cost_usd"]) for line in lines if line["cost_usd"] is not None)
    told = asked(shop, time_range="all")
    rounding = Fraction(len(lines) + 1, 2 * 10**12)
    assert abs(total - Fraction(told["total"]["cost"])) <= rounding
    assert {line["model"] for line in lines if line["price"] == "no price"} == set(told["unpriced"])
    table = shop.client.get(shop.path("export/llm?time_range=all&format=csv")).body.decode()
    head, *rows = csv.reader(io.StringIO(table, newline=""))
    assert head[-4:] == ["calls", "cost_usd", "price", "price_id"]
    assert [row[-3:] for row in rows] == [
        [line["cost_usd"] or "", line["price"], str(line["price_id"] or "")] for line in lines
    ]


def test_no_price_is_null_and_listed_and_never_nothing(shop):
    shop.price({"model": "free", "input": 0, "output": 0}, {"model": "dear", "input": 1, "output": 1},
               {"model": "late", "input": 1, "output": 1, "valid_from": "2025-03-01T12:00:00.000001Z"})  # fmt: skip
    send(shop, report(model="x", input_tokens=5), report(model="free", input_tokens=5),
         report(model="late", input_tokens=5), report(model="dear", input_tokens=1),
         report(model="late", input_tokens=1, timestamp="2025-03-01T12:00:00.000001Z"))  # fmt: skip
    told = asked(shop, time_range=DAY)
    assert [(g["model"], g["cost"], g["partial"]) for g in told["groups"]] == [
        ("dear", "0.000001", False), ("late", "0.000001", True), ("free", "0.00", False),
        ("x", None, False),
    ]  # fmt: skip
    assert (told["total"]["cost"], told["total"]["partial"]) == ("0.000002", True)
    assert told["unpriced"] == ["late", "x"]
    told = asked(shop, time_range="2024-01-01T00:00:00Z/2024-02-01T00:00:00Z")
    assert (told["groups"], told["unpriced"]) == ([], [])
    assert (told["total"]["cost"], told["total"]["partial"]) == ("0.00", False)


def test_a_cost_is_rounded_once_at_the_end(shop):
    shop.price({"model": "m", "input": "0.0000004", "output": 0},
               {"model": "n", "input": "0.0000004", "output": 0})  # fmt: skip
    send(shop, report(model="m", input_tokens=1), report(model="n", input_tokens=1))
    told = asked(shop, time_range=DAY)  # 0.4 picodollars each
    assert [g["cost"] for g in told["groups"]] == ["0.00", "0.00"]
    assert told["total"]["cost"] == "0.000000000001"


def test_a_change_of_prices_is_seen_at_once(shop):
    send(shop, report(input_tokens=10**6))
    assert asked(shop, time_range=DAY)["total"]["cost"] is None
    for dollars in ("1", "2"):
        shop.server.cli("price", "set", "m", "--input", dollars, "--output", "0")
        assert asked(shop, time_range=DAY)["total"]["cost"] == f"{dollars}.00"
    (price,) = json.loads(shop.server.cli("price", "list", "--model", "m", "--json"))["prices"]
    shop.server.cli("price", "delete", str(price["price_id"]))
    assert asked(shop, time_range=DAY)["total"]["cost"] is None


def test_usage_is_of_one_tenant_and_one_agent_if_asked(shop):
    other = shop.server.add_tenant()
    send(shop, report(calls=1), report(agent_name="b", calls=10))
    send(other, report(calls=100))
    assert asked(shop, time_range=DAY)["total"]["calls"] == 11
    assert asked(shop, time_range=DAY, agent_name="b")["total"]["calls"] == 10
    assert asked(shop, time_range=DAY, agent_name="nobody")["groups"] == []
    assert other.client.get(shop.path("llm/usage")).status == 403
    agent = shop.agent_client("a")
    assert agent.get(shop.path("llm/usage")).status == 403
    agent.close()
    other.client.close()


def test_usage_is_of_one_run_if_asked(shop):
    shop.price({"model": "m", "input": 1, "output": 1})
    mine, busy = str(uuid.uuid4()), [str(uuid.uuid4()) for _ in range(20)]
    dear = [report(run_id=run, model="m", input_tokens=5_000_000) for run in busy]
    cheap = [report(run_id=mine, model=model, input_tokens=1_000_000) for model in ("m", "free")]
    send(shop, *dear, *cheap)
    told = asked(shop, time_range=DAY, run_id=mine.upper(), group_by="model")
    assert {g["model"]: g["cost"] for g in told["groups"]} == {"m": "1.00", "free": None}
    assert (told["total"]["cost"], told["unpriced"], told["truncated"]) == ("1.00", ["free"], False)
    told = asked(shop, time_range=DAY, run_id=mine, group_by="run,model")
    assert [(g["run_id"], g["model"]) for g in told["groups"]] == [(mine, "m"), (mine, "free")]
    assert asked(shop, time_range=DAY, run_id=str(uuid.uuid4()))["groups"] == []


def test_usage_is_told_by_version(shop):
    shop.price({"model": "m", "input": "1000", "output": "0"})
    send(
        shop,
        report(agent_version="1.0", input_tokens=1000),
        report(agent_version="1.0", input_tokens=2000, run_id=str(uuid.UUID(int=2))),
        report(agent_version="1.1", input_tokens=500, run_id=str(uuid.UUID(int=3))),
        report(input_tokens=250, run_id=str(uuid.UUID(int=4))),
        report(agent_name="b", agent_version="1.0", input_tokens=100),
    )
    told = asked(shop, time_range=DAY, group_by="agent,version")
    found = [(g["agent_name"], g["agent_version"], g["cost"]) for g in told["groups"]]
    assert found == [("a", "1.0", "3.00"), ("a", "1.1", "0.50"), ("a", "", "0.25"), ("b", "1.0", "0.10")]
    assert told["total"]["cost"] == "3.85"
    by_run = asked(shop, time_range=DAY, group_by="run,version", agent_name="a")["groups"]
    assert [g["agent_version"] for g in by_run] == ["1.0", "1.0", "1.1", ""]


def test_only_the_dearest_thousand_groups_are_told(shop):
    shop.price({"model": "m", "input": 1, "output": 1})
    ids = [str(uuid.UUID(int=i, version=4)) for i in range(2500)]
    send(shop, *(report(run_id=run, input_tokens=1 + i % 2000) for i, run in enumerate(ids)))
    told = asked(shop, time_range=DAY, group_by="run")
    assert told["truncated"] is True
    assert [g["input_tokens"] for g in told["groups"]] == list(range(2000, 1000, -1))
    assert told["total"]["input_tokens"] == sum(1 + i % 2000 for i in range(2500))
    told = asked(shop, time_range=DAY, group_by="agent")
    assert (told["truncated"], len(told["groups"])) == (False, 1)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("time_range=x", "time_range"),
        ("time_range=2025-03-02T00:00:00Z/2025-03-01T00:00:00Z", "time_range"),
        ("group_by=x", "group_by"),
        ("group_by=model,", "group_by"),
        ("group_by=", "group_by"),
        ("run_id=x", "run_id"),
        (f"run_id={uuid.UUID(int=1)}&kpi=k", "kpi"),
    ],
)
def test_a_wrong_query_is_refused(tenant, query, where):
    answer = tenant.client.get(tenant.path(f"llm/usage?{query}"))
    assert answer.status == 422
    assert [p["loc"] for p in answer.json()["detail"]] == [["query", where]]


def test_sums_stay_what_the_reports_say_when_writers_race(tenant):
    def run(number):
        client = tenant.server.client(tenant.token)
        rng = random.Random(number)
        for _ in range(60):
            body = report(model=f"m{rng.randrange(3)}", agent_name=f"a{rng.randrange(3)}",
                          run_id=str(uuid.UUID(int=rng.randrange(9))),
                          input_tokens=rng.randrange(1000))  # fmt: skip
            assert client.post(LLM, body).status == 202
        client.close()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    of = of_tenant(tenant)
    grouped = "agent_id, model, COUNT(*) AS n, CAST(SUM(input_tokens) AS BIGINT) AS tokens"
    expected = stored(tenant.server, f"SELECT {grouped} FROM llm_usage WHERE {of}"
                      " GROUP BY agent_id, model ORDER BY agent_id, model")  # fmt: skip
    for width in (0, 1):
        assert expected == stored(
            tenant.server,
            "SELECT agent_id, model, n_rows AS n, input_tokens AS tokens FROM llm_totals"
            f" WHERE {of} AND width = {width} ORDER BY agent_id, model",
        )


def business(value, **fields):
    return {"agent_name": "a", "run_id": str(uuid.uuid4()), "timestamp": "2025-03-01T12:00:00Z",
            "metrics": {"invoices": value}, **fields}  # fmt: skip


def test_a_unit_of_a_kpi_has_a_cost(shop):
    shop.price({"model": "m", "input": 1, "output": 1})
    for agent, agg in (("a", "sum"), ("c", "max")):
        kpis = [{"key": "invoices", "agg": agg}]
        body = {"agent_name": agent, "business_kpis": kpis}
        assert shop.client.post("/api/v1/agents/register", body).status == 200
    send(shop, report(input_tokens=10), report(agent_name="b", input_tokens=2, model="n"),
         report(agent_name="c", input_tokens=5), report(agent_name="d", input_tokens=1),
         report(timestamp="2025-03-02T00:00:00Z", input_tokens=100))  # fmt: skip
    for body in (
        business(3), business(1), business(0.5, agent_name="b"), business(70, agent_name="c"),
        business(0, agent_name="d"), business(9, timestamp="2025-03-03T00:00:00Z"),
        business("many"), business(1, timestamp="2025-03-02T00:00:00Z"),
    ):  # fmt: skip
        assert shop.client.post("/api/v1/telemetry/business", body).status == 202
    two_days = "2025-03-01T00:00:00Z/2025-03-03T00:00:00Z"

    def parts(**query):
        told = asked(shop, kpi="invoices", **query)
        rows = [*told["groups"], told["total"]]
        return [(r["cost"], r.get("kpi_value"), r.get("cost_per_unit")) for r in rows]

    assert parts(time_range=two_days, group_by="agent") == [
        ("0.00011", 5, "0.000022"), ("0.000005", None, None), ("0.000001", 0, None),
        (None, 0.5, None), ("0.000116", 5.5, "0.000021090909"),
    ]  # fmt: skip
    assert parts(time_range=two_days, group_by="day") == [
        ("0.000016", 4.5, "0.000003555556"), ("0.0001", 1, "0.0001"),
        ("0.000116", 5.5, "0.000021090909"),
    ]  # fmt: skip
    assert parts(time_range=two_days, group_by="day,agent", agent_name="a") == [
        ("0.00001", 4, "0.0000025"), ("0.0001", 1, "0.0001"), ("0.00011", 5, "0.000022"),
    ]  # fmt: skip
    assert parts(time_range=two_days)[-1] == ("0.000116", 5.5, "0.000021090909")
    assert parts(time_range=two_days)[0][1] is None  # a model has no KPI
    told = asked(shop, time_range=two_days, kpi="nothing")["total"]
    assert "kpi_value" not in told
    assert "cost_per_unit" not in told
