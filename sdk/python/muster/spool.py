"""A bounded queue of reports on disk.

1. A report is in a file when `append` returns, so it survives a crash of the process.
2. A report leaves its file only after `commit`, that is, after the service has stored it or has
   said that it never will. A crash in between sends it again; its `event_id` makes that harmless.
3. Reports leave in the order in which they came, because a total replaces the total before it.
   Files are numbered, and those of a process that has died are adopted in their order, by one
   process: all of them or none. Each process writes files of its own and holds their locks; a
   file whose lock is free belongs to a process that has died.
4. What the disk refuses is kept in memory, in its place in the order, and a crash loses it.
5. When the queue is full its oldest segment is dropped: what happened last matters most, and a run
   that loses its beginning still shows how it ended. Losses are counted.

A segment is a file with one report per line, or such a file in memory, and goes as a whole.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import os
import re
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Deque, Dict, List, Optional, Tuple

from .serial import Serial
from .state import lock_file

log = logging.getLogger("muster")

SEGMENTS = 16  # in a full queue; one of them is what a full queue loses at once
SEGMENT_MAX_BYTES = 1 << 20
DISK_AGAIN_S = 1.0  # after the disk refused, until it is tried again
CREATE_ATTEMPTS = 10
NAME = re.compile(r"\w+-(\d{16}-[0-9a-f]+)-\d{6}\.jsonl")  # its start and owner, then a number


@dataclass(eq=False)
class Segment:
    """A file of the queue, in memory when it has no path. Its first `done` bytes are committed."""

    path: Optional[Path]
    file: IO[bytes]
    size: int = 0
    done: int = 0
    lines: int = 0

    def write(self, data: bytes) -> None:
        if self.path is None:
            self.file.seek(self.size)
            self.file.write(data)
        else:
            self._write_to_disk(data)
        self.size += len(data)
        self.lines += 1

    def _write_to_disk(self, data: bytes) -> None:
        written = os.write(self.file.fileno(), data)
        if written != len(data):
            os.ftruncate(self.file.fileno(), self.size)
            raise OSError("the disk took a part of a line only")

    def read(self, size: int) -> bytes:
        self.file.seek(self.done)
        return self.file.read(size)

    def clear(self) -> None:
        self.file.seek(0)
        self.file.truncate(0)
        self.size = self.done = self.lines = 0

    def remove(self) -> None:
        if self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()
        self.file.close()


@dataclass
class Chunk:
    """The oldest lines of the queue. `lines` shrinks as they are delivered."""

    lines: List[bytes]
    end: int
    segment: Segment
    taken: int = field(init=False)

    def __post_init__(self) -> None:
        self.taken = len(self.lines)


class Spool:
    """The queue in a folder, or in memory alone. Thread-safe; a signal handler may append;
    several processes may use the same folder."""

    def __init__(self, folder: Optional[Path], name: str, max_bytes: int) -> None:
        self.folder, self.name, self.max_bytes = folder, name, max_bytes
        self.segment_bytes = min(SEGMENT_MAX_BYTES, max(1, max_bytes // SEGMENTS))
        self.lost = 0  # reports that a full queue has cost
        self._owner = f"{int(time.time() * 1e6):016d}-{uuid.uuid4().hex[:12]}"
        self._numbers = itertools.count(1)
        self._segments: Deque[Segment] = deque()  # oldest first
        self._active: Optional[Segment] = None  # the one that is written to: the last
        self._since = float("inf")  # when the oldest waiting report came
        self._disk_again = 0.0 if folder else float("inf")
        self._disk_refuses = False
        self._serial = Serial()
        self.adopt()

    def append(self, line: bytes) -> int:
        """Adds a report; returns how many wait. Never raises: a report that finds no room is
        counted as lost."""
        self._serial.do(lambda: self._store(line + b"\n"))
        return self._count()

    def _store(self, data: bytes) -> None:
        if len(data) > self.max_bytes:
            self.lost += 1  # it alone: to make room for it would cost all others
            return
        self._make_room(len(data))
        try:
            self._segment_for_writing().write(data)
        except OSError as error:
            self._disk_refused(error)
            self._segment_for_writing().write(data)
        self._since = min(self._since, time.monotonic())

    def _segment_for_writing(self) -> Segment:
        segment, now = self._active, time.monotonic()
        better = segment is not None and segment.path is None and now >= self._disk_again
        if segment is None or segment.size >= self.segment_bytes or better:
            segment = self._create() if now >= self._disk_again else Segment(None, io.BytesIO())
            self._active = segment
            self._segments.append(segment)
            if self._disk_refuses and segment.path is not None:
                self._disk_refuses = False
                log.info("muster: the disk takes reports again")
        return segment

    def _disk_refused(self, error: OSError) -> None:
        if not self._disk_refuses:
            self._disk_refuses = True
            log.warning("muster: %s: reports are kept in memory: a crash loses them", error)
        self._disk_again = time.monotonic() + DISK_AGAIN_S
        if self._active is not None and self._active.path is not None:
            self._active = None

    def _create(self) -> Segment:
        assert self.folder is not None
        for _ in range(CREATE_ATTEMPTS):
            number = next(self._numbers)
            path = self.folder / f"{self.name}-{self._owner}-{number:06d}.jsonl"
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
            file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
            if _is_mine(file):
                return Segment(path, file)
            file.close()  # another process took the new file for one that was left behind
        raise OSError("other processes take every new file")

    def _make_room(self, size: int) -> None:
        total = sum(segment.size for segment in self._segments)
        while self._segments and total + size > self.max_bytes:
            segment = self._segments.popleft()
            total -= segment.size
            self.lost += segment.lines
            if segment is self._active:
                self._active = None
            segment.remove()

    def read(self, max_lines: int, max_bytes: int) -> Optional[Chunk]:
        """The oldest reports that are not committed, at least one; None: nothing waits."""
        return self._serial.ask(lambda: self._read(max_lines, max_bytes), None)

    def _read(self, max_lines: int, max_bytes: int) -> Optional[Chunk]:
        while self._segments:
            segment = self._segments[0]
            chunk = _chunk(segment, max_lines, max_bytes)
            if chunk or segment is self._active:
                return chunk
            self._segments.popleft()  # the torn end of a file left behind by a crash
            segment.remove()
        return None

    def commit(self, chunk: Chunk) -> None:
        """Forgets the reports of `chunk`, which must be what `read` returned last."""
        self._serial.do(lambda: self._commit(chunk))

    def _commit(self, chunk: Chunk) -> None:
        segment = chunk.segment
        if segment not in self._segments:
            return  # a full queue has dropped it meanwhile
        segment.done = chunk.end
        segment.lines -= chunk.taken
        if segment.done >= segment.size:
            if segment is self._active and segment.path is not None:
                segment.clear()
            else:
                self._segments.remove(segment)
                segment.remove()
                self._active = None if segment is self._active else self._active
        self._since = time.monotonic() if self._count() else float("inf")

    def adopt(self) -> None:
        """Takes over the files of processes that have died."""
        if self.folder is not None:
            self._serial.do(self._adopt)

    def _adopt(self) -> None:
        assert self.folder is not None
        known = {segment.path for segment in self._segments}
        left: Dict[str, List[Path]] = {}  # by the process that wrote them
        try:
            paths = sorted(self.folder.glob(f"{self.name}-*.jsonl"))
        except OSError:
            return
        for path in paths:
            match = NAME.fullmatch(path.name)
            if path not in known:
                left.setdefault(match.group(1) if match else path.name, []).append(path)
        found = [segment for owner in sorted(left) for segment in _take_over(left[owner])]
        self._segments.extendleft(reversed(found))
        if found:
            self._since = 0.0

    def _count(self) -> int:
        return sum(segment.lines for segment in list(self._segments))

    def waiting(self) -> Tuple[int, float]:
        """How many reports wait, and since when by the monotonic clock."""
        return self._count(), self._since

    def close(self) -> None:
        """Releases the files; those with reports stay for the next process."""
        self._serial.do(self._close)

    def _close(self) -> None:
        for segment in list(self._segments):
            if not segment.lines:
                segment.remove()
            elif segment.path is not None or not self._save(segment):
                segment.file.close()
        self._segments.clear()
        self._active = None

    def _save(self, segment: Segment) -> bool:
        """A last attempt to bring what is in memory to the disk."""
        if self.folder is None:
            return False
        try:
            on_disk = self._create()
            on_disk.write(segment.read(segment.size))
            on_disk.file.close()
            return True
        except OSError as error:
            log.error("muster: %s: %d reports in memory are lost", error, segment.lines)
            return False

    def abandon(self) -> None:
        """In a forked child: the files are the parent's, and so are their locks."""
        for segment in self._segments:
            segment.file.close()  # the parent's descriptor keeps the lock


def _is_mine(file: IO[bytes]) -> bool:
    """Takes the lock; whether this process got it while the file was still there."""
    try:
        return lock_file(file) and os.fstat(file.fileno()).st_nlink > 0
    except OSError:
        file.close()
        raise


def _take_over(paths: List[Path]) -> List[Segment]:
    """All files of a dead process, oldest first, or none: another is at it, or it still runs."""
    taken: List[Segment] = []
    for path in paths:
        try:
            file = open(path, "r+b", buffering=0)
            taken.append(Segment(path, file))
            if not _is_mine(file):
                raise OSError("another process has it")
        except OSError:
            for segment in taken:
                segment.file.close()
            return []
    return [segment for segment in taken if _measured(segment)]


def _measured(segment: Segment) -> bool:
    """Counts the lines of a file; one without any is removed."""
    try:
        while block := segment.file.read(1 << 16):
            segment.size += len(block)
            segment.lines += block.count(b"\n")
    except OSError:  # what it has may be read later
        segment.file.close()
        return False
    if not segment.lines:
        segment.remove()
    return segment.lines > 0


def _chunk(segment: Segment, max_lines: int, max_bytes: int) -> Optional[Chunk]:
    size = max_bytes
    while True:
        data = segment.read(size)
        whole = data[: data.rfind(b"\n") + 1]
        if whole or len(data) < size:
            break
        size *= 2  # one report is larger than all that was asked for
    lines = whole.splitlines(keepends=True)[:max_lines]
    if not lines:
        return None
    end = segment.done + sum(map(len, lines))
    return Chunk([line.rstrip(b"\n") for line in lines], end, segment)
