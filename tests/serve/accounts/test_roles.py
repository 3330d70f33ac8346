"""What each role may, the audit log, and being forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
import time_machine
from fastapi import FastAPI
from fastapi.routing import APIRoute
from tests.serve.accounts.conftest import Visitor, program
from tests.serve.accounts.test_sign_in import an_address
from tests.serve.rights.test_rights_tools import begun, call

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.past_questions import verified_similar
from wellread.ingest.remove import forget_user
from wellread.ingest.sources.discover import local_path
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import view_for
from wellread.learning.feedback_giving import give_feedback
from wellread.serve.features.home_and_jobs import Ingest
from wellread.serve.http.app import rules
from wellread.serve.web.document_layout import PageImages
from wellread.serve.web.pages import document_pages
from wellread.store.catalogue.accounts.sign_in_records import Accounts, NewEntry
from wellread.store.schema.stored_values import User
from wellread.store.schema.tables import metadata
from wellread.types import Filters
from wellread.values.answers import Question

MAY = {"reader": ("read", "ask"), "editor": ("read", "ask", "edit")}
ASKED = "What was the harbour ferry Osprey bought for in the spring?"


@pytest.mark.parametrize(("name", "role"), [("rea", "reader"), ("ed", "editor")])
async def test_a_role_is_held_to_the_table_of_rules(visitor: Visitor, name: str, role: str) -> None:
    """What it may not is refused before anything else is looked at."""
    async with visitor(name) as client:
        for method, path, access in rules():
            if access in ("open", "own") or access in MAY[role] or method == "*":
                continue
            response = await client.request(method, an_address(path))
            assert response.status_code == 403, (method, path)
            assert "Your role" in response.text


async def test_an_editor_changes_what_is_open_to_them(visitor: Visitor, kb: KnowledgeBase) -> None:
    text = {"title": "Note", "text": "The pier is open."}
    async with visitor("ed") as client:
        other = await client.post("/library/text", data={**text, "collection": "nature"})
        nowhere = await client.post("/library/text", data={**text, "collection": "nowhere"})
        assert (other.status_code, nowhere.status_code) == (403, 403)
        assert other.text == nowhere.text
        uri = "file:///x"
        removed = await client.post(
            "/library/remove", data={"collection": "nature", "source": [uri]}
        )
        assert removed.status_code == 403
        sample = await client.post("/library/sample")
        assert sample.status_code == 404
    assert kb.catalogue.jobs.newest()[0].collection == "nature"  # nothing ran since the fixture


async def test_no_way_makes_the_server_read_its_own_files_for_an_editor(
    visitor: Visitor, server: FastAPI, kb: KnowledgeBase
) -> None:
    """Every route that can begin a run of ingest, with files of the machine in its hands."""
    town = next(job for job in kb.catalogue.jobs.newest() if job.collection == "town")
    synced = kb.catalogue.jobs.start("sync", "town", [str(kb.home)], ("host", 1))
    kb.catalogue.jobs.finish(synced.id, "done")
    here = {"collection": "town"}
    stores = ["s3://bucket/a", " IMAPS://me@host/News", "ftp://host/a", "webdavs://me:pw@host/a"]
    stores += [f"s3://{'../' * 20}{kb.home}/uploads/c-town/a.md", "local:///etc/hostname"]
    ways: dict[str, list[tuple[str, dict[str, str]]]] = {
        "/library/address": [
            ("/library/address", here | {"address": given})
            for given in (
                f"{kb.home}/*.db",
                f"file://{kb.home}/catalogue.db",
                "/none",
                "~",
                "-",
                *stores,
            )
        ],
        "/library/jobs/{job_id}/retry": [
            (f"/library/jobs/{job.id}/retry", {}) for job in (town, synced)
        ],
        "/library/sample": [("/library/sample", {})],
    }
    own = {"/library/upload", "/library/text", "/api/documents"}  # read nothing but what they get
    begins = {route.path for route in begin_runs(server) if "POST" in (route.methods or ())}
    assert begins - own == set(ways)
    async with visitor("ed") as client:
        for requests in ways.values():
            for path, form in requests:
                refused = await client.post(path, data=form)
                assert refused.status_code in (404, 422), (path, form)
        for given in ("/etc/hostname", f"file://{kb.home}/catalogue.db", "~"):
            refused = await client.post("/api/documents", json=here | {"url": given})
            assert refused.status_code == 400, given
        for given in stores:
            refused = await client.post("/api/documents", json=here | {"url": given})
            assert (refused.status_code, "pw" in refused.text) == (422, False), given
        assert server.state.ingest.unfinished() == []
        await client.post("/library/text", data=here | {"title": "Note", "text": "A pier."})
        while server.state.ingest.busy():
            await asyncio.sleep(0.01)
        (noted, *_) = kb.catalogue.jobs.newest()
        again = await client.post(f"/library/jobs/{noted.id}/retry")
        assert again.status_code == 303
    async with visitor("root") as client:
        assert (await client.post(f"/library/jobs/{town.id}/retry")).status_code == 303
        taken = await client.post("/api/documents", json=here | {"url": "nowhere://host/a"})
        assert taken.status_code == 202
    server.state.ingest.close()


def begin_runs(server: FastAPI) -> list[APIRoute]:
    """The routes that are given the queue of runs."""
    routes = [one for one in server.routes if isinstance(one, APIRoute)]
    ingest = get_args(Ingest)[1].dependency
    return [
        one for one in routes if any(part.call is ingest for part in one.dependant.dependencies)
    ]


async def test_what_others_asked_is_given_where_the_collection_is_named(
    visitor: Visitor, kb: KnowledgeBase, accounts: Accounts
) -> None:
    """What experts explained is told who may edit it, and to every model."""
    root, rea = accounts.users.named("root"), accounts.users.named("rea")
    question = Question(text=ASKED, owner=root.id, filters=Filters(collections=("town",)))
    rated = await final(answer(kb, question))
    judged = {"sentence": 0, "score": 90, "explanation": "The register says so."}
    give_feedback(kb, rated.id, {"score": 90, "sentences": [judged]}, author=root.id)

    async def similar(name: str, **more: str) -> tuple[int, set[str], str]:
        async with visitor(name) as client:
            asked = {"question": ASKED, "threshold": "0.9", **more}
            body = (await client.get("/api/similar", params=asked)).json()
        told = {one["explanation"] for each in body["results"] for one in each["feedback"]}
        return len(body["results"]), told, body["prompt"]

    assert await similar("rea") == (0, set(), "")
    assert (await similar("root"))[0] == 1  # it is their own
    count, told, prompt = await similar("rea", topic="town")
    assert (count, told) == (1, {""})
    assert "Score: 90/100" in prompt
    assert "register" not in prompt
    count, told, prompt = await similar("ed", topic="town")
    assert (count, told - {""}) == (1, {"The register says so."})
    assert "register" in prompt
    accounts.grants.take("town", user_id=rea.id)
    async with visitor("rea") as client:
        hidden = {"question": ASKED, "topic": "town"}
        assert (await client.get("/api/similar", params=hidden)).status_code == 404
    accounts.grants.give("town", "reader", user_id=rea.id)
    theirs = view_for(kb, accounts.rights.asker_of(rea))
    assert "register" in verified_similar(theirs, ASKED, ("town",))


@pytest.mark.parametrize(
    ("collection", "asked", "edits", "silenced"),
    [
        ("town", ASKED, "town", True),
        ("town", ASKED, "*", True),
        ("town", ASKED, "", False),
        ("nature", "What do seagrass meadows store in the sediment?", "town", False),
    ],
)
async def test_a_flag_holds_where_its_giver_may_edit(
    kb: KnowledgeBase,
    accounts: Accounts,
    collection: str,
    asked: str,
    edits: str,
    silenced: bool,
) -> None:
    """And while they may: what they flagged before they lost the right is said again."""
    root, ed, rea = (accounts.users.named(name) for name in ("root", "ed", "rea"))
    for name in ("town", "nature"):
        accounts.grants.give(name, "reader", user_id=ed.id)
        accounts.grants.give(name, "reader", user_id=rea.id)
    if edits:
        accounts.grants.give(edits, "editor", user_id=ed.id)

    async def said(user: User) -> str:
        view = view_for(kb, accounts.rights.asker_of(user))
        return (await final(answer(view, Question(text=asked, owner=user.id)))).text

    view = view_for(kb, accounts.rights.asker_of(ed))
    within = Filters(collections=(collection,))
    given = await final(answer(view, Question(text=asked, owner=ed.id, filters=within)))
    flagged = given.sentences[0].text
    assert flagged in await said(root)  # and is kept, to be given again
    flag = {"sentences": [{"sentence": 0, "harmful": True}]}
    give_feedback(view, given.id, flag, author=ed.id)
    for user in (ed, rea, root):
        assert (flagged not in await said(user)) == silenced, user.name
    accounts.users.set_role(ed.id, "reader")
    assert flagged in await said(root)
    assert flagged in await said(rea)


# --- audit ---


async def test_the_log_says_who_did_what(
    visitor: Visitor, server: FastAPI, accounts: Accounts, kb: KnowledgeBase
) -> None:
    rea, root = accounts.users.named("rea"), accounts.users.named("root")
    (document,) = [one.id for one in kb.catalogue.documents("town") if one.title == "The ferry"]
    async with visitor("rea") as client:
        assert (await client.get(f"/view/{document}")).status_code == 200
        await client.post("/library/sample")  # refused
    async with visitor() as client:
        await client.post("/sign-in", data={"name": "my own password", "password": "x"})
    _, key = accounts.keys.new(root.id, "script", ("read", "edit", "admin"))
    async with program(server, key) as client:
        await client.delete("/api/answers/none/feedback")
    log = accounts.audit.newest()[::-1]
    told = [(one.user, one.action, one.target, one.outcome) for one in log]
    assert told == [
        ("rea", "signed in", "", ""),
        ("rea", "opened", "/view/{document_id}", ""),
        ("rea", "changed", "POST /library/sample", "403"),
        ("", "sign-in failed", "", "wrong password"),
        ("root", "changed", "DELETE /api/answers/none/feedback", told[4][3]),
    ]
    assert log[1].documents == (document,)
    assert log[4].key_id
    assert {one.address for one in log} == {"127.0.0.1"}
    assert [one.user for one in accounts.audit.newest(document_id=document)] == ["rea"]
    assert len(accounts.audit.newest(user_id=rea.id)) == 3
    assert "my own password" not in repr(accounts.audit.newest())


# Every way to open a document: a route, or a tool of the protocol with its argument.
OPENED = [
    "/view/{id}",
    "/view/{id}?pane=true",
    "/documents/{id}/media",
    "/documents/{id}/pages/1.png",
    "/api/documents/{id}",
    "/api/documents/{title}",
    "/api/documents/{uri}",
    "/api/videos/{id}/transcript",
    "/api/videos/{title}/transcript",
    "/api/segments/{passage}/context",
    "fetch id {id}",
    "fetch id {title}",
    "fetch id {passage}",
]


async def test_every_way_to_open_a_document_is_in_the_log_with_its_id(
    kb: KnowledgeBase, server: FastAPI, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    (talk,) = [one for one in kb.catalogue.documents("town") if one.kind == "transcript"]
    file = Path(local_path(talk.uri))
    for name in ("recording_beside", "original_pdf"):
        monkeypatch.setattr(document_pages, name, lambda *_: file)
    monkeypatch.setattr(PageImages, "png", lambda *_: b"a picture")
    names = {"id": talk.id, "uri": talk.uri, "title": talk.title}
    names["passage"] = kb.catalogue.passages_of([talk.id])[0].id
    _, key = accounts.keys.new(accounts.users.named("rea").id, "script", ("read", "ask"))
    async with server.router.lifespan_context(server), program(server, key) as client:
        session = await begun(client)
        for way in OPENED:
            before = len(accounts.audit.newest(action="opened"))
            named = way.format(**names)
            if way.startswith("/"):
                reply = await client.get(named)
            else:
                tool, *words = named.split(" ")
                arguments = dict(zip(words[::2], words[1::2], strict=True))
                sent = {"name": tool, "arguments": arguments}
                reply = await call(client, session, "tools/call", sent)
                assert '"isError":true' not in reply.text, (way, reply.text)
            assert reply.status_code == 200, (way, reply.text)
            log = accounts.audit.newest(action="opened")
            assert (len(log), log[0].documents) == (before + 1, (talk.id,)), way
        for path in ("/view/doc_none", "/api/documents/none"):
            assert (await client.get(path)).status_code == 404
        assert len(accounts.audit.newest(action="opened")) == len(OPENED)


async def test_an_answer_is_in_the_log_with_what_it_shows_and_without_a_copy_of_the_question(
    kb: KnowledgeBase, accounts: Accounts
) -> None:
    rea = accounts.users.named("rea")
    given = await final(answer(kb, Question(text=ASKED, owner=rea.id, session_id="ses_1")))
    await final(answer(kb, Question(text=ASKED)))  # at the machine: not logged
    (entry,) = accounts.audit.newest(action="asked")
    assert (entry.user, entry.answer_id, entry.question) == ("rea", given.id, ASKED)
    assert set(entry.documents) >= {one.document_id for one in given.citations}
    assert entry.documents
    kb.catalogue.sessions.remove(given.session_id, rea.id)
    (entry,) = accounts.audit.newest(action="asked")
    assert entry.question == "(removed)"
    assert entry.documents


@contextmanager
def days_off(days: float) -> Iterator[None]:
    """The clock stands so many days from now."""
    with time_machine.travel(datetime.now(UTC) + timedelta(days=days), tick=False):
        yield


def test_old_entries_go_as_the_setting_says(accounts: Accounts) -> None:
    for day in (-400, -399.5, -390, -2, 0):
        with days_off(day):
            accounts.audit.write(NewEntry(action="changed", target=str(day)))
    assert accounts.audit.trim(0) == 0
    assert [accounts.audit.trim(365) for _ in range(3)] == [2, 1, 0]
    with days_off(3_650):  # a clock that is wrong costs a day's worth
        assert accounts.audit.trim(365) == 1
    assert [one.target for one in accounts.audit.newest()] == ["0"]


def test_a_wrong_clock_signs_few_out(accounts: Accounts) -> None:
    rea, lasting = accounts.users.named("rea").id, timedelta(days=14)
    secrets = []
    for day in (-3, -2.5, -1, 0):
        with days_off(day):
            secrets.append(accounts.sessions.begin(rea, lasting))
    with days_off(3_650):
        accounts.sessions.begin(rea, lasting)
    signed_in = [accounts.sessions.authenticate(secret) is not None for secret in secrets]
    assert signed_in == [False, False, True, True]  # those of two days ago and later


# --- being forgotten ---


async def test_of_a_forgotten_user_no_byte_is_left(
    kb: KnowledgeBase, accounts: Accounts, visitor: Visitor
) -> None:
    async with visitor("rea") as client:
        await client.post("/account/keys", data={"name": "quince-canary", "scope": "read"})
        liked = {"preferred": "collection:town", "length": "short"}
        assert (await client.post("/preferences", data=liked)).status_code < 400
    rea = accounts.users.named("rea")
    asked = "Who among the quince-canary growers bought the ferry Osprey last year?"
    await final(answer(kb, Question(text=asked, owner=rea.id, session_id="ses_2")))
    before = held(kb)
    assert b"quince-canary" in before
    assert rea.id.encode() in before
    report = forget_user(kb, rea.id)
    assert report.forgotten.answers == 1
    assert report.traces == ()
    after = held(kb)
    assert b"quince-canary" not in after
    assert rea.id.encode() not in after
    assert accounts.users.get(rea.id) is None
    log = accounts.audit.newest()
    assert {one.user for one in log if one.action in ("signed in", "asked")} == {"(removed)"}
    assert all(one.address == "" for one in log if one.user == "(removed)")


async def test_somebody_has_themselves_forgotten(visitor: Visitor, accounts: Accounts) -> None:
    rea = accounts.users.named("rea")
    async with visitor("rea") as client:
        assert (await client.post("/account/forget")).status_code == 400
        done = await client.post("/account/forget", data={"confirmed": "Rea"})
        assert done.status_code == 303
        assert (await client.get("/library")).status_code == 303
    assert [one.name for one in accounts.users.list_all()] == ["ed", "root"]
    assert rea.id not in repr(accounts.audit.newest())


def held(kb: KnowledgeBase) -> bytes:
    """All bytes of a home, also of the catalogue's log, and all rows, which a server may hold."""
    files = b"".join(path.read_bytes() for path in kb.home.rglob("*") if path.is_file())
    with kb.catalogue._database.read() as connection:
        rows = [connection.execute(table.select()).all() for table in metadata.sorted_tables]
    return files + repr(rows).encode()


# --- what is somebody's own ---

# What is sent to each route that changes it, in the order in which it is done.
CHANGES_OF_ONES_OWN: list[tuple[str, dict[str, object]]] = [
    ("POST /api/answers/{answer_id}/verify", {}),
    ("POST /answers/{answer_id}/verify", {}),
    ("PUT /api/answers/{answer_id}/feedback", {"score": 50}),
    ("PATCH /api/answers/{answer_id}/feedback", {"comment": "good"}),
    ("DELETE /api/answers/{answer_id}/feedback", {}),
    ("POST /answers/{answer_id}/feedback", {"score": "50"}),
    ("POST /answers/{answer_id}/feedback/remove", {}),
    ("PATCH /api/preferences", {"length": "short"}),
    ("POST /preferences", {"length": "long"}),
    ("POST /preferences/learned", {"consent": "yes"}),
    ("PATCH /api/gaps/{gap_id}", {"status": "closed"}),
    ("POST /gaps/{gap_id}/status", {"status": "open", "cluster": "c1"}),
    ("DELETE /api/sessions/{session_id}", {}),
    ("POST /conversations/{session_id}/remove", {}),
]


@pytest.mark.parametrize("name", ["rea", "ed"])
async def test_everybody_changes_and_removes_what_is_their_own(
    visitor: Visitor, accounts: Accounts, kb: KnowledgeBase, name: str
) -> None:
    user = accounts.users.named(name)
    needs = {f"{method} {path}": access for method, path, access in rules()}
    ids = {"gap_id": kb.catalogue.record_gap("Who flew?", "nothing", owner=user.id)}
    async with visitor(name) as client:
        for route, sent in CHANGES_OF_ONES_OWN:
            if needs[route] not in MAY[user.role]:
                continue
            if not kb.catalogue.sessions.of(user.id):
                given = (await client.post("/api/ask", json={"question": ASKED})).json()
                ids |= {"session_id": given["sessionId"], "answer_id": given["id"]}
            method, path = route.format(**ids).split()
            body, form = (sent, None) if "/api/" in path else (None, sent)
            response = await client.request(method, path, json=body, data=form)
            assert response.status_code < 400, (route, response.text)
    assert kb.catalogue.sessions.of(user.id) == []
