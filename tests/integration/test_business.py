"""Business KPIs: merged by key, whatever is repeated, late or raced; the same in both stores."""

import gzip
import itertools
import json
import random
import threading
import time
import uuid

import pytest
from muster import BINARY
from stored import of_tenant, stored

BUSINESS = "/api/v1/telemetry/business"
IS_SANITIZED = b"__ubsan_" in BINARY.read_bytes() or b"__tsan_" in BINARY.read_bytes()
RUN = "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b"
T0 = 1735787045000000  # 2025-01-02T03:04:05Z in microseconds


def report(**fields):
    return {
        "agent_name": "collector",
        "run_id": RUN,
        "timestamp": "2025-01-02T03:04:05Z",
        **fields,
    }


def at(second):
    return f"2025-01-02T03:04:{second:02}Z"


def post(tenant, body, status=202, client=None):
    answer = (client or tenant.client).post(BUSINESS, body)
    assert answer.status == status, answer.body
    return answer.json()


def values(tenant):
    """{key: (value, seconds after T0)}; a value is as it was sent, 5 or 5.0 or "5"."""
    rows = stored(
        tenant.server,
        "SELECT COALESCE(full_key, key) AS key, timestamp, integer_value, text_value,"
        " CAST(real_value AS TEXT) AS real_value, real_value AS number"
        f" FROM business_values WHERE {of_tenant(tenant)}",
    )
    found = {}
    for row in rows:
        kinds = [k for k in ("integer_value", "real_value", "text_value") if row[k] is not None]
        assert len(kinds) == 1, row
        value = float(row["number"]) if kinds == ["real_value"] else row[kinds[0]]
        found[row["key"]] = (value, (row["timestamp"] - T0) / 1_000_000)
    assert len(found) == len(rows)
    return found


def breakdowns(tenant):
    """{(metric, names…): (cells as text, seconds after T0)}"""
    rows = stored(
        tenant.server,
        "SELECT metric, COALESCE(full_dimensions, dimensions) AS dimensions, cells, timestamp"
        f" FROM business_breakdowns WHERE {of_tenant(tenant)}",
    )
    return {
        (row["metric"], *json.loads(row["dimensions"])): (
            row["cells"],
            (row["timestamp"] - T0) / 1_000_000,
        )
        for row in rows
    }


def everything(tenant):
    tables = ("business_runs", "business_values", "business_breakdowns")
    return {
        table: sorted(
            json.dumps(row, sort_keys=True)
            for row in stored(tenant.server, f"SELECT * FROM {table} WHERE {of_tenant(tenant)}")
        )
        for table in tables
    }


def spelled(found):
    return {name: (repr(value), second) for name, (value, second) in found.items()}


def test_values_are_kept_as_they_were_sent(tenant):
    sent = {
        "int": 5,
        "real": 5.0,
        "text": "5",
        "empty": "",
        "least": -9223372036854775808,
        "most": 9223372036854775807,
        "tenth": 0.1,
        "tiny": 5e-324,
        "huge": 1.7976931348623157e308,
        "": 0,
        "ключ \U0001f600 \"\\\n'; --": "значение\t\u001f\U0001f600'",
        "k" * 5000: 1,
        "k" * 4999 + "K": 2,
        "é" * 3000: "long",
    }
    answer = post(tenant, report(metrics=sent))
    told = {"status": "accepted", "run_id": RUN, "undeclared": list(sent), "replaced": False}
    assert answer == told
    assert spelled(values(tenant)) == spelled({key: (value, 0) for key, value in sent.items()})


def test_of_members_with_one_name_the_last_counts_at_the_first_ones_place(tenant):
    body = json.dumps(report(metrics={"x": 1, "y": 2}))
    body = body.replace('"y": 2', '"y": 2, "x": 3')
    assert post(tenant, body)["undeclared"] == ["x", "y"]
    assert values(tenant) == {"x": (3, 0), "y": (2, 0)}


def test_a_report_that_replaced_another_says_so(tenant):
    cut = {"metric": "m", "by": ["d"], "points": [{"d": "x", "value": 1}]}
    other = {**cut, "points": [{"d": "x", "value": 2}]}
    second = {**cut, "by": ["e"], "points": [{"e": "x", "value": 1}]}
    for sent, replaced in (
        ({"metrics": {"a": 1, "b": 2}, "breakdowns": [cut]}, False),
        ({"metrics": {"a": 1, "b": 2}, "breakdowns": [cut]}, False),  # a retry
        ({"metrics": {"a": 3, "b": 2, "c": 1}}, True),
        ({"metrics": {"a": 4, "b": 5}}, True),
        ({"breakdowns": [other, second]}, True),
        ({"metrics": {"a": 0}, "timestamp": "2001-01-01T00:00:00Z"}, False),  # an older one
    ):
        assert post(tenant, report(**sent))["replaced"] is replaced, sent


def test_a_report_without_values_is_accepted(tenant):
    told = {"status": "accepted", "run_id": RUN, "undeclared": [], "replaced": False}
    assert post(tenant, report()) == told
    assert (values(tenant), breakdowns(tenant)) == ({}, {})


def test_keys_that_the_agent_did_not_declare_are_told_in_the_order_of_the_report(tenant):
    kpis = [{"key": key} for key in ("b", "long" * 2000)]
    body = {"agent_name": "collector", "business_kpis": kpis}
    assert tenant.client.post("/api/v1/agents/register", body).status == 200
    sent = {"metrics": {key: 1 for key in ("z", "b", "long" * 2000, "long" * 2000 + "!", "a")}}
    assert post(tenant, report(**sent))["undeclared"] == ["z", "long" * 2000 + "!", "a"]
    assert post(tenant, report(agent_name="other", **sent))["undeclared"] == list(sent["metrics"])


def test_runs_agents_and_tenants_are_apart(server):
    tenants = [server.add_tenant() for _ in range(2)]
    for tenant in tenants:
        for agent, run in itertools.product(("a", "b"), (RUN, str(uuid.uuid4()))):
            post(tenant, report(agent_name=agent, run_id=run, metrics={"k": 1}))
    for tenant in tenants:
        condition = of_tenant(tenant)
        rows = stored(server, f"SELECT COUNT(*) AS n FROM business_values WHERE {condition}")
        assert rows == [{"n": 4}]
        tenant.client.close()


def test_breakdowns_are_replaced_whole_whatever_the_order_of_names(tenant):
    points = [{"b": "x", "a": 1, "value": 2}, {"a": 2.5, "b": "", "value": 0.5, "more": 1}]
    first = {"metric": "m", "by": ["b", "a"], "points": points}
    post(tenant, report(breakdowns=[first, {"metric": "m", "by": "b", "slices": {"é": 3}}]))
    assert breakdowns(tenant) == {
        ("m", "a", "b"): ('[[1,"x",2.0],[2.5,"",0.5]]', 0),
        ("m", "b"): ('[["é",3.0]]', 0),
    }
    second = {"metric": "m", "by": ["a", "b"], "points": [{"a": "z", "b": 1, "value": 9}]}
    post(tenant, report(timestamp=at(9), breakdowns=[second]))
    post(tenant, report(timestamp=at(8), breakdowns=[first]))  # too late
    assert breakdowns(tenant) == {
        ("m", "a", "b"): ('[["z",1,9.0]]', 4),
        ("m", "b"): ('[["é",3.0]]', 0),
    }
    post(tenant, report(timestamp=at(10), breakdowns=[{"metric": "m", "by": "b"}]))
    late = {"metric": "m", "by": "b", "slices": {"x": 1}}
    post(tenant, report(timestamp=at(9), breakdowns=[late]))
    assert breakdowns(tenant)[("m", "b")] == ("[]", 5)


def test_a_retry_changes_nothing(tenant):
    body = report(
        metrics={"a": 1, "b": 2.0, "c": "x"},
        breakdowns=[{"metric": "a", "by": "d", "slices": {"x": 1}}] * 2,
        workflow_run_id="w",
    )
    first = post(tenant, body)
    before = everything(tenant)
    for _ in range(3):
        assert post(tenant, body) == first
        assert everything(tenant) == before
    late = report(timestamp=at(4), metrics={"a": 0}, breakdowns=body["breakdowns"])
    post(tenant, late)
    assert everything(tenant) == before


def reference(reports):
    """The slow and obvious way: by timestamp, then arrival; each report overwrites."""
    state, cut = {}, {}
    for body in sorted(reports, key=lambda body: body["timestamp"]):  # stable
        second = int(body["timestamp"][17:19]) - 5
        state.update({key: (value, second) for key, value in body["metrics"].items()})
        for one in body["breakdowns"]:
            cells = ",".join(f'["x",{point["value"]}.0]' for point in one["points"])
            cut[(one["metric"], *sorted(one["by"]))] = (f"[{cells}]", second)
    return state, cut


def test_reports_in_any_order_end_alike(tenant):
    random_ = random.Random(7)

    def split(metric):
        points = [{"d": "x", "value": n} for n in random_.sample(range(3), random_.randrange(3))]
        return {"metric": metric, "by": ["d"], "points": points}

    for _ in range(10):
        other = tenant.server.add_tenant()
        reports = [
            report(
                timestamp=at(random_.randrange(5, 9)),
                metrics={k: random_.choice((1, 1.0, "1", 2)) for k in random_.sample("abcd", 2)},
                breakdowns=[split(metric) for metric in random_.sample("mno", 2)],
            )
            for _ in range(6)
        ]
        arrived = random_.sample(reports, 6) + random_.choices(reports, k=3)
        for body in arrived:
            post(other, body)
        state, cut = reference(arrived)
        assert (spelled(values(other)), breakdowns(other)) == (spelled(state), cut)
        other.client.close()


def test_reports_that_race_end_as_the_newest(tenant):
    """Eight clients, the same run, keys in opposite orders: none fails, none wins by luck."""
    keys = [f"k{i}" for i in range(20)]
    problems = []

    def send(number):
        client = tenant.server.client(tenant.token)
        for second in random.Random(number).sample(range(60), 20) + [59]:
            names = keys if number % 2 else keys[::-1]
            body = report(
                timestamp=at(second),
                metrics={name: second for name in names},
                breakdowns=[
                    {"metric": name, "by": "d", "slices": {"x": second}} for name in names
                ],
            )
            while (answer := client.post(BUSINESS, body)).status == 503:
                time.sleep(0.05)  # on a busy machine: it says that nothing was stored
            if answer.status != 202:
                problems.append(answer.body)
        client.close()

    threads = [threading.Thread(target=send, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert values(tenant) == {key: (59, 54) for key in keys}
    assert breakdowns(tenant) == {(key, "d"): ('[["x",59.0]]', 54) for key in keys}


def test_a_body_may_be_ten_mebibytes_and_no_more(tenant):
    limit = 10_485_760
    body = json.dumps(report(metrics={"text": "x"}))
    filled = body.replace('"x"', '"' + "x" * (limit - len(body) + 1) + '"')
    assert len(filled) == limit
    post(tenant, filled)
    assert len(values(tenant)["text"][0]) == limit - len(body) + 1
    packed = gzip.compress(f"{filled} ".encode(), 1)
    answer = tenant.client.post(BUSINESS, packed, headers={"Content-Encoding": "gzip"})
    assert answer.status == 413
    assert (answer.json()["limit"], answer.json()["unit"]) == (limit, "bytes")


@pytest.mark.parametrize(
    ("breakdown", "loc", "sentence"),
    [
        (
            {"metric": "m", "by": ["a", "b"], "slices": {"x": 1}},
            ["slices"],
            "Slices need exactly one name in 'by'; use points for several",
        ),
        (
            {"metric": "m", "by": "a", "points": [{"a": 1, "value": 1}, {"b": 1, "value": 1}]},
            ["points", 1],
            "The point has no entry for dimension 'a'",
        ),
        (
            {"metric": "m", "by": "a", "points": [{"a": 1, "value": "1"}]},
            ["points", 0],
            "The point has no number named 'value'",
        ),
    ],
)
def test_what_cannot_be_normalised_is_refused_and_nothing_stored(tenant, breakdown, loc, sentence):
    answer = post(tenant, report(metrics={"a": 1}, breakdowns=[breakdown]), 422)
    (item,) = answer["detail"]
    assert (item["type"], item["loc"]) == ("value_error", ["body", "breakdowns", 0, *loc])
    assert (item["msg"], item["ctx"]) == (f"Value error, {sentence}", {"error": sentence})
    assert values(tenant) == {}


@pytest.mark.parametrize(
    ("path", "fields"), [(BUSINESS, {"metrics": {"a": 1}}), ("/api/v1/telemetry/llm", {"model": "m"})]
)
def test_the_key_decides_the_tenant_and_the_agent_within_the_cap(server, path, fields):
    tenant = server.add_tenant("--max-agents", "1")
    bound = tenant.agent_client("collector")
    for client, more, refused in (
        (tenant.client, {"client_id": tenant.slug}, None),
        (tenant.client, {"client_id": "another"}, "This key does not belong to tenant 'another'"),
        (bound, {}, None),
        (bound, {"agent_name": "other"}, "This key is bound to agent 'collector'"),
        (tenant.client, {"agent_name": "other"},
         f"Agent cap reached: the plan of tenant '{tenant.slug}' allows 1 agents"),
    ):  # fmt: skip
        answer = client.post(path, {**report(**fields), **more})
        assert answer.status == (403 if refused else 202), answer.body
        assert not refused or answer.json() == {"detail": refused}
    bound.close()
    tenant.client.close()


@pytest.mark.skipif(IS_SANITIZED, reason="measures memory")
def test_the_largest_report_takes_little_memory_and_its_points_come_in_order(own_server):
    """1,000 points by 1,200 dimensions in 9 MB, in another order than that of `by`."""
    names, tenant = [f"{n:x}" for n in range(1200)], own_server.add_tenant()
    point = ",".join(f'"{name}":{n % 10}' for n, name in enumerate(names))
    points = ",".join(f'{{{point},"value":{n}}}' for n in range(1000))
    by = json.dumps(names[::-1])
    breakdowns = f'"breakdowns":[{{"metric":"m","by":{by},"points":[{points}]}}]'
    body = json.dumps(report(breakdowns=0)).replace('"breakdowns": 0', breakdowns)
    post(tenant, body.encode())
    with open(f"/proc/{own_server.process.pid}/status") as file:
        peak = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))
    assert peak <= 240 << 20, peak / (1 << 20)
    (row,) = stored(
        own_server,
        "SELECT COALESCE(full_dimensions, dimensions) AS names, cells FROM business_breakdowns"
        f" WHERE {of_tenant(tenant)}",
    )
    values_of = dict(zip(names, (n % 10 for n in range(1200))))
    sent = [values_of[name] for name in json.loads(row["names"])]
    assert json.loads(row["cells"]) == [[*sent, n] for n in range(1000)]


def test_a_run_shows_the_values_that_it_reported(tenant):
    kpis = [{"key": "leads", "label": "Leads", "unit": "count", "agg": "sum"}]
    body = {"agent_name": "seller", "business_kpis": kpis}
    assert tenant.client.post("/api/v1/agents/register", body).status == 200
    run, other = str(uuid.uuid4()), str(uuid.uuid4())
    for run_id, metrics in ((run, {"leads": 3, "mood": "good", "rate": 0.5}), (other, {"leads": 9})):
        body = {"agent_name": "seller", "run_id": run_id, "timestamp": "2026-01-02T03:04:05Z",
                "metrics": metrics}  # fmt: skip
        assert tenant.client.post("/api/v1/telemetry/business", body).status == 202
    answer = tenant.client.get(tenant.path(f"runs/{run}/business")).json()
    row = lambda key, value, label=None, unit=None: {  # noqa: E731
        "agent_name": "seller", "key": key, "label": label, "unit": unit, "value": value,
        "at": "2026-01-02T03:04:05Z",
    }  # fmt: skip
    assert answer == {"kpis": [row("leads", 3, "Leads", "count"), row("mood", "good"),
                               row("rate", 0.5)]}  # fmt: skip
    unknown = tenant.client.get(tenant.path(f"runs/{uuid.uuid4()}/business"))
    assert (unknown.status, unknown.json()) == (200, {"kpis": []})
    assert tenant.client.get(tenant.path("runs/odd/business")).status == 422
    stranger = tenant.server.add_tenant()
    assert stranger.client.get(tenant.path(f"runs/{run}/business")).status == 403
    assert stranger.client.get(stranger.path(f"runs/{run}/business")).json() == {"kpis": []}
    stranger.client.close()
