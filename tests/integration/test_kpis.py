"""Business KPIs read back: every answer is what plain arithmetic gives, byte for byte, from both
stores; and what cannot be answered is refused."""

import json
import random
import re
import uuid
from contextlib import ExitStack
from urllib.parse import urlencode

import pytest
from conftest import STORES, running
from kpis import DAY, HOUR, MINUTE, Reference, moment, text

BUSINESS = "/api/v1/telemetry/business"
REGISTER = "/api/v1/agents/register"
T0 = 1735689600000000  # 2025-01-01T00:00:00Z, a Wednesday
SEEDS = range(1, 7)


class Pair:
    """The same tenant on a server of every store, and what it should answer."""

    def __init__(self, servers):
        slug = f"kpis-{uuid.uuid4().hex[:8]}"
        self.tenants = [server.add_tenant(slug=slug) for server in servers]
        self.reference = Reference()

    def send(self, path, body, status):
        for tenant in self.tenants:
            answer = tenant.client.post(path, body)
            assert answer.status == status, answer.body

    def declare(self, agent, *kpis):
        """`kpis`: (key, agg) or (key, agg, unit)."""
        rows = [{"key": k[0], "label": f"L {k[0]}", "agg": k[1], "unit": (*k, "count")[2]}
                for k in kpis]  # fmt: skip
        self.send(REGISTER, {"agent_name": agent, "business_kpis": rows}, 200)
        self.reference.declare(agent, rows)

    def report(self, agent, at, metrics, run=None, breakdowns=()):
        run = run or str(uuid.uuid4())
        rows = [{"metric": metric, "by": names,
                 "points": [{**dict(zip(names, c)), "value": c[-1]} for c in cells]}
                for metric, names, cells in breakdowns]  # fmt: skip
        self.send(BUSINESS, {"agent_name": agent, "run_id": run, "timestamp": moment(at),
                             "metrics": metrics, "breakdowns": rows}, 202)  # fmt: skip
        self.reference.report(agent, run, at, metrics, breakdowns)

    def ask(self, what, status=200, **query):
        """What every store answers; it is the same from all of them."""
        path = f"business/{what}" + (f"?{urlencode(query)}" if query else "")
        bodies = []
        for tenant in self.tenants:
            answer = tenant.client.get(tenant.path(path))
            assert answer.status == status, (path, answer.status, answer.body)
            bodies.append(answer.body.decode())
        if query.get("time_range", "30d") in ("30d", "all"):
            bodies = [re.sub(r'^\{"since":[^,]*,"until":"[^"]*",', "{", body) for body in bodies]
        assert len(set(bodies)) == 1, (path, *bodies)
        return text(json.loads(bodies[0]))  # a number may be spelled in several ways

    def check_summary(self, since, until):
        told = self.ask("summary", time_range=f"{moment(since)}/{moment(until)}")
        assert told == text(self.reference.summary(since, until))

    def check_all(self):
        told = json.loads(self.ask("summary", time_range="all"))
        assert text(told["kpis"]) == text(self.reference.summary(None, T0 * 2)["kpis"])

    def check_series(self, agent, key, since, until, bucket):
        query = {"key": key, "time_range": f"{moment(since)}/{moment(until)}", "bucket": bucket}
        if agent is not None:
            query["agent_name"] = agent
        expected = self.reference.series(agent, key, since, until, bucket)
        told = self.ask("series", 200 if expected else 422, **query)
        assert (told == text(expected)) if expected else loc(told) == ["query", "agent_name"]

    def check_breakdown(self, agent, metric, by, since, until):
        query = {"metric": metric, "by": ",".join(by),
                 "time_range": f"{moment(since)}/{moment(until)}"}  # fmt: skip
        if agent is not None:
            query["agent_name"] = agent
        expected = self.reference.breakdown(agent, metric, by, since, until)
        told = self.ask("breakdown", 200 if expected else 422, **query)
        assert (told == text(expected)) if expected else loc(told) == ["query", "by"]


def loc(body):
    return json.loads(body)["detail"][0]["loc"]


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with ExitStack() as stack:
        yield [stack.enter_context(running(store, tmp_path_factory.mktemp(store)))
               for store in STORES]  # fmt: skip


@pytest.fixture
def pair(servers):
    made = Pair(servers)
    yield made
    for tenant in made.tenants:
        tenant.client.close()


AGGS = ["sum", "last", "avg", "max", "median"]
DECLARED = ["n", "stock", "mean", "peak", "odd"]
KEYS = [*DECLARED, "loose", "ключ \U0001f600", "k" * 2000]


def random_value(rng):
    kind = rng.randrange(9)
    if kind == 0:
        return rng.choice(["", "up", "значение", "5"])
    if kind == 1:
        return rng.choice([2**63 - 1, -(2**63), 2**62, 0, -1])
    if kind == 2:
        return rng.choice([1.7976931348623157e308, -1.7976931348623157e308, 5e-324, -0.0, 1e16])
    if kind == 3:
        return rng.choice([-1, 1]) * 2.0 ** rng.randint(-1074, 1023)
    if kind in (4, 5):
        return rng.randint(0, 1000) / 10
    return rng.randint(-5, 50)


def random_time(rng):
    """Dense around some hours, on their edges too, and here and there long ago."""
    base = T0 + rng.choice([0, 0, 1, 2, 9, 31, -400, -70000]) * DAY
    at = base + rng.choice([0, 1, 2, 23]) * HOUR
    return at + rng.choice([0, 0, 1, HOUR - 1, rng.randrange(HOUR), rng.randrange(DAY)])


def random_edge(rng):
    at = random_time(rng)
    return rng.choice([at, at // HOUR * HOUR, at // DAY * DAY, at + 1])


SETS = [["region"], ["region", "shop"], ["shop", "region", "day"], ["day"]]
DIMENSIONS = {"region": ["eu", "us", "é"], "shop": [1, 2, 1.5, "1"], "day": ["mo", "tu"]}


def random_breakdowns(rng):
    """Of a few metrics, each by one or more sets of dimensions."""
    told = []
    for metric in rng.sample(["n", "stock", "peak", "loose"], 2):
        for names in rng.sample(SETS, rng.randint(1, 3)):
            cells = [(*(rng.choice(DIMENSIONS[n]) for n in names),
                      rng.choice([1, 2.5, 0.1, 1e16, -3]))
                     for _ in range(rng.randint(0, 4))]  # fmt: skip
            told.append((metric, names, cells))
    return told


def live(pair, rng, n):
    agents = ["alpha", "beta", "агент"]
    runs = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(n // 3)]
    for agent in agents[:2]:
        pair.declare(agent, *zip(DECLARED, rng.sample(AGGS, 5) if agent == "beta" else AGGS))
    for _ in range(n):
        metrics = {key: random_value(rng) for key in rng.sample(KEYS, rng.randint(0, 4))}
        breakdowns = random_breakdowns(rng) if rng.random() < 0.3 else ()
        pair.report(rng.choice(agents), random_time(rng), metrics, rng.choice(runs), breakdowns)


def question(pair, rng):
    since, until = sorted([random_edge(rng), random_edge(rng)])
    pair.check_summary(since, until)
    agent = rng.choice([None, "alpha", "beta", "агент", "nobody"])
    bucket = rng.choice(["minute", "hour", "day", "week", "month"])
    length = {"minute": MINUTE, "hour": HOUR}.get(bucket, DAY)
    until = min(until, since + 1400 * length)
    pair.check_series(agent, rng.choice([*KEYS, "none"]), since, until, bucket)
    by = rng.sample(["region", "shop", "day"], rng.choice([1, 1, 2, 3]))
    since, until = rng.choice([(since, until), (T0 - 90000 * DAY, T0 + 90 * DAY)])
    pair.check_breakdown(rng.choice(["alpha", "агент"]), rng.choice(["n", "stock", "peak", "loose"]),
                         by, since, until)  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_is_what_plain_arithmetic_gives(pair, seed):
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(3):
        live(pair, rng, 60)
        assert pair.ask("catalog") == text(pair.reference.catalog())
        pair.check_all()
        for _ in range(12):
            question(pair, rng)


def test_each_agg_totals_in_its_own_way(pair):
    pair.declare("a", *zip(DECLARED, AGGS), ("idle", "sum"))
    for i, value in enumerate([3, 10, "text", 2.5]):
        pair.report("a", T0 + i * HOUR, {key: value for key in [*DECLARED, "loose"]})
    pair.report("b", T0, {"n": 7})
    pair.report("a", T0 - 1, {"n": 1, "stock": "before"})
    told = json.loads(pair.ask("summary", time_range=f"{moment(T0)}/{moment(T0 + DAY)}"))
    rows = {(r["agent_name"], r["key"]): r for r in told["kpis"]}
    expected = {
        ("a", "idle"): (None, 0, None),
        ("a", "loose"): (2.5, 4, None),
        ("a", "mean"): (15.5 / 3, 4, None),
        ("a", "n"): (15.5, 4, 1),
        ("a", "odd"): (2.5, 4, None),
        ("a", "peak"): (10, 4, None),
        ("a", "stock"): (2.5, 4, "before"),
        ("b", "n"): (7, 1, None),
    }
    assert {k: (r["value"], r["reports"], r["previous"]) for k, r in rows.items()} == expected
    assert rows["a", "loose"] == {"agent_name": "a", "key": "loose", "label": None, "unit": None,
                                  "agg": None, "declared": False, "value": 2.5, "reports": 4,
                                  "previous": None}  # fmt: skip
    assert list(rows) == sorted(rows)


def test_integers_stay_exact_while_they_fit(pair):
    pair.declare("a", ("n", "sum"))
    pair.report("a", T0, {"n": 2**63 - 2})
    for n, expected in [(1, "9223372036854775807"), (1, "9.223372036854776e+18"), (-1, "9223372036854775807")]:
        pair.report("a", T0, {"n": n})
        told = pair.ask("summary", time_range=f"{moment(T0)}/{moment(T0 + 1)}")
        assert f'"value":{expected},' in told


def test_the_runs_behind_a_number_of_reports_are_listed(pair):
    values = [3, 2.5, "calm", -1, 10**15, 7]
    runs = [str(uuid.uuid4()) for _ in values]
    long = "k" * 200
    for i, value in enumerate(values):
        pair.report("lister", T0 + i * HOUR, {"mood": value, long: i}, run=runs[i])
    pair.report("lister", T0 + 10 * HOUR, {"mood": 4}, run=runs[0])  # replaces what it said before
    pair.report("another", T0 + 2 * HOUR, {"mood": 1})

    def listed(since, until, key="mood", **query):
        span = f"{moment(since)}/{moment(until)}"
        told = json.loads(pair.ask("reports", agent_name="lister", key=key, time_range=span, **query))
        summed = json.loads(pair.ask("summary", time_range=span))["kpis"]
        (counted,) = [one["reports"] for one in summed if (one["agent_name"], one["key"]) == ("lister", key)]
        return told, counted

    def row(i, value=None, at=None):
        return {"run_id": runs[i], "value": values[i] if value is None else value,
                "at": moment(T0 + i * HOUR if at is None else at)}  # fmt: skip

    told, counted = listed(T0, T0 + DAY)
    assert told["reports"] == [row(0, 4, T0 + 10 * HOUR), *(row(i) for i in (5, 4, 3, 2, 1))]
    assert (len(told["reports"]), told["truncated"]) == (counted, False)
    told, counted = listed(T0 + HOUR, T0 + 4 * HOUR)
    assert told == {"reports": [row(i) for i in (3, 2, 1)], "truncated": False} and counted == 3
    assert listed(T0, T0 + DAY, limit=2)[0] == {"reports": [row(0, 4, T0 + 10 * HOUR), row(5)], "truncated": True}
    assert listed(T0, T0 + DAY, limit=6)[0]["truncated"] is False
    assert len(listed(T0, T0 + DAY, key=long)[0]["reports"]) == len(values)
    for unknown in ({"agent_name": "unheard-of", "key": "mood"}, {"agent_name": "lister", "key": "x"}):
        assert json.loads(pair.ask("reports", time_range="all", **unknown)) == {"reports": [], "truncated": False}
    known = {"agent_name": "lister", "key": "mood"}
    for name, wrong in (("time_range", "never"), ("limit", 0), ("limit", 1001)):
        assert loc(pair.ask("reports", 422, **known, **{name: wrong})) == ["query", name]
    for name in known:
        assert loc(pair.ask("reports", 422, **{k: v for k, v in known.items() if k != name})) == ["query", name]


def test_a_new_declaration_totals_old_values_anew(pair):
    pair.report("a", T0, {"n": 5})
    pair.report("a", T0 + 1, {"n": 2})
    for agg, value in [("sum", 7), ("max", 5), ("last", 2)]:
        pair.declare("a", ("n", agg))
        pair.check_summary(T0, T0 + DAY)
        told = json.loads(pair.ask("summary", time_range=f"{moment(T0)}/{moment(T0 + DAY)}"))
        assert told["kpis"][0]["value"] == value
    pair.declare("a")
    assert json.loads(pair.ask("catalog")) == {"kpis": []}


def test_the_default_bucket_gives_at_most_200_points(pair):
    pair.report("a", T0, {"n": 1})
    rows = [(200 * MINUTE, "minute"), (201 * MINUTE, "hour"), (200 * HOUR, "hour"),
            (201 * HOUR, "day"), (200 * DAY, "day"), (201 * DAY, "week"),
            (5000 * DAY, "month")]  # fmt: skip
    for length, bucket in rows:
        told = json.loads(pair.ask("series", key="n", time_range=f"{moment(T0)}/{moment(T0 + length)}"))
        assert told["bucket"] == bucket, length
        assert told["points"] == [{"t": {"month": "2025-01-01T00:00:00Z", "week": "2024-12-30T00:00:00Z"}
                                   .get(bucket, moment(T0)), "value": 1}]  # fmt: skip


def test_a_series_of_all_begins_with_the_first_value(pair):
    pair.declare("a", ("n", "sum", "money:EUR"))
    pair.report("a", T0 + 5, {"n": 1})
    pair.report("b", T0 - 3 * DAY, {"n": "x"})
    told = json.loads(pair.ask("series", key="n", agent_name="a", time_range="all", bucket="month"))
    assert told == {"agent_name": "a", "key": "n", "unit": "money:EUR", "agg": "sum",
                    "bucket": "month", "points": [{"t": "2025-01-01T00:00:00Z", "value": 1}]}  # fmt: skip
    told = json.loads(pair.ask("series", key="never", time_range="all"))
    assert told == {"agent_name": None, "key": "never", "unit": None, "agg": None,
                    "bucket": "minute", "points": []}  # fmt: skip


def test_a_series_over_agents_adds_up_or_takes_the_last(pair):
    for agent in ("a", "b"):
        pair.declare(agent, ("n", "sum"), ("stock", "last"), ("odd", "median" if agent == "a" else "last"))
    for i in range(6):
        pair.report("ab"[i % 2], T0 + i * 7 * HOUR, {"n": i, "stock": i, "odd": f"{i}", "loose": i})
    for key in ("n", "stock", "odd", "loose"):
        for bucket in ("hour", "day", "week", "month"):
            pair.check_series(None, key, T0, T0 + 3 * DAY, bucket)


def test_a_run_counts_by_its_smallest_set_of_dimensions(pair):
    pair.declare("a", ("n", "sum"))
    by_region = ("n", ["region"], [("eu", 3), ("us", 1)])
    by_both = ("n", ["shop", "region"], [(1, "eu", 2), (2, "eu", 1), (1, "us", 1)])
    pair.report("a", T0, {}, breakdowns=[by_region, by_both])
    pair.report("a", T0, {}, breakdowns=[by_both])
    for by in (["region"], ["shop"], ["region", "shop"], ["shop", "region"], ["day"]):
        pair.check_breakdown(None, "n", by, T0, T0 + DAY)
    told = json.loads(pair.ask("breakdown", metric="n", by="region",
                               time_range=f"{moment(T0)}/{moment(T0 + DAY)}"))  # fmt: skip
    assert told == {"metric": "n", "by": ["region"], "agg": "sum", "truncated": False,
                    "dimensions": ["region", "shop"],
                    "rows": [{"dimensions": {"region": "eu"}, "value": 6.0},
                             {"dimensions": {"region": "us"}, "value": 2.0}]}  # fmt: skip


def test_without_by_it_tells_what_dimensions_there_are(pair):
    pair.declare("a", ("n", "avg"))
    pair.report("a", T0, {}, breakdowns=[("n", ["shop", "region"], [(1, "eu", 2)]),
                                         ("n", ["shop"], [(1, 2)])])  # fmt: skip
    pair.report("b", T0, {}, breakdowns=[("other", ["day"], [(1, 2)])])
    told = json.loads(pair.ask("breakdown", metric="n", agent_name="a",
                               time_range=f"{moment(T0)}/{moment(T0 + DAY)}"))  # fmt: skip
    assert told == {"metric": "n", "by": [], "agg": "avg", "truncated": False,
                    "dimensions": ["region", "shop"], "rows": []}  # fmt: skip
    told = json.loads(pair.ask("breakdown", metric="n", time_range=f"{moment(0)}/{moment(1)}"))
    assert (told["dimensions"], told["rows"]) == ([], [])


def test_a_long_catalog_is_cut_and_says_so(pair):
    agents = "abcdefghijk"
    for agent in reversed(agents):
        pair.declare(agent, *((f"k{i:05}", "sum") for i in range(1000)))
    pair.report("k", T0, {"k00999": 1, "stray": 2})
    told = json.loads(pair.ask("catalog"))
    names = [(agent, f"k{i:05}") for agent in agents for i in range(1000)][:10000]
    assert [(k["agent_name"], k["key"]) for k in told["kpis"]] == names
    assert told["truncated"] is True
    told = json.loads(pair.ask("summary", time_range="all"))
    assert [(k["agent_name"], k["key"]) for k in told["kpis"]] == names  # and no stray one
    assert told["truncated"] is True


def test_long_words_do_not_make_a_long_catalog(pair):
    for i in range(20):
        kpis = [{"key": "k", "label": "l" * 1_000_000, "unit": "u" * 40_000}]
        pair.send(REGISTER, {"agent_name": f"a{i:02}", "business_kpis": kpis}, 200)
    for what in ("catalog", "summary"):
        told = json.loads(pair.ask(what))
        assert told["truncated"] is True
        assert 15 <= len(told["kpis"]) < 20
    assert loc(pair.ask("series", 422, key="k")) == ["query", "agent_name"]
    assert loc(pair.ask("breakdown", 422, metric="k", by="x")) == ["query", "agent_name"]
    assert json.loads(pair.ask("series", key="k", agent_name="a19"))["agg"] == "sum"
    for i in range(20):  # they are in the way of what comes next
        pair.send(REGISTER, {"agent_name": f"a{i:02}", "business_kpis": []}, 200)


def test_a_kpi_beyond_the_first_ten_thousand_is_not_told_as_without_a_value(pair):
    pair.declare("a", ("known", "sum"), ("beyond", "sum"))
    pair.report("a", T0, {"known": 1})
    for i in range(100):
        pair.send(BUSINESS, {"agent_name": "a", "run_id": str(uuid.UUID(int=i)),
                             "timestamp": moment(T0),
                             "metrics": {f"x{i:02}-{j:02}": j for j in range(100)}}, 202)  # fmt: skip
    pair.report("a", T0, {"beyond": 7})
    told = json.loads(pair.ask("summary", time_range="all"))
    rows = {k["key"]: k["value"] for k in told["kpis"]}
    assert told["truncated"] is True and len(rows) == 10000
    assert rows["known"] == 1 and "beyond" not in rows


def test_a_long_breakdown_is_cut_and_says_so(pair):
    for half in range(2):
        cells = [(f"{half}-{i:04}", i % 7) for i in range(1000)]
        pair.report("a", T0, {}, breakdowns=[("n", ["who"], cells)])
        pair.check_breakdown(None, "n", ["who"], T0, T0 + DAY)
    told = json.loads(pair.ask("breakdown", metric="n", by="who",
                               time_range=f"{moment(T0)}/{moment(T0 + DAY)}"))  # fmt: skip
    assert (len(told["rows"]), told["truncated"]) == (1000, True)


RANGE = f"{moment(T0)}/{moment(T0 + DAY)}"
SPANS = ("Should be a span of at most 100 years such as 24h, 7d or 30d; today, yesterday, "
         "this_month, last_month or all; or two date-times with a slash between them")  # fmt: skip
BUCKETS = "The range has more than 1500 buckets: use a longer bucket or a shorter range"
REFUSED = [
    ("summary", {"time_range": "soon"}, "time_range", SPANS),
    ("summary", {"time_range": f"{moment(T0)}/{moment(T0 - 1)}"}, "time_range",
     "The range should not end before it begins"),
    ("series", {"key": "n", "time_range": "-5d"}, "time_range", SPANS),
    ("series", {"key": "n", "bucket": "year"}, "bucket", "Should be minute, hour, day, week or month"),
    ("series", {"key": "stock", "bucket": "minute"}, "bucket", BUCKETS),
    ("series", {"key": "stock", "bucket": "hour", "time_range": "63d"}, "bucket", BUCKETS),
    ("series", {"key": "old", "time_range": "all"}, "bucket", BUCKETS),
    ("series", {"key": "n", "time_range": RANGE}, "agent_name",
     "Agents total this key in different ways; choose one with agent_name"),
    ("breakdown", {"metric": "n", "by": "region,,shop"}, "by",
     "Should be one dimension name, or several separated by commas"),
    ("breakdown", {"metric": "n", "by": ",".join("abcdefgh" * 5)}, "by",
     "Should be at most 32 dimension names"),
    ("breakdown", {"metric": "n", "by": "region", "time_range": RANGE}, "agent_name",
     "Agents total this metric in different ways; choose one with agent_name"),
    ("breakdown", {"metric": "stock", "by": "region", "time_range": RANGE}, "by",
     "Only sums and maxima can be combined; request all dimensions that the metric was reported by"),
]  # fmt: skip


@pytest.fixture(scope="module")
def quarrel(servers):
    """Agents that do not agree, and a value from the beginning of time."""
    made = Pair(servers)
    made.declare("a", ("n", "sum"), ("stock", "last"))
    made.declare("b", ("n", "avg"))
    split = ["region", "shop"], [("eu", 1, 2)]
    for agent in ("a", "b"):
        made.report(agent, T0, {"n": 1}, breakdowns=[("n", *split)])
    made.report("a", T0, {}, breakdowns=[("stock", *split)])
    made.report("a", -62000000000000000, {"old": 1})
    return made


@pytest.mark.parametrize("what, query, name, sentence", REFUSED)
def test_a_bad_question_is_refused_where_it_is_bad(quarrel, what, query, name, sentence):
    problem = {"type": "value_error", "loc": ["query", name], "msg": f"Value error, {sentence}",
               "input": query.get(name), "ctx": {"error": sentence}}  # fmt: skip
    assert json.loads(quarrel.ask(what, 422, **query)) == {"detail": [problem]}


@pytest.mark.parametrize("what, missing", [("series", ["key"]), ("breakdown", ["metric"])])
def test_what_a_question_must_have_is_asked_for(quarrel, what, missing):
    told = json.loads(quarrel.ask(what, 422))["detail"]
    assert [(p["type"], p["loc"]) for p in told] == [("missing", ["query", m]) for m in missing]


@pytest.mark.parametrize("what", ["catalog", "summary", "series?key=n", "breakdown?metric=n&by=x"])
def test_only_readers_of_the_tenant_may_ask(servers, what):
    for server in servers:
        mine, other = server.add_tenant(), server.add_tenant()
        path = mine.path(f"business/{what}")
        assert mine.client.get(path).status == 200
        assert mine.client.get(path, token=other.token).status == 403
        assert mine.agent_client("a").get(path).status == 403
        assert server.client().get(path).status == 401


def test_an_answer_that_is_known_is_not_sent_again(pair):
    pair.declare("a", ("n", "sum"))
    for tenant in pair.tenants:
        path = tenant.path(f"business/summary?time_range={RANGE}")
        tag = tenant.client.get(path).headers["ETag"]
        again = tenant.client.get(path, headers={"If-None-Match": tag})
        assert (again.status, again.body) == (304, b"")
    pair.report("a", T0, {"n": 1})
    for tenant in pair.tenants:
        path = tenant.path(f"business/summary?time_range={RANGE}")
        assert tenant.client.get(path, headers={"If-None-Match": tag}).status == 200
