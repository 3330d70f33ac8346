"""Events for Open WebUI in a stream: what is being done, and the sources with their quotations.

Open WebUI hands whatever a chunk holds as ``event`` to its page. A source whose metadata names an
address as ``source`` is shown by that address in place of its title, so a name of our own stands
there, one for each citation: its panel then numbers the sources as the text does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wellread.serve.openai.answer_markdown import address, sources_in_order
from wellread.serve.openai.delivery import Delivered
from wellread.text.words import harmless


def status_event(text: str, *, done: bool) -> dict[str, Any]:
    """A line above the answer: what is being done."""
    return {"type": "status", "data": {"description": text, "done": done}}


def source_events(done: Delivered) -> Iterator[dict[str, Any]]:
    """One source for each citation, in the order of their numbers."""
    for one in sources_in_order(done.answer):
        url = address(one, done.asked.base)
        title = harmless(one.title or one.url)
        label = harmless(one.locator.label)
        name = f"{title}, {label}" if label else title
        source = f"wellread-{one.id}"
        yield {
            "type": "source",
            "data": {
                "source": {"id": source, "name": name, "url": url},
                "document": [harmless(one.quote)],
                "metadata": [
                    {
                        "source": source,
                        "name": name,
                        "url": url,
                        "source_url": url,
                        "title": title,
                        "locator": label,
                        "verdict": one.verdict.value,
                    }
                ],
            },
        }
