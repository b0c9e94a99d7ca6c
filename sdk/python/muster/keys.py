"""The agent's key, and its rotation.

A rotation must never leave the agent without a key that works, whenever it is interrupted:

1. Before the service is asked, the file says that a rotation is under way, and room for the new
   key is reserved. When the disk refuses this, there is no rotation.
2. The new key is durable on disk before it is used. Until then the old one is in use, which the
   service accepts for five more minutes.
3. A rotation that did not end, because the answer was lost or the process died, is done again at
   once with the old key, by this process or the next; the service replaces the successor that was
   never used.
4. A file that can only be read is read: its key may be the only one that is left.

The file also remembers which given key it grew from: a key from the environment that was rotated
away leads to its successor, and a key that is new to the file takes precedence over it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any, Callable, Dict, Optional

from .errors import MusterError
from .state import State, locked, replace_durably, reserve, write_durably

FILE_BYTES = 1024  # a record is padded to this, so that the reserved room always suffices


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class KeyRing:
    """The key in use. Thread-safe; processes that share the folder share its rotations."""

    def __init__(self, given: str, state: Optional[State]) -> None:
        self.given = given
        self.path = state.folder / "key.json" if state else None
        self.can_rotate = state is not None and state.writable
        self.token = given
        self.unfinished = False  # a rotation was interrupted: rotate again
        self._refused: Optional[str] = None  # a key in the file that the service did not accept
        self._lock = threading.Lock()
        self.reload()

    def after_fork(self) -> None:
        self._lock = threading.Lock()  # it may have been held by a thread that is not here

    def _record(self) -> Optional[Dict[str, Any]]:
        """What the file says, if it speaks of the given key or its successors."""
        if self.path is None:
            return None
        try:
            record = json.loads(self.path.read_bytes())
            related = record["origin"] == digest(self.given)
            known = self.given in (record["token"], record["previous"])
            return record if related or known else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def reload(self) -> bool:
        """Reads the file again; whether it has a different key than the one in use."""
        with self._lock:
            record = self._record()
            if record is None:
                return False
            self.unfinished = bool(record["rotating"])
            changed: bool = record["token"] != self.token
            self.token = record["token"]
            return changed

    def fall_back(self) -> bool:
        """After the key was refused: tries the one before it, which may still be valid when the
        key was replaced by a second rotation; whether there is one."""
        with self._lock:
            record = self._record()
            if record is None or not record["previous"] or record["previous"] == self.token:
                return False
            self._refused = self.token
            self.token = record["previous"]
            self.unfinished = True
            return True

    def rotate(self, refresh: Callable[[str], str], only_unfinished: bool = False) -> bool:
        """Replaces the key by what `refresh` (a call to the service, with the old key) returns;
        with `only_unfinished` only if a rotation was interrupted. Whether this process did it:
        another may be at it, or may have done it already."""
        if self.path is None or not self.can_rotate:
            raise MusterError("a key can only be rotated when the state folder can be written to")
        with locked(self.path.with_name("key.lock")) as mine:
            if not mine or self._done_by_another():
                return False
            if only_unfinished and not self.unfinished:
                return False  # another thread was at it when this one looked
            old = self.token
            self._write(old, None, rotating=True)
            room = reserve(self.path, FILE_BYTES)
            self.unfinished = True  # until the new key is on disk: the answer may get lost
            new = refresh(old)
            replace_durably(room, self.path, self._padded(new, old, rotating=False))
            with self._lock:
                self.token, self.unfinished = new, False
            return True

    def _done_by_another(self) -> bool:
        record = self._record()
        if record is None or record["token"] in (self.token, self._refused):
            return False
        return self.reload()

    def _write(self, token: str, previous: Optional[str], rotating: bool) -> None:
        assert self.path is not None
        write_durably(self.path, self._padded(token, previous, rotating))

    def _padded(self, token: str, previous: Optional[str], rotating: bool) -> bytes:
        record = {
            "origin": digest(self.given),
            "token": token,
            "previous": previous,
            "rotating": rotating,
        }
        return json.dumps(record).encode().ljust(FILE_BYTES)
