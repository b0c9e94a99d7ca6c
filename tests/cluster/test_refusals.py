"""Sentences of commands about a PostgreSQL that does not let them in, or not do what they need."""

import socket
import threading
import uuid

from muster import Postgres, Server
from postgres import run_sql


def test_a_role_without_rights_is_told_what_to_do(tmp_path):
    postgres, role = Postgres(), f"weak_{uuid.uuid4().hex[:16]}"
    url = postgres.create()
    try:
        run_sql(url, f"CREATE ROLE {role} LOGIN")
        commands = Server(tmp_path / "data", url.replace("muster@", f"{role}@"))
        refused = commands.run("tenant", "list")
        assert refused.returncode == 1 and "permission denied" in refused.stderr
        assert "let the role of the URL own the database and its tables" in refused.stderr, refused.stderr
        run_sql(url, f"ALTER DATABASE {url.rsplit('/', 1)[1]} OWNER TO {role}")
        commands.cli("tenant", "list")  # as it was told
    finally:
        postgres.drop(url)
        run_sql(postgres.url, f"DROP ROLE {role}")


def test_what_libpq_says_in_several_lines_is_printed_in_one(tmp_path):
    def close_all(listener):
        while True:
            try:
                listener.accept()[0].close()
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=close_all, args=(listener,))
        thread.start()
        try:
            url = f"postgresql://muster@127.0.0.1:{listener.getsockname()[1]}/x?sslmode=disable"
            done = Server(tmp_path / "data", url).run("tenant", "list")
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
    assert done.returncode == 1 and "server closed the connection unexpectedly This" in done.stderr, done.stderr
    assert "\\x" not in done.stderr
