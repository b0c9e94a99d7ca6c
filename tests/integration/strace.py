"""strace on a running server: calls that fail or kill on purpose, or a record of calls."""

import contextlib
import signal
import subprocess
import threading

ATTACH_S = 120


def let_go(tracer, server, how):
    """Ends strace, which ends by itself after a server that is gone. As long as it holds a dead
    server nobody else is told of the death: who waits for that server would wait for ever."""
    lives = server.process is not None and server.process.poll() is None
    if lives and tracer.poll() is None:
        tracer.send_signal(how)
    try:
        tracer.wait(ATTACH_S)
    except subprocess.TimeoutExpired:
        tracer.kill()
        tracer.wait()


@contextlib.contextmanager
def attached(server, *options, end=signal.SIGINT):
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
    try:
        assert ready.wait(ATTACH_S) and tracer.poll() is None, lines
        yield lines
    finally:
        let_go(tracer, server, end)
        reader.join(ATTACH_S)


def injected(server, fault, *options):
    """What `fault` names fails, or kills, from now on. strace counts `when` for each thread."""
    call = fault.split(":")[0]
    # At SIGINT strace lets go of one thread after the other and awaits each. The first thread of a
    # process that dies meanwhile is reported last, after those that strace has not awaited yet.
    end = signal.SIGKILL if "signal=KILL" in fault else signal.SIGINT
    return attached(server, "-e", f"trace={call}", "-e", f"inject={fault}", *options, end=end)
