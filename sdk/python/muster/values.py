"""Turns whatever an agent passes in into values that the service accepts.

A report must never break the agent, so nothing here raises: text is cut to its limit, numbers that
JSON cannot express and objects that it does not know become text.
"""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import Any, Dict, Iterable, List, Mapping, Optional

NAME_MAX = 256
TEXT_MAX = 16384
LEVEL_MAX = 32
ENTRIES_MAX = 100
LINKS_MAX = 50
DEPTH_MAX = 32
INT_MAX = 2**63 - 1


def now() -> str:
    """The time in UTC, to the microsecond."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def text(value: Any, limit: int = TEXT_MAX) -> str:
    """`value` as text without NUL and lone surrogates, at most `limit` characters long."""
    try:
        string = value if isinstance(value, str) else str(value)
    except Exception:  # a __str__ of the agent's own
        string = f"<{type(value).__name__}>"
    if len(string) > limit:
        string = string[: limit - 1] + "…"
    return string.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def name(value: Any) -> str:
    return text(value, NAME_MAX)


def number(value: Any) -> Optional[float]:
    """A finite number, or None. Decimals and NumPy numbers count."""
    if isinstance(value, (bool, int)):
        return int(value) if abs(value) <= INT_MAX else float(value)
    try:
        real = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return real if math.isfinite(real) else None


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as JSON can express it; anything unknown, or nested too deeply, becomes text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, (int, float)):
        return number(value)
    if depth < DEPTH_MAX and isinstance(value, Mapping):
        return {name(key): plain(item, depth + 1) for key, item in value.items()}
    if depth < DEPTH_MAX and isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    return text(value)


def first(entries: Optional[Mapping[str, Any]], limit: int = ENTRIES_MAX) -> List[Any]:
    return list((entries or {}).items())[:limit]


def metadata(entries: Optional[Mapping[str, Any]]) -> Dict[str, str]:
    return {name(key): text(value) for key, value in first(entries)}


def measurements(entries: Optional[Mapping[str, Any]]) -> Dict[str, float]:
    """Numbers by name; what is not a number is left out."""
    found = ((name(key), number(value)) for key, value in first(entries))
    return {key: value for key, value in found if value is not None}


def links(addresses: Iterable[Any]) -> List[str]:
    return [text(address) for address in list(addresses)[:LINKS_MAX]]
