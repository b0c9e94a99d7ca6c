"""Answers that pages repeat are compressed for clients that accept it, and only where it pays."""

import gzip

import pytest

GZIP = {"Accept-Encoding": "gzip"}
SMALL, LARGE = 1024, 512 * 1024  # bytes between which an answer is compressed
BATCH = "/api/v1/telemetry/batch"


@pytest.fixture
def client(tenant):
    opened = tenant.server.client(tenant.token)
    opened.recorder = None  # it reads JSON
    yield opened
    opened.close()


def send_runs(tenant, n, message=""):
    events = [tenant.event(event="in_progress", message=message) for _ in range(n)]
    for first in range(0, n, 500):
        answer = tenant.client.post(BATCH, {"events": events[first : first + 500]})
        assert answer.status == 202, answer.body


def runs(tenant, limit):
    return tenant.path("dashboard/runs") + f"?limit={limit}"


@pytest.mark.smoke
def test_a_list_is_compressed_for_a_client_that_accepts_it(tenant, client):
    send_runs(tenant, 40)
    path = runs(tenant, 40)
    plain, packed = client.get(path), client.get(path, headers=GZIP)
    assert plain.headers["Content-Encoding"] is None
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 2
    assert packed.headers["Content-Length"] == str(len(packed.body))
    for answer in (plain, packed):
        assert answer.headers["Vary"] == "Accept-Encoding"
        assert answer.headers["Cache-Control"] == "no-store"
    refused = client.get(path, headers={"Accept-Encoding": "gzip;q=0"})
    assert refused.body == plain.body


def test_one_answer_has_one_tag_in_both_forms(tenant, client):
    send_runs(tenant, 40)
    path = runs(tenant, 40)
    strong, weak = (client.get(path, headers=h).headers["ETag"] for h in ({}, GZIP))
    assert weak == f"W/{strong}"
    for tag in (strong, weak):
        for accepted in ({}, GZIP):
            again = client.get(path, headers={"If-None-Match": tag, **accepted})
            assert (again.status, again.body) == (304, b"")


def test_an_answer_of_one_packet_is_sent_as_it_is(tenant, client):
    send_runs(tenant, 1)
    answer = client.get(runs(tenant, 1), headers=GZIP)
    assert 0 < len(answer.body) < SMALL
    assert answer.headers["Content-Encoding"] is None


def test_an_answer_that_would_keep_a_loop_busy_is_sent_as_it_is(tenant, client):
    send_runs(tenant, 300, message="x" * 2000)
    answer = client.get(runs(tenant, 300), headers=GZIP)
    assert len(answer.body) > LARGE
    assert answer.headers["Content-Encoding"] is None
    assert len(answer.json()["runs"]) == 300

