"""One run of an agent: what it did, how far it is, what it achieved and what it cost."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import sys
import time
import traceback
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Type, TypeVar,
    Union,
)  # fmt: skip

from . import values
from .serial import Serial
from .usage import Tokens, model_of, tokens_of, usage_of

if TYPE_CHECKING:
    from .agent import Agent

PROGRESS_EVERY_S = 1.0
USAGE_WINDOW_S = 3600.0  # after this, usage counts at a new time: prices may change in a long run
HERE = str(Path(__file__).parent)

Method = TypeVar("Method", bound=Callable[..., None])
_current: contextvars.ContextVar[Optional[Run]] = contextvars.ContextVar("muster_run", default=None)


def current_run() -> Optional[Run]:
    """The run of the `with` block (or task) that this code is in."""
    return _current.get()


@contextlib.contextmanager
def working_in(run: Run) -> Iterator[None]:
    """Makes `run` the current one."""
    before = _current.set(run)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # left in another context than it was entered in
            _current.reset(before)


def guarded(method: Method) -> Method:
    """Whatever goes wrong in a report is told, and never raised into the agent."""

    @functools.wraps(method)
    def safe(self: Run, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self.agent._mistake(f"run.{method.__name__}()", error)

    return safe  # type: ignore[return-value]


@dataclass
class UsageWindow:
    """Totals of one model; each report replaces the one before, because its time stays."""

    timestamp: str
    began: float
    tokens: Tokens = field(default_factory=Tokens)


class Run:
    """Made by `agent.run()`. Use it as a context manager: it opens with `started` and closes with
    `completed`, or with `failed` when an exception leaves the block, which is raised again.

    Thread-safe, and a signal handler may use it. None of its methods raises, whatever it is given
    and whatever the service says, and none waits for the service.
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
        self.id = str(uuid.uuid4())
        self.workflow_run_id = workflow_run_id
        self._began, self._clock_at_start = time.monotonic(), time.time()
        self._seq = 0
        self._closed = False
        self._progress_at = float("-inf")
        self._kpis: Dict[str, Any] = {}
        self._usage: Dict[str, UsageWindow] = {}
        self._pid = os.getpid()
        self._serial = Serial()
        self._tokens: List[contextvars.Token[Optional[Run]]] = []
        if run_id is not None:
            self._take_id(run_id)
        self._event("started", message=message, metadata=values.metadata(metadata))

    @guarded
    def _take_id(self, run_id: Any) -> None:
        self.id = str(uuid.UUID(str(run_id)))  # 32 hex digits, such as a trace id, do as well

    def _now(self) -> str:
        """The time of a report: one that is older than the last would be ignored, so the clock
        may be set back during a run, and time goes on."""
        passed = time.monotonic() - self._began
        return values.stamp(max(time.time(), self._clock_at_start + passed))

    # ---- what it does -------------------------------------------------------------------------

    @guarded
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
            output=values.record(output),
            source=values.name(calling_line() if source is None else source),
        )

    @guarded
    def progress(self, done: float, total: Optional[float] = None, message: str = "") -> None:
        """How far the run is; at most one report per second, and always the last one."""
        figures = values.measurements({"done": done, "total": total})
        if "done" not in figures:
            raise ValueError(f"done: expected a number, got {values.name(done)}")
        finished = len(figures) == 2 and figures["done"] >= figures["total"]
        now = time.monotonic()
        if not finished and now - self._progress_at < PROGRESS_EVERY_S:
            return
        self._progress_at = now
        said = message or " of ".join(f"{figure:g}" for figure in figures.values())
        self.step(said, category="progress", metrics=figures, source="")

    # ---- what it achieved and cost ------------------------------------------------------------

    @guarded
    def kpi(self, key: str, value: Union[float, str], *, add: bool = False) -> None:
        """Sets a business figure of this run, or adds to what it was."""
        named = values.name(key)
        sent: Any = values.text(value) if isinstance(value, str) else values.number(value)
        if sent is None:
            raise ValueError(f"{named}: expected a number or a text, got {values.name(value)}")
        self._serial.do(lambda: self._set_kpi(named, sent, add))

    def _set_kpi(self, key: str, sent: Any, add: bool) -> None:
        before = self._kpis.get(key, 0)
        if add and not isinstance(sent, str) and not isinstance(before, str):
            sent = values.number(before + sent)
        if sent is not None:
            self._kpis[key] = sent
            self._business(metrics={key: sent})

    @guarded
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
        several = [values.name(each) for each in values.items(by, values.DEPTH_MAX)]
        row["by"] = values.name(by) if isinstance(by, str) else several
        if slices is not None:
            row["slices"] = values.measurements(slices, values.SLICES_MAX)
        row["points"] = [values.record(point) for point in values.items(points, values.SLICES_MAX)]
        self._business(breakdowns=[row])

    @guarded
    def llm(self, model: Any, usage: Any = None, *, calls: int = 1, **counts: int) -> None:
        """Counts the tokens of a call: `run.llm(response)`, `run.llm(model, response.usage)`, or
        `run.llm(model, input_tokens=…, output_tokens=…)` with the four counts by name, where input
        tokens are those that were not cached."""
        if not isinstance(model, str):
            usage = usage_of(model) if usage is None else usage
            model = model_of(model) or "unknown"
        tokens = tokens_of({**counts} if usage is None else usage, calls)
        named = values.name(model)
        self._serial.do(lambda: self._count_tokens(named, tokens))

    def _count_tokens(self, model: str, tokens: Tokens) -> None:
        window = self._window(model)
        window.tokens.add(tokens)
        totals = {**window.tokens.counts(), "input_includes_cache": False}
        self._report("llm", {"model": model, "timestamp": window.timestamp, **totals})

    def _window(self, model: str) -> UsageWindow:
        if self._pid != os.getpid():  # a forked child counts for itself
            self._pid, self._usage = os.getpid(), {}
        window = self._usage.get(model)
        if window is None or time.monotonic() - window.began >= USAGE_WINDOW_S:
            window = self._usage[model] = UsageWindow(self._now(), time.monotonic())
        return window

    # ---- how it ends --------------------------------------------------------------------------

    @guarded
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
            records_processed=values.integer(records_processed),
            output=values.record(output),
            metadata=values.metadata(metadata),
        )

    @guarded
    def fail(self, error: Union[BaseException, str], message: str = "") -> None:
        """Closes the run as failed. An exception adds its type, its trace-back and its place."""
        more = what_of(error) if isinstance(error, BaseException) else {"error_type": "Error"}
        said = values.text(error)
        self._close("failed", message=message, level="error", error_message=said, **more)

    def __enter__(self) -> Run:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        with contextlib.suppress(ValueError, IndexError):  # left in another context, or twice
            _current.reset(self._tokens.pop())
        stopped = isinstance(error, GeneratorExit)  # its caller has seen enough
        if error is None or stopped or (isinstance(error, SystemExit) and not error.code):
            self.complete()
        else:
            self.fail(error)

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(self, *left: Any) -> None:
        self.__exit__(*left)

    # ---- how it is sent -----------------------------------------------------------------------

    def _close(self, event: str, **fields: Any) -> None:
        took = int((time.monotonic() - self._began) * 1000)

        def once() -> None:
            if not self._closed:
                self._closed = True
                self.agent._forget(self)
                self._event(event, duration_ms=took, **fields)

        self._serial.do(once)

    def _event(self, event: str, message: str = "", **fields: Any) -> None:
        body = {
            "event_id": str(uuid.uuid4()),
            **self._identity(),
            "event": event,
            "timestamp": self._now(),
            "seq": 0,
            "message": values.text(message),
            **{key: value for key, value in fields.items() if value not in (None, "", {}, [])},
        }
        self._serial.do(lambda: self._number(body))

    def _number(self, body: Dict[str, Any]) -> None:
        body["seq"] = self._seq
        self._seq += 1
        self.agent._emit_event(body)

    def _business(self, **content: Any) -> None:
        body = {"timestamp": self._now(), "metrics": {}, "breakdowns": [], **content}
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
        self._serial = Serial()  # it may have been busy in a thread that is not here


def what_of(error: BaseException) -> Dict[str, Any]:
    """The type, the trace-back and the place of an exception."""
    found: Dict[str, Any] = {"error_type": values.name(type_name(error))}
    try:
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        found["output"] = {"traceback": values.end_of(trace)}
        found["source"] = values.end_of(place, values.NAME_MAX)
    except Exception:  # an exception of the agent's own that cannot be shown
        pass
    return found


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
