"""Retention: what is older than a tenant wants it kept goes, and nothing else."""

import json
import re
import sqlite3
import threading
import uuid
from contextlib import closing
from datetime import timedelta

import pytest
from conftest import running
from people import tenant_person
from postgres import Session, lock_waits
from stored import of_tenant, stored
from test_alerts import DAY, EPOCH, alerts, second_server, until, until_open

pytestmark = pytest.mark.administered

NONE = {"events_days": None, "business_days": None, "llm_days": None, "keep_failed_runs": 0}
MINUTE = 61  # and a bit: the next pass
TELEMETRY, BATCH = "/api/v1/telemetry", "/api/v1/telemetry/batch"
SWEPT = re.compile(r"deleted (\d+) runs, (\d+) events, (\d+) business reports, (\d+) LLM reports")


@pytest.fixture
def world(own_server):
    tenant = own_server.add_tenant("--max-agents", "50")
    yield tenant
    tenant.client.close()


def at(clock, ago=0.0):
    moment = EPOCH + timedelta(seconds=clock.now() - ago)
    return moment.isoformat().replace("+00:00", "Z")


def keep(tenant, events_days="forever", business_days="forever", llm_days="forever",
         keep_failed_runs=0):  # fmt: skip
    tenant.server.cli("retention", "set", "--tenant", tenant.slug, "--events", str(events_days),
                      "--business", str(business_days), "--llm", str(llm_days),
                      "--keep-failed", str(keep_failed_runs))  # fmt: skip


def tell(tenant, clock, *kinds, ago=0.0, run=None, **fields):
    """Events of one run, all at the same time; the run."""
    run = run or str(uuid.uuid4())
    events = [tenant.event(run_id=run, event=kind, timestamp=at(clock, ago), **fields)
              for kind in kinds]  # fmt: skip
    answer = tenant.client.post(BATCH, {"events": events})
    assert (answer.status, answer.json()["rejected"]) == (202, 0), answer.body
    return run


def runs(tenant):
    answer = tenant.client.get(tenant.path("dashboard/runs?limit=1000"))
    assert answer.status == 200, answer.body
    return {run["run_id"] for run in answer.json()["runs"]}


def narrative(tenant, run):
    return tenant.client.get(tenant.path(f"runs/{run}/events"))


def rows(tenant, *tables):
    return [
        stored(tenant.server, f"SELECT COUNT(*) AS n FROM {table} WHERE {of_tenant(tenant)}")[0]["n"]
        for table in tables
    ]


def swept(*servers):
    """What the servers say they deleted, in all."""
    found = [tuple(map(int, line)) for server in servers for line in SWEPT.findall(server.log())]
    return tuple(map(sum, zip(*found))) if found else (0, 0, 0, 0)


def pass_by(tenant, clock, seconds=MINUTE):
    """Time passes, and a run that has to go because of it says when a pass has been made."""
    lines = len(SWEPT.findall(tenant.server.log()))
    witness = tell(tenant, clock, "completed", ago=100 * 365 * DAY, agent_name="witness")
    clock.advance(seconds)
    until(lambda: narrative(tenant, witness).status == 404)
    until(lambda: len(SWEPT.findall(tenant.server.log())) > lines)


def test_limits_are_shown_replaced_and_entered_in_the_log(world):
    admin, path = tenant_person(world, "admin"), world.path("retention")
    assert admin.get(path).json() == NONE
    limits = {"events_days": 1, "business_days": 36500, "llm_days": None, "keep_failed_runs": 100}
    answer = admin.request("PUT", path, limits)
    assert (answer.status, answer.json()) == (200, limits)
    assert tenant_person(world, "member").get(path).json() == limits
    assert admin.request("PUT", path, {"llm_days": 7}).json() == {**NONE, "llm_days": 7}

    def cli(*arguments):
        return world.server.run("retention", *arguments, "--tenant", world.slug)

    assert cli("show").stdout.splitlines() == [
        "events    forever", "business  forever", "llm       7 days",
        "failed    0 runs per agent, regardless of age",
    ]  # fmt: skip
    done = cli("set", "--events", "30", "--llm", "forever", "--keep-failed", "5", "--json")
    assert json.loads(done.stdout) == {**NONE, "events_days": 30, "keep_failed_runs": 5}
    assert cli("set", "--business", "90").returncode == 0
    assert json.loads(cli("show", "--json").stdout) == {
        **NONE, "events_days": 30, "business_days": 90, "keep_failed_runs": 5
    }  # fmt: skip
    for bad in (("--events", "0"), ("--llm", "36501"), ("--business", "1.5"),
                ("--keep-failed", "-1"), ("--keep-failed", "101"), ()):  # fmt: skip
        done = cli("set", *bad)
        assert (done.returncode, done.stdout) == (2, ""), bad
        assert done.stderr.startswith("muster: ")
    log = world.server.cli("audit", "list", "--tenant", world.slug, "--action", "retention.set",
                           "--json")  # fmt: skip
    entries = json.loads(log)["entries"]
    assert len(entries) == 4
    assert entries[-1]["detail"] == limits


BAD = [
    {"events_days": 0}, {"events_days": 36501}, {"business_days": -1}, {"llm_days": 1.5},
    {"llm_days": "7"}, {"keep_failed_runs": -1}, {"keep_failed_runs": 101},
    {"keep_failed_runs": None}, [], None,
]  # fmt: skip


def test_bad_limits_change_nothing(tenant):
    admin, path = tenant_person(tenant, "admin"), tenant.path("retention")
    assert admin.request("PUT", path, {"events_days": 5}).status == 200
    for body in BAD:
        assert admin.request("PUT", path, body).status == 422, body
    assert admin.get(path).json() == {**NONE, "events_days": 5}
    admin.close()


def test_runs_go_with_their_events_when_the_last_one_is_too_old(world, clock):
    other = world.server.add_tenant()
    gone = tell(world, clock, "started", "in_progress", "failed", ago=3 * DAY + 5)
    late = tell(world, clock, "started", ago=30 * DAY)
    tell(world, clock, "completed", ago=3 * DAY - 3600, run=late)
    foreign = tell(other, clock, "started", "completed", ago=3 * DAY + 5)
    keep(world, events_days=3)
    keep(other, events_days=4)
    pass_by(world, clock)
    assert runs(world) == {late}
    assert narrative(world, gone).status == 404
    assert len(narrative(world, late).json()["events"]) == 2
    assert runs(other) == {foreign}
    pass_by(world, clock, 3600)
    assert runs(world) == set()
    assert rows(world, "runs", "events", "gone_runs") == [0, 0, 0]
    assert runs(other) == {foreign}
    keep(other)  # for ever again
    clock.advance(400 * DAY)
    pass_by(world, clock)
    assert runs(other) == {foreign}
    assert world.server.cli("check").strip() != ""
    for tenant in (world, other):
        done = world.server.cli("run", "rebuild", "--tenant", tenant.slug, "--json")
        assert json.loads(done)["changed"] == 0


def test_ids_are_duplicates_until_they_go_and_free_then(world, clock):
    def send(**fields):
        answer = world.client.post(TELEMETRY, world.event(**fields))
        assert answer.status == 202, answer.body
        return answer.json()["status"]

    gone, stays = str(uuid.uuid4()), str(uuid.uuid4())
    first = {"event_id": "gone", "run_id": gone, "timestamp": at(clock, 5 * DAY), "event": "failed"}
    second = {"event_id": "stays", "run_id": stays, "timestamp": at(clock)}
    assert [send(**first), send(**second)] == ["accepted", "accepted"]
    assert [send(**first), send(**second)] == ["duplicate", "duplicate"]
    keep(world, events_days=2)
    pass_by(world, clock)
    assert send(**second) == "duplicate"
    now = {**first, "timestamp": at(clock)}
    assert [send(**now), send(**now)] == ["accepted", "duplicate"]
    again = narrative(world, gone).json()
    assert (again["run"]["event_count"], len(again["events"])) == (1, 1)
    world.server.restart()
    world.client.close()
    world.client = world.server.client(world.token)
    assert [send(**now), send(**second)] == ["duplicate", "duplicate"]


def test_a_run_that_is_remembered_is_not_written_to_when_it_is_gone(world, clock):
    keep(world, events_days=1)
    run = tell(world, clock, "completed", ago=2 * DAY)
    pass_by(world, clock)
    tell(world, clock, "started", run=run)
    told = narrative(world, run).json()
    assert (told["run"]["status"], told["run"]["event_count"]) == ("in_progress", 1)


def test_open_runs_and_the_newest_failed_ones_stay_longer(world, clock):
    failed = [tell(world, clock, "failed", ago=n * 30 * DAY) for n in (3, 2, 1)]
    lone = tell(world, clock, "failed", ago=90 * DAY, agent_name="other")
    stuck = tell(world, clock, "started", agent_name="stuck")
    clock.advance(DAY + 601)
    alert = until_open(world, type="run.stuck")
    assert alert["run_id"] == stuck
    keep(world, events_days=1, keep_failed_runs=1)
    pass_by(world, clock)
    assert runs(world) == {failed[2], lone, stuck}
    pass_by(world, clock, 7 * DAY)
    assert runs(world) == {failed[2], lone}
    (closed,) = alerts(world, type="run.stuck")
    assert (closed["state"], closed["closed_by"]) == ("closed", "retention")
    keep(world, events_days=1)
    pass_by(world, clock)
    assert runs(world) == set()


def test_a_limit_that_is_lifted_deletes_no_more(world, clock):
    run = tell(world, clock, "completed")
    keep(world, events_days=5, business_days=5, llm_days=5)
    keep(world)
    other = world.server.add_tenant()
    keep(other, events_days=1)
    clock.advance(50 * DAY)
    pass_by(other, clock)
    assert runs(world) == {run}


# --- totals ---


def business(tenant, stamp, metrics, run=None, breakdowns=()):
    run = run or str(uuid.uuid4())
    body = {"agent_name": "worker", "run_id": run, "timestamp": stamp, "metrics": metrics,
            "breakdowns": list(breakdowns)}  # fmt: skip
    assert tenant.client.post("/api/v1/telemetry/business", body).status == 202
    return run


def declare(tenant, **aggs):
    kpis = [{"key": k, "label": k, "unit": "count", "agg": agg} for k, agg in aggs.items()]
    body = {"agent_name": "worker", "business_kpis": kpis}
    assert tenant.client.post("/api/v1/agents/register", body).status == 200


def get(tenant, rest):
    answer = tenant.client.get(tenant.path(rest))
    assert answer.status == 200, answer.body
    return answer.json()


def summary(tenant, span):
    return {row["key"]: (row["value"], row["reports"], row["previous"])
            for row in get(tenant, f"business/summary?time_range={span}")["kpis"]}  # fmt: skip


def series(tenant, key, bucket, span="all"):
    return get(tenant, f"business/series?key={key}&bucket={bucket}&time_range={span}")["points"]


def hour_of(clock, ago):
    """The full hour, `ago` seconds back."""
    moment = EPOCH + timedelta(seconds=clock.now() - ago)
    return moment.replace(minute=0, second=0, microsecond=0)


def stamp(moment):
    return moment.isoformat().replace("+00:00", "Z")


def test_totals_of_kpis_stay_when_their_reports_go(world, clock):
    declare(world, leads="sum", stock="last", rate="avg", peak="max", note="last")
    first = hour_of(clock, 20 * DAY)
    for n in range(12):
        at_n = stamp(first + timedelta(hours=36 * n, minutes=17))
        split = [{"metric": "leads", "by": "country", "slices": {"es": n}}]
        business(world, at_n, {"leads": n, "stock": n * 10, "rate": n / 7, "peak": -n,
                               "note": f"text {n}"}, breakdowns=split)  # fmt: skip
    spans = ["all", f"{stamp(first)}/{stamp(first + timedelta(days=9))}",
             f"{stamp(first + timedelta(days=9))}/{stamp(first + timedelta(days=18))}"]  # fmt: skip

    def told():
        return [
            [{k: v for k, v in summary(world, span).items() if k != "note"} for span in spans],
            [series(world, key, bucket) for key in ("leads", "stock", "rate", "peak")
             for bucket in ("hour", "day", "week", "month")],
        ]  # fmt: skip

    before = told()
    assert before[0][0]["leads"] == (66, 12, None)
    keep(world, events_days=3, business_days=7)
    pass_by(world, clock)
    (left,) = rows(world, "business_runs")
    assert 0 < left < 12
    assert rows(world, "business_values", "business_breakdowns") == [5 * left, left]
    assert told() == before
    clock.advance(30 * DAY)
    pass_by(world, clock)
    assert rows(world, "business_runs", "business_values", "business_breakdowns") == [0, 0, 0]
    after = told()
    assert after == before
    assert summary(world, "all")["note"] == (None, 12, None)  # a text is in no total
    assert get(world, "business/breakdown?metric=leads&by=country&time_range=all")["rows"] == []
    assert world.client.get(world.path("export/business?time_range=all")).body == b""
    # What comes later adds to it, also to an hour whose reports are gone.
    business(world, stamp(first + timedelta(minutes=20)), {"leads": 1000, "note": "late"})
    assert summary(world, "all")["leads"] == (1066, 13, None)
    pass_by(world, clock)
    assert summary(world, "all")["leads"] == (1066, 13, None)
    assert rows(world, "business_values") == [0]


def test_ranges_share_no_hour_whose_reports_are_gone(world, clock):
    declare(world, leads="sum")
    first = hour_of(clock, 10 * DAY)
    for minute in (5, 25, 45, 65, 85, 105):
        business(world, stamp(first + timedelta(minutes=minute)), {"leads": 1})
    keep(world, events_days=3, business_days=3)
    pass_by(world, clock)
    assert rows(world, "business_values") == [0]
    cuts = [first + timedelta(minutes=m) for m in (-30, 10, 30, 70, 90, 170)]
    parts = [summary(world, f"{stamp(a)}/{stamp(b)}")["leads"][0] or 0
             for a, b in zip(cuts, cuts[1:])]  # fmt: skip
    assert (sum(parts), parts) == (6, [3, 0, 3, 0, 0])


def test_a_value_replaced_in_an_hour_of_deleted_ones_leaves_their_total(world, clock):
    declare(world, leads="sum", peak="max")
    hour = hour_of(clock, 10 * DAY)
    business(world, stamp(hour + timedelta(minutes=1)), {"leads": 5, "peak": 5})
    long = business(world, stamp(hour + timedelta(minutes=2)), {"leads": 7, "peak": 7})
    business(world, at(clock), {"other": 1}, run=long)  # the run goes on: it stays as a whole
    keep(world, events_days=3, business_days=3)
    pass_by(world, clock)
    assert rows(world, "business_runs") == [1]
    assert summary(world, "all")["leads"][:2] == (12, 2)
    business(world, at(clock), {"leads": 8, "peak": 6}, run=long)
    assert summary(world, "all")["leads"][:2] == (13, 2)
    assert summary(world, "all")["peak"][:2] == (7, 2)  # that it was 5 is forgotten


def test_sums_of_usage_stay_when_their_reports_go(world, clock):
    for price in (("3", "15"), ("1", "2", "--valid-from", stamp(hour_of(clock, 6 * DAY)))):
        world.server.cli("price", "set", "m", "--input", price[0], "--output", price[1], *price[2:])
    first = hour_of(clock, 12 * DAY)
    for n in range(17):  # two of them in the first hour
        moment = first + (timedelta(hours=14 * n, minutes=n) if n < 16 else timedelta(minutes=40))
        body = {"agent_name": f"a{n % 2}", "run_id": str(uuid.uuid4()), "model": "mn"[n % 4 == 1],
                "timestamp": stamp(moment), "calls": 1,
                "input_tokens": 1000 + n, "output_tokens": 10 * n, "cache_read_tokens": n}  # fmt: skip
        assert world.client.post("/api/v1/telemetry/llm", body).status == 202
    spans = ["all", f"{stamp(first)}/{stamp(first + timedelta(days=4))}",
             f"{stamp(first + timedelta(days=4))}/{stamp(first + timedelta(days=30))}"]  # fmt: skip

    def told():
        return [
            (answer["groups"], answer["total"], answer["unpriced"])
            for span in spans
            for by in ("model", "agent,day", "model,day")
            for answer in [get(world, f"llm/usage?time_range={span}&group_by={by}")]
        ]

    before = told()
    keep(world, events_days=3, llm_days=4)
    pass_by(world, clock)
    assert 0 < rows(world, "llm_usage")[0] < 17
    assert told() == before
    clock.advance(30 * DAY)
    pass_by(world, clock)
    assert rows(world, "llm_usage") == [0]
    assert told() == before
    assert get(world, "llm/usage?time_range=all&group_by=run")["groups"] == []
    # Part of an hour that cannot be split counts where its first report lies.
    day = [first, first + timedelta(seconds=30), first + timedelta(hours=2)]
    calls = [get(world, f"llm/usage?time_range={stamp(a)}/{stamp(b)}")["total"]["calls"]
             for a, b in zip(day, day[1:])]  # fmt: skip
    assert calls == [2, 0]


# --- crashes, nodes, and what one sees of it ---


def fill(tenant, clock, n, ago):
    """Runs of ten events, n in all."""
    events = [
        tenant.event(run_id=str(uuid.UUID(int=k // 10 + (1 << 100))), event_id=f"{ago}-{k}",
                     event="completed", timestamp=at(clock, ago), message="x" * 500)
        for k in range(n)
    ]  # fmt: skip
    for first in range(0, n, 1000):
        assert tenant.client.post(BATCH, {"events": events[first : first + 1000]}).status == 202


def test_a_run_that_is_deleted_while_states_are_rebuilt_is_left_out(world, clock, own_server):
    """Another process has deleted it between the list of runs and the lock on this one."""
    if not own_server.database:
        return  # one process writes
    tell(world, clock, "started", "completed")
    answers = []
    with closing(Session(own_server.database)) as other:
        other.run("BEGIN")
        other.run(f"DELETE FROM events WHERE {of_tenant(world)}")
        other.run(f"DELETE FROM runs WHERE {of_tenant(world)}")
        rebuild = ("run", "rebuild", "--tenant", world.slug, "--json")
        asks = threading.Thread(target=lambda: answers.append(json.loads(own_server.cli(*rebuild))))
        asks.start()
        until(lambda: lock_waits(own_server.database, "SELECT run_no%") == 1)
        other.run("COMMIT")
        asks.join()
    assert [(told["runs"], told["changed"]) for told in answers] == [(0, 0)]


def test_a_sweep_that_is_killed_goes_on_after_the_start(world, clock, own_server, tmp_path):
    stays = tell(world, clock, "started", "completed")
    fill(world, clock, 20000, 10 * DAY)
    keep(world, events_days=2)
    clock.advance(MINUTE)
    until(lambda: 0 < rows(world, "events")[0] < 20002)
    own_server.kill()
    (left,) = rows(world, "events")
    assert left > 2, "the sweep was over before it was killed"
    own_server.start()
    world.client.close()
    world.client = own_server.client(world.token)
    assert "intact" in own_server.cli("check")
    done = own_server.cli("run", "rebuild", "--tenant", world.slug, "--json")
    assert json.loads(done)["changed"] == 0
    clock.advance(MINUTE)
    until(lambda: rows(world, "runs", "events", "gone_runs") == [1, 2, 0])
    assert runs(world) == {stays}
    lines = world.client.get(world.path("export/events?time_range=all")).body.splitlines()
    assert [json.loads(line)["run_id"] for line in lines] == [stays, stays]
    fill(world, clock, 1000, 10 * DAY)  # the same ids: all are new
    if own_server.database:
        return
    own_server.cli("backup", str(tmp_path / "copy.db"))
    copy = sqlite3.connect(tmp_path / "copy.db")
    assert copy.execute("SELECT COUNT(*) FROM events WHERE message = ''").fetchone() == (2,)
    copy.close()


def test_two_servers_delete_everything_once(world, clock, own_server, tmp_path):
    if not own_server.database:
        return  # only one process has the embedded store
    tenants = [world] + [own_server.add_tenant() for _ in range(3)]
    with second_server(own_server, tmp_path) as other:
        for tenant in tenants:
            fill(tenant, clock, 3000, 10 * DAY)
            keep(tenant, events_days=2)
        clock.advance(MINUTE)

        def is_done():
            return all(rows(t, "runs", "events", "gone_runs") == [0, 0, 0] for t in tenants)

        until(is_done)
        until(lambda: swept(own_server, other)[1] == 12000)
        assert swept(own_server, other) == (1200, 12000, 0, 0)


def test_what_is_deleted_is_counted_and_told(store, tmp_path, clock):
    token = "a-token-of-the-metrics-endpoint"
    environment = {**clock.environment, "MUSTER_METRICS_TOKEN": token}
    with running(store, tmp_path, environment=environment) as server:
        tenant = server.add_tenant()
        tell(tenant, clock, "started", "completed", ago=9 * DAY)
        business(tenant, at(clock, 9 * DAY), {"a": 1, "b": 2})
        body = {"agent_name": "worker", "run_id": str(uuid.uuid4()), "model": "m",
                "timestamp": at(clock, 9 * DAY)}  # fmt: skip
        assert tenant.client.post("/api/v1/telemetry/llm", body).status == 202
        keep(tenant, events_days=2, business_days=2, llm_days=2)
        clock.advance(MINUTE)
        until(lambda: swept(server) == (1, 2, 1, 1))
        text = server.client(token).get("/metrics").body.decode()
        seen = dict(re.findall(r'muster_deleted_total\{class="(\w+)"\} (\d+)', text))
        assert seen == {"runs": "1", "events": "2", "business": "1", "llm": "1", "alerts": "0"}
        tenant.client.close()


def test_a_clock_that_is_set_ahead_deletes_nothing(world, clock):
    run = tell(world, clock, "completed")
    keep(world, events_days=30)
    clock.step(400 * DAY)
    clock.advance(MINUTE)
    pass_by(world, clock)
    assert runs(world) == {run}
