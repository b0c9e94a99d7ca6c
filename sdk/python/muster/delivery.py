"""How the reports of a chunk reach the service.

Both functions remove lines from `chunk.lines` as soon as they are settled: stored, or declined for
good. When they raise Unavailable or Refused, what is left is what has to be sent again.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Set, Tuple

from .errors import ApiError, Problem
from .spool import Chunk
from .transport import Transport

Report = Dict[str, Any]
Tell = Callable[[Problem], None]

PATHS = {"business": "/api/v1/telemetry/business", "llm": "/api/v1/telemetry/llm"}


def parsed(line: bytes) -> Report:
    """A report, or an empty one: the line was torn by a crash."""
    try:
        report = json.loads(line)
        return report if isinstance(report, dict) else {}
    except ValueError:
        return {}


def deliver_events(transport: Transport, chunk: Chunk, tell: Tell) -> int:
    """Sends the events in one batch, or in as many as it takes to leave out the bad ones; returns
    how many the service has stored."""
    stored = 0
    chunk.lines[:] = [line for line in chunk.lines if parsed(line)]
    size = len(chunk.lines)
    while chunk.lines:
        batch = chunk.lines[:size]
        try:
            answer = transport.call(
                "POST", "/api/v1/telemetry/batch", b'{"events":[' + b",".join(batch) + b"]}"
            )
        except ApiError as error:
            if error.status not in (400, 413, 422):
                raise
            bad = {0} if len(batch) == 1 else bad_events(error, len(batch))
            if bad:
                tell_invalid(tell, error, [parsed(batch[index]) for index in sorted(bad)])
                chunk.lines[:size] = [line for i, line in enumerate(batch) if i not in bad]
            else:
                size = max(1, size // 2)  # too large, or bad in a way that names no event
            continue
        stored += len(batch) - tell_rejected(tell, batch, answer.json())
        del chunk.lines[:size]
    return stored


def bad_events(error: ApiError, count: int) -> Set[int]:
    """The indexes of the events that a 422 names."""
    found: Set[int] = set()
    for item in error.detail if isinstance(error.detail, list) else []:
        place = item.get("loc", []) if isinstance(item, dict) else []
        if len(place) > 2 and place[1] == "events" and isinstance(place[2], int):
            found.add(place[2])
    return {index for index in found if index < count}


def tell_invalid(tell: Tell, error: ApiError, reports: List[Report]) -> None:
    tell(
        Problem(
            "invalid", f"the service refused the shape of a report: {error}", reports, len(reports)
        )
    )


def tell_rejected(tell: Tell, batch: List[bytes], verdict: Report) -> int:
    declined: Dict[str, List[Report]] = {}
    for result in verdict.get("results", []):
        if result.get("status") == "rejected":
            reason = str(result.get("reason", "no reason given"))
            declined.setdefault(reason, []).append(parsed(batch[result["index"]]))
    for reason, reports in declined.items():
        tell(Problem("rejected", f"the service declined reports: {reason}", reports, len(reports)))
    return sum(map(len, declined.values()))


def deliver_reports(transport: Transport, chunk: Chunk, tell: Tell) -> int:
    """Sends business and LLM reports, merged as far as they can be; returns how many requests
    were stored."""
    stored = 0
    merged = merge(chunk.lines)
    chunk.lines[:] = [json.dumps(report).encode() for report in merged]
    for report in merged:
        body = {key: value for key, value in report.items() if key != "channel"}
        try:
            answer = transport.call("POST", PATHS[report["channel"]], json.dumps(body).encode())
            verdict = answer.json()
            if verdict.get("status") == "rejected":
                reason = verdict.get("detail") or verdict.get("reason")
                tell(Problem("rejected", f"the service declined a report: {reason}", [body], 1))
            else:
                stored += 1
        except ApiError as error:
            if error.status not in (400, 413, 422):
                raise
            tell_invalid(tell, error, [body])
        del chunk.lines[0]
    return stored


def merge(lines: List[bytes]) -> List[Report]:
    """Fewer reports that say the same. An LLM report replaces the one of the same model and time,
    because its counts are totals; business reports of one run add their keys up."""
    merged: Dict[Tuple[Any, ...], Report] = {}
    for line in lines:
        report = parsed(line)
        channel = report.get("channel")
        if channel == "llm":
            key: Tuple[Any, ...] = (channel, report["run_id"], report["model"], report["timestamp"])
            merged[key] = report
        elif channel == "business":
            key = (channel, report["run_id"])
            merged[key] = merge_business(merged[key], report) if key in merged else report
    return list(merged.values())


def merge_business(older: Report, newer: Report) -> Report:
    breakdowns = {dimensions_of(each): each for each in older["breakdowns"] + newer["breakdowns"]}
    return {
        **newer,
        "metrics": {**older["metrics"], **newer["metrics"]},
        "breakdowns": list(breakdowns.values()),
    }


def dimensions_of(breakdown: Report) -> Tuple[str, ...]:
    by = breakdown["by"]
    return (breakdown["metric"], *([by] if isinstance(by, str) else sorted(by)))
