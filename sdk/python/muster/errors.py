"""What the library raises, and what it tells the `on_error` callback."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List

SHOWN = 3  # rows of an error's detail that its text has


class MusterError(Exception):
    """The base of everything this library raises."""


class Unavailable(MusterError):
    """The service could not be reached, or asked to be left alone for `retry_after` seconds."""

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def sentence(detail: Any) -> str:
    """What is wrong and where, from the `detail` of an error: a text, or one row per value."""
    if not isinstance(detail, list):
        return str(detail)
    rows = [row for row in detail if isinstance(row, dict)]
    shown = [
        f"{_place(row)}: {row.get('msg')}, got {row.get('input')!r:.100}" for row in rows[:SHOWN]
    ]
    more = [f"and {len(rows) - SHOWN} more"] if len(rows) > SHOWN else []
    return "; ".join(shown + more)


def _place(row: Dict[str, Any]) -> str:
    return ".".join(str(part) for part in row.get("loc", [])[1:]) or "body"


class ApiError(MusterError):
    """The service answered, and retrying the same request would not help. `own`: the answer has
    the form of the service's; else something in between may have given it."""

    def __init__(self, status: int, detail: Any, own: bool = True) -> None:
        super().__init__(f"{status}: {sentence(detail)}")
        self.status, self.detail, self.own = status, detail, own


class Refused(ApiError):
    """The key, the workspace or the address is wrong (401, 403, 404, 405, or a redirect)."""


class BudgetExceeded(ApiError):
    """A hard budget is exceeded: the agent must not call a model (402). Its text says until when;
    reports are accepted as ever."""


@dataclass(frozen=True)
class Problem:
    """Something that went wrong in the background. Reports are never retried after one of these,
    except for `refused`, where they stay in the spool.

    kind: `invalid`  a report that the service did not accept (422, 413), or that could not be made
                     of what a method was given
          `rejected` the service understood a report and declined it (disabled agent, agent cap)
          `dropped`  the spool was full, and its oldest reports were deleted
          `refused`  the key or the address is wrong; reports wait, and are tried every two minutes
    """

    kind: str
    detail: str
    reports: List[Dict[str, Any]] = field(default_factory=list)
    count: int = 0
