"""The wording of what a language model is asked. The words stand in files beside this one.

The prompts of writer and judge begin with the same words, so that a server reads them once:
``system.md`` and ``evidence.md``. Behind them stand ``rules.md`` (``wording.yaml`` has one rule for
each type of question) and ``user.md``, or ``judge.md`` with the sentences of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

import yaml

from wellread.ask.retrieve.relax import text_of
from wellread.kb import KnowledgeBase
from wellread.models.base import Prompt
from wellread.models.prompts import fence_of, fenced, template
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.text.sentences import sentence_spans
from wellread.text.words import visible
from wellread.types import DocumentFacts
from wellread.values.answers import Claim, Evidence
from wellread.values.question import Analysis

HERE = "wellread.ask.write"  # whose folder ``prompts`` has the templates
SHINGLE = 8  # words in a row that only the prompt has: a sentence with them repeats it
LONGEST_LINE, MOST_LINES = 300, 20  # of what a model says beside its answer

# A line that begins with a call, and a call in the middle of one.
CALL_LINE = re.compile(r"[ \t>*\-`]*CALL\s*:")
_CALL = re.compile(r"\bCALL\s*:\s*(?:curl|GET|POST|/)")
# Of a link; those of footnotes and of citations are read elsewhere.
_DEFINITION = re.compile(r"[ \t]{0,3}\[(?!\^|[eE]\d{1,4}\])[^\]\n]{1,200}\]:[ \t]*\S.*")
_CITING = re.compile(r"\^?\s*(?:[a-z]+:?\s*)?e\d{1,4}\b.*", re.IGNORECASE)
_TARGET = r"\((?P<target>[^()\n]{0,2000}(?:\([^()\n]{0,500}\)[^()\n]{0,500})?)\)"
_IMAGE = re.compile(rf"!\[(?P<words>[^\[\]\n]{{0,500}})\](?:{_TARGET}|\[[^\[\]\n]{{0,200}}\])")
_LINK = re.compile(
    rf"(?P<open>\[{{1,2}})(?P<words>[^\[\]\n]{{1,500}})(?P<close>\]{{1,2}}){_TARGET}"
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<[!?][^>\n]{0,2000}>", re.DOTALL)
# A known element, or any other with an attribute: "List<int>" is neither.
_ELEMENTS = (
    "a|abbr|area|article|audio|b|base|blockquote|body|br|button|canvas|center|code|dd|del|details"
    "|dialog|div|dl|dt|em|embed|fieldset|figure|font|footer|form|frame|frameset|h[1-6]|head|header"
    "|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|map|marquee|math|meta|nav|noscript"
    "|object|ol|option|p|picture|pre|s|script|section|select|small|source|span|strong|style|sub"
    "|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|title|tr|track|u|ul|video"
)
_TAG = re.compile(
    rf"</?(?:{_ELEMENTS})(?=[\s/>])[^>\n]{{0,2000}}>|</?[a-z][\w:-]{{0,50}}[\s/][^>\n]{{1,2000}}>",
    re.IGNORECASE,
)
_AUTOLINK = re.compile(r"<((?:[a-z][a-z0-9+.-]{1,30}:|www\.)[^\s<>]{1,2000})>", re.IGNORECASE)
_BREAKS = re.compile(r"</?(?:br|p|div|li|tr|td|th|h[1-6])\b", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:\b(?:https?|ftp|file|wss?)://|\bwww\.)[^\s<>\"'`|]+"
    r"|\b(?:javascript:|vbscript:|blob:|data:[a-z]+/)[^\s<>\"'`|]+",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?)]}»”’*_"
_MARKER = re.compile(r"\[[^\]\n]*\]")  # of a citation
REMOVED = "(link removed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is left of a text, and how many sentences and lines were withheld."""

    text: str
    withheld: int = 0


class Guard:
    """Made for one prompt; see the module.

    Args:
        rules: what must not be repeated: the prompt without what sources, past questions and the
            asker say.
        fence: the word that only the prompt has.
        given: what sources, past questions and the asker say; their words and addresses are free.
    """

    def __init__(self, rules: str, fence: str, given: Iterable[str]) -> None:
        self._flagged: Callable[[str], bool] = lambda _: False
        self._fence = fence.casefold()
        self._given = "\n".join(given)
        self._secret = frozenset(_shingles(rules)) - frozenset(_shingles(self._given))
        parts = [*rules.split("\n"), *(span.of(rules) for span in sentence_spans(rules))]
        self._lines = frozenset(line.strip() for line in rules.split("\n"))
        self._short = frozenset(part for part in map(_words, parts) if part.count(" ") > 1)
        self._addresses = frozenset(map(_bare, _ADDRESS.findall(self._given)))

    def also(self, flagged: Callable[[str], bool]) -> Guard:
        """The same, which also withholds sentences that an expert flagged as harmful."""
        made = copy(self)
        made._flagged = flagged
        return made

    def shown(self, text: str, *, before: str = "") -> Shown:
        """``text`` without what must not reach a reader. Line breaks stay where they are."""
        lines: list[str] = []
        withheld = 0
        recent = before
        for line in self._harmless(text).split("\n"):
            kept, lost = self._kept(line)
            if kept and self._tells(f"{_end(recent)} {kept}"):
                kept, lost = "", lost + 1
            withheld += lost
            if kept.strip() or not line.strip():
                lines.append(kept)
                recent = f"{_end(recent)} {kept}"
        return Shown(text="\n".join(lines), withheld=withheld)

    def lines(self, lines: Iterable[str]) -> tuple[str, ...]:
        """What a model says beside its answer, one short line each, those withheld left out."""
        found = (self.shown(" ".join(line.split())[:LONGEST_LINE]) for line in lines)
        kept = (one.text.strip() for one in found if not one.withheld)
        return tuple(line for line in kept if line)[:MOST_LINES]

    def _kept(self, line: str) -> tuple[str, int]:
        """The sentences of a line that may be shown, and how many may not."""
        if CALL_LINE.match(line) or _words(line) in self._short:
            return "", 1
        if any(map(str.isalnum, line)) and line.strip() in self._lines:
            return "", 1
        spans = sentence_spans(line)
        telling = [
            span
            for span in spans
            if _words(span.of(line)) in self._short
            or self._tells(span.of(line))
            or self._flagged(_MARKER.sub(" ", span.of(line)))
        ]
        if not telling and not self._tells(line):
            return line, 0
        if not telling:  # the words of the prompt reach over the border of two sentences
            return "", max(len(spans), 1)
        for span in reversed(telling):
            line = line[: span.start] + line[span.end :].lstrip(" ")
        left = not self._tells(line) and any(map(str.isalnum, line))
        return (line.rstrip(), len(telling)) if left else ("", len(spans))

    def _tells(self, text: str) -> bool:
        if self._fence in text.casefold() or _CALL.search(text):
            return True
        return not self._secret.isdisjoint(_shingles(text))

    def _harmless(self, text: str) -> str:
        text = visible(text)
        before = None
        while before != text:  # what removing one thing puts together is removed too
            before = text
            text = _COMMENT.sub("", text)
            text = _AUTOLINK.sub(lambda found: found.group(1), text)
            text = _TAG.sub(lambda tag: " " if _BREAKS.match(tag.group()) else "", text)
            text = _IMAGE.sub(lambda found: found["words"], text)
            text = _LINK.sub(self._link, text)
        text = "\n".join(line for line in text.split("\n") if not _DEFINITION.fullmatch(line))
        # What is left open could be closed by what follows: a stream, a page around it.
        text = re.sub(r"!+\[", "[", text).replace("](", "] (")
        text = re.sub(r"<(?=[A-Za-z/!?])(?![A-Za-z]\w*>)", "< ", text)
        return _ADDRESS.sub(self._address, text)

    def _link(self, found: re.Match[str]) -> str:
        """The words of a link; with its address where a source has that."""
        target = found["target"].strip().partition(" ")[0].strip("<>")
        words = str(found["words"])
        if _CITING.fullmatch(words):
            return f"{found['open']}{words}{found['close']}"
        if target.startswith("#") or target in words or _bare(target) not in self._addresses:
            return words
        return f"{words}: {target}"

    def _address(self, found: re.Match[str]) -> str:
        address = _bare(found.group())
        if address in self._addresses and not _runs(address):
            return found.group()
        return REMOVED + found.group()[len(address) :]


def _bare(address: str) -> str:
    return address.rstrip(_TRAILING)


def _runs(address: str) -> bool:
    """Whether opening it runs something."""
    return address.casefold().startswith(("javascript:", "vbscript:", "data:", "blob:"))


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _end(text: str) -> str:
    """The last words of ``text``, as many as a run of the prompt's can reach back."""
    return " ".join(text.rsplit(maxsplit=SHINGLE)[-SHINGLE:])


def _shingles(text: str) -> Iterator[str]:
    words = _words(text).split()
    for place in range(len(words) - SHINGLE + 1):
        yield " ".join(words[place : place + SHINGLE])


SourceFacts = Mapping[str, tuple[tuple[str, str], ...]]
"""Evidence key to names and values, in order."""

MOST_RELATED = 12  # names of one entity; a hub has hundreds
MOST_VALUES = 12  # of one dimension of the taxonomy
INCOMING = "← "  # before the name of a relation that has no inverse


def source_facts(kb: KnowledgeBase, evidence: Sequence[Evidence]) -> SourceFacts:
    """What the catalogue and the graph know of the documents of ``evidence``.

    ``context.include_metadata`` and ``context.include_relationships`` say what of it is told.
    """
    wanted = kb.settings.context
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    seen: set[str] = set()
    for piece in evidence:
        document = piece.hit.document
        if document.id in seen:
            continue
        seen.add(document.id)
        node = _node(kb, document)
        facts: list[tuple[str, str]] = []
        if wanted.include_metadata:
            facts += [("type", node.type)] if node and node.type else []
            facts += _taxonomy(kb, document.id, node)
        if wanted.include_relationships and node:
            facts += _relations(kb, node)
        if facts:
            found[piece.key] = tuple(facts)
    return found


def _node(kb: KnowledgeBase, document: DocumentFacts) -> EntityNode | None:
    """The entity that the document describes."""
    named = kb.catalogue.graph.resolve([document.collection], document.title)
    return next((node for node in named if document.id in node.documents), None)


def _taxonomy(
    kb: KnowledgeBase, document_id: str, node: EntityNode | None
) -> list[tuple[str, str]]:
    listed = kb.catalogue.listings.listed(document_id)
    if listed is None:
        return []
    return [
        (dimension, _some(values, MOST_VALUES))
        for dimension, values in sorted(listed.taxonomy.items())
        if values and not (node and values == (node.type,))  # the type stands there already
    ]


def _relations(kb: KnowledgeBase, node: EntityNode) -> list[tuple[str, str]]:
    """The entity's relations, each with the names that it leads to, in one line."""
    named: dict[str, list[str]] = {}
    for one in kb.catalogue.graph.neighbours([node.collection], node.id):
        named.setdefault(one.relation, []).append(one.name)
    said = []
    for relation, names in sorted(named.items(), key=lambda item: len(item[1])):
        words, told = relation.replace("_", " "), _some(names, MOST_RELATED)
        incoming = words.startswith(INCOMING)
        said.append(
            f"{told} {words.removeprefix(INCOMING)} this" if incoming else f"{words} {told}"
        )
    return [("relations", "; ".join(said))] if said else []


def _some(names: Sequence[str], most: int) -> str:
    told = list(dict.fromkeys(names))
    more = f" and {len(told) - most} more" if len(told) > most else ""
    return f"{', '.join(told[:most])}{more}"


Facts = list[tuple[str, str]]
"""Names and values, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One passage as a template shows it; ``facts`` are name and value, in order."""

    key: str
    facts: tuple[tuple[str, str], ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A document as the evidence shows it, with its passages in reading order."""

    facts: tuple[tuple[str, str], ...]
    pieces: list[Piece]


LENGTH_WORDS = {
    "short": "in two or three sentences at most",
    "long": "at length, with every detail that the evidence has",
}


def build_prompt(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    *,
    similar_questions: str = "",
    about: SourceFacts | None = None,
) -> Prompt:
    """What the model is asked: the rules, and the evidence with the question.

    The same input gives the same prompt.

    Args:
        similar_questions: text about verified past answers, shown under its own heading.
        about: what is told of the sources beside their text.

    Raises:
        ValueError: there is no evidence; such a question is not for a model.
    """
    if not evidence:
        raise ValueError("a prompt without evidence would be answered from general knowledge")
    fence = _fence(analysis, evidence)
    block = _block(analysis, evidence, fence, about)
    asked = template("user.md", HERE).render(fence=fence, question=_line(analysis.asked, fence))
    rules = _rules(analysis, fence, similar_questions)
    return Prompt(system=_system(fence), user=block + rules + asked, shared=len(block))


def judge_prompt(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    claims: Sequence[Claim],
    *,
    about: SourceFacts | None = None,
    schema: Mapping[str, object],
) -> Prompt:
    """What the judge of an answer's sentences is asked, numbered from 1."""
    fence = _fence(analysis, evidence)
    block = _block(analysis, evidence, fence, about)
    known = {piece.key for piece in evidence}
    sentences = [
        {
            "number": number,
            "cites": "".join(f"[{key}] " for key in claim.keys if key in known),
            "text": _line(claim.text, fence),
            "lead": _line(claim.lead, fence),
        }
        for number, claim in enumerate(claims, 1)
    ]
    question = _line(analysis.asked, fence)
    task = template("judge.md", HERE).render(fence=fence, question=question, sentences=sentences)
    return Prompt(
        system=_system(fence),
        user=block + task,
        shared=len(block),
        temperature=0.0,
        schema=schema,
    )


def guard_of(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    *,
    similar_questions: str = "",
    about: SourceFacts | None = None,
) -> Guard:
    """What keeps the reply to that prompt from repeating it, and harmless."""
    fence = _fence(analysis, evidence)
    said = [*_named(analysis), *said_in(evidence, about)]
    # What was asked and answered before may be said again, what experts noted is for the model.
    free = ("Q: ", "A: ", "Correction: ")
    asked = [line for line in similar_questions.split("\n") if line.startswith(free)]
    rules = f"{_system(fence)}\n{_rules(analysis, fence, similar_questions)}"
    return Guard(rules, fence, [analysis.asked, *asked, *said])


def _system(fence: str) -> str:
    return template("system.md", HERE).render(fence=fence)


def _block(
    analysis: Analysis, evidence: Sequence[Evidence], fence: str, about: SourceFacts | None
) -> str:
    """The evidence, as the prompts of writer and judge begin with it."""
    by_document: dict[str, list[Evidence]] = {}
    for piece in evidence:  # those with the best pieces first
        by_document.setdefault(piece.hit.document.id, []).append(piece)
    documents = [
        Source(
            facts=_facts(of_document(pieces, about), fence),
            pieces=[_piece(one, of_place(one), fence) for one in _in_reading_order(pieces)],
        )
        for pieces in by_document.values()
    ]
    entities = [_line(line, fence) for line in _named(analysis)]
    return template("evidence.md", HERE).render(fence=fence, documents=documents, entities=entities)


def _in_reading_order(pieces: Sequence[Evidence]) -> list[Evidence]:
    return sorted(pieces, key=lambda piece: piece.span.start)


def pieces_of(evidence: Sequence[Evidence], fence: str) -> list[Piece]:
    """The evidence piece by piece, without hidden characters and without the fence."""
    return [_piece(piece, facts_of(piece), fence) for piece in evidence]


def _piece(piece: Evidence, facts: Facts, fence: str) -> Piece:
    text = fenced(turn_by_turn(piece), fence)
    return Piece(key=piece.key, facts=_facts(facts, fence), text=text)


def _facts(facts: Facts, fence: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (_line(name, fence), _line(value, fence)) for name, value in facts if value.strip()
    )


def said_in(evidence: Sequence[Evidence], about: SourceFacts | None = None) -> list[str]:
    """All words of sources that such pieces show."""
    return [
        value for piece in evidence for _, value in [*facts_of(piece, about), ("text", piece.text)]
    ]


@cache
def wordings() -> Mapping[str, str]:
    """The rule for each type of question."""
    text = files(__name__).joinpath("wording.yaml").read_text(encoding="utf-8")
    return {str(name): str(line) for name, line in yaml.safe_load(text).items()}


def _rules(analysis: Analysis, fence: str, similar_questions: str) -> str:
    return template("rules.md", HERE).render(
        fence=fence,
        wording=wordings()[analysis.type],
        voices=[_line(name, fence) for name in analysis.voices],
        similar_questions=fenced(similar_questions, fence),
        length=LENGTH_WORDS.get(analysis.liking.length, ""),
        wish=fenced(analysis.liking.wish, fence),
    )


def facts_of(piece: Evidence, about: SourceFacts | None = None) -> Facts:
    """What a prompt tells of a piece beside its text: name and value, in order."""
    return [*of_document([piece], about), *of_place(piece)]


def of_document(pieces: Sequence[Evidence], about: SourceFacts | None = None) -> Facts:
    """What is told once of the document that the pieces are from."""
    document = pieces[0].hit.document
    finer = document.source_type
    return [
        ("title", document.title),
        ("kind", f"{document.kind} ({finer})" if finer else document.kind),
        ("author", ", ".join(document.authors)),
        ("publisher", (urlsplit(document.url).hostname or "").removeprefix("www.")),
        ("date", document.published_at.date().isoformat() if document.published_at else ""),
        *(fact for piece in pieces for fact in (about or {}).get(piece.key, ())),
    ]


def of_place(piece: Evidence) -> Facts:
    """What is told of where a piece stands, and who speaks."""
    known = [turn.speaker for turn in piece.turns] or piece.hit.passage.speakers
    speakers = dict.fromkeys(known or filter(None, [piece.locator.speaker]))
    return [
        ("place", piece.locator.label),
        ("speakers" if len(speakers) > 1 else "speaker", ", ".join(speakers)),
    ]


def turn_by_turn(piece: Evidence) -> str:
    """The text; where several people speak, each turn is a line under its speaker's name."""
    if len({turn.speaker for turn in piece.turns}) < 2:
        return piece.text
    return "\n".join(
        f"{' '.join(turn.speaker.split())}: {' '.join(text_of(piece, turn.span).split())}"
        for turn in piece.turns
    )


def _named(analysis: Analysis) -> list[str]:
    """What each name in the question stands for: "BIP 340": Schnorr signatures (topic)."""
    lines = (
        f"“{entity.span.of(analysis.question)}”: {entity.title}"
        + (f" ({entity.type})" if entity.type else "")
        for entity in analysis.entities
    )
    return list(dict.fromkeys(lines))


def _fence(analysis: Analysis, evidence: Sequence[Evidence]) -> str:
    """What no source can know beforehand: a hash of the question and all evidence."""
    parts = [part for piece in evidence for part in (piece.key, piece.hit.document.id, piece.text)]
    return fence_of(analysis.question, *parts)


def _line(text: str, fence: str) -> str:
    return " ".join(fenced(text, fence).split())
