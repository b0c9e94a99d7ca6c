"""What spans of models cost: each token once, at its own price, whichever way it was reported."""

import json
import uuid
from fractions import Fraction

import pytest
from otlp import Json, span
from usage_reference import decimal

pytestmark = pytest.mark.administered

LLM = "/api/v1/telemetry/llm"
SERVICE = {"service.name": "researcher"}
COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
WHOLE = [(1200, cached) for cached in (0, 200, 400, 600, 700, 1000, 1200)]


def new_trace():
    return uuid.uuid4().hex


def send(tenant, *spans):
    body = Json.spans(list(spans), SERVICE)
    answer = tenant.client.post("/v1/traces", body, headers={"Content-Type": Json.media})
    assert answer.status == 200 and Json.partial(answer) is None, answer.body


def call(trace, number, counts, model="gpt-5", parent=None, **more):
    names = ("input_tokens", "output_tokens", "cache_read.input_tokens", "cache_creation.input_tokens")
    told = {f"gen_ai.usage.{name}": n for name, n in zip(names, counts) if n is not None}
    return span(trace, number, parent, attributes={
        "gen_ai.operation.name": "chat", "gen_ai.request.model": model, **told}, **more)  # fmt: skip


def groups(tenant, by="model", **query):
    words = "&".join(f"{name}={value}" for name, value in query.items())
    answer = tenant.client.get(tenant.path(f"llm/usage?time_range=all&group_by={by}&{words}"))
    assert answer.status == 200, answer.body
    return answer.json()


def tokens(group):
    return tuple(group[name] for name in COUNTS)


def usd(millionths):
    return decimal(Fraction(str(millionths)) / 10**6)


@pytest.fixture
def shop(own_server):
    tenant = own_server.add_tenant()
    yield tenant
    tenant.client.close()


def test_cached_input_is_paid_once_and_at_its_own_price(shop):
    total = Fraction(0)
    for entered, cached in WHOLE:  # gpt-5: 1.25 and 0.125, whose flag says that input includes cached
        trace = new_trace()
        send(shop, call(trace, 1, (entered, 0, cached)))
        paid = Fraction(entered - cached) * Fraction("1.25") + Fraction(cached) * Fraction("0.125")
        total += paid
        told = groups(shop, run_id=uuid.UUID(trace))["groups"][0]
        assert tokens(told) == (entered - cached, 0, cached, 0)
        assert told["cost"] == decimal(paid / 10**6), cached
    for by in ("model", "agent", "day", "run", "version"):  # of sums, and of reports
        assert groups(shop, by)["total"]["cost"] == decimal(total / 10**6), by
    runs = shop.client.get(shop.path("dashboard/runs?include_cost=true")).json()["runs"]
    assert sum(Fraction(run["cost"]) for run in runs) == total / 10**6


@pytest.mark.parametrize("model, price", [("claude-sonnet-4-5", ("3", "0.3", "3.75")),
                                          ("gpt-4.1", ("2", "0.5", "2"))])  # fmt: skip
def test_a_price_costs_the_same_whichever_way_it_says_input_is_counted(shop, tmp_path, model, price):
    fresh, read, write = (Fraction(each) for each in price)
    send(shop, call(new_trace(), 1, (1000, 0, 300, 100), model))
    assert groups(shop)["total"]["cost"] == decimal((600 * fresh + 300 * read + 100 * write) / 10**6)
    base = {"input": price[0], "output": 0, "cache_read": price[1], "cache_write": price[2]}
    path = tmp_path / "prices.json"
    for includes in (True, False):
        path.write_text(json.dumps({"prices": [{"model": model, "input_includes_cache": includes, **base}]}))
        shop.server.cli("price", "import", str(path), "--format", "muster")
        assert groups(shop)["total"]["cost"] == decimal((600 * fresh + 300 * read + 100 * write) / 10**6)


def test_a_report_may_say_whether_its_input_includes_cached_tokens(shop):
    run, when = str(uuid.uuid4()), "2025-06-15T12:00:00Z"

    def cost(model, **fields):
        body = {"agent_name": "a", "run_id": run, "timestamp": when, "model": model,
                "input_tokens": 1000, "cache_read_tokens": 400, **fields}  # fmt: skip
        assert shop.client.post(LLM, body).status == 202
        told = groups(shop, run_id=run)["groups"]
        by_sums = {g["model"]: g["cost"] for g in groups(shop)["groups"]}
        (group,) = [g for g in told if g["model"] == model]
        assert by_sums[model] == group["cost"]
        return group["input_tokens"], group["cost"]

    apart, within = usd(1000 * 1.25 + 400 * 0.125), usd(600 * 1.25 + 400 * 0.125)
    assert cost("gpt-5") == (1000, within)  # as the price says
    assert cost("gpt-5", input_includes_cache=False) == (1000, apart)
    assert cost("gpt-5", input_includes_cache=True) == (600, within)
    assert cost("gpt-5", input_includes_cache=None) == (1000, within)
    apart, within = usd(1000 * 3 + 400 * 0.3), usd(600 * 3 + 400 * 0.3)
    assert cost("claude-sonnet-4-5") == (1000, apart)
    assert cost("claude-sonnet-4-5", input_includes_cache=True) == (600, within)
    assert cost("claude-sonnet-4-5", input_includes_cache=False) == (1000, apart)


NAMES = [
    ("gen_ai.usage.input_tokens", "gen_ai.usage.cache_read.input_tokens",
     "gen_ai.usage.cache_write.input_tokens"),
    ("gen_ai.usage.input_tokens", "ai.usage.cachedInputTokens", None),
    ("gen_ai.usage.input_tokens", "ai.usage.inputTokenDetails.cacheReadTokens",
     "ai.usage.inputTokenDetails.cacheWriteTokens"),
]  # fmt: skip


@pytest.mark.parametrize("names", NAMES)
def test_cached_tokens_are_known_by_the_names_that_are_in_use(shop, names):
    counts = {name: n for name, n in zip(names, (1000, 300, 100)) if name}
    send(shop, span(new_trace(), 1, attributes={"gen_ai.request.model": "claude-sonnet-4-5", **counts}))
    written = 100 if names[2] else 0
    assert tokens(groups(shop)["groups"][0]) == (700 - written, 0, 300, written)


def test_claude_code_counts_cached_input_apart_and_its_models_have_prices(shop):
    trace = new_trace()
    send(shop, span(trace, 1, attributes={
        "gen_ai.request.model": "claude-opus-4-8[1m]",
        "input_tokens": 5000, "output_tokens": "100", "cache_read_tokens": 3000,
        "cache_creation_tokens": 2000}))  # fmt: skip
    told = groups(shop)["groups"][0]
    assert (told["model"], *tokens(told)) == ("claude-opus-4-8[1m]", 5000, 100, 3000, 2000)
    assert told["cost"] == usd(5000 * 5 + 100 * 25 + 3000 * 0.5 + 2000 * 6.25)
    for name in ("claude-opus-4-5-20251101", "anthropic/claude-opus-4-6[1m]", "claude-opus-4-7",
                 "claude-sonnet-4-6-20260201[1m]"):  # fmt: skip
        assert shop.client.get(shop.path(f"prices?model={name.replace('[', '%5B').replace(']', '%5D')}")
                               ).json()["prices"], name  # fmt: skip


@pytest.mark.parametrize("told", [
    {"input_tokens": 7, "output_tokens": 3},  # of no model: names that anything may use
    {"gen_ai.request.model": "gpt-5", "ai.usage.inputTokens": 900, "ai.usage.cachedInputTokens": 800},
])  # fmt: skip
def test_a_span_that_repeats_the_sum_of_others_in_these_names_is_no_call(shop, told):
    send(shop, span(new_trace(), 1, attributes=told))
    assert groups(shop)["groups"] == []


def apart(tenant, *requests):
    for spans in requests:
        send(tenant, *spans)


@pytest.mark.parametrize("order", [
    lambda outer, between, inner: [[inner, between, outer]],
    lambda outer, between, inner: [[outer], [between], [inner]],
    lambda outer, between, inner: [[inner], [between], [outer]],
    lambda outer, between, inner: [[inner], [inner], [outer, inner], [outer]],
    lambda outer, between, inner: [[outer, between], [outer], [inner, outer]],
], ids=["together", "outer-first", "inner-first", "inner-again", "outer-again"])  # fmt: skip
def test_two_layers_that_trace_one_call_count_it_once(shop, order):
    """Anthropic's SDK, which traces itself, below an instrumentation."""
    trace = new_trace()
    counts = (1200, 50, 1000)
    send(shop, span(trace, 1))
    outer = call(trace, 2, counts, parent=1, end=3)
    inner = call(trace, 4, counts, parent=2)
    apart(shop, *order(outer, span(trace, 3, parent=2), inner))
    (told,) = groups(shop)["groups"]
    assert (*tokens(told), told["calls"]) == (200, 50, 1000, 0, 1)
    other = new_trace()  # the same ids in another trace are another call
    send(shop, span(other, 1), call(other, 4, counts, parent=2))
    assert groups(shop)["total"]["calls"] == 2


def test_a_call_below_others_is_found_through_what_lies_between_in_a_request(shop):
    trace = new_trace()
    send(shop, span(trace, 1), call(trace, 2, (10, 1), parent=1), span(trace, 3, parent=2),
         span(trace, 4, parent=3), call(trace, 5, (10, 1), parent=4), call(trace, 6, (7, 1), parent=4),
         call(trace, 8, (5, 1), parent=9), span(trace, 9, parent=8))  # fmt: skip
    assert groups(shop)["total"]["calls"] == 3  # of 8, which is below itself, no other
    send(shop, call(new_trace(), 1, (7, 1)))  # a root
    assert groups(shop)["total"]["calls"] == 4


def of_kind(trace, number, parent=None, operation=None, kind=None, model=None, entered=None):
    told = {"gen_ai.operation.name": operation, "openinference.span.kind": kind,
            "gen_ai.request.model": model, "gen_ai.usage.input_tokens": entered}  # fmt: skip
    return span(trace, number, parent, attributes={k: v for k, v in told.items() if v is not None})


OTHERS = [{"operation": "execute_tool"}, {"operation": "invoke_agent"}, {"operation": "invoke_workflow"},
          {"kind": "CHAIN"}, {"kind": "TOOL"}, {"kind": "AGENT"}, {"kind": "RETRIEVER"}]  # fmt: skip


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: "-".join(other.values()))
def test_what_an_agent_a_chain_or_a_tool_calls_is_a_call_of_its_own(shop, other):
    trace = new_trace()
    send(shop, span(trace, 1), call(trace, 2, (100, 10), parent=1), of_kind(trace, 3, 2, **other),
         span(trace, 4, parent=3), call(trace, 5, (40, 4), parent=4))  # fmt: skip
    told = groups(shop)["total"]
    assert (told["calls"], *tokens(told)) == (2, 140, 14, 0, 0)


@pytest.mark.parametrize("each", [False, True], ids=["together", "apart"])
@pytest.mark.parametrize("inner", [
    {"operation": "embeddings"}, {"kind": "EMBEDDING"}, {"kind": "RERANKER"},
    {"operation": "rerank", "kind": "RERANKER"},
], ids=lambda inner: "-".join(inner.values()))  # fmt: skip
@pytest.mark.parametrize("upside_down", [False, True])
def test_calls_of_two_kinds_one_below_the_other_are_two(shop, inner, each, upside_down):
    trace = new_trace()
    small = dict(inner, model="text-embedding-3-small", entered=8)
    chat = {"operation": "chat", "model": "gpt-5", "entered": 1000}
    first, second = (small, chat) if upside_down else (chat, small)
    spans = [of_kind(trace, 2, 1, **first), of_kind(trace, 3, 2, **second)]
    apart(shop, *([[one] for one in spans] if each else [spans]))
    told = {group["model"]: group["input_tokens"] for group in groups(shop)["groups"]}
    assert told == {"gpt-5": 1000, "text-embedding-3-small": 8}


@pytest.mark.parametrize("each", [False, True], ids=["together", "apart"])
@pytest.mark.parametrize("outer, inner", [
    ({}, {}),  # the AI SDK: ai.generateText, and ai.generateText.doGenerate below it
    ({}, {"operation": "chat"}),
    ({"kind": "LLM"}, {"operation": "chat"}),  # Anthropic's SDK below OpenInference
    ({"operation": "text_completion"}, {"operation": "chat"}),
    ({"operation": "embeddings"}, {"kind": "EMBEDDING"}),
    ({"kind": "RERANKER"}, {"operation": "rerank"}),
])  # fmt: skip
def test_layers_that_name_one_kind_in_other_words_count_once(shop, outer, inner, each):
    trace = new_trace()
    told = {"model": "gpt-5", "entered": 1000}
    spans = [of_kind(trace, 2, 1, **outer, **told), of_kind(trace, 3, 2, **inner, **told)]
    apart(shop, *([[one] for one in spans] if each else [spans]))
    assert groups(shop)["total"]["calls"] == 1


def test_calls_that_are_each_others_parent_do_not_vanish(shop):
    trace = new_trace()
    send(shop, call(trace, 2, (7, 1), parent=3), call(trace, 3, (7, 1), parent=4), call(trace, 4, (7, 1), parent=2))
    assert groups(shop)["total"]["calls"] == 1
