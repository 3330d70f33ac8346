"""A process that has a home open keeps its write-ahead log, whatever it removes and proves.

It lost SQLite's locks once, by reading the catalogue's bytes to prove a removal. The next program
that opened and closed the home deleted the log, and all that was written from then on was lost.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.doubles import forked
from tests.serve.test_api_errors import assert_problem
from tests.serve.test_process import environment

from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add
from wellread.ingest.sources.discover import uri_of
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.testing.embedding import ReadableEmbedder

pytestmark = [
    pytest.mark.sqlite_only,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at open files in /proc"),
]

HOLDING = "from tests.serve.holding_process import main; main()"
ALPHA = "Alpha\n\nThe heron stood on the northern pier all morning long.\n"
BETA = "Beta\n\nThe otter crossed the southern weir before the rain came.\n"
SECRET = "a pier in the fog"
LOG = f"{CATALOGUE_FILE}-wal"


class Holder:
    """The process, and what a person does with it."""

    def __init__(self, how: str, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder
        self.process = forked.Forked(HOLDING, how, str(home), str(folder))
        first = self.process.stdout.readline().strip()
        self.client = httpx.Client(
            base_url=first if how == "serve" else "",
            headers={"sec-fetch-site": "same-origin", "accept": "application/json"},
            trust_env=False,
            timeout=60,
        )

    def told(self, *words: str) -> None:
        if words:
            self.process.stdin.write(" ".join(words) + "\n")
            self.process.stdin.flush()
        assert self.process.stdout.readline()

    def post(self, path: str, **form: str) -> int:
        return self.client.post(path, data=form).status_code

    def by_page(self) -> None:
        gone = {"source": uri_of(self.folder / "alpha.txt"), "collection": "default"}
        assert self.post("/library/remove", **gone) == 200

    def forgotten(self) -> None:
        assert self.post("/sign-in", name="rea", password=SECRET) == 303
        assert self.post("/account/forget", confirmed="rea") == 303
        assert self.post("/sign-in", name="root", password=SECRET) == 303

    def text(self) -> None:
        assert self.post("/library/text", title="Beta", text=BETA) == 303
        until(lambda: "Beta" in self.client.get("/api/documents").text)

    def unlinked(self) -> None:
        (self.folder / "alpha.txt").unlink()
        self.told()

    def written(self) -> None:
        (self.folder / "beta.txt").write_text(BETA)
        self.told()

    def by_python(self) -> None:
        self.told("remove", str(self.folder / "alpha.txt"))

    def added(self) -> None:
        (self.folder / "beta.txt").write_text(BETA)
        self.told("add", str(self.folder / "beta.txt"))

    def logs(self) -> set[tuple[int, int]]:
        """The write-ahead logs that the process has open."""
        links = Path(f"/proc/{self.process.process.pid}/fd").iterdir()
        held = [one for one in links if os.readlink(one).startswith(str(self.home / LOG))]
        return {(one.stat().st_dev, one.stat().st_ino) for one in held}


def until(said: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if said():
            return
        time.sleep(0.05)
    pytest.fail("it does not come about")


WAYS: dict[str, tuple[str, Callable[[Holder], None], Callable[[Holder], None]]] = {
    "page": ("serve", Holder.by_page, Holder.text),
    "forget": ("serve", Holder.forgotten, Holder.text),
    "watch": ("watch", Holder.unlinked, Holder.written),
    "python": ("python", Holder.by_python, Holder.added),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_written_after_a_removal_and_another_program_stays(
    tmp_path: Path, way: str
) -> None:
    how, remove, write = WAYS[way]
    home, folder = tmp_path / "home", tmp_path / "folder"
    folder.mkdir()
    (folder / "alpha.txt").write_text(ALPHA)
    (folder / "gamma.txt").write_text("Gamma\n\nThe bell of the chapel rings twice on Sundays.\n")
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(folder)])
        if way == "forget":
            kb.catalogue.accounts.users.add("root", "admin", SECRET)
            kb.catalogue.accounts.users.add("rea", "reader", SECRET)
    holder = Holder(how, home, folder)
    try:
        remove(holder)
        other = forked.run(forked.PROGRAM, "show", "document", env=environment(home))
        assert other.returncode == 0, other.stderr
        state = (home / LOG).stat()
        assert holder.logs() == {(state.st_dev, state.st_ino)}
        write(holder)
    finally:
        holder.process.terminate()
        holder.process.wait()
        holder.process.stdout.close()
        holder.client.close()
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        titles = {each.title for each in kb.catalogue.documents("default")}
        names = [each.name for each in kb.catalogue.accounts.users.list_all()]
        forgotten = way == "forget"
        assert titles == {"Beta", "Gamma"} | ({"Alpha"} if forgotten else set())
        assert names == (["root"] if forgotten else [])
        assert verify(kb).problems == ()


def replaced(home: Path, name: str) -> None:
    """A copy takes the file's place, as with a backup that is put back."""
    shutil.copyfile(home / name, home / "copied")
    (home / "copied").replace(home / name)


CHANGES: dict[str, Callable[[KnowledgeBase], object]] = {
    "the log is another file": lambda kb: replaced(kb.home, LOG),
    "the log is gone": lambda kb: (kb.home / LOG).unlink(),
    "the catalogue is another file": lambda kb: replaced(kb.home, CATALOGUE_FILE),
    "the index is gone": lambda kb: shutil.rmtree(kb.home / INDEX_FOLDER),
    "the index is empty": lambda kb: kb.renewed_index(),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_readiness_ends_when_a_store_is_not_what_the_server_has_open(
    kb: KnowledgeBase, client: httpx.AsyncClient, change: str
) -> None:
    assert (await client.get("/healthz")).status_code == 200
    CHANGES[change](kb)
    assert (await client.get("/healthz")).status_code == 503


@pytest.mark.parametrize("change", ["the index is gone", "the index is empty"])
@pytest.mark.parametrize(
    "question", ["When was the ferry Osprey bought?", "How many documents are there?"]
)
async def test_a_question_over_an_index_that_is_gone_is_told_so(
    kb: KnowledgeBase, client: httpx.AsyncClient, change: str, question: str
) -> None:
    CHANGES[change](kb)
    asked = await client.post("/api/ask", json={"question": question})
    assert_problem(asked, 503, "damaged")
    assert "verify --repair" in asked.json()["hint"]
    found = await client.get("/api/search", params={"query": "ferry"})
    assert_problem(found, 503, "damaged")
