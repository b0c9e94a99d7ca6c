"""LiteLLM: token usage of every call, as usage of the current run.

    litellm.callbacks = [UsageLogger(agent)]

LiteLLM runs callbacks on threads of its own, which know no current run: the handler remembers the
run in which the call was made, else it uses the agent's only open run. It also passes arguments by
name, so the names below are LiteLLM's.
"""

from __future__ import annotations

import logging
from typing import Any, Dict, Optional

from litellm.integrations.custom_logger import CustomLogger

from ..agent import Agent
from ..run import Run
from ..usage import usage_of

log = logging.getLogger("muster")
RUNS_MAX = 10000  # of calls that never ended


class UsageLogger(CustomLogger):
    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.agent = agent
        self._runs: Dict[str, Run] = {}  # by the id of a call under way

    def log_pre_api_call(self, model: str, messages: Any, kwargs: Dict[str, Any]) -> None:
        run = self.agent.current()
        if run is not None and len(self._runs) < RUNS_MAX:
            self._runs[str(kwargs.get("litellm_call_id"))] = run

    def _run_of(self, kwargs: Dict[str, Any]) -> Optional[Run]:
        return self._runs.pop(str(kwargs.get("litellm_call_id")), None) or self.agent.current()

    def log_success_event(
        self, kwargs: Dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        run = self._run_of(kwargs)
        if run is None:
            log.debug("muster: a LiteLLM call outside of a run is not counted")
            return
        run.llm(str(kwargs.get("model") or "unknown"), usage_of(response_obj))

    def log_failure_event(
        self, kwargs: Dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        run = self._run_of(kwargs)
        if run is not None:
            error = kwargs.get("exception")
            run.step(f"LLM call failed: {error}", category="llm", level="error", source="")

    async def async_log_success_event(
        self, kwargs: Dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self.log_success_event(kwargs, response_obj, start_time, end_time)

    async def async_log_failure_event(
        self, kwargs: Dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self.log_failure_event(kwargs, response_obj, start_time, end_time)
