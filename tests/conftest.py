"""What every test may use."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from tests.doubles import on_postgres
from tests.doubles.on_postgres import Placed
from tests.doubles.one_thread import ONE_THREAD
from tests.doubles.postgres_server import VARIABLE, Databases, programs, running

from wellread import plugins
from wellread.models import trained_reader
from wellread.models.embedders import local_embedder
from wellread.models.embedders.local_embedder import LocalEmbedder
from wellread.models.onnx_runtime import open_session
from wellread.store.catalogue import Catalogue
from wellread.store.schema import sqlite
from wellread.store.schema.database import upgrade
from wellread.store.schema.tables import HEAD

ROOT = Path(__file__).parent.parent

# Databases wait for the disk at every commit, and old folders are slow to delete: where memory
# has plenty of room, the tests' folders are made there.
MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# Tests start many processes, and without compiled modules each compiles all of them again: that is
# a second of processor time. The Makefile does the same.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

gc.set_threshold(50_000, 10, 10)  # as the command sets it

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded, as for models below

# A build draws the same examples every time; everybody else draws new ones. None is timed.
settings.register_profile("build", derandomize=True, deadline=None)
settings.register_profile("drawn", deadline=None)
settings.load_profile("build" if os.environ.get("CI") else "drawn")


OURS = str(ROOT / "src")
OF_CATALOGUES = re.compile(r"(?:catalogue|damaged-[^/]*)\.db(?:-wal|-shm|-journal)?")


def refuse_second_opening(event: str, given: tuple[Any, ...]) -> None:
    """No code of ours opens a catalogue's file that SQLite has open in this process.

    Its close would drop SQLite's locks, and the next program deletes the log (``file_bytes``).
    """
    if event != "open" or not isinstance(given[0], str):
        return
    if not OF_CATALOGUES.fullmatch(os.path.basename(given[0])):
        return
    frame = sys._getframe(1)
    while not frame.f_code.co_filename.startswith(OURS):
        if frame.f_back is None or frame.f_code.co_filename.startswith(str(ROOT / "tests")):
            return
        frame = frame.f_back
    if held_here(Path(given[0])):
        raise RuntimeError(f"{given[0]} is open in SQLite, and is opened once more")


def held_here(path: Path) -> bool:
    """Whether the process has the file open; told where there is /proc."""
    with suppress(OSError):
        wanted = path.stat()
        for number in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.path.samestat(os.fstat(int(number)), wanted):
                    return True
    return False


sys.addaudithook(refuse_second_opening)


# The files that take longest, first: else one process works on them when the other has ended. One
# process begins elsewhere than with the browser, as the other makes the sample's home meanwhile.
LONG = """
    browser/test_acc ingest/test_kill ingest/test_reindex browser/ test_sample test_readme
    ingest/test_verify_stores ask/test_injection ask/test_corrections serve/ test_
""".split()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the files; the tests of a file stay as they are."""

    def turn(item: pytest.Item) -> int:
        name = item.path.relative_to(ROOT / "tests").as_posix()
        return next(
            (place for place, start in enumerate(LONG) if name.startswith(start)), len(LONG)
        )

    items.sort(key=turn)
    if os.environ.get(VARIABLE):
        skip = pytest.mark.skip(reason="is about a catalogue in SQLite's file")
        for item in items:
            if item.get_closest_marker("sqlite_only"):
                item.add_marker(skip)


STARTED = time.monotonic()
MOST_SECONDS = 480  # of the whole suite, on two cores; told and not held, as machines are busy


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long the tests took, beside how long all of them may take."""
    spent = time.monotonic() - STARTED
    terminalreporter.write_line(f"suite: {spent:,.0f} s of {MOST_SECONDS} s")


PlaceOf = Callable[[Path], str]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """A PostgreSQL server; the test is skipped where none is installed."""
    pytest.importorskip("psycopg")
    named = os.environ.get(VARIABLE, "")
    if "://" in named:
        yield Databases(named)
        return
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL is installed")
    with running(found) as url:
        yield Databases(url)


if os.environ.get(VARIABLE):

    @pytest.fixture(scope="session", autouse=True)
    def _placed(postgres: Databases) -> Iterator[Placed]:
        """Catalogues are on a server: one that all folders of tests share, as it patches."""
        yield from on_postgres.placed(postgres)

    @pytest.fixture
    def place_of(_placed: Placed) -> PlaceOf:
        """The URL of the database that stands for a file."""
        return _placed.of

    @pytest.fixture(autouse=True)
    def _dropped(
        _placed: Placed, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        """The databases of a test go with it."""
        if "tmp_path" not in request.fixturenames:
            yield
            return
        folder: Path = request.getfixturevalue("tmp_path")
        if {"subprocess", "forked"} & vars(request.module).keys():
            home = _placed.of(folder / "home" / "catalogue.db")
            monkeypatch.setenv(on_postgres.URL_VARIABLE, home)
        yield
        _placed.drop(folder)

else:

    @pytest.fixture
    def place_of() -> PlaceOf:
        """What another process is to open for a catalogue's file; with a server, a URL."""
        return str


@pytest.fixture(autouse=True, scope="session")
def quick_schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A new catalogue gets at once what the migrations make: the same statements, read off one.

    Migrating takes a tenth of a second, and most tests begin with a new one. Processes that tests
    start migrate, and so do the tests of the migrations, from an older schema.
    """
    file = tmp_path_factory.mktemp("schema") / "catalogue.db"
    Catalogue.open(file).close()
    with closing(sqlite3.connect(file)) as made:
        found = made.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        statements = [sql for (sql,) in found]

    def upgraded(connection: Connection) -> None:
        if connection.dialect.name != "sqlite" or inspect(connection).get_table_names():
            return upgrade(connection)
        for sql in statements:
            connection.exec_driver_sql(sql)
        connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})
        return None

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("wellread.store.catalogue.upgrade", upgraded)
        yield


@pytest.fixture(autouse=True, scope="session")
def compiled_statements() -> Iterator[None]:
    """Statements of SQL are compiled once, and not again for every home that is opened."""
    first = create_engine("sqlite://")
    first.connect().close()  # finds out what the library can do
    first.dispose()
    compiled: dict[Any, Any] = {}
    make = sqlite.make_engine

    def make_engine(path: Path) -> Engine:
        made = make(path)
        made.dialect = first.dialect  # a part of what a compiled statement is known by
        made.update_execution_options(compiled_cache=compiled)
        return made

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlite, "make_engine", make_engine)
        yield


@pytest.fixture(autouse=True, scope="session")
def sessions_of_models() -> Iterator[None]:
    """A process opens a model's file once, and not for every home: that takes a quarter second.

    With one thread: more of them wait for each other by turning, which took half of the processor
    time where two processes run tests on two cores.
    """
    opened: dict[tuple[Path, int, int, int], Any] = {}

    def open_once(model: Path | bytes, threads: int) -> Any:
        threads = threads or 1
        if isinstance(model, bytes):
            return open_session(model, threads)
        facts = model.stat()
        key = (model, facts.st_size, facts.st_mtime_ns, threads)
        if key not in opened:
            opened[key] = open_session(model, threads)
        return opened[key]

    with pytest.MonkeyPatch.context() as patched:
        for module in (local_embedder, trained_reader):
            patched.setattr(module, "open_session", open_once)
        yield


@pytest.fixture(scope="session")
def shared_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of a run share."""
    root = tmp_path_factory.getbasetemp()
    return root.parent if "PYTEST_XDIST_WORKER" in os.environ else root


@pytest.fixture(scope="session")
def model_graph(shared_root: Path) -> Path:
    """The file of the default model as a home keeps it: built once, which takes seconds."""
    folder = shared_root / "built"
    with FileLock(shared_root / "built.lock"):
        if not folder.exists():
            LocalEmbedder(folder)
    (built,) = (folder / "models").glob("*.onnx")
    return built


PlaceModel = Callable[[Path], None]


@pytest.fixture(scope="session")
def place_model(model_graph: Path) -> PlaceModel:
    """Puts the model's file into a home, so that a process that opens it need not build it."""

    def place(home: Path) -> None:
        (home / "models").mkdir(parents=True)
        os.link(model_graph, home / "models" / model_graph.name)

    return place


@pytest.fixture(scope="session")
def eval_data() -> Path:
    """The folder of evaluation data; the test is skipped where there is none."""
    folder = ROOT / os.environ.get("WELLREAD_EVAL_DATA", "../shared/data")
    if not folder.is_dir():
        pytest.skip(f"no evaluation data in {folder}")
    return folder.resolve()


@pytest.fixture(scope="session")
def demo(shared_root: Path) -> Path:
    """A folder with what ``wellread demo`` leaves in ``home`` and prints to ``printed.txt``.

    The packaged model reads and answers, which takes long: processes that share a run share it.
    Tests copy the home.
    """
    folder = shared_root / "demo"
    with FileLock(shared_root / "demo.lock"):
        if not folder.exists():
            command = [sys.executable, "-m", "wellread.serve.cli", "--home", str(folder / "home")]
            done = subprocess.run(
                [*command, "demo"],
                check=True,
                capture_output=True,
                text=True,
                env=os.environ | ONE_THREAD,
            )
            (folder / "printed.txt").write_text(done.stdout, encoding="utf-8")
    return folder


AddPackage = Callable[[Path, str, str], None]


@pytest.fixture
def add_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AddPackage]:
    """Installs a package of one module for the length of a test, also for processes it starts.

    Called with the module's file, the group of its entry point, and ``name = module:attribute``.
    """
    site = tmp_path / "site-packages"
    added: list[str] = []

    def add(module: Path, group: str, point: str) -> None:
        made = site / f"{module.stem}-1.0.dist-info"
        made.mkdir(parents=True)
        (made / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {module.stem}\nVersion: 1.0\n"
        )
        (made / "entry_points.txt").write_text(f"[{group}]\n{point}\n")
        shutil.copy(module, site)
        added.append(module.stem)
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
        plugins.installed.cache_clear()

    yield add
    for name in added:
        sys.modules.pop(name, None)
    plugins.installed.cache_clear()
