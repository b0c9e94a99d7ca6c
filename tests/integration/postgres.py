"""SQL for PostgreSQL past the service, by libpq: psql would be a process for each statement."""

import ctypes
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
