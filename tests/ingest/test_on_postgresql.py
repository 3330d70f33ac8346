"""A whole base on a PostgreSQL server: added, asked, changed, removed, imported; by several."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.doubles import forked
from tests.doubles.postgres_server import VARIABLE, Databases
from tests.doubles.web_server import Reply, WebServer

from wellread import Wellread
from wellread.errors import DamageError, StoreError
from wellread.ingest import run
from wellread.ingest.backup import export_home, import_home
from wellread.ingest.integrity.backups import back_up, find_copy
from wellread.ingest.integrity.verify import ON_SERVER, verify
from wellread.ingest.pipeline.job_log import dead_jobs, job_log
from wellread.ingest.remove import remove_named
from wellread.kb import KnowledgeBase, open_kb
from wellread.settings_file import load_settings
from wellread.store.catalogue import Catalogue
from wellread.store.recovery.moving import TableDigest, table_digests
from wellread.testing.embedding import ReadableEmbedder

pytestmark = pytest.mark.skipif(
    bool(os.environ.get(VARIABLE)), reason="the other tests run on a server themselves then"
)
FILES = 12
RACERS = 2


@pytest.fixture(scope="module")
def full(postgres: Databases) -> Iterator[str]:
    """A database with empty tables, which others are copied from."""
    made = postgres.new()
    Catalogue.open(made).close()
    yield made
    postgres.drop(made)


@pytest.fixture
def url(postgres: Databases, full: str) -> Iterator[str]:
    made = postgres.new(like=full)
    yield made
    postgres.drop(made)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    for number in range(FILES):
        (made / f"{number}.md").write_text(
            f"# Lamp {number}\n\nThe lamp number {number} hangs in the old harbour of Aldermoor.\n"
        )
    return made


def opened(home: Path, url: str) -> KnowledgeBase:
    return open_kb(home, embedder=ReadableEmbedder(), overrides={"catalogue": {"url": url}})


def test_the_way_of_a_base(url: str, folder: Path, tmp_path: Path) -> None:
    settings = {"catalogue": {"url": url}}
    with Wellread(tmp_path / "home", embedder=ReadableEmbedder(), settings=settings) as base:
        base.add(folder)
        assert "harbour" in base.ask("Where does the lamp number 7 hang?").text
        assert base.search("lamp harbour")
    with opened(tmp_path / "home", url) as kb:
        assert not (tmp_path / "home" / "catalogue.db").exists()
        (folder / "3.md").write_text("# Lamp 3\n\nIt was sold to a museum in the capital city.\n")
        assert run.add(kb, [str(folder)]).counts()["updated"] == 1
        gone = remove_named(kb, "default", [str(folder / "7.md")])
        assert (gone.documents, gone.traces, gone.purged, gone.server) == (1, (), True, True)
        report = verify(kb)
        assert report.clean
        assert report.notes == (ON_SERVER,)
        with pytest.raises(StoreError) as told:
            back_up(kb)
        assert "pg_dump" in told.value.hint
        with pytest.raises(StoreError, match="on a server"):
            find_copy(kb)


def digests(kb: KnowledgeBase) -> dict[str, TableDigest]:
    """By table; what a base calls itself on a server is no part of an export."""
    with kb.catalogue.snapshot() as connection:
        return {each[0]: each for each in table_digests(connection) if each[0] != "properties"}


def test_exported_and_imported_it_is_the_same_there_and_back(
    url: str, folder: Path, tmp_path: Path, postgres: Databases
) -> None:
    """By counts and hashes of all rows, users and all, and by ``verify``."""
    home, there, back = (tmp_path / name for name in ("home", "there", "back"))
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        run.add(kb, [str(folder)])
        kb.catalogue.record_gap("Who lit the lamps?", "")
        kb.catalogue.accounts.users.add("ana", "admin", "a phrase of several words")
        before = digests(kb)
        export_home(kb, tmp_path / "home.tar")
    with pytest.raises(DamageError, match="holds no catalogue"):
        opened(home, f"{url}?schema=other").catalogue.listings.kinds()
    secret = url.replace("wellread@", "wellread:xyzzy-word@") + "?schema=moved"
    import_home(tmp_path / "home.tar", there, accounts=True, server=secret)
    assert not (there / "catalogue.db").exists()
    (there / "wellread.yaml").write_text(f"catalogue:\n  url: {secret}\n")
    assert "xyzzy-word" not in str(load_settings(there).model_dump()) + repr(load_settings(there))
    with open_kb(there, embedder=ReadableEmbedder()) as kb:
        assert digests(kb) == before
        assert verify(kb).clean
        export_home(kb, tmp_path / "back.tar")
    assert b"xyzzy-word" not in (tmp_path / "back.tar").read_bytes()
    import_home(tmp_path / "back.tar", back, settings=True, accounts=True)
    with open_kb(back, embedder=ReadableEmbedder()) as kb:
        assert digests(kb) == before
        assert verify(kb).clean
    with pytest.raises(StoreError, match="already"):
        import_home(tmp_path / "home.tar", tmp_path / "another", server=secret)
    assert not (tmp_path / "another").exists()


def test_two_processes_read_the_same_feed(url: str, tmp_path: Path) -> None:
    with WebServer() as server:
        for known, edition in ((range(FILES), "first"), (range(4, FILES + 8), "second")):
            write_feed(server, known, edition)
            race(url, tmp_path / "home", server.url("/news.rss"))
    with opened(tmp_path / "home", url) as kb:
        assert whole(kb) == FILES + 8
        for facts in kb.catalogue.documents("default"):
            document = kb.catalogue.document(facts.id)
            assert document is not None
            left = int(facts.title.split()[1]) < 4  # it is in the first edition of the feed only
            assert ("first" if left else "second") in document.text


def write_feed(server: WebServer, entries: range, edition: str) -> None:
    items = ""
    for number in entries:
        said = f"Lamp {number} of the {edition} edition hangs in the harbour of Aldermoor."
        page = f"<html><title>Lamp {number}</title><body><article><p>{said}</p></article></body>"
        server.pages[f"/{number}"] = Reply(
            body=page.encode(), headers={"Content-Type": "text/html"}
        )
        items += (
            f"<item><title>Lamp {number}</title><link>{server.url(f'/{number}')}</link>"
            f"<description>{said}</description></item>"
        )
    body = f'<rss version="2.0"><channel><title>Lamps</title>{items}</channel></rss>'
    server.pages["/news.rss"] = Reply(
        body=body.encode(), headers={"Content-Type": "application/rss+xml"}
    )


def whole(kb: KnowledgeBase) -> int:
    """How many documents there are, each of them once and complete."""
    (held,) = kb.catalogue.listings.kinds()
    keys = [key.passage_id for key in kb.index.keys()]  # noqa: SIM118 - an index is no mapping
    assert len(keys) == len(set(keys)) == held.passages
    assert kb.catalogue.vectors.passages_pending() == 0
    assert verify(kb).clean
    return held.documents


def race(url: str, home: Path, source: str) -> None:
    """Processes that add ``source`` at once, to their end."""
    environ = os.environ | {
        "WELLREAD_CATALOGUE_URL": url,
        "WELLREAD_WEB_ALLOW_PRIVATE": "true",
        "WELLREAD_WEB_ANY_PORT": "true",
        "WELLREAD_WEB_INTERVAL": "0",
    }
    code = "from tests.ingest.racing_process import main; main()"
    racers = [forked.Forked(code, str(home), source, env=environ) for _ in range(RACERS)]
    for one in racers:
        ready = one.stdout.readline() == "ready\n"
        assert ready, one.communicate()[1]
    for one in racers:
        print("go", file=one.stdin)
    for one in racers:
        _, complaint = one.communicate()
        assert one.returncode == 0, complaint


def test_a_job_of_another_machine_that_died_is_noticed(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "home", url) as kb, opened(tmp_path / "home", url) as other:
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(platform, "node", lambda: "another machine")
            with job_log(other, "add", "default", ["somewhere"]) as log:
                assert kb.catalogue.jobs.get(log.job.id) is not None
                assert dead_jobs(kb) == []
            lost = other.catalogue.jobs.start("add", "default", [], ("another machine", 1))
        assert [job.id for job in dead_jobs(kb)] == [lost.id]
