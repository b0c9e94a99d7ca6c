"""One run of an agent: what it did, how far it is, what it achieved and what it cost."""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
import traceback
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Type, Union

from . import values
from .usage import Tokens, model_of, tokens_of, usage_of

if TYPE_CHECKING:
    from .agent import Agent

PROGRESS_EVERY_S = 1.0
USAGE_WINDOW_S = 3600.0  # after this, usage counts at a new time: prices may change in a long run
HERE = str(Path(__file__).parent)

_current: contextvars.ContextVar[Optional[Run]] = contextvars.ContextVar("muster_run", default=None)


def current_run() -> Optional[Run]:
    """The run of the `with` block (or task) that this code is in."""
    return _current.get()


@dataclass
class UsageWindow:
    """Totals of one model; each report replaces the one before, because its time stays."""

    timestamp: str
    began: float
    tokens: Tokens = field(default_factory=Tokens)


class Run:
    """Made by `agent.run()`. Use it as a context manager: it opens with `started` and closes with
    `completed`, or with `failed` when an exception leaves the block, which is raised again.

    Thread-safe. None of its methods raises because of the service.
    """

    def __init__(
        self,
        agent: Agent,
        run_id: Optional[str] = None,
        workflow_run_id: Optional[str] = None,
        message: str = "",
        metadata: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self.agent = agent
        self.id = str(uuid.UUID(str(run_id))) if run_id else str(uuid.uuid4())
        self.workflow_run_id = workflow_run_id
        self._began = time.monotonic()
        self._seq = 0
        self._closed = False
        self._progress_at = float("-inf")
        self._kpis: Dict[str, Any] = {}
        self._usage: Dict[str, UsageWindow] = {}
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._tokens: List[contextvars.Token[Optional[Run]]] = []
        self._event("started", message=message, metadata=values.metadata(metadata))

    # ---- what it does -------------------------------------------------------------------------

    def step(
        self,
        message: str,
        *,
        category: str = "",
        level: str = "info",
        metrics: Optional[Mapping[str, Any]] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        links: Iterable[str] = (),
        output: Optional[Mapping[str, Any]] = None,
        source: Optional[str] = None,
    ) -> None:
        """Something happened. `category` groups steps; `level` is debug, info, warning, error or
        success; `metrics` are numbers for charts."""
        self._event(
            "in_progress",
            message=message,
            category=values.name(category),
            level=values.text(level, values.LEVEL_MAX),
            metrics=values.measurements(metrics),
            metadata=values.metadata(metadata),
            links=values.links(links),
            output=None if output is None else values.plain(dict(output)),
            source=values.name(calling_line() if source is None else source),
        )

    def progress(self, done: float, total: Optional[float] = None, message: str = "") -> None:
        """How far the run is; at most one report per second, and always the last one."""
        finished = total is not None and done >= total
        now = time.monotonic()
        with self._lock:
            if not finished and now - self._progress_at < PROGRESS_EVERY_S:
                return
            self._progress_at = now
        said = message or (f"{done:g} of {total:g}" if total is not None else f"{done:g}")
        figures = {"done": done} if total is None else {"done": done, "total": total}
        self.step(said, category="progress", metrics=figures, source="")

    # ---- what it achieved and cost ------------------------------------------------------------

    def kpi(self, key: str, value: Union[float, str], *, add: bool = False) -> None:
        """Sets a business figure of this run, or adds to what it was."""
        key = values.name(key)
        sent: Any = values.text(value) if isinstance(value, str) else values.number(value)
        with self._lock:
            if add and sent is not None and not isinstance(sent, str):
                before = self._kpis.get(key, 0)
                sent += 0 if isinstance(before, str) else before
            if sent is None:
                return
            self._kpis[key] = sent
        self._business(metrics={key: sent})

    def breakdown(
        self,
        metric: str,
        by: Union[str, Iterable[str]],
        slices: Optional[Mapping[str, Any]] = None,
        points: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Splits a figure: `slices` by one dimension ({"DE": 3, "FR": 1}), or `points` by several
        ([{"country": "DE", "kind": "new", "value": 3}])."""
        row: Dict[str, Any] = {"metric": values.name(metric)}
        row["by"] = values.name(by) if isinstance(by, str) else [values.name(each) for each in by]
        if slices is not None:
            row["slices"] = {
                values.name(key): values.number(value) for key, value in values.first(slices, 1000)
            }
        row["points"] = [values.plain(dict(point)) for point in list(points)[:1000]]
        self._business(breakdowns=[row])

    def llm(self, model: Any, usage: Any = None, *, calls: int = 1, **counts: int) -> None:
        """Counts the tokens of a call: `run.llm(response)`, `run.llm(model, response.usage)`, or
        `run.llm(model, input_tokens=…, output_tokens=…)` with the four counts by name, where input
        tokens are those that were not cached."""
        if not isinstance(model, str):
            usage = usage_of(model) if usage is None else usage
            model = model_of(model) or "unknown"
        tokens = tokens_of({**counts} if usage is None else usage, calls)
        model = values.name(model)
        with self._lock:
            window = self._window(model)
            window.tokens.add(tokens)
            totals = window.tokens.counts()
        self._report("llm", {"model": model, "timestamp": window.timestamp, **totals})

    def _window(self, model: str) -> UsageWindow:
        if self._pid != os.getpid():  # a forked child counts for itself
            self._pid, self._usage = os.getpid(), {}
        window = self._usage.get(model)
        if window is None or time.monotonic() - window.began >= USAGE_WINDOW_S:
            window = self._usage[model] = UsageWindow(values.now(), time.monotonic())
        return window

    # ---- how it ends --------------------------------------------------------------------------

    def complete(
        self,
        message: str = "",
        *,
        records_processed: Optional[int] = None,
        output: Optional[Mapping[str, Any]] = None,
        metadata: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Closes the run as completed. The end of a `with` block does it, without figures."""
        self._close(
            "completed",
            message=message,
            level="success",
            records_processed=None if records_processed is None else int(records_processed),
            output=None if output is None else values.plain(dict(output)),
            metadata=values.metadata(metadata),
        )

    def fail(self, error: Union[BaseException, str], message: str = "") -> None:
        """Closes the run as failed. An exception adds its type, its trace-back and its place."""
        if isinstance(error, BaseException):
            trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
            self._close(
                "failed",
                message=message,
                level="error",
                error_type=values.name(type_name(error)),
                error_message=values.text(error),
                output={"traceback": trace[-values.TEXT_MAX :]},
                source=place[-values.NAME_MAX :],
            )
        else:
            self._close(
                "failed",
                message=message,
                level="error",
                error_type="Error",
                error_message=values.text(error),
            )

    def __enter__(self) -> Run:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            _current.reset(self._tokens.pop())
        except ValueError:  # left in another context than it was entered in
            pass
        if error is None or (isinstance(error, SystemExit) and not error.code):
            self.complete()
        else:
            self.fail(error)

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(self, *left: Any) -> None:
        self.__exit__(*left)

    # ---- how it is sent -----------------------------------------------------------------------

    def _close(self, event: str, **fields: Any) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.agent._forget(self)
        self._event(event, duration_ms=int((time.monotonic() - self._began) * 1000), **fields)

    def _event(self, event: str, message: str = "", **fields: Any) -> None:
        with self._lock:
            seq = self._seq
            self._seq += 1
        body = {
            "event_id": str(uuid.uuid4()),
            **self._identity(),
            "event": event,
            "timestamp": values.now(),
            "seq": seq,
            "message": values.text(message),
            **{key: value for key, value in fields.items() if value not in (None, "", {}, [])},
        }
        self.agent._emit_event(body)

    def _business(self, **content: Any) -> None:
        body = {"timestamp": values.now(), "metrics": {}, "breakdowns": [], **content}
        self._report("business", body)

    def _report(self, channel: str, content: Dict[str, Any]) -> None:
        self.agent._emit_report({"channel": channel, **self._identity(), **content})

    def _identity(self) -> Dict[str, Any]:
        identity = {
            "agent_name": self.agent.name,
            "agent_version": self.agent.version,
            "client_id": self.agent.tenant,
            "run_id": self.id,
        }
        if self.workflow_run_id is not None:
            identity["workflow_run_id"] = values.name(self.workflow_run_id)
        return identity

    def _after_fork(self) -> None:
        self._lock = threading.Lock()  # it may have been held by a thread that is not here


def type_name(error: BaseException) -> str:
    kind = type(error)
    plain = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if plain else f"{kind.__module__}.{kind.__qualname__}"


def calling_line() -> str:
    """file:line of the agent's own code that called into this library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
