"""A small reader of a stream that does with it what Open WebUI does.

Its backend takes the lines that begin with ``data:``, hands ``event`` to the page, and makes a
source of each annotation of a delta. Its page gathers documents under the name that their metadata
gives as ``source``, and shows that name in place of the title where it is an address.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class PanelEntry:
    """A line of the panel of sources, and what it opens."""

    name: str
    url: str
    quotes: list[str]


@dataclass(slots=True)
class OpenWebUiReader:
    """What is on the screen after a stream."""

    content: str = ""
    reasoning: str = ""
    statuses: list[tuple[str, bool]] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""

    def read(self, stream: str) -> OpenWebUiReader:
        """Take in a whole stream."""
        for line in stream.split("\n"):
            if not line.startswith("data:"):
                continue
            data = line[len("data:") :].strip()
            if data != "[DONE]":
                self._take(json.loads(data))
        return self

    def panel(self, *, older: bool = False) -> list[PanelEntry]:
        """The panel of sources, in the order in which ``[1]``, ``[2]`` … open it.

        Args:
            older: as releases do it that do not know ``source_url``.
        """
        entries: dict[str, PanelEntry] = {}
        for source in self.sources:
            for quote, given in zip(source["document"], source["metadata"], strict=True):
                facts = {key: one for key, one in given.items() if not older or key != "source_url"}
                known = facts.get("source") or source["source"].get("id") or "N/A"
                name = facts.get("name") or source["source"].get("name", "")
                url = facts.get("source_url") or source["source"].get("url", "")
                if known.startswith("http") and not facts.get("source_url"):
                    name = url = known
                entries.setdefault(known, PanelEntry(name, url, [])).quotes.append(quote)
        return list(entries.values())

    def _take(self, data: dict[str, Any]) -> None:
        event = data.get("event", {})
        if event.get("type") == "status":
            self.statuses.append((event["data"]["description"], event["data"]["done"]))
        elif event.get("type") in ("source", "citation"):
            self.sources.append(event["data"])
        choices = data.get("choices", [])
        if not choices:
            self.error = data.get("error", {}).get("message", self.error)
            return
        delta = choices[0].get("delta", {})
        for annotation in delta.get("annotations") or ():
            cited = annotation["url_citation"]
            self.sources.append(
                {
                    "source": {"name": cited["title"], "url": cited["url"]},
                    "document": [cited["title"]],
                    "metadata": [{"source": cited["url"], "name": cited["title"]}],
                }
            )
        self.content += delta.get("content") or ""
        self.reasoning += delta.get("reasoning_content") or ""
