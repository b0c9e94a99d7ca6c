"""LangChain: token usage, tools and errors of a chain, as parts of a run.

chain.invoke(question, config={"callbacks": [RunCallbacks(run)]})
"""

from __future__ import annotations

from typing import Any, Dict

from langchain_core.callbacks import BaseCallbackHandler

from ..run import Run
from ..usage import field, model_of, usage_of


class RunCallbacks(BaseCallbackHandler):
    """A chain's end is not the run's: the run closes where it was opened."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def on_llm_end(self, response: Any, **_: Any) -> None:
        counted = False
        for generations in response.generations:
            for generation in generations:
                message = field(generation, "message")
                usage = usage_of(message)
                if usage is not None:
                    self.run.llm(self._model(message, response), usage)
                    counted = True
        whole = (response.llm_output or {}).get("token_usage")
        if whole and not counted:  # models that report for all messages at once
            self.run.llm(self._model(None, response), whole)

    @staticmethod
    def _model(message: Any, response: Any) -> str:
        about: Dict[str, Any] = field(message, "response_metadata") or {}
        whole: Dict[str, Any] = response.llm_output or {}
        found = about.get("model_name") or model_of(about) or whole.get("model_name")
        return str(found or "unknown")

    def on_tool_start(self, serialized: Any, input_str: str, **_: Any) -> None:
        name = (serialized or {}).get("name", "tool")
        self.run.step(f"{name}: {input_str}", category="tool", source="")

    def on_tool_error(self, error: BaseException, **_: Any) -> None:
        self.run.step(f"Tool failed: {error!r}", category="tool", level="error", source="")

    def on_llm_error(self, error: BaseException, **_: Any) -> None:
        self.run.step(f"LLM call failed: {error!r}", category="llm", level="error", source="")
