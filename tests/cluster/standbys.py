"""A pair of PostgreSQL servers whose standby may not get the log."""

import contextlib
import os
import subprocess
import uuid

from servers import Pair, environment, kept_environment
from waiting import until


@contextlib.contextmanager
def pair_of_servers():
    """A primary that does not wait for its standby, which may be away."""
    made = Pair()
    with kept_environment():
        try:
            os.environ.update(environment(made.programs, made.start()))
            wait_for_standby(made, False)
            yield made
        finally:
            made.stop()


def sql(server, statement, name="postgres"):
    url = f"postgresql://muster@127.0.0.1:{server.port}/{name}"
    done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement, url],
                          check=True, capture_output=True, text=True, timeout=60)  # fmt: skip
    return done.stdout.strip()


def wait_for_standby(pair, waits):
    """Whether a commit does; also one on the standby, once it is the primary."""
    for server in (server for server in pair.servers if server.process.poll() is None):
        sql(server, f"ALTER SYSTEM SET synchronous_standby_names = '{'*' if waits else ''}'")
        sql(server, "SELECT pg_reload_conf()")


def catch_up(pair):
    """The standby shows all that the primary has by now."""
    end = sql(pair.primary, "SELECT pg_current_wal_lsn()")
    until(lambda: sql(pair.standby, f"SELECT pg_last_wal_replay_lsn() >= '{end}'") == "t")


@contextlib.contextmanager
def database_of(pair):
    """The name of a new one on whichever is the primary. The standby has it too: from a server that has
    no such database libpq does not go on to the next."""
    name = f"muster_{uuid.uuid4().hex[:16]}"
    sql(pair.primary, f"CREATE DATABASE {name}")
    catch_up(pair)
    yield name
    sql(pair.primary, f"DROP DATABASE {name} WITH (FORCE)")


def cut_off(pair):
    """The standby has all that the primary has by now, and gets nothing of what comes: what it has
    received and not shown yet it would show before it took over."""
    catch_up(pair)
    sql(pair.standby, "ALTER SYSTEM SET primary_conninfo = ''")
    sql(pair.standby, "SELECT pg_reload_conf()")
    until(lambda: sql(pair.standby, "SELECT COUNT(*) FROM pg_stat_wal_receiver") == "0")


def fail_over(pair):
    """The primary is killed, and its standby takes over with what it has."""
    pair.primary.process.kill()
    assert pair.promote()
