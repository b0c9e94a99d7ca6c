"""How the reports of a chunk reach the service.

Both functions remove lines from `chunk.lines` as soon as they are settled: stored, or declined for
good. When they raise Unavailable or Refused, what is left is what has to be sent again.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Set, Tuple

from . import values
from .errors import ApiError, Problem
from .spool import Chunk
from .transport import Transport

Report = Dict[str, Any]
Tell = Callable[[Problem], None]

LINE_MAX = 1 << 20  # bytes of one report; the service takes five times as much in a request
PIECES_MAX = 100  # KPIs, and breakdowns, that the service takes in one report
CUT = "muster.cut"  # in the metadata of an event: what it has lost on its way
BARE = ("event_id", "agent_name", "agent_version", "client_id", "run_id", "workflow_run_id",
        "event", "timestamp", "seq", "level", "duration_ms", "error_type")  # fmt: skip
PATHS = {"business": "/api/v1/telemetry/business", "llm": "/api/v1/telemetry/llm"}
NOT_THIS = (400, 413, 422)  # the report is the cause, and the next one may be fine


def encoded(report: Report) -> bytes:
    return json.dumps(report, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def fitted(event: Report) -> bytes:
    """An event as a line; too large a one without what makes it so."""
    line = encoded(event)
    if len(line) > LINE_MAX:
        said = f"output of {len(encoded(event.get('output') or {}))} bytes left out"
        slim = {key: value for key, value in event.items() if key != "output"}
        line = encoded({**slim, "metadata": {**slim.get("metadata", {}), CUT: said}})
    if len(line) > LINE_MAX:
        line = encoded(bare(event, f"{len(line)} bytes left out"))
    return line


def bare(event: Report, why: str) -> Report:
    """What must arrive of an event, so that its run does not stay open."""
    kept = {key: event[key] for key in BARE if key in event}
    return {**kept, "metadata": {CUT: values.text(why, 200)}}


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
            if error.status not in NOT_THIS:
                raise
            bad = {0} if len(batch) == 1 else bad_events(error, len(batch))
            if bad:
                chunk.lines[: len(batch)] = without(batch, bad, error, tell)
            else:
                size = max(1, size // 2)  # too large, or bad in a way that names no event
            continue
        stored += len(batch) - tell_rejected(tell, batch, answer.record())
        del chunk.lines[: len(batch)]
    return stored


def without(batch: List[bytes], bad: Set[int], error: ApiError, tell: Tell) -> List[bytes]:
    """The batch without its bad events. One that closes its run stays, bare, for one more time."""
    kept = []
    for index, line in enumerate(batch):
        event = parsed(line) if index in bad else {}
        if index not in bad:
            kept.append(line)
        elif event.get("event") in ("completed", "failed") and set(event) - {*BARE, "metadata"}:
            kept.append(encoded(bare(event, str(error))))
    tell_invalid(tell, error, [parsed(batch[index]) for index in sorted(bad)])
    return kept


def bad_events(error: ApiError, count: int) -> Set[int]:
    """The indexes of the events that a 422 names."""
    found: Set[int] = set()
    for item in error.detail if isinstance(error.detail, list) else []:
        place = item.get("loc", []) if isinstance(item, dict) else []
        if len(place) > 2 and place[1] == "events" and isinstance(place[2], int):
            found.add(place[2])
    return {index for index in found if index < count}


def tell_invalid(tell: Tell, error: ApiError, reports: List[Report]) -> None:
    detail = f"the service refused the shape of a report: {error}"
    tell(Problem("invalid", detail, reports, len(reports)))


def tell_rejected(tell: Tell, batch: List[bytes], verdict: Report) -> int:
    declined: Dict[str, List[Report]] = {}
    for result in verdict.get("results") or []:
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
    chunk.lines[:] = [encoded(each) for report in merge(chunk.lines) for each in portions(report)]
    while chunk.lines:
        report = parsed(chunk.lines[0])
        path = PATHS[report.pop("channel")]
        try:
            verdict = transport.call("POST", path, encoded(report)).record()
            if verdict.get("status") == "rejected":
                reason = verdict.get("detail") or verdict.get("reason")
                tell(Problem("rejected", f"the service declined a report: {reason}", [report], 1))
            else:
                stored += 1
        except ApiError as error:
            if error.status not in NOT_THIS:
                raise
            halves = halved(parsed(chunk.lines[0]))
            if halves:
                chunk.lines[:1] = [encoded(half) for half in halves]
                continue
            tell_invalid(tell, error, [report])
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


def pieces_of(report: Report) -> List[Report]:
    """A business report as one for each KPI and breakdown."""
    if report.get("channel") != "business":
        return [report]
    alone = {**report, "metrics": {}, "breakdowns": []}
    kpis = [{**alone, "metrics": {key: value}} for key, value in report["metrics"].items()]
    return kpis + [{**alone, "breakdowns": [each]} for each in report["breakdowns"]]


def together(pieces: List[Report]) -> Report:
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = merge_business(whole, piece)
    return whole


def portions(report: Report) -> List[Report]:
    """The report in as many as the service's limit asks for."""
    if report.get("channel") != "business":
        return [report]
    if max(len(report["metrics"]), len(report["breakdowns"])) <= PIECES_MAX:
        return [report]
    pieces = pieces_of(report)
    return [together(pieces[at : at + PIECES_MAX]) for at in range(0, len(pieces), PIECES_MAX)]


def halved(report: Report) -> List[Report]:
    """A refused report in two halves, one of which may be fine; nothing: it is a single one."""
    pieces = pieces_of(report)
    middle = len(pieces) // 2
    return [together(pieces[:middle]), together(pieces[middle:])] if middle else []
