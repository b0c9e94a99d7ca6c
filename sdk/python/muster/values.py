"""Turns whatever an agent passes in into values that the service accepts.

A report must never break the agent, so nothing here raises and nothing here takes long: text is cut
to its limit, numbers that JSON cannot express are left out, objects that it does not know become
text, and a value is followed for a bounded number of nodes, however it refers to itself.
"""

from __future__ import annotations

import itertools
import math
from datetime import datetime, timezone
from typing import Any, Dict, Iterable, List, Mapping, Optional, Set, Tuple

NAME_MAX = 256
TEXT_MAX = 16384
LEVEL_MAX = 32
ENTRIES_MAX = 100
LINKS_MAX = 50
SLICES_MAX = 1000
DEPTH_MAX = 32
NODES_MAX = 10000
INT_MAX = 2**63 - 1


def stamp(seconds: float) -> str:
    """Seconds since 1970 as a time in UTC, to the microsecond."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def text(value: Any, limit: int = TEXT_MAX) -> str:
    """`value` as text without NUL and lone surrogates, at most `limit` characters long."""
    try:
        string = value if isinstance(value, str) else str(value)
    except Exception:  # a __str__ of the agent's own, or a number with too many digits
        string = f"<{type(value).__name__}>"
    if len(string) > limit:
        string = string[: limit - 1] + "…"
    return string.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def end_of(value: Any, limit: int = TEXT_MAX) -> str:
    """The same, but of a text that is too long its end: of a trace-back or path, what matters."""
    string = text(value, len(value) if isinstance(value, str) else limit)
    return string if len(string) <= limit else "…" + string[1 - limit :]


def name(value: Any) -> str:
    return text(value, NAME_MAX)


def number(value: Any) -> Optional[float]:
    """A finite number, or None. Decimals, NumPy numbers and text with a number in it count."""
    if isinstance(value, int) and abs(value) <= INT_MAX:
        return int(value)
    try:
        real = float(value)
    except Exception:  # a __float__ of the agent's own may raise anything
        return None
    return real if math.isfinite(real) else None


def integer(value: Any, least: int = -INT_MAX) -> Optional[int]:
    """A whole number that 64 bits hold, or None."""
    found = number(value)
    return None if found is None else max(least, min(int(found), INT_MAX))


class _Walk:
    """One value on its way to JSON."""

    def __init__(self) -> None:
        self.left = NODES_MAX
        self.path: Set[int] = set()  # the containers around the current one

    def plain(self, value: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            return "…"
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return text(value)
        if isinstance(value, (int, float)):
            return number(value)
        if isinstance(value, (Mapping, list, tuple, set, frozenset)):
            return self._container(value)
        return text(value)

    def _container(self, value: Any) -> Any:
        if id(value) in self.path:
            return "<cycle>"
        if len(self.path) >= DEPTH_MAX:
            return f"<{type(value).__name__}>"
        self.path.add(id(value))
        try:
            room = max(0, self.left)
            if isinstance(value, Mapping):
                pairs = itertools.islice(value.items(), room)
                return {name(key): self.plain(item) for key, item in pairs}
            return [self.plain(item) for item in itertools.islice(value, room)]
        except Exception:  # a container of the agent's own, or one that another thread changes
            return f"<{type(value).__name__}>"
        finally:
            self.path.discard(id(value))


def plain(value: Any) -> Any:
    """`value` as JSON can express it."""
    return _Walk().plain(value)


def record(value: Any) -> Optional[Dict[str, Any]]:
    """`value` as a JSON object; anything else becomes the member `value` of one."""
    found = None if value is None else plain(value)
    return found if found is None or isinstance(found, dict) else {"value": found}


def pairs(entries: Any, limit: int = ENTRIES_MAX) -> List[Tuple[str, Any]]:
    """The first entries of a mapping; what is no mapping is one entry named `value`."""
    if entries is None:
        return []
    if not isinstance(entries, Mapping):
        return [("value", entries)]
    try:
        return [(name(key), value) for key, value in itertools.islice(entries.items(), limit)]
    except Exception:  # a mapping of the agent's own, or one that another thread changes
        return []


def metadata(entries: Any) -> Dict[str, str]:
    return {key: text(value) for key, value in pairs(entries)}


def measurements(entries: Any, limit: int = ENTRIES_MAX) -> Dict[str, float]:
    """Numbers by name; what is not a number is left out."""
    found = ((key, number(value)) for key, value in pairs(entries, limit))
    return {key: value for key, value in found if value is not None}


def items(several: Any, limit: int) -> List[Any]:
    """The first members of a list; one thing that is no list, or a text, is its only member."""
    if several is None:
        return []
    if isinstance(several, (str, bytes, Mapping)) or not isinstance(several, Iterable):
        return [several]
    try:
        return list(itertools.islice(several, limit))
    except Exception:  # an iterator of the agent's own
        return []


def links(addresses: Any) -> List[str]:
    return [text(address) for address in items(addresses, LINKS_MAX)]
