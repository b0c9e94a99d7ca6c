"""A bounded queue of reports on disk.

1. A report is in a file when `append` returns, so it survives a crash of the process.
2. A report leaves its file only after `commit`, that is, after the service has stored it or has
   said that it never will. A crash in between sends it again; its `event_id` makes that harmless.
3. Each process writes files of its own and holds their locks. A file whose lock is free belongs to
   a process that has died: the next one adopts it.
4. When the queue is full its oldest file is deleted: what happened last matters most, and a run
   that loses its beginning still shows how it ended. Losses are counted.

Files hold one report per line and are deleted, or emptied, as a whole.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Deque, List, Optional, Protocol, Tuple

from .state import lock_file

SEGMENTS = 16  # files in a full queue; one of them is what a full queue loses at once
SEGMENT_MAX_BYTES = 1 << 20


class Queue(Protocol):
    """What the sender needs of a queue."""

    lost: int

    def append(self, line: bytes) -> int: ...
    def read(self, max_lines: int, max_bytes: int) -> Optional[Chunk]: ...
    def commit(self, chunk: Chunk) -> None: ...
    def adopt(self) -> None: ...
    def close(self) -> None: ...
    def abandon(self) -> None: ...
    def waiting(self) -> Tuple[int, float]: ...


@dataclass(eq=False)
class Segment:
    """One file of the queue. Its first `done` bytes are committed."""

    path: Path
    file: BinaryIO
    size: int = 0
    done: int = 0
    lines: int = 0

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink()
        self.file.close()


@dataclass
class Chunk:
    """The oldest lines of the queue. `lines` shrinks as they are delivered."""

    lines: List[bytes]
    end: int = 0
    segment: Optional[Segment] = None
    taken: int = field(init=False)

    def __post_init__(self) -> None:
        self.taken = len(self.lines)


class Spool:
    """The queue in a folder. Thread-safe; several processes may use the same folder."""

    def __init__(self, folder: Path, name: str, max_bytes: int) -> None:
        self.folder, self.name, self.max_bytes = folder, name, max_bytes
        self.segment_bytes = min(SEGMENT_MAX_BYTES, max(1, max_bytes // SEGMENTS))
        self.lost = 0  # reports that a full queue or a full disk has cost
        self._segments: Deque[Segment] = deque()  # oldest first
        self._active: Optional[Segment] = None  # the one that is written to: the last
        self._since = float("inf")  # when the oldest waiting report came
        self._lock = threading.Lock()
        self.adopt()

    def append(self, line: bytes) -> int:
        """Adds a report; returns how many wait. Never raises: a report that finds no room is
        counted as lost."""
        with self._lock:
            self._make_room(len(line) + 1)
            while True:
                try:
                    self._write(line + b"\n")
                    break
                except OSError:
                    if len(self._segments) < 2:
                        self.lost += 1
                        break
                    self._drop_oldest()  # the disk is full: older reports make room
            self._since = min(self._since, time.monotonic())
            return self._count()

    def _write(self, line: bytes) -> None:
        segment = self._active
        if segment is None or segment.size >= self.segment_bytes:
            segment = self._active = self._create()
            self._segments.append(segment)
        written = os.write(segment.file.fileno(), line)
        if written != len(line):
            os.ftruncate(segment.file.fileno(), segment.size)
            raise OSError("short write")
        segment.size += written
        segment.lines += 1

    def _create(self) -> Segment:
        while True:
            path = self.folder / f"{self.name}-{uuid.uuid4().hex}.jsonl"
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
            file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
            if lock_file(file) and os.fstat(file.fileno()).st_nlink:
                return Segment(path, file)
            file.close()  # another process took the new file for one that was left behind

    def _make_room(self, size: int) -> None:
        total = sum(segment.size for segment in self._segments)
        while len(self._segments) > 1 and total + size > self.max_bytes:
            total -= self._segments[0].size
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        segment = self._segments.popleft()
        self.lost += segment.lines
        segment.remove()

    def read(self, max_lines: int, max_bytes: int) -> Optional[Chunk]:
        """The oldest reports that are not committed, at least one; None: nothing waits."""
        with self._lock:
            while self._segments:
                segment = self._segments[0]
                chunk = self._chunk(segment, max_lines, max_bytes)
                if chunk or segment is self._active:
                    return chunk
                self._segments.popleft()  # the torn end of a file left behind by a crash
                segment.remove()
            return None

    def _chunk(self, segment: Segment, max_lines: int, max_bytes: int) -> Optional[Chunk]:
        size = max_bytes
        while True:
            segment.file.seek(segment.done)
            data = segment.file.read(size)
            whole = data[: data.rfind(b"\n") + 1]
            if whole or len(data) < size:
                break
            size *= 2  # one report is larger than all that was asked for
        lines = whole.splitlines(keepends=True)[:max_lines]
        if not lines:
            return None
        end = segment.done + sum(map(len, lines))
        return Chunk([line.rstrip(b"\n") for line in lines], end, segment)

    def commit(self, chunk: Chunk) -> None:
        """Forgets the reports of `chunk`, which must be what `read` returned last."""
        with self._lock:
            segment = chunk.segment
            if segment is None or segment not in self._segments:
                return  # a full queue has dropped it meanwhile
            segment.done = chunk.end
            segment.lines -= chunk.taken
            if segment.done >= segment.size:
                if segment is self._active:
                    os.ftruncate(segment.file.fileno(), 0)
                    segment.size = segment.done = segment.lines = 0
                else:
                    self._segments.remove(segment)
                    segment.remove()
            self._since = time.monotonic() if self._count() else float("inf")

    def adopt(self) -> None:
        """Takes over the files of processes that have died."""
        with self._lock:
            known = {segment.path for segment in self._segments}
            for path in sorted(self.folder.glob(f"{self.name}-*.jsonl")):
                segment = None if path in known else self._take_over(path)
                if segment:
                    self._segments.appendleft(segment)
                    self._since = 0.0

    def _take_over(self, path: Path) -> Optional[Segment]:
        try:
            file = open(path, "r+b", buffering=0)
        except OSError:
            return None
        if not lock_file(file) or not os.fstat(file.fileno()).st_nlink:
            file.close()
            return None
        segment = Segment(path, file)
        while block := file.read(1 << 16):
            segment.size += len(block)
            segment.lines += block.count(b"\n")
        if segment.lines:
            return segment
        segment.remove()
        return None

    def _count(self) -> int:
        return sum(segment.lines for segment in self._segments)

    def waiting(self) -> Tuple[int, float]:
        """How many reports wait, and since when by the monotonic clock."""
        with self._lock:
            return self._count(), self._since

    def close(self) -> None:
        """Releases the files; those with reports stay for the next process."""
        with self._lock:
            for segment in self._segments:
                if segment.lines:
                    segment.file.close()
                else:
                    segment.remove()
            self._segments.clear()
            self._active = None

    def abandon(self) -> None:
        """In a forked child: the files are the parent's, and so are their locks."""
        for segment in self._segments:
            segment.file.close()  # the parent's descriptor keeps the lock


class MemorySpool:
    """The same without a disk, for an agent that may not write anywhere: a crash loses it."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.lost = 0
        self._lines: Deque[bytes] = deque()
        self._bytes = 0
        self._taken = 0  # how many of the oldest lines are out in a chunk
        self._since = float("inf")
        self._lock = threading.Lock()

    def append(self, line: bytes) -> int:
        with self._lock:
            while self._lines and self._bytes + len(line) > self.max_bytes:
                self._bytes -= len(self._lines.popleft())
                self._taken = max(0, self._taken - 1)
                self.lost += 1
            self._lines.append(line)
            self._bytes += len(line)
            self._since = min(self._since, time.monotonic())
            return len(self._lines)

    def read(self, max_lines: int, max_bytes: int) -> Optional[Chunk]:
        with self._lock:
            lines: List[bytes] = []
            for line in self._lines:
                if len(lines) == max_lines or (lines and max_bytes < len(line)):
                    break
                lines.append(line)
                max_bytes -= len(line)
            self._taken = len(lines)
            return Chunk(lines) if lines else None

    def commit(self, chunk: Chunk) -> None:
        with self._lock:
            for _ in range(self._taken):
                self._bytes -= len(self._lines.popleft())
            self._taken = 0
            self._since = time.monotonic() if self._lines else float("inf")

    def waiting(self) -> Tuple[int, float]:
        with self._lock:
            return len(self._lines), self._since

    def adopt(self) -> None:
        pass

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass
