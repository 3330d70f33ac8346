"""The frozen routes of the interface: what they answer to some 200 requests, kept and compared.

    python -m benchmarks.contracts record before
    python -m benchmarks.contracts compare before after

Every request goes to a home filled with the sample under a fixed clock; status and body are kept in
``.cache/contracts``. What is random or takes time (ids of answers and sessions, seconds) is masked.
``compare`` allows new fields and nothing else: what stood there stands there in the same order.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import time_machine
from starlette.testclient import TestClient

from benchmarks.golden import TODAY
from benchmarks.paths import CACHE, SAMPLE
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder

KEPT = CACHE / "contracts"
FOLDERS = ("commons", "news", "pages", "papers", "questions", "transcripts")
RANDOM = re.compile(r"(?<=\b(?:ans|ses|run)_)[0-9a-z]+")
MEASURED = ("seconds", "session_id", "sessionId")
QUESTIONS = (
    "What does the repair café do?",
    "How many articles are there?",
    "Which entries implement the repair café?",
    "How does the no-anchor zone differ from seagrass restoration?",
    "What is the capital of France?",
    "What happened with the ferry Kittiwake last month?",
    "When was the microgrid discussed?",
    "What did people say about the tool library?",
    "Is the microgrid trending?",
    "How complete is our coverage?",
    "Do we have anything about participatory budgeting?",
    "List all entries about energy",
    "Who are the authors of the seagrass paper?",
)
Call = tuple[str, str, Any]  # method, address, JSON body
Reply = dict[str, Any]


def main() -> None:
    """Record the replies, or compare two recordings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("name")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before")
    comparing.add_argument("after")
    options = parser.parse_args()
    if options.command == "record":
        record(options.name)
    else:
        compare(options.before, options.after)


def record(name: str) -> None:
    """Write the replies to ``.cache/contracts/NAME.jsonl``."""
    logging.disable(logging.WARNING)
    KEPT.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="contracts-"))
    lines = []
    clock = time_machine.travel(TODAY, tick=False)
    with clock, open_kb(home, embedder=ReadableEmbedder()) as kb:
        for folder in FOLDERS:
            add(kb, [str(SAMPLE / folder)], collection="halden-sound")
        add(kb, [str(SAMPLE / "transcripts")], collection="meetings")
        with TestClient(create_app(kb), base_url="http://127.0.0.1") as client:
            for method, address, body in calls(kb):
                reply = client.request(method, address, json=body)
                text = RANDOM.sub("*", reply.text)
                row = {"call": f"{method} {address} {json.dumps(body)}", "body": text}
                lines.append(json.dumps(row | {"status": reply.status_code}))
    path = KEPT / f"{name}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.rmtree(home)
    print(f"{len(lines)} replies: {path}")


def calls(kb: KnowledgeBase) -> Iterator[Call]:
    """The requests, errors among them."""
    yield from _asked()
    yield from _searched()
    yield from _looked_up(kb)


def _asked() -> Iterator[Call]:
    for question in QUESTIONS:
        yield "POST", "/api/ask", {"question": question}
        yield "POST", "/api/query", {"question": question}
    options: tuple[Any, ...] = (
        {"timeWindow": {"from": "2025-10", "to": "2025-12-31"}},
        {"kinds": ["transcript"], "speakers": ["Nadia Osei"]},
        {"maxClusters": 2, "strict": True, "fresh": True},
        {"explain": True, "fresh": True},
        {"timeWindow": {"from": "2026", "to": "2025"}},
        {"timeWindow": {"from": "soon"}},
        {"maxClusters": 0},
        {"unknown": 1},
        {"kinds": ["song"]},
    )
    for each in options:
        yield "POST", "/api/ask", {"question": QUESTIONS[0], "options": each}
    bodies: tuple[Any, ...] = (
        {},
        [],
        {"question": " "},
        {"question": QUESTIONS[0], "topicId": "nowhere"},
        {"question": QUESTIONS[0], "topicId": "meetings", "mode": "quick"},
        {"question": QUESTIONS[0], "mode": "slow"},
        {"question": QUESTIONS[5], "stream": True},
        {"question": QUESTIONS[3], "stream": True, "options": {"explain": True, "fresh": True}},
    )
    for body in bodies:
        yield "POST", "/api/ask", body
        yield "POST", "/api/query", body
    for mode in ("quick", "auto", "deep"):
        asked = {"question": QUESTIONS[6], "mode": mode, "session_id": "a-session"}
        yield "POST", "/api/query", asked
    for question in (*QUESTIONS[:3], ""):
        yield "POST", "/api/query/deep", {"question": question}
    yield "GET", "/api/ask", None


def _searched() -> Iterator[Call]:
    parameters = (
        "query=repair",
        "query=repair&limit=3&offset=2",
        "query=repair&mode=text",
        "query=repair&mode=vector&limit=2",
        "query=repiar+caffe",
        "query=ferry&kind=article&from=2025-10&to=2026-01",
        "query=ferry&speaker=Nadia%20Osei",
        "query=energy&taxonomy=sectors%3Denergy",
        "query=energy&topic=meetings&collection=halden-sound",
        "query=energy&author=Nobody",
        "query=energy&taxonomy=energy",
        "query=energy&topic=nowhere",
        "query=energy&limit=0",
        "query=energy&limit=500",
        "query=energy&from=soon",
        "query=energy&from=2026&to=2025",
        "query=energy&misspelt=1",
        "query=energy&mode=loud",
        "query=",
        "limit=3",
        "query=xyzzy",
    )
    for each in parameters:
        yield "GET", f"/api/search?{each}", None
        yield "GET", f"/api/search/speaker/Nadia%20Osei?{each}", None
        yield "GET", f"/api/search/date-range?start=2025-06&{each}", None
    yield "GET", "/api/search", None
    yield "GET", "/api/search/date-range", None
    yield (
        "GET",
        "/api/search/date-range?start=2025&end=2025-12-01&limit=5&speaker=Nadia%20Osei",
        None,
    )
    yield "GET", "/api/search/speaker/Nobody?query=repair", None
    yield "GET", "/api/search/speaker/Nadia%20Osei", None


def _looked_up(kb: KnowledgeBase) -> Iterator[Call]:
    graph = kb.catalogue.graph
    names = sorted({node.title for node in graph.entities(())})[:12]
    for name in (*names, "repair-cafe", "nobody at all", "Nadia Osei"):
        yield "GET", f"/api/entities/{quote(name)}", None
        yield "GET", f"/api/topics/{quote(name)}/timeline", None
    ids = sorted({node.id for node in graph.entities(())})
    for name in ids[:5]:
        yield "GET", f"/api/entities/{quote(name)}?limit=1&collection=halden-sound", None
    yield "GET", f"/api/entities/{ids[0]}?collection=nowhere", None
    yield "GET", f"/api/entities/{ids[0]}?limit=1000", None
    for each in (
        "",
        "?limit=2&order=oldest",
        "?topic=meetings",
        "?limit=0",
        "?speaker=Nadia%20Osei",
        "?x=1",
    ):
        yield "GET", f"/api/videos{each}", None
    recordings = kb.catalogue.documents("meetings")
    for facts in sorted(recordings, key=lambda one: one.uri):
        yield "GET", f"/api/videos/{facts.id}/transcript", None
        yield "GET", f"/api/videos/{facts.id}/transcript?from=0:30&to=2:00", None
        yield "GET", f"/api/videos/{facts.id}/transcript?speaker=Nadia%20Osei", None
        yield "GET", f"/api/videos/{facts.id}/transcript?from=later", None
        passages = sorted(one.id for one in kb.catalogue.passages_of([facts.id]))
        for passage in passages[:3]:
            for each in ("", "?before=0&after=1", "?before=99", "?topic=nowhere"):
                yield "GET", f"/api/segments/{passage}/context{each}", None
    yield "GET", "/api/videos/nothing/transcript", None
    yield "GET", "/api/segments/nothing/context", None
    for each in ("", "?entities=0", "?topic=meetings&entities=3", "?topic=nowhere"):
        yield "GET", f"/api/topics{each}", None
    windows = (
        "?limit=3",
        "?unit=month",
        "?kind=collection",
        "?from=2025-11&to=2025-12",
        "?unit=hour",
    )
    for each in (
        *windows,
        "?from=2025-11",
        "?kind=entity",
        "?topic=meetings",
        "?from=2026&to=2025",
        "?unit=day",
    ):
        yield "GET", f"/api/topics/halden-sound/timeline{each}", None


def compare(before: str, after: str) -> None:
    """Print what differs.

    Raises:
        SystemExit: something does.
    """
    old, new = _read(before), _read(after)
    worse = [f"{call}: not asked the second time" for call in old if call not in new]
    fields: set[str] = set()
    for call, reply in old.items():
        if call in new:
            told = list(_differences(reply, new[call], "", fields))
            worse += [f"{call}\n    {line}" for line in told[:5]]
    print(f"{len(old)} replies; new fields: {', '.join(sorted(fields)) or 'none'}")
    if worse:
        raise SystemExit("\n".join(worse[:40]) + f"\n{len(worse)} differences")
    print("nothing else differs")


def _read(name: str) -> dict[str, Reply]:
    found = {}
    for line in (KEPT / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        body = row["body"]
        parts = re.findall(r"^data: (.*)$", body, re.M) if body.startswith("event:") else [body]
        names = re.findall(r"^event: (.*)$", body, re.M)
        told = [json.loads(part) if part[:1] in "{[" else part for part in map(str.strip, parts)]
        found[row["call"]] = {"status": row["status"], "events": names, "body": told}
    return found


def _differences(old: Any, new: Any, place: str, fields: set[str]) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        fields.update(f"{place.lstrip('.')}.{name}" for name in new.keys() - old.keys())
        if [name for name in new if name in old] != list(old):
            yield f"{place}: the fields are {', '.join(new)}, and were {', '.join(old)}"
        for name in old.keys() & new.keys():
            if name not in MEASURED:
                yield from _differences(old[name], new[name], f"{place}.{name}", fields)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            yield from _differences(one, other, f"{place}[]", fields)
    elif (type(old), old) != (type(new), new):
        yield f"{place}: {str(old)[:200]!r} became {str(new)[:200]!r}"


if __name__ == "__main__":
    main()
