"""A disk that can be filled and emptied: a real one where the machine lets us mount it.

Mounting needs root and loop devices, which a container may not have; then writes are made to fail
by strace as those to a full disk do. `way` says which of the two it is.
"""

import contextlib
import os
import subprocess

from strace import injected

SIZE_MIB = 64


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


class RealDisk:
    """ext4 on a loop device. `free_bytes` are left when it is made; the rest is ballast."""

    def __init__(self, folder, free_bytes):
        self.folder, self.free_bytes = folder, free_bytes
        self.way = f"a real one, ext4 of {SIZE_MIB} MiB on a loop device"

    def lay_ballast(self):
        state = os.statvfs(self.folder)
        n = max(state.f_bavail * state.f_frsize - self.free_bytes, 0)
        with (self.folder / "ballast").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, n)

    def fill(self):
        """Until not even one more block fits."""
        self.lay_ballast()
        with (self.folder / "ballast").open("ab", buffering=0) as file:
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))

    def leave(self, n):
        """`n` bytes, or a block or two more."""
        ballast = self.folder / "ballast"
        ballast.unlink(missing_ok=True)
        os.sync()  # what is still to be freed is not counted as free
        self.fill()
        os.truncate(ballast, ballast.stat().st_size - n)
        os.sync()

    @contextlib.contextmanager
    def filling(self, _server):
        """Whatever is written from now on uses up what is left; at the end there is room again."""
        yield
        (self.folder / "ballast").unlink()


class InjectedDisk:
    """Any folder; full from the first write on."""

    def __init__(self, folder, why):
        self.folder = folder
        self.way = f"injected by strace, since no loop device could be mounted ({why})"

    def lay_ballast(self):
        pass

    @contextlib.contextmanager
    def filling(self, server):
        with injected(server, "pwrite64:error=ENOSPC") as lines:
            yield
        assert "INJECTED" in "".join(lines)


@contextlib.contextmanager
def small_disk(folder, free_bytes):
    image, mounted = folder / "image", folder / "disk"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(SIZE_MIB << 20)
    made = run("mkfs.ext4", "-q", "-F", "-m", "0", image)
    if made.returncode == 0:
        made = run("mount", "-o", "loop", image, mounted)
    if made.returncode != 0:
        yield InjectedDisk(mounted, made.stderr.strip().split("\n")[0])
        return
    try:
        yield RealDisk(mounted, free_bytes)
    finally:
        done = run("umount", mounted)
        if done.returncode != 0:
            run("umount", "--lazy", mounted)
        image.unlink()
    assert done.returncode == 0, f"something still used the disk: {done.stderr}"
