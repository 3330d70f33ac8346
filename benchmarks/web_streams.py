"""Streams of the web under reloads and cancels, and what a first answer page costs.

    python -m benchmarks.web_streams

A server of this process over the sample, on loopback. 50 questions are answered by a model that
writes a letter at a time; each reader leaves in the middle three times and comes back with the
number of the last event it saw; its text is compared with what was written. 20 more are cancelled
in the middle: until the model's call has ended. Then 20 questions without a model, each asked by
page and by the bare interface in turn: seconds to the first sentence and to the last; bytes and
requests of a first answer page; a page of a PDF as a picture, first and again.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import uvicorn
from pypdfium2 import PdfDocument

from benchmarks.exam import QUESTIONS
from benchmarks.exam_marks import read_questions
from benchmarks.homes import open_home
from benchmarks.paths import eval_data
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import ModelUsage, Prompt, TextDelta
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder

RELOADS, CANCELS, TIMED = 50, 20, 20
PARTS = ("roberta.pdf", "llama.pdf")  # 13 and 27 pages
QUESTION = "How much was the ferry bought for?"
TOLD = (
    "The ferry was bought for 2.6 million euros in 2021.",
    "It carries ninety passengers and four cars.",
    "The crossing takes forty minutes when the sea is calm.",
    "Two deckhands and a captain are on board.",
    "In winter it lies in the inner harbour for six weeks.",
    "Its engine was built in Norway.",
)
REPLY = " ".join(f"{each} [e1]" for each in TOLD)
TEXT = f"# The ferry\n\n{' '.join(TOLD)}\n"


class SlowModel:
    """Writes a letter every few milliseconds; ``ended`` is when the last call was left."""

    identity = "slow:model"

    def __init__(self) -> None:
        self.ended = 0.0

    async def stream(self, _prompt: Prompt) -> AsyncGenerator[TextDelta | ModelUsage, None]:
        """The reply, slowly."""
        try:
            for letter in REPLY:
                await asyncio.sleep(0.004)  # 1.4 s in all
                yield TextDelta(text=letter)
            yield ModelUsage(model=self.identity)
        finally:
            self.ended = time.perf_counter()


async def main() -> None:
    """All of it, one after the other."""
    model = SlowModel()
    with TemporaryDirectory() as folder:
        (Path(folder) / "ferry.md").write_text(TEXT, encoding="utf-8")
        with open_kb(Path(folder) / "home", embedder=ReadableEmbedder(), model=model) as kb:
            await asyncio.to_thread(add, kb, [str(Path(folder) / "ferry.md")])
            async with served(kb) as client:
                lost = [await lost_letters(client, number) for number in range(RELOADS)]
                ends = [await cancelled(client, model, number) for number in range(CANCELS)]
    print(f"{RELOADS} streams reloaded three times each: {sum(lost)} letters lost")
    print(f"{CANCELS} cancels: the call ended after {max(ends):.3f} s at most", flush=True)
    with open_home("exam-sample") as kb:
        async with served(kb) as client:
            await timed(client)
    with TemporaryDirectory() as folder, open_kb(Path(folder), embedder=ReadableEmbedder()) as kb:
        long = Path(folder) / "forty.pdf"
        bind(long, eval_data("aragog", "pdf"), PARTS)
        await asyncio.to_thread(add, kb, [str(long)])
        async with served(kb) as client:
            await pictures(kb, client)


@asynccontextmanager
async def served(kb: KnowledgeBase) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server over ``kb``."""
    config = uvicorn.Config(create_app(kb), port=0, log_config=None)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        yield client
    server.should_exit = True
    await task


async def begun(client: httpx.AsyncClient, question: str) -> str:
    """The path of the run of a question that was just asked."""
    reply = await client.get("/", params={"q": question, "fresh": "true"})
    return httpx.URL(reply.headers["location"]).path


async def events(
    client: httpx.AsyncClient, path: str, last: int | None = None
) -> AsyncIterator[tuple[int | None, str, dict[str, object]]]:
    """The events of a run, from the one after ``last`` on."""
    headers = {} if last is None else {"last-event-id": str(last)}
    async with client.stream("GET", f"{path}/events", headers=headers) as reply:
        number, name = None, ""
        async for line in reply.aiter_lines():
            key, _, value = line.partition(": ")
            if key == "id":
                number = int(value)
            elif key == "event":
                name = value
            elif key == "data":
                yield number, name, json.loads(value)


async def lost_letters(client: httpx.AsyncClient, number: int) -> int:
    """How many letters of the draft a reader misses or has twice that leaves three times."""
    path = await begun(client, f"{QUESTION} ({number})")
    text, last, finals = "", None, 0
    for stay in (7 + number % 11, 20 + number % 7, 33, 100_000):
        seen = 0
        async for place, name, data in events(client, path, last):
            last, seen = place, seen + 1
            text += str(data["text"]) if name == "token" else ""
            finals += name == "final"
            if seen >= stay:
                break
    return abs(len(REPLY) - len(text)) + (text != REPLY) + abs(finals - 1)


async def cancelled(client: httpx.AsyncClient, model: SlowModel, number: int) -> float:
    """Seconds from asking for a stop until the model's call has ended."""
    path = await begun(client, f"{QUESTION} [{number}]")
    async for _, name, _ in events(client, path):
        if name == "token":
            break
    ended = model.ended
    asked = time.perf_counter()
    await client.post(f"{path}/cancel")
    async with asyncio.timeout(30):
        while model.ended == ended:
            await asyncio.sleep(0.001)
    return model.ended - asked


async def timed(client: httpx.AsyncClient) -> None:
    """Pages beside the bare interface; sizes of a first answer page."""
    known = read_questions(QUESTIONS / "exam-dev.jsonl")
    asked = [one.question for one in known if one.base == "sample" and not one.before][: TIMED + 2]
    pages, bare = [], []
    for question in asked:
        pages.append(await by_page(client, question))
        bare.append(await by_interface(client, question))
    for name, times in (("page", pages[2:]), ("interface", bare[2:])):
        first, whole = (statistics.median(one) for one in zip(*times, strict=True))
        print(f"{name}: first sentence {first:.3f} s, last {whole:.3f} s (medians of {len(times)})")
    run = await client.get("/", params={"q": asked[0]}, follow_redirects=True)
    answer = [data async for _, name, data in events(client, run.url.path) if name == "final"]
    static = re.findall(r'(?:href|src)="(/static/[^"]+)"', run.text)
    static += ["/static/stream.js", "/static/reading.js", "/static/tables.js"]
    sizes = {name: len((await client.get(name)).content) for name in dict.fromkeys(static)}
    events_size = len(json.dumps(answer)) + 2_000
    total = len(run.content) + events_size + sum(sizes.values())
    scripts = sum(size for name, size in sizes.items() if name.endswith(".js"))
    print(f"first answer page: {total:,} bytes in {len(sizes) + 3} requests, scripts {scripts:,}")


async def by_page(client: httpx.AsyncClient, question: str) -> tuple[float, float]:
    """Seconds to the first sentence and to the whole answer, by page and stream."""
    start = time.perf_counter()
    path = await begun(client, question)
    first = 0.0
    await client.get(path)
    async for _, name, _ in events(client, path):
        if name in ("sentence", "final"):
            first = first or time.perf_counter() - start
    return first, time.perf_counter() - start


async def by_interface(client: httpx.AsyncClient, question: str) -> tuple[float, float]:
    """The same by ``POST /api/ask``."""
    start = time.perf_counter()
    first = 0.0
    body = {"question": question, "stream": True, "options": {"fresh": True}}
    async with client.stream("POST", "/api/ask", json=body) as reply:
        async for line in reply.aiter_lines():
            if line in ("event: sentence", "event: final"):
                first = first or time.perf_counter() - start
    return first, time.perf_counter() - start


def bind(path: Path, folder: Path, names: Sequence[str]) -> None:
    """One PDF of several."""
    with closing(PdfDocument.new()) as whole:
        for name in names:
            with closing(PdfDocument(folder / name)) as part:
                whole.import_pages(part)
        whole.save(path)


async def pictures(kb: KnowledgeBase, client: httpx.AsyncClient) -> None:
    """Pages of a paper of 40: drawn, and drawn before; the view of the whole document."""
    (long,) = kb.catalogue.documents("default")
    first: list[float] = []
    again: list[float] = []
    for number in range(1, 41):
        for times in (first, again):
            start = time.perf_counter()
            reply = await client.get(f"/documents/{long.id}/pages/{number}.png")
            times.append(time.perf_counter() - start)
            size = len(reply.content) if reply.status_code == 200 else 0
            assert size, reply.text
    views = []
    for _ in range(5):
        start = time.perf_counter()
        view = await client.get(f"/view/{long.id}?start=2000&end=2100&pane=true")
        views.append(time.perf_counter() - start)
    count = view.text.count("<figure")
    print(f"page of a PDF: drawn {statistics.median(first):.3f} s, again "
          f"{statistics.median(again):.3f} s; view of {count} pages "
          f"{statistics.median(views):.3f} s, {len(view.content):,} bytes")  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main())
