"""LLM usage: once for each (agent, run, model, timestamp), whatever is repeated or raced."""

import uuid

from stored import of_tenant, stored

LLM = "/api/v1/telemetry/llm"
RUN = "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b"
T0 = 1735787045000000  # 2025-01-02T03:04:05Z in microseconds
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "calls")


def usage(**fields):
    return {
        "agent_name": "collector",
        "run_id": RUN,
        "timestamp": "2025-01-02T03:04:05Z",
        "model": "m",
        **fields,
    }


def post(tenant, body, status=202, client=None):
    answer = (client or tenant.client).post(LLM, body)
    assert answer.status == status, answer.body
    return answer.json()


def rows(tenant, columns="*"):
    return stored(
        tenant.server,
        f"SELECT {columns} FROM llm_usage WHERE {of_tenant(tenant)}"
        " ORDER BY timestamp, agent_id, run_id, model",
    )


def test_a_usage_is_kept_field_by_field(tenant):
    sent = usage(
        agent_version="1.2β",
        model="vendor/ü \U0001f600'; --",
        input_tokens=9223372036854775807,
        output_tokens=2,
        cache_read_tokens=3.0,
        cache_write_tokens=0,
        calls=-9223372036854775808,
        workflow_run_id="w",
    )
    answer = tenant.client.post(LLM, sent)
    assert answer.body == (
        f'{{"status":"accepted","run_id":"{RUN}","model":"{sent["model"]}",'
        f'"replaced":false}}'.encode()
    )
    (row,) = rows(tenant)
    assert {name: row[name] for name in sent if name not in ("agent_name", "timestamp")} == {
        name: value for name, value in sent.items() if name not in ("agent_name", "timestamp")
    }
    assert row["timestamp"] == T0


def test_what_is_left_out_is_zero(tenant):
    post(tenant, usage())
    (row,) = rows(tenant)
    assert {row[name] for name in TOKENS} == {0}
    assert (row["agent_version"], row["workflow_run_id"]) == ("", None)


def test_a_report_that_replaced_another_says_so(tenant):
    """Two calls of one model in one run at one time: the tokens of the first are lost."""
    for sent, replaced in (
        (usage(input_tokens=5), False),
        (usage(input_tokens=5), False),  # a retry
        (usage(input_tokens=6), True),
        (usage(input_tokens=6), False),
        (usage(input_tokens=6, agent_version="2", workflow_run_id="w"), True),
        (usage(input_tokens=6, agent_version="2", workflow_run_id=""), True),
        (usage(input_tokens=6, timestamp="2025-01-02T03:04:06Z"), False),
    ):
        assert post(tenant, sent)["replaced"] is replaced


def test_another_agent_run_model_or_timestamp_adds(tenant):
    other = {
        "agent_name": "other",
        "run_id": str(uuid.uuid4()),
        "model": "M",
        "timestamp": "2025-01-02T03:04:05.000001Z",
    }
    post(tenant, usage())
    for n, (name, value) in enumerate(other.items(), 2):
        post(tenant, usage(**{name: value}))
        assert len(rows(tenant)) == n
    for spelling in ("2025-01-02T04:04:05+01:00", "2025-01-02 03:04:05"):
        post(tenant, usage(timestamp=spelling, run_id=RUN.upper()))
    assert len(rows(tenant)) == 5
