"""The agent: registers, opens runs, pulls what it must use, and owns the background sender."""

from __future__ import annotations

import atexit
import functools
import inspect
import logging
import os
import socket
import time
import weakref
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Set, TypeVar, Union

from . import values
from .declare import KPI, Declared, Field, Param, as_json
from .delivery import LINE_MAX, encoded, fitted
from .errors import ApiError, Problem, Refused, Unavailable
from .keys import KeyRing
from .pulls import Pulls
from .run import Run, current_run
from .sender import Errand, Sender, event_lane, report_lane
from .spool import Spool
from .state import open_state
from .tasks import in_run, in_run_async
from .transport import Transport, checked

log = logging.getLogger("muster")

Function = TypeVar("Function", bound=Callable[..., Any])
KEY_EVERY_S = 10.0  # between looks at whether the key must be rotated
_RAISE: Any = object()
never = float("inf")
_agents: weakref.WeakSet[Agent] = weakref.WeakSet()


def seconds(name: str, value: Any) -> float:
    """A setting that is a number and not negative."""
    found = None if isinstance(value, str) else values.number(value)
    if found is None or found < 0:
        raise ValueError(f"{name}: expected a number, 0 or more, got {value!r}")
    return found


def checked_token(token: str) -> str:
    """A key as it can stand in a header. An error must not show it."""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError("token: expected a key, got a text with characters that no key has")
    return token


class Agent:
    """One agent in this process.

    `url`, `token` and `tenant` (the workspace's slug) come from the arguments or from MUSTER_URL,
    MUSTER_TOKEN and MUSTER_TENANT. With MUSTER_DISABLED=1 nothing is sent and nothing is kept.

    Registration, reports and heartbeats happen in the background: none of them blocks, and none
    raises when the service is away. `on_error` is called with a `Problem` for what was lost or
    declined; everything is logged to the logger `muster` as well.
    """

    def __init__(
        self,
        name: str,
        *,
        url: Optional[str] = None,
        token: Optional[str] = None,
        tenant: Optional[str] = None,
        version: str = "",
        description: str = "",
        kpis: Iterable[Declared] = (),
        interval: Optional[int] = None,
        inputs: Iterable[Declared] = (),
        outputs: Iterable[Declared] = (),
        config: Iterable[Declared] = (),
        config_version: int = 1,
        telemetry_doc: str = "",
        heartbeat: Optional[float] = None,
        rotate_every: Optional[float] = None,
        on_error: Optional[Callable[[Problem], None]] = None,
        state_dir: Union[str, Path, None] = None,
        spool_max_bytes: int = 64 << 20,
        exit_timeout: float = 5.0,
        timeout: float = 10.0,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"name: expected the agent's name, got {name!r}")
        self.name, self.version = values.name(name), values.name(version)
        self.enabled = os.environ.get("MUSTER_DISABLED", "") in ("", "0")
        self.tenant = self._setting("tenant", tenant)
        self.on_error = on_error
        self.exit_timeout = seconds("exit_timeout", exit_timeout)
        self.invalid = self.rejected = 0
        self._mistakes: Set[str] = set()  # those that were logged
        url = self._setting("url", url) or "http://127.0.0.1"
        place = open_state(state_dir, url, self.tenant, name) if self.enabled else None
        self.state = place.folder if place and place.writable else None
        self.spool_max_bytes = int(seconds("spool_max_bytes", spool_max_bytes))
        self.keys = KeyRing(checked_token(self._setting("token", token)), place)
        self.transport = Transport(url, self.keys, seconds("timeout", timeout))
        self.registration: Dict[str, Any] = {
            "agent_name": self.name,
            "agent_version": self.version,
            "description": description,
            "telemetry_doc": telemetry_doc,
            "business_kpis": as_json("kpis", KPI, kpis),
            "interval_seconds": interval,
            "inputs": as_json("inputs", Field, inputs),
            "outputs": as_json("outputs", Field, outputs),
            "config_schema": {
                "version": config_version,
                "params": as_json("config", Param, config),
            },
        }
        self.heartbeat_every = None if heartbeat is None else seconds("heartbeat", heartbeat)
        self.rotate_every = never if rotate_every is None else seconds("rotate_every", rotate_every)
        self._rotate_at = time.monotonic() + self.rotate_every
        self._pulls = Pulls(self.transport, self.name, place)
        self._runs: weakref.WeakSet[Run] = weakref.WeakSet()
        self._sender = self._new_sender()
        if self.enabled:
            self._sender.wake()
        _agents.add(self)

    def _setting(self, name: str, given: Optional[str]) -> str:
        value = (given or os.environ.get(f"MUSTER_{name.upper()}", "")).strip()
        if not value and self.enabled:
            raise ValueError(
                f"{name} is missing: pass {name}= or set MUSTER_{name.upper()}"
                " (or MUSTER_DISABLED=1 to report nothing)"
            )
        return value

    def _new_sender(self) -> Sender:
        if self.enabled and self.state is None:
            log.warning("muster: no folder to write to: a crash loses reports (set state_dir=)")
        lanes = [event_lane(self._queue("events")), report_lane(self._queue("reports"))]
        sender = Sender(self.transport, lanes, self._tell)
        sender.errands.append(Errand(self._register_once, blocks_flush=True))
        if self.heartbeat_every is not None:
            sender.errands.append(Errand(self._beat))
        if self.keys.can_rotate:
            sender.errands.insert(0, Errand(self._tend_key))
        return sender

    def _queue(self, name: str) -> Spool:
        return Spool(self.state, name, self.spool_max_bytes)

    # ---- runs ---------------------------------------------------------------------------------

    def run(
        self,
        message: str = "",
        *,
        run_id: Optional[str] = None,
        workflow_run_id: Optional[str] = None,
        metadata: Optional[Mapping[str, Any]] = None,
    ) -> Run:
        """Opens a run: `with agent.run() as run:`."""
        run = Run(self, run_id, workflow_run_id, message, metadata)
        self._runs.add(run)
        return run

    def current(self) -> Optional[Run]:
        """The run this code is in; in a thread that no run was handed to, the only open one."""
        run = current_run()
        if run is not None and run.agent is self:
            return run
        open_runs = list(self._runs)
        return open_runs[0] if len(open_runs) == 1 else None

    def _forget(self, run: Run) -> None:
        self._runs.discard(run)

    def task(self, function: Optional[Function] = None, *, message: str = "") -> Any:
        """A decorator: each call of the function, plain, async or a generator, is a run."""

        def decorate(function: Function) -> Function:
            title = message or getattr(function, "__name__", "")
            if inspect.iscoroutinefunction(function):

                @functools.wraps(function)
                async def later(*args: Any, **kwargs: Any) -> Any:
                    with self.run(title):
                        return await function(*args, **kwargs)

                return later  # type: ignore[return-value]

            if inspect.isasyncgenfunction(function):
                return in_run_async(self, title, function)  # type: ignore[return-value]
            if inspect.isgeneratorfunction(function):
                return in_run(self, title, function)  # type: ignore[return-value]

            @functools.wraps(function)
            def now(*args: Any, **kwargs: Any) -> Any:
                with self.run(title):
                    return function(*args, **kwargs)

            return now  # type: ignore[return-value]

        return decorate if function is None else decorate(function)

    # ---- what it must use ---------------------------------------------------------------------

    def _pull(self, kind: str, default: Any, keep: bool = True) -> Any:
        try:
            if not self.enabled:
                raise Unavailable("MUSTER_DISABLED is set")
            return self._pulls.get(kind, keep)
        except Unavailable:
            if default is _RAISE:
                raise
            return default

    def model(self, default: Any = _RAISE) -> Optional[str]:
        """The LLM model to use; while the service is away, the last known one. `default` when no
        model is set or known; without it, None is returned or Unavailable raised. BudgetExceeded is
        raised while a hard budget stops the agent, also with a default."""
        answer = self._pull("model", default)
        model: Optional[str] = answer["model"] if isinstance(answer, dict) else answer
        return default if model is None and default is not _RAISE else model

    def policy(self, default: Any = _RAISE) -> Dict[str, Any]:
        """Which commands the agent may run: `mode`, `allow`, `deny`, `version`."""
        answer: Dict[str, Any] = self._pull("command-policy", default)
        return answer

    def document(self, default: Any = _RAISE) -> Optional[Dict[str, Any]]:
        """The document: `document`, `format`, `version`; `default`, or None, when the agent has
        none."""
        answer: Optional[Dict[str, Any]] = self._pull("document", default)
        return default if answer is None and default is not _RAISE else answer

    def config(self, default: Any = _RAISE, *, keep: bool = True) -> Dict[str, Any]:
        """The values of the declared parameters, secrets resolved; needs the agent's own key.
        `keep=False` leaves them out of the disk and always transfers them."""
        answer: Dict[str, Any] = self._pull("config", default, keep)
        return answer

    # ---- signs of life, and the key -----------------------------------------------------------

    def register(self) -> List[str]:
        """Registers now and waits for it; returns the service's warnings. Without this, the
        background sender registers."""
        body = encoded(values.plain(self.registration))
        answer = self.transport.call("POST", "/api/v1/agents/register", body).record()
        warnings = answer.get("warnings")
        if not isinstance(warnings, list):
            raise Unavailable("the answer to the registration is not the service's")
        for warning in warnings:
            log.warning("muster: registration of %s: %s", self.name, warning)
        return warnings

    def _register_once(self) -> None:
        try:
            self.register()
        except Refused:
            raise
        except ApiError as error:
            detail = f"the service refused the registration of {self.name}: {error}"
            self._tell(Problem("invalid", detail, [self.registration], 1))

    def heartbeat(self) -> None:
        """Says now that this process is alive. `heartbeat=60` does it in the background."""
        process = values.name(f"{self.name}@{socket.gethostname()}:{os.getpid()}")
        self.transport.call("POST", "/api/v1/heartbeat", None, {"client_id": process})

    def _beat(self) -> Optional[float]:
        self.heartbeat()
        return self.heartbeat_every

    def rotate_key(self) -> bool:
        """Replaces the key by a new one, which is on disk before it is used. False: another
        process that shares the state folder did it."""
        return self._rotate(only_unfinished=False)

    def _rotate(self, only_unfinished: bool) -> bool:
        def refresh(old: str) -> str:
            path = "/api/v1/agents/refresh-key"
            token = checked(self.transport.exchange("POST", path, old)).record().get("token")
            if not isinstance(token, str) or not token:
                raise Unavailable("the answer to the rotation has no key")
            return token

        rotated = self.keys.rotate(refresh, only_unfinished)
        self.transport.call("GET", "/api/v1/limits")  # a key that was used is not replaced
        return rotated

    def _tend_key(self) -> Optional[float]:
        due = time.monotonic() >= self._rotate_at
        if due or self.keys.unfinished:
            self._rotate(only_unfinished=not due)
            self._rotate_at = time.monotonic() + self.rotate_every
        return KEY_EVERY_S

    # ---- sending ------------------------------------------------------------------------------

    def _emit_event(self, body: Dict[str, Any]) -> None:
        lost = self._sender.counters()["dropped"] if body["event"] in ("completed", "failed") else 0
        if lost:
            body["metadata"] = {**body.get("metadata", {}), "muster.dropped": str(lost)}
        self._emit(0, fitted(body))

    def _emit_report(self, body: Dict[str, Any]) -> None:
        line = encoded(body)
        if len(line) > LINE_MAX:
            raise ValueError(f"a report of {len(line)} bytes; the limit is {LINE_MAX}")
        self._emit(1, line)

    def _emit(self, number: int, line: bytes) -> None:
        if not self.enabled:
            return
        lane = self._sender.lanes[number]
        waiting = lane.queue.append(line)
        if waiting in (1, lane.full) or lane.queue.lost != lane.lost_told:
            self._sender.wake()

    def _mistake(self, where: str, error: Exception) -> None:
        """What a method was given cannot be reported: the agent goes on, and its owner hears it."""
        what = f"{type(error).__name__}: {values.text(error, 200)}"
        kind = f"{where} {type(error).__name__}"
        first = kind not in self._mistakes
        self._mistakes.add(kind)
        self._tell(Problem("invalid", f"{where} could not report ({what})", [], 1), first)

    def _tell(self, problem: Problem, logged: bool = True) -> None:
        if problem.kind == "rejected":
            self.rejected += problem.count
        elif problem.kind == "invalid":
            self.invalid += problem.count
        if logged:
            log.error("muster: %s", problem.detail)
        if self.on_error is not None:
            try:
                self.on_error(problem)
            except Exception:
                log.exception("muster: on_error failed")

    @property
    def stats(self) -> Dict[str, int]:
        """Counters of this process: sent, waiting, retries, dropped, invalid, rejected."""
        more = {"invalid": self.invalid, "rejected": self.rejected}
        return {**self._sender.counters(), **more}

    def flush(self, timeout: float = 10.0) -> bool:
        """Sends what waits; whether everything was sent within `timeout` seconds."""
        return not self.enabled or self._sender.flush(timeout)

    def close(self, timeout: Optional[float] = None) -> bool:
        """Flushes and ends the background thread; what could not be sent stays in the spool. The
        end of the process does this by itself."""
        _agents.discard(self)
        limit = self.exit_timeout if timeout is None else timeout
        return not self.enabled or self._sender.close(limit)

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _after_fork(self) -> None:
        """In the child: queues of its own, no thread yet, and no lock that a thread held."""
        for lane in self._sender.lanes:
            lane.queue.abandon()
        self._sender = self._new_sender()
        self._sender.errands = [each for each in self._sender.errands if not each.blocks_flush]
        self.keys.after_fork()
        for run in list(self._runs):
            run._after_fork()


def _close_all() -> None:
    for agent in list(_agents):
        try:
            agent.close()
        except Exception:
            log.exception("muster: closing failed")


def _after_fork_in_child() -> None:
    for agent in list(_agents):
        agent._after_fork()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
