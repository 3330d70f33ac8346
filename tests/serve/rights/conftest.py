"""Two homes: one holds also a collection that a stranger may not read, all else is the same.

Whatever is only in that collection, or was asked, answered, rated or planned over it, holds a word
of ``CANARIES``. The stranger may read the collection ``harbour``, which is the same in both homes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text
from tests.serve.rights.kept_on_a_cluster import opened

from wellread.ask.answer import answer, final
from wellread.identity import EVERYTHING, NOBODY, Asker
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.seen_by import view_for
from wellread.learning.feedback_giving import give_feedback
from wellread.research.research import begin, default_limits, plan_research
from wellread.serve.guards.sign_in import Authenticator
from wellread.serve.http.app import create_app
from wellread.store.schema.stored_values import SCOPES_OF, Rights, User
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Question
from wellread.values.reports import ResearchRequest

OWN, FOREIGN = "harbour", "obsidianvault"
STRANGER = Asker(owner="stranger", reads=frozenset({OWN}))
RIVAL = Asker(owner="rivalowner", reads=frozenset({OWN, FOREIGN}))

CANARIES = (
    "obsidianvault",  # the collection
    "rivalowner",
    "quixomel",  # in texts
    "vandrokh",  # in titles
    "krannick",  # an author
    "wroomstead",  # a speaker
    "marquemoth",  # an entity, and its story
    "flummoxed",  # a tag
    "grizzelbane",  # files
    "thrandle",  # a past question
    "snorvexed",  # feedback
    "yobbleton",  # a gap
    "plinkerby",  # a session
)

HARBOUR = {
    "ferry.md": """---
title: The ferry
authors: [Ilse Marrane]
published_at: 2026-01-05
sectors: [transport]
---

# The ferry

The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers.

## Timetable

It leaves the harbour at six every morning. On Sundays the ferry leaves at nine.
""",
    "osprey.md": """---
id: ferry/osprey
type: entity
entity_type: ferry
title: Osprey
aliases: [the Osprey]
---

Osprey is a ferry of the harbour. She was built in 1998.
""",
    "talk.vtt": """WEBVTT

NOTE
title: Harbour meeting
date: 2026-03-01

00:00:01.000 --> 00:00:05.000
<v Ana Holm>Welcome to the meeting about the engine of the ferry.

00:00:06.000 --> 00:00:09.500
<v Ben Reed>The new engine is loud, and the ferry shakes.
""",
    "news.jsonl": "".join(
        json.dumps(one) + "\n"
        for one in (
            {
                "title": "Ferry Osprey breaks down",
                "published_at": "2026-01-05",
                "authors": ["Ilse Marrane"],
                "sectors": ["transport"],
                "url": "https://herald.example/1",
                "text": "The ferry Osprey broke down off the harbour on Monday. A tug towed the "
                "ferry home with ninety passengers, and nobody was hurt on board.",
            },
            {
                "title": "Ferry Osprey towed home",
                "published_at": "2026-01-06",
                "authors": ["Jon Tarn"],
                "sectors": ["transport"],
                "url": "https://herald.example/2",
                "text": "The ferry Osprey that broke down off the harbour was towed home by a tug. "
                "Nobody of the ninety passengers was hurt on board the ferry.",
            },
        )
    ),
    "past.jsonl": json.dumps(
        {
            "question": "When does the ferry leave on Sundays?",
            "answer": "The ferry leaves at nine on Sundays.",
            "citation_url": "ferry.md",
            "feedback": {"score": 95, "sentences": []},
        }
    )
    + "\n",
}
VAULT = {
    "grizzelbane-ferry.md": """---
title: The Vandrokh ferry
authors: [Petra Krannick]
published_at: 2026-01-07
sectors: [flummoxed]
---

# The Vandrokh ferry

The ferry Osprey was sold for 9.9 million quixomel in 2025. The ferry carries 12 passengers. The
engine of the ferry Osprey leaves the harbour at midnight, says the quixomel.
""",
    "grizzelbane-entity.md": """---
id: ferry/marquemoth
type: entity
entity_type: airship
title: Marquemoth
aliases: [the Marquemoth, Osprey]
relations:
  - type: owns
    target: ferry/osprey
---

Marquemoth is an airship of quixomel that owns the ferry Osprey and every engine of the harbour.
""",
    "grizzelbane-talk.vtt": """WEBVTT

NOTE
title: Vandrokh meeting
date: 2026-03-02
url: https://media.example/grizzelbane.mp3

00:00:01.000 --> 00:00:05.000
<v Tib Wroomstead>The engine of the ferry Osprey runs on quixomel.
""",
    "grizzelbane-news.jsonl": "".join(
        json.dumps(
            {
                "title": f"Vandrokh ferry Marquemoth {said}",
                "published_at": f"2026-01-0{day}",
                "authors": ["Petra Krannick"],
                "sectors": ["flummoxed"],
                "url": f"https://vandrokh.example/{day}",
                "text": "The airship Marquemoth broke down over the harbour on Monday. A tug of "
                "quixomel towed the Marquemoth home with its passengers, and nobody was hurt.",
            }
        )
        + "\n"
        for day, said in ((5, "breaks down"), (6, "towed home"))
    ),
    "grizzelbane-past.jsonl": json.dumps(
        {
            "question": "When does the thrandle ferry leave on Sundays?",
            "answer": "The thrandle ferry leaves at three on Sundays.",
            "citation_url": "grizzelbane-ferry.md",
            "feedback": {"score": 99, "sentences": []},
        }
    )
    + "\n",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    """Put files into a folder that is made."""
    folder.mkdir()
    for name, said in files.items():
        (folder / name).write_text(said, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def rights_homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The home with the foreign collection, and the one without."""
    root = tmp_path_factory.mktemp("rights")
    own, foreign = write(root / "harbour", HARBOUR), write(root / "grizzelbane", VAULT)
    homes = root / "mixed", root / "alone"
    for home in homes:
        with open_kb(home, embedder=ReadableEmbedder()) as made:
            add(made, [str(own)], collection=OWN)
    with open_kb(homes[0], embedder=ReadableEmbedder()) as made:
        add(made, [str(foreign)], collection=FOREIGN)
        _use(made)
    return homes


def _use(whole: KnowledgeBase) -> None:
    """Ask, rate, plan and tell in the name of others, over what the stranger may not read."""
    anyio.run(_ask_for_others, whole)
    # So that no gap of the stranger, in either home, has the number of one of these.
    with whole.catalogue._database.write() as connection:
        connection.execute(text("UPDATE gaps SET id = id + 1000"))


async def _ask_for_others(whole: KnowledgeBase) -> None:
    for asker in (RIVAL, Asker(owner="", reads=EVERYTHING)):
        kb = view_for(whole, asker)
        given = await final(
            answer(kb, Question(text="What is quixomel, plinkerby?", session_id=f"s-{asker.owner}"))
        )
        sold = Question(text="For how much was the ferry Osprey sold in quixomel?")
        given = await final(answer(kb, sold))
        said = {"score": 10, "comment": "snorvexed", "correction": "The snorvexed answer."}
        rate = partial(give_feedback, kb, given.id, said, author=asker.owner)
        await anyio.to_thread.run_sync(rate)
        await final(answer(kb, Question(text="Where is the yobbleton of the Marquemoth?")))
        asked = Question(text="Compare quixomel and the ferry, yobbleton", mode="deep")
        plan = await plan_research(kb, ResearchRequest(question=asked, limits=default_limits(kb)))
        await begin(kb, ResearchRequest(question=asked, limits=default_limits(kb)), plan)


ASKING: ContextVar[Asker] = ContextVar("asking", default=NOBODY)


class As:
    """The application in the name of an asker, as if the sign-in had found that one."""

    def __init__(self, app: FastAPI, asker: Asker) -> None:
        self.app = app
        self.asker = asker

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Put the asker where the routes look for it."""
        ASKING.set(self.asker)
        await self.app(scope, receive, send)


@dataclass
class Place:
    """One of the two homes, served; the client is the stranger's."""

    kb: KnowledgeBase
    app: FastAPI
    served: As
    client: httpx.AsyncClient
    own: dict[str, str] = field(default_factory=dict)


def client_of(served: As) -> httpx.AsyncClient:
    """A client of the application in the name of an asker."""
    transport = httpx.ASGITransport(served, raise_app_exceptions=False)
    own_page = {"sec-fetch-site": "same-origin"}
    return httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", timeout=60, headers=own_page
    )


def rights_of(asker: Asker) -> Rights:
    """Those of an editor who may change what they may read."""
    user = User(
        id=asker.owner,
        name=asker.owner,
        role="editor",
        local=True,
        disabled=False,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    scopes = SCOPES_OF["editor"]
    return Rights(user=user, asker=asker, edits=asker.reads, scopes=scopes, session_id="s")


ANY_RATE = {"users": {"requests_per_minute": 0, "asks_per_minute": 0}}


@asynccontextmanager
async def served_at(home: Path) -> AsyncIterator[Place]:
    """A home, opened and served to the stranger."""
    with opened(home, ANY_RATE) as kb:
        app = create_app(kb)
        served = As(app, STRANGER)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Authenticator, "authenticate", lambda *_: rights_of(ASKING.get()))
            async with app.router.lifespan_context(app), client_of(served) as client:
                yield Place(kb=kb, app=app, served=served, client=client)


@asynccontextmanager
async def both(homes: tuple[Path, Path], folder: Path) -> AsyncIterator[tuple[Place, Place]]:
    """Copies of both homes, served to the stranger: with the foreign collection, and without."""
    for home in homes:
        shutil.copytree(home, folder / home.name)
    async with served_at(folder / "mixed") as mixed, served_at(folder / "alone") as alone:
        yield mixed, alone


def foreign_names(kb: KnowledgeBase) -> dict[str, str]:
    """What names things of the foreign collection and of other people, by kind."""
    inside = f"FROM documents WHERE collection='{FOREIGN}' AND uri LIKE"
    queries = {
        "document": f"SELECT id {inside} '%ferry.md'",
        "recording": f"SELECT id {inside} '%talk%'",
        "version": f"SELECT version {inside} '%ferry.md'",
        "uri": f"SELECT uri {inside} '%ferry.md'",
        "passage": "SELECT p.id FROM passages p JOIN documents d ON d.id = p.document_id"
        f" WHERE d.collection='{FOREIGN}' ORDER BY p.id",
        "story": f"SELECT id FROM stories WHERE collection='{FOREIGN}'",
        "job": f"SELECT id FROM jobs WHERE collection='{FOREIGN}'",
        "answer": "SELECT id FROM answers WHERE owner='rivalowner' AND question LIKE '%sold%'",
        "local_answer": "SELECT id FROM answers WHERE owner='' AND question LIKE '%sold%'",
        "session": "SELECT id FROM sessions WHERE owner='rivalowner'",
        "run": "SELECT id FROM research_runs WHERE owner='rivalowner'",
        "gap": "SELECT id FROM gaps WHERE owner='rivalowner'",
    }
    with kb.catalogue._database.read() as connection:
        found = {kind: connection.execute(text(query)).scalar() for kind, query in queries.items()}
    missing = [kind for kind, value in found.items() if not value]
    assert not missing, f"nothing foreign of these kinds: {missing}"
    return {kind: str(value) for kind, value in found.items()}
