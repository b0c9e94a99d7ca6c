"""SQL for PostgreSQL past the service, by libpq: psql would be a process for each statement."""

import ctypes
import os
from contextlib import closing

CONNECTED, COMMAND_OK, TUPLES_OK = 0, 1, 2

libpq = ctypes.CDLL("libpq.so.5")  # the service has it too
for name, result, *parameters in (
    ("PQconnectdb", ctypes.c_void_p, ctypes.c_char_p),
    ("PQstatus", ctypes.c_int, ctypes.c_void_p),
    ("PQerrorMessage", ctypes.c_char_p, ctypes.c_void_p),
    ("PQfinish", None, ctypes.c_void_p),
    ("PQexec", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p),
    ("PQresultStatus", ctypes.c_int, ctypes.c_void_p),
    ("PQntuples", ctypes.c_int, ctypes.c_void_p),
    ("PQnfields", ctypes.c_int, ctypes.c_void_p),
    ("PQgetisnull", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
    ("PQgetvalue", ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
    ("PQclear", None, ctypes.c_void_p),
):
    getattr(libpq, name).restype, getattr(libpq, name).argtypes = result, parameters


class SqlError(AssertionError):
    pass


class Session:
    """One connection."""

    def __init__(self, url):
        self.connection = libpq.PQconnectdb(url.encode())
        if not self.is_open():
            said = self.trouble()
            self.close()
            raise SqlError(said)
        self.run("SET statement_timeout = '120s'")

    def is_open(self):
        return libpq.PQstatus(self.connection) == CONNECTED

    def trouble(self):
        return libpq.PQerrorMessage(self.connection).decode(errors="replace")

    def run(self, sql):
        """The rows of the last statement, as texts; several statements are one transaction."""
        result = libpq.PQexec(self.connection, sql.encode())
        try:
            if libpq.PQresultStatus(result) not in (COMMAND_OK, TUPLES_OK):
                raise SqlError(f"{self.trouble()}\n{sql}")
            columns = range(libpq.PQnfields(result))
            return [
                [None if libpq.PQgetisnull(result, row, column)
                 else libpq.PQgetvalue(result, row, column).decode() for column in columns]
                for row in range(libpq.PQntuples(result))
            ]  # fmt: skip
        finally:
            libpq.PQclear(result)

    def close(self):
        libpq.PQfinish(self.connection)


kept = {}  # sessions, by URL


def run_kept(url, *statements):
    """The same in a session that the next call has too. None may be in a database that is copied."""
    for statement in statements:
        if url not in kept or not kept[url].is_open():
            kept[url] = Session(url)
        try:
            kept[url].run(statement)
        except SqlError:
            if kept[url].is_open():
                raise
            kept[url] = Session(url)  # a test has ended all sessions, or the server
            kept[url].run(statement)


def run_sql(url, *statements):
    """One after the other, in a session of their own; the rows of the last one."""
    with closing(Session(url)) as session:
        for statement in statements:
            rows = session.run(statement)
    return rows


def add_trigger(url, name, when, does):
    """Citus has triggers of shards only if one insists."""
    run_sql(url, "SET citus.enable_unsafe_triggers = on",
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {does}; END $$",
            f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")  # fmt: skip


def add_sequence(url, name):
    """One on each server, which triggers there use."""
    for server in servers_of(url):
        run_sql(server, "SET citus.enable_ddl_propagation = off", f"CREATE SEQUENCE {name}")


def uses_of_sequence(url, name):
    used = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {name}"
    return sum(int(run_sql(server, used)[0][0]) for server in servers_of(url))


def drop_trigger(url, name, table):
    run_sql(url, "SET citus.enable_unsafe_triggers = on", f"DROP TRIGGER {name} ON {table}")


def is_distributed():
    """Whether databases are Citus', with each tenant's rows on one of its workers."""
    return bool(os.environ.get("MUSTER_TEST_CITUS"))


def update_anywhere(url, table, assignment, condition="true"):
    """Changes rows of a table behind the service's back, with what checks them there switched off. The
    workers are asked for it: Citus itself moves no row to another tenant."""
    quiet = "SET session_replication_role = replica"
    if not is_distributed():
        run_sql(url, quiet, f"UPDATE {table} SET {assignment} WHERE {condition}")
        return
    shards = f"SELECT shard_name, nodeport FROM citus_shards WHERE table_name = '{table}'::regclass"
    for shard, port in run_sql(url, shards):
        run_sql(_server_at(url, port), quiet, f"UPDATE {shard} SET {assignment} WHERE {condition}")


def place_of(url, table, tenant_id):
    """Where the rows of a tenant lie: the URL of the server, and what it calls that part of the table."""
    if not is_distributed():
        return url, table
    ((shard, port),) = run_sql(
        url,
        "SELECT s.shard_name, s.nodeport FROM citus_shards s WHERE s.shardid ="
        f" get_shard_id_for_distribution_column('{table}', {tenant_id})",
    )
    return _server_at(url, port), shard


def _server_at(url, port):
    return next(server for server in servers_of(url) if f":{port}/" in server)


def servers_of(url):
    """The same database on each server of its cluster; without Citus there is one."""
    workers = os.environ.get("MUSTER_TEST_CITUS", "").split()
    name = url.rsplit("/", 1)[1]
    return [url, *(f"{worker.rsplit('/', 1)[0]}/{name}" for worker in workers)]


def by_another_server(url):
    """The same database, by another server of its cluster if there is one. None: the embedded store."""
    return url and servers_of(url)[-1]


def lock_waits(url, statement="%", longer_than_s=0):
    """How many sessions of the database wait for a lock with a statement like this one. Citus names shards
    in statements, so that a % stands before and after each name of a table."""
    sql = ("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
           f" AND query LIKE '{statement}' AND now() - query_start >= interval '{longer_than_s} seconds'")  # fmt: skip
    return sum(int(run_sql(server, sql)[0][0]) for server in servers_of(url))
