"""A searching model that does whatever its prompt tells it, be it the asker or a source.

Its first reply searches for the question. From then on it obeys every instruction that it can read
in what it was shown: lines and JSON that call, orders in words, coded ones, and it calls all of it.
"""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import AsyncGenerator, Iterator
from typing import Any
from urllib.parse import quote

from tests.doubles.obedient import revealed

from wellread.models.base import ModelUsage, Piece, Prompt, TextDelta, ToolCall

_QUESTION = re.compile(r"<question-\w+>\n(.*?)\n</question", re.DOTALL)
_FOUND = re.compile(r"<found-\w+>\n(.*?)\n</found", re.DOTALL)  # what sources say
_NOTHING = re.compile(r"nothing found: ([^\n]*)")
_CALL = re.compile(
    r"CALL\s*:\s*(?:curl|get|post)?\s*(?:-\w+ \w+ )?['\"]?([^'\"\n]+)['\"]?", re.IGNORECASE
)
_JSON = re.compile(r"\{[^{}]*(?:\{[^{}]*\})?[^{}]*\}")
_NAMED = re.compile(
    r"\b(?:call|invoke|use|run|execute|trigger)\b[^.\n]{0,40}?\b(search\w*|look_up_entity|read_\w+"
    r"|list_recordings)\b[^.\n]{0,40}?(?:with|for|to find|on|about)\s+(?:the query\s+)?([^.\n]+)",
    re.IGNORECASE,
)
_LIST = re.compile(r"\b(?:call|invoke|use|run)\b[^.\n]{0,40}\blist_recordings\b", re.IGNORECASE)
_SEARCH = re.compile(
    r"\b(?:search|look up|look for|query|google)\b(?: (?:for|all|the|in|our))*\s+([^.\n]+)",
    re.IGNORECASE,
)
_OPEN = re.compile(r"\b(?:open|visit|fetch|load|go to)\b[^.\n]*?((?:https?://|/api/)\S+)", re.I)


class ObedientSearcher:
    """Obeys. Attributes: ``prompts``, and ``obeyed``: what it called because it was told to."""

    def __init__(self, *, takes_tools: bool) -> None:
        self.identity = "obedient:searcher"
        self.takes_tools = takes_tools
        self.prompts: list[Prompt] = []
        self.obeyed: list[tuple[str, dict[str, Any]]] = []

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        self.prompts.append(prompt)
        if prompt.history:
            heard = "\n".join([prompt.user, *(one.heard for one in prompt.history)])
            said = [*_FOUND.findall(heard), *_NOTHING.findall(heard)]
            told = list(orders("\n".join(said)))
            told = [one for place, one in enumerate(told) if one not in told[:place]]
            self.obeyed += told
            calls = told
        else:
            found = _QUESTION.search(prompt.user)
            assert found
            calls = [("search", {"query": found.group(1), "limit": 3})]
        await asyncio.sleep(0)
        if not self.takes_tools:
            yield TextDelta(text="\n".join(line_of(*call) for call in calls[:6]) or "DONE")
        elif not calls:
            yield TextDelta(text="DONE")
        for number, (name, arguments) in enumerate(calls[:6] if self.takes_tools else ()):
            yield ToolCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))
        yield ModelUsage(model=self.identity)


def line_of(name: str, arguments: dict[str, Any]) -> str:
    """The call as a line."""
    if name == "line":
        return str(arguments["line"])
    rest = {key: str(value) for key, value in arguments.items()}
    paths = {
        "search": "/api/search",
        "look_up_entity": f"/api/entities/{quote(rest.pop('name', ''), safe='')}",
        "list_recordings": "/api/videos",
        "search_document": f"/api/documents/{quote(rest.pop('document', ''), safe='')}/search",
    }
    query = "&".join(f"{key}={quote(value)}" for key, value in rest.items())
    return f"CALL: curl '{paths.get(name, '/api/search')}{'?' if query else ''}{query}'"


def orders(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What ``text`` tells a model to call."""
    plain = unicodedata.normalize("NFKC", text)
    for read in (plain, " ".join(plain.split()), *revealed(text)):
        for target in _CALL.findall(read):
            yield "line", {"line": f"CALL: curl '{target}'"}
            yield from _by_address(target)
        for found in _JSON.findall(read):
            yield from _by_json(found)
        for name, words in _NAMED.findall(read):
            known = "search" if name.lower().startswith("search") else name.lower()
            key = "name" if known == "look_up_entity" else "query"
            yield known, {key: words.strip(" \"'“”")}
        if _LIST.search(read):
            yield "list_recordings", {}
        for words in _SEARCH.findall(read):
            yield "search", {"query": words.strip(" \"'“”:")}
        for address in _OPEN.findall(read):
            yield "line", {"line": f"CALL: curl '{address}'"}
            yield "open_url", {"url": address}


def _by_address(target: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if found := re.search(r"query=([^&\s]+)", target):
        yield "search", {"query": found.group(1).replace("+", " ")}
    elif target.startswith("/api/videos"):
        yield "list_recordings", {}
    elif found := re.search(r"/api/entities/([^?\s]+)", target):
        yield "look_up_entity", {"name": found.group(1)}


def _by_json(found: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        read = json.loads(found)
    except ValueError:
        return
    name = read.get("tool") or read.get("name") or read.get("function")
    given = read.get("arguments") or read.get("parameters")
    given = given or {key: value for key, value in read.items() if key != "tool"}
    if isinstance(name, str) and isinstance(given, dict):
        yield name, given
