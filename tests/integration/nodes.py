"""Several servers on one PostgreSQL, each with a data directory of its own."""

import threading
from contextlib import ExitStack, contextmanager

from muster import Server
from postgres import servers_of


@contextmanager
def more_servers(first, folder, n, environments=None):
    """Others on the same database; `environments` adds to that of each. On Citus each uses another of its
    servers."""
    key = {"MUSTER_MASTER_KEY_FILE": str(first.data / "master.key")}
    urls = servers_of(first.database) if n else []  # the embedded store has no others
    with ExitStack() as stack:
        servers = []
        for i in range(n):
            own = environments[i] if environments else {}
            server = Server(
                folder / f"node-{i}", urls[(i + 1) % len(urls)], arguments=first.arguments,
                environment={**first.environment, **key, **own},
            )  # fmt: skip
            stack.callback(lambda s=server: s.process and s.kill())
            servers.append(server.start())
        yield servers
        for server in servers:
            server.stop()


def in_threads(tasks):
    """Runs each in a thread of its own; the first that failed fails the test."""
    trouble = []

    def run(task):
        try:
            task()
        except Exception as error:  # a thread's exception would go unseen
            trouble.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not trouble, trouble[0]
