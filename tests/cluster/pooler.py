"""PgBouncer before a PostgreSQL, on a free port of 127.0.0.1."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from servers import plain, port_of

CONFIG = """\
[databases]
* = host=127.0.0.1 port={server} user=muster
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
max_client_conn = 1000
default_pool_size = {size}
logfile = {folder}/log
"""


class Pooler:
    """`size` sessions for each database, whatever number of connections it takes."""

    def __init__(self, server_url, mode="transaction", size=2):
        self.identity = plain.unprivileged()  # it does not run as root either
        self.folder = Path(tempfile.mkdtemp(prefix="muster-pooler-"))
        self.port = plain.free_port()
        self.url = f"postgresql://muster@127.0.0.1:{self.port}"
        config = self.folder / "pgbouncer.ini"
        config.write_text(
            CONFIG.format(server=port_of(server_url), port=self.port, mode=mode, size=size,
                          folder=self.folder)
        )  # fmt: skip
        for path in (self.folder, config):
            if self.identity:
                os.chown(path, self.identity["user"], self.identity["group"])
        program = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        assert program, "PgBouncer is not installed: scripts/bootstrap cluster installs it"
        self.process = subprocess.Popen(
            [program, "-q", config], stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=plain.end_with_parent, **self.identity,
        )  # fmt: skip

    def __enter__(self):
        asked = ["pg_isready", "-q", "-t", "30", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(asked, check=False).returncode != 0:
            assert self.process.poll() is None, (self.folder / "log").read_text()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)
