"""What the model that looks for evidence is told: the question, what was found, what calls gave.

Every word of a source goes through a ``Watch`` before it is shown (``planted_calls.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wellread.models.base import Exchange, Prompt
from wellread.models.prompts import fence_of, fenced, template
from wellread.reports import Facet
from wellread.research.model.call_lines import ROUTES
from wellread.research.model.planted_calls import Watch
from wellread.research.model.tool_arguments import tools
from wellread.research.model.tools import Item, Outcome
from wellread.types import DocumentFacts, Hit

PACKAGE = "wellread.research.model"
MOST_CALLS = 6  # of one round
KEPT_WHOLE = 2  # rounds, the newest, whose results stay in the history
TITLES, SNIPPET = 3, 240  # of a facet, in the digest
LONGEST_TITLE = 160


class Keys:
    """Short keys for the passages and documents that were shown: ``p1``, ``d1``, …"""

    def __init__(self) -> None:
        self._passages: dict[str, str] = {}
        self._documents: dict[str, str] = {}

    def of(self, hit: Hit) -> str:
        """The key of a passage."""
        return self._passages.setdefault(hit.passage.id, f"p{len(self._passages) + 1}")

    def of_document(self, document: DocumentFacts) -> str:
        """The key of a document."""
        return self._documents.setdefault(document.id, f"d{len(self._documents) + 1}")

    def passage(self, name: str) -> str:
        """The id that a key stands for; any other name as it is."""
        return _named(self._passages, name)

    def document(self, name: str) -> str:
        """The id that a key stands for; any other name as it is."""
        return _named(self._documents, name)

    def known(self, name: str) -> bool:
        """Whether it is a key that was given out."""
        return name in self._passages.values() or name in self._documents.values()


class Telling:
    """Writes what the model is told, and keeps the books of it."""

    def __init__(self, run_id: str, question: str, watch: Watch) -> None:
        """Begin a conversation about ``question``."""
        self.keys = Keys()
        self._watch = watch
        self._question = question
        self._fence = fence_of(run_id, question)
        self._seen: set[tuple[str, str]] = set()

    def first(self, facets: Sequence[Facet], digest: str, rounds: int) -> str:
        """The first message."""
        return template("rounds_user.md", PACKAGE).render(
            fence=self._fence,
            question=self._own(self._question),
            facets=[
                {"id": one.id, "title": self._line(one.title), "query": self._line(one.query)}
                for one in facets
            ],
            digest=digest,
            number=1,
            rounds=rounds,
        )

    def prompt(
        self, first: str, history: Sequence[Exchange], session: str, *, by_lines: bool
    ) -> Prompt:
        """The whole of what the model is asked now; older results are left out of it."""
        system = template("rounds_system.md", PACKAGE).render(
            most=MOST_CALLS, routes=ROUTES if by_lines else ()
        )
        old = len(history) - KEPT_WHOLE
        kept = [
            Exchange(
                text=one.text,
                calls=one.calls,
                results=tuple("(shown before)" for _ in one.results),
                told="(shown before)",
            )
            if place < old
            else one
            for place, one in enumerate(history)
        ]
        return Prompt(
            system=system,
            user=first,
            session=session,
            tools=() if by_lines else tools(),
            history=tuple(kept),
        )

    def digest(self, found: Mapping[str, Sequence[Hit]], titles: Mapping[str, str]) -> str:
        """How much each facet has, from which documents, and how its best passage begins."""
        lines: list[str] = []
        for known, hits in found.items():
            documents = {hit.document.id: hit.document for hit in hits}
            lines.append(
                f"{known} {self._line(titles.get(known, ''))}: {_count(len(hits), 'passage')} from "
                f"{_count(len(documents), 'document')}"
            )
            named = list(documents.values())[:TITLES]
            lines += [f"  {self.keys.of_document(one)} {self._line(one.title)}" for one in named]
            if hits:
                begin = self._line(hits[0].passage.text)[:SNIPPET]
                lines.append(f"  {self.keys.of(hits[0])} begins: {begin}")
        return "\n".join(lines) or "nothing yet"

    def result(self, asked: str, outcome: Outcome) -> str:
        """What one call gave; ``asked`` says which, for a model that sees no call ids."""
        head = f"{asked}:\n" if asked else ""
        if outcome.wrong:
            return f"{head}not run: {self._own(outcome.wrong)}"
        if outcome.refused:
            return f"{head}nothing found: {self._line(outcome.refused)}"
        lines = [self._line(note) for note in outcome.notes]
        lines += [line for item in outcome.items for line in self._item(item)]
        if outcome.more:
            lines.append(f"({outcome.more} more are not shown)")
        inside = "\n".join(lines) or "nothing found"
        return f"{head}<found-{self._fence}>\n{inside}\n</found-{self._fence}>"

    def asked(self, line: str) -> str:
        """A call of the model as it is said again to it."""
        return self._own(line)[:SNIPPET]

    def _item(self, item: Item) -> Iterable[str]:
        document = item.document
        facts = [
            self._line(document.title)[:LONGEST_TITLE],
            document.kind,
            self._line(item.place),
            document.published_at.date().isoformat() if document.published_at else "",
            self.keys.of_document(document),
        ]
        key = f"[{self.keys.of(item.hit)}] " if item.hit else ""
        yield f"{key}{' · '.join(filter(None, facts))}"
        place = (item.hit.passage.id if item.hit else document.id, item.text)
        yield "(shown before)" if place in self._seen else self._text(item.text)
        self._seen.add(place)

    def _own(self, text: str) -> str:
        """Words of the asker or of the model itself, on one line."""
        return " ".join(fenced(text, self._fence).split())

    def _line(self, text: str) -> str:
        """Words of a source, on one line."""
        return self._own(self._watch.show(text))

    def _text(self, text: str) -> str:
        return fenced(self._watch.show(text), self._fence)


def _named(known: Mapping[str, str], name: str) -> str:
    return next((one for one, key in known.items() if key == name), name)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
