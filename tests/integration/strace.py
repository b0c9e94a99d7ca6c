"""strace on a running server: calls that fail or kill on purpose, or a record of calls."""

import contextlib
import signal
import subprocess
import threading

ATTACH_S, DETACH_S = 20, 5


@contextlib.contextmanager
def attached(server, *options):
    """Attaches to all threads of the server; yields the lines that strace writes, as they come."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-p", str(server.process.pid), *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    lines, ready = [], threading.Event()

    def read():
        for line in tracer.stderr:
            lines.append(line)
            if "attached" in line:
                ready.set()
        ready.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    assert ready.wait(ATTACH_S) and tracer.poll() is None, lines
    try:
        yield lines
    finally:
        if tracer.poll() is None:
            tracer.send_signal(signal.SIGINT)
        try:
            tracer.wait(DETACH_S)
        except subprocess.TimeoutExpired:  # it may wait for ever for threads that were killed
            tracer.kill()
            tracer.wait()
        reader.join(ATTACH_S)


def injected(server, fault, *options):
    """What `fault` names fails, or kills, from now on. strace counts `when` for each thread."""
    call = fault.split(":")[0]
    return attached(server, "-e", f"trace={call}", "-e", f"inject={fault}", *options)
