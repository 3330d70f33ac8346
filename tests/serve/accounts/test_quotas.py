"""Whoever's quota is spent gets answers without a model, and is told why; others keep theirs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.serve.accounts.conftest import SECRET, program

from wellread.kb import open_kb
from wellread.serve.server.app import create_app
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel

FIRST, SECOND = "What was paid for the ferry Osprey?", "What did the ferry Osprey cost in 2021?"
TOLD = "The ferry Osprey was bought for 2.6 million euros in 2021 [e1]."
PRICES = {"generation": {"input_price": 100.0, "output_price": 100.0, "max_tokens": 100}}
SPENT = 0.000_001  # dollars: less than the first answer cost


@pytest.mark.parametrize("whose", ["user", "group"])
async def test_a_spent_quota_leaves_the_sources_sentences(
    home: Path, filled_home: Path, whose: str
) -> None:
    shutil.copytree(filled_home, home)
    model = ScriptedModel([TOLD] * 3)
    embedder = ReadableEmbedder()
    with open_kb(home, overrides=PRICES, embedder=embedder, model=model) as kb:
        accounts = kb.catalogue.accounts
        accounts.users.add("root", "admin", SECRET)
        users = {name: accounts.users.add(name, "reader", SECRET) for name in ("rea", "ed")}
        keys = {}
        for name, user in users.items():
            accounts.grants.give("town", "reader", user_id=user.id)
            _, keys[name] = accounts.keys.new(user.id, "script", ("read", "ask"))
        server = create_app(kb)

        async def asked(name: str, question: str = SECOND) -> dict[str, Any]:
            async with program(server, keys[name]) as client:
                reply = await client.post("/api/ask", json={"question": question})
            assert reply.status_code == 200, reply.text
            return dict(reply.json())

        assert (await asked("rea", FIRST))["answeredBy"] == "scripted:model"
        crew = accounts.groups.add("crew")
        accounts.groups.join(crew.id, users["rea"].id)
        if whose == "user":
            accounts.users.set_quota(users["rea"].id, SPENT)
        else:
            accounts.groups.set_quota(crew.id, SPENT)
        without = await asked("rea")
        assert without["answeredBy"] == "extractive"
        assert (
            f"quota of {'rea' if whose == 'user' else 'the group crew'} is" in without["fallback"]
        )
        assert "2.6 million euros" in without["answer"]
        assert (await asked("ed"))["answeredBy"] == "scripted:model"
        assert len(model.prompts) == 2
        paid = {call.owner for call in kb.catalogue.calls.newest(10)}
        assert paid == {users["rea"].id, users["ed"].id}
