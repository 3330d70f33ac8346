"""The words of texts that were removed, and taking them out of other texts.

A run of eight words is taken for a quotation; so is a whole sentence of five to seven. Case,
punctuation and white space do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from wellread.codec import to_plain
from wellread.store.schema.catalogue_values import REMOVED
from wellread.store.schema.database import aside
from wellread.store.schema.tables import documents, entities, story_items
from wellread.text.sentences import sentence_spans
from wellread.types import Locator
from wellread.values.answers import Related

RUN = 8  # words: shorter runs are anybody's
SHORTEST = 5  # words of a whole sentence that counts
BLANK = "█"
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"\*\*([^*\n]+)\*\*")
# Names of fields that hold no prose: what they hold points to something, or is chosen by us.
_PLAIN = frozenset({"id", "document_id", "version", "kind", "method", "key", "session_id", "mode"})


class RemovedWords:
    """What ``texts`` said."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._runs = {run for text in texts for run in _runs(text)}

    def __bool__(self) -> bool:
        return bool(self._runs)

    def blanked(self, text: str) -> str:
        """``text`` with quotations blacked out, letter by letter, so that its length stays."""
        if not self._runs:
            return text
        places = list(_WORD.finditer(text))
        words = [place.group().casefold() for place in places]
        covered = ""
        for length in range(SHORTEST, RUN + 1):
            for first in range(len(words) - length + 1):
                if hash(tuple(words[first : first + length])) in self._runs:
                    start, end = places[first].start(), places[first + length - 1].end()
                    covered = covered or text
                    covered = covered[:start] + blacked(covered[start:end]) + covered[end:]
        return covered or text


def changed_in(plain: Any, change: Callable[[str], str]) -> Any:
    """A plain JSON value with every string changed, names and ids excepted."""
    if isinstance(plain, str):
        return change(plain)
    if isinstance(plain, list):
        return [changed_in(item, change) for item in plain]
    if isinstance(plain, dict):
        return {
            name: item if name in _PLAIN else changed_in(item, change)
            for name, item in plain.items()
        }
    return plain


def blacked(text: str) -> str:
    """``text`` with a block in place of every letter."""
    return "".join(character if character.isspace() else BLANK for character in text)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _runs(text: str) -> Iterator[int]:
    """Hashes of all runs of ``RUN`` words, and of whole shorter sentences."""
    words = _words(text)
    for first in range(len(words) - RUN + 1):
        yield hash(tuple(words[first : first + RUN]))
    for span in sentence_spans(text):
        said = _words(span.of(text)[: RUN * 40])
        if SHORTEST <= len(said) < RUN:
            yield hash(tuple(said))


Plain = dict[str, Any]
# The version of an answer's evidence that it only names: nothing of it is quoted or told.
NAMED = ""
NO_ANSWER = "none"


def forgotten(body: Plain, removed: RemovedWords, gone: Mapping[str, str]) -> Plain:
    """An answer's body without what it took from documents that are ``gone``.

    Their quotes, titles, addresses and places become empty, the rows of a table that rest on
    nothing else go, and so does what names them beside the text. A sentence that was taken
    verbatim, and any other quotation, is blacked out letter by letter, so that all spans still fit
    the text.

    Args:
        gone: document id to the title that it had.
    """
    body = _without_names(_without_rows(body, gone), gone)
    lost = {cited["id"] for cited in body["citations"] if cited["document_id"] in gone}
    text: str = removed.blanked(body["text"])
    before = None
    for sentence in body["sentences"]:
        verbatim = sentence["verdict"]["method"] == "verbatim"
        if verbatim and lost.intersection(sentence["citations"]):
            text = _changed_at(text, sentence["span"], blacked)
            text = _without_labels(text, before, sentence)
        before = sentence
    text = _without_markers(body, text, lost)
    sentences = [_following(sentence, body["text"], text) for sentence in body["sentences"]]
    for sentence in sentences:
        if lost.intersection(sentence["citations"]):  # its reason may quote what is gone
            sentence["verdict"] = {**sentence["verdict"], "reason": ""}
    blanked = changed_in({**body, "sentences": sentences}, removed.blanked)
    citations = [
        _without_source(cited) if cited["id"] in lost else {**cited, "why": ""}  # may tell of it
        for cited in blanked["citations"]
    ]
    return {**blanked, "text": text, "citations": citations}


def _without_labels(text: str, before: Plain | None, sentence: Plain) -> str:
    """``text`` with the label of a quotation, and headings in it, blacked out before a sentence."""
    start = before["span"]["end"] if before else 0
    labels = list(_LABEL.finditer(text, start, sentence["span"]["start"]))
    goes_on = before is not None and before["citations"] == sentence["citations"]
    for label in labels if goes_on else labels[-1:]:
        text = f"{text[: label.start(1)]}{blacked(label[1])}{text[label.end(1) :]}"
    return text


def _following(sentence: Plain, before: str, after: str) -> Plain:
    """A sentence of the answer with its words as they are in the text now."""
    start, end = sentence["span"]["start"], sentence["span"]["end"]
    same = sentence["text"] == before[start:end]
    return {**sentence, "text": after[start:end] if same else sentence["text"]}


def _without_source(cited: Plain) -> Plain:
    place = to_plain(Locator(label=""))
    told = dict.fromkeys(("why", "quote", "link", "url"), "")
    return {**cited, **told, "title": REMOVED, "locator": place}


def named(connection: Connection, related: Iterable[Related]) -> set[str]:
    """The documents whose titles an answer shows as related material."""
    return {known for one in related for known in _documents_of(connection, one)}


def _documents_of(connection: Connection, one: Related) -> Iterable[str]:
    if one.kind == "document":
        return (one.id,) if one.id else ()
    titled = select(documents.c.id).where(documents.c.title == one.title)
    if one.kind == "entity":
        statement = titled.join(entities, entities.c.document_id == documents.c.id).where(
            entities.c.entity_id == one.id
        )
        if one.collection:
            statement = statement.where(aside(documents.c.collection) == one.collection)
    else:
        statement = titled.join(story_items, story_items.c.document_id == documents.c.id).where(
            story_items.c.story_id == one.id
        )
    return connection.execute(statement.distinct()).scalars()


def _without_names(body: Plain, gone: Mapping[str, str]) -> Plain:
    """An answer's body that does not name documents that are ``gone`` (id to the title it had).

    Related material and suggestions that name them are left out; elsewhere beside the text their
    titles are blacked out, and in the text of an answer that only names what is near.
    """
    if not gone:
        return body
    blank, lost = _blanking(gone.values()), set(gone.values()) - {""}
    related = body.get("related", ())
    kept = [one for one in related if one.get("id") not in gone and one["title"] not in lost]
    changed = {**body, "related": kept}
    for name in {"notes", "premises", "conflicts"} & body.keys():
        changed[name] = changed_in(body[name], blank)
    if "suggestions" in body:
        changed["suggestions"] = [each for each in body["suggestions"] if blank(each) == each]
    if "standalone" in body and blank(body["question"]) == body["question"]:
        changed["standalone"] = blank(body["standalone"])
    if body["answered_by"] == NO_ANSWER:
        text = ""
        for sentence in body["sentences"]:
            start, end = sentence["span"]["start"], sentence["span"]["end"]
            text += blank(body["text"][len(text) : start]) + body["text"][start:end]
        changed["text"] = text + blank(body["text"][len(text) :])
    if body.get("mode") == "deep" and len(kept) < len(related):
        # A report names what was read and not used behind its last sentence.
        end = max((one["span"]["end"] for one in body["sentences"]), default=0)
        changed["text"] = body["text"][:end] + blank(body["text"][end:])
    return changed


def markers(body: Plain, text: str) -> Iterator[tuple[int, int, int]]:
    """The number of each citation in ``text`` with where the inside of its marker stands."""
    for sentence in body["sentences"]:
        place = sentence["span"]["end"]
        for known in sentence["citations"]:
            start = text.find("[", place, place + 2)
            close = text.find("]", start)
            if start < 0 or close < 0:
                break
            yield known, start + 1, close
            place = close + 1


def _without_markers(body: Plain, text: str, citations: set[int]) -> str:
    """``text`` with the words in the markers of these citations blacked out; numbers stay."""
    for known, start, close in list(markers(body, text)):
        inside = text[start:close]
        if known in citations and not inside.isdigit():
            text = f"{text[:start]}{blacked(inside)}{text[close:]}"
    return text


def listed(body: Plain) -> set[str]:
    """The documents that the rows of the table rest on."""
    table = body.get("table")
    return {known for row in table["documents"] for known in row} if table else set()


def _without_rows(body: Plain, gone: Mapping[str, str]) -> Plain:
    """An answer's body without what its table took from documents that are ``gone``.

    A row that rests on nothing else says nothing any more; its line in the text is blacked out.
    Rows that rest on others too lose the titles of those that went, and so does whatever sums
    them up. All spans still fit the text.
    """
    concerned = listed(body).intersection(gone)
    if not concerned:
        return body
    blank = _blanking(gone[known] for known in concerned)
    table, text = body["table"], body["text"]
    rows, documents = list(table["rows"]), []
    lines = [sentence["span"] for sentence in body["sentences"]]
    for span in lines[:1]:  # sums the rows up
        text = _changed_at(text, span, blank)
    for place, ids in enumerate(table["documents"]):
        left = [known for known in ids if known not in gone]
        documents.append(left)
        if len(left) < len(ids):
            rows[place] = [blank(cell) if left else REMOVED for cell in rows[place]]
            for span in lines[place + 1 : place + 2]:
                text = _changed_at(text, span, blank if left else blacked)
    sentences = [
        {
            **sentence,
            "text": text[sentence["span"]["start"] : sentence["span"]["end"]],
            "verdict": {**sentence["verdict"], "reason": blank(sentence["verdict"]["reason"])},
        }
        for sentence in body["sentences"]
    ]
    confidence = body["confidence"]
    told = {"rows": rows, "documents": documents, "method": blank(table["method"])}
    return {
        **body,
        "text": text,
        "sentences": sentences,
        "data_gaps": changed_in(body["data_gaps"], blank),
        "notes": changed_in(body["notes"], blank),
        "confidence": {**confidence, "reasoning": blank(confidence["reasoning"])},
        "table": {**table, **told},
    }


def _blanking(titles: Iterable[str]) -> Callable[[str], str]:
    """Blacks the titles out in a text, as whole words, the longest first."""
    known = sorted({title for title in titles if title.strip()}, key=len, reverse=True)
    if not known:
        return str
    named = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)", re.IGNORECASE)
    return lambda text: named.sub(lambda match: blacked(match.group()), text)


def _changed_at(text: str, span: Plain, change: Callable[[str], str]) -> str:
    start, end = span["start"], span["end"]
    return text[:start] + change(text[start:end]) + text[end:]
