"""The bridges to other libraries; those that need a library run in `make sdk-test`."""

import logging

import pytest
from muster.integrations.log import RunHandler


def test_log_records_become_steps_of_the_current_run(workspace, make_agent):
    agent = make_agent(workspace.settings)
    logger, handler = logging.getLogger("agent.mail"), RunHandler()
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    try:
        logger.warning("outside of a run")
        with agent.run() as run:
            logger.info("read %d mails", 3)
            logger.debug("too detailed")
            logger.error("one was broken")
    finally:
        logger.removeHandler(handler)
    assert agent.flush(120)
    steps = workspace.events(run.id)[1:-1]
    assert [(step["message"], step["level"]) for step in steps] == [
        ("read 3 mails", "info"),
        ("one was broken", "error"),
    ]
    assert steps[0]["category"] == "agent.mail"
    assert steps[0]["source"].startswith("test_integrations.py:")


def test_the_librarys_own_log_does_not_feed_itself(scripted, make_agent):
    agent = make_agent(scripted.settings)
    handler = RunHandler()
    logging.getLogger().addHandler(handler)
    try:
        with agent.run():
            logging.getLogger("muster").error("about itself")
    finally:
        logging.getLogger().removeHandler(handler)
    assert agent.flush(120) and agent.stats["sent"] == 2


def test_openai_responses_are_counted(workspace, make_agent):
    types = pytest.importorskip("openai.types")
    from openai.types.chat import ChatCompletion
    from openai.types.responses import ResponseUsage

    chat = ChatCompletion.model_validate({
        "id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107,
                  "prompt_tokens_details": {"cached_tokens": 64}},
    })  # fmt: skip
    usage = ResponseUsage.model_validate({
        "input_tokens": 50, "output_tokens": 5, "total_tokens": 55,
        "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    })  # fmt: skip
    agent = make_agent(workspace.settings)
    with agent.run() as run:
        run.llm(chat)
        run.llm("o-new", usage)
    assert types and agent.flush(20)
    found = workspace.usage()
    assert (found["gpt-4o"]["input_tokens"], found["gpt-4o"]["cache_read_tokens"]) == (36, 64)
    assert (found["o-new"]["input_tokens"], found["o-new"]["cache_read_tokens"]) == (30, 20)


def test_anthropic_responses_are_counted(workspace, make_agent):
    types = pytest.importorskip("anthropic.types")
    message = types.Message.model_validate({
        "id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 70,
                  "cache_creation_input_tokens": 30},
    })  # fmt: skip
    agent = make_agent(workspace.settings)
    with agent.run() as run:
        run.llm(message)
    assert agent.flush(120)
    found = workspace.usage()["claude-x"]
    assert (found["input_tokens"], found["output_tokens"]) == (10, 5)
    assert (found["cache_read_tokens"], found["cache_write_tokens"]) == (70, 30)


def test_litellm_calls_are_counted_and_failures_are_steps(workspace, make_agent, monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no request to another host
    litellm = pytest.importorskip("litellm")
    from muster.integrations.litellm import UsageLogger

    agent = make_agent(workspace.settings)
    litellm.callbacks = [UsageLogger(agent)]
    question = [{"role": "user", "content": "hello"}]
    with agent.run() as run:
        litellm.completion("gpt-4o", question, mock_response="good morning")
        with pytest.raises(litellm.RateLimitError):
            litellm.completion("gpt-4o", question, mock_response="litellm.RateLimitError")
        wait_for_callbacks(run)
    litellm.callbacks = []
    assert agent.flush(120)
    found = workspace.usage()["gpt-4o"]
    assert found["calls"] == 1 and found["input_tokens"] > 0 and found["output_tokens"] > 0
    assert "LLM call failed" in [e for e in workspace.events(run.id) if e["category"]][0]["message"]


def wait_for_callbacks(run):
    """LiteLLM calls back on threads of its own."""
    import time

    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (not run._usage or run._seq < 2):
        time.sleep(0.05)


def test_langchain_calls_and_tools_are_counted(workspace, make_agent):
    pytest.importorskip("langchain_core")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from muster.integrations.langchain import RunCallbacks

    answer = AIMessage(
        "hi",
        usage_metadata={
            "input_tokens": 110, "output_tokens": 5, "total_tokens": 115,
            "input_token_details": {"cache_read": 70, "cache_creation": 30},
        },
        response_metadata={"model_name": "chain-model"},
    )  # fmt: skip

    @tool
    def look_up(word: str) -> str:
        """Looks up a word."""
        return word.upper()

    agent = make_agent(workspace.settings)
    with agent.run() as run:
        callbacks = {"callbacks": [RunCallbacks(run)]}
        GenericFakeChatModel(messages=iter([answer])).invoke("hello", config=callbacks)
        look_up.invoke("w", config=callbacks)
    assert agent.flush(120)
    found = workspace.usage()["chain-model"]
    assert (found["input_tokens"], found["output_tokens"]) == (10, 5)
    assert (found["cache_read_tokens"], found["cache_write_tokens"]) == (70, 30)
    assert any("look_up" in event["message"] for event in workspace.events(run.id))


def test_langchain_usage_of_a_whole_result_is_counted_once(workspace, make_agent):
    pytest.importorskip("langchain_core")
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from muster.integrations.langchain import RunCallbacks

    class Older(BaseChatModel):
        @property
        def _llm_type(self):
            return "older"

        def _generate(self, messages, stop=None, run_manager=None, **_):
            usage = {"prompt_tokens": 10, "completion_tokens": 5}
            answers = [ChatGeneration(message=AIMessage("a")), ChatGeneration(message=AIMessage("b"))]
            about = {"token_usage": usage, "model_name": "older"}
            return ChatResult(generations=answers, llm_output=about)

    agent = make_agent(workspace.settings)
    with agent.run() as run:
        Older().invoke("hello", config={"callbacks": [RunCallbacks(run)]})
    assert agent.flush(120)
    found = workspace.usage()["older"]
    assert (found["input_tokens"], found["output_tokens"], found["calls"]) == (10, 5, 1)
