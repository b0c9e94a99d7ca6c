"""One thing at a time, also when a signal handler asks for it in the middle of another."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Callable, Deque, TypeVar

Result = TypeVar("Result")


class Serial:
    """A lock whose work a signal handler may ask for at any instant.

    A handler runs on the thread that it interrupts: to wait for that thread would never end, and to
    go ahead would find things half changed. So its work waits until the interrupted one is done.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: Deque[Callable[[], Any]] = deque()
        self._busy = False  # seen under the lock, so it speaks of the thread that looks

    def do(self, work: Callable[[], Any]) -> None:
        """Does `work` after all that was asked for before. When this returns it is done, unless
        this is a signal handler that interrupted other work."""
        with self._lock:
            self._waiting.append(work)
            if not self._busy:
                self._catch_up()

    def ask(self, work: Callable[[], Result], otherwise: Result) -> Result:
        """What `work` returns, or `otherwise` in a signal handler that interrupted other work."""
        with self._lock:
            if self._busy:
                return otherwise
            self._busy = True
            try:
                return work()
            finally:
                self._busy = False
                self._catch_up()

    def _catch_up(self) -> None:
        while self._waiting:  # again: a handler may come when the inner loop is over
            self._busy = True
            try:
                while self._waiting:
                    self._waiting.popleft()()
            finally:
                self._busy = False
