"""The folder on disk where an agent keeps what must outlive its process.

It belongs to one agent of one workspace of one service, is readable by its user only, and may be
used by several processes at once. A folder that cannot be written to is still read.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import tempfile
import threading
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Iterator, Union

STALE_S = 3600.0
TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)

if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_file(file: IO[bytes]) -> bool:
    """Takes the lock on an open file, or says that another process has it. Raises OSError where
    there are no locks, as on some network file systems."""
    try:
        _lock(file)
    except OSError as error:
        if error.errno in TAKEN:
            return False
        raise
    return True


@dataclass(frozen=True)
class State:
    folder: Path
    writable: bool


def default_parent() -> Path:
    named = os.environ.get("MUSTER_STATE_DIR")
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME")
    with contextlib.suppress(RuntimeError):  # a user without a home
        return Path(state) / "muster" if state else Path.home() / ".local/state/muster"
    return Path(tempfile.gettempdir()) / "muster"


def place_of(url: str) -> str:
    """What stays when the same service is written in another way: host, port and path."""
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.lower()
    for scheme, port in (("http", ":80"), ("https", ":443")):
        if parts.scheme == scheme and host.endswith(port):
            host = host[: -len(port)]
    return host + parts.path.rstrip("/")


def folder_name(place: str, tenant: str, agent: str) -> str:
    digest = hashlib.sha256("\n".join((place, tenant, agent)).encode()).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', agent)[:40]}-{digest}"


def open_state(parent: Union[str, Path, None], url: str, tenant: str, agent: str) -> State:
    """The agent's folder, created when missing."""
    above = Path(parent) if parent else default_parent()
    folder = above / folder_name(place_of(url), tenant, agent)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            lock_file(probe)
        _remove_stale(folder)
        return State(folder, writable=True)
    except OSError:
        return State(folder, writable=False)


def _remove_stale(folder: Path) -> None:
    """Rooms left by a crash between reserving and replacing; others come and go meanwhile."""
    for room in folder.glob("*.next"):
        with contextlib.suppress(FileNotFoundError):
            if room.stat().st_mtime < time.time() - STALE_S:
                room.unlink()


def write_durably(path: Path, content: bytes) -> None:
    """Replaces the file as a whole. When this returns, the new content survives a power failure."""
    replace_durably(reserve(path, len(content)), path, content)


def reserve(path: Path, size: int) -> Path:
    """A file beside `path` with room for `size` bytes, so that a later write finds its room."""
    room = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.next")
    with open(os.open(room, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(b"\0" * size)
        file.flush()
        os.fsync(file.fileno())
    return room


def replace_durably(room: Path, path: Path, content: bytes) -> None:
    """Writes into the reserved room, then puts it in the place of `path`."""
    with open(room, "r+b") as file:
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    os.replace(room, path)
    if os.name != "nt":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Holds the lock on `path` if it is free; yields whether it was."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        yield lock_file(file)
