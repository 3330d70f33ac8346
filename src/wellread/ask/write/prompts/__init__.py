"""Builds the prompts of writer and judge from templates, and guards the replies to them.

Both prompts begin with the same text, ``system.md`` and ``evidence.md``, so that a server can cache
it. Then follow ``rules.md`` (with a rule per question type from ``wording.yaml``) and ``user.md``,
or ``judge.md`` with the sentences of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from urllib.parse import urlsplit

import yaml

from wellread.ask.retrieve.search import text_of
from wellread.kb import KnowledgeBase
from wellread.models.base import Prompt
from wellread.models.prompts import fence_of, fenced, template
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.text.characters import visible
from wellread.text.sentences import BETWEEN_CELLS, sentence_spans
from wellread.values.answers import Claim, Evidence
from wellread.values.question import Analysis

HERE = "wellread.ask.write"  # the package whose folder ``prompts`` has the templates
SHINGLE = 8  # words; as many in a row that occur only in the prompt show that text repeats it
MAX_NOTE_CHARACTERS, MAX_NOTES = 300, 20  # of the notes that a model writes beside its answer

# A tool call at the start of a line, and inside one.
CALL_LINE = re.compile(r"[ \t>*\-`]*CALL\s*:")
_CALL = re.compile(r"\bCALL\s*:\s*(?:curl|GET|POST|/)")
# A Markdown link definition; definitions of footnotes and citations are handled elsewhere.
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
_MARKER = re.compile(r"\[[^\]\n]*\]")  # a citation marker
REMOVED = "(link removed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedText:
    """A guarded text, and how many sentences and lines were withheld from it."""

    text: str
    withheld: int = 0


class Guard:
    """Withholds reply text that repeats the prompt, is unsafe or was flagged; built per prompt.

    Args:
        rules: the text that must not be repeated: the prompt without sources, past questions and
            the user's words.
        fence: the secret word of the prompt.
        repeatable: sources, past questions and the user's words; these may be repeated, and
            their web addresses may be shown.
    """

    def __init__(self, rules: str, fence: str, repeatable: Iterable[str]) -> None:
        self._flagged: Callable[[str], bool] = lambda _: False
        self._fence = fence.casefold()
        self._given = "\n".join(repeatable)
        self._secret = frozenset(_shingles(rules)) - frozenset(_shingles(self._given))
        parts = [*rules.split("\n"), *(span.of(rules) for span in sentence_spans(rules))]
        self._lines = frozenset(line.strip() for line in rules.split("\n"))
        self._short = frozenset(part for part in map(_plain_words, parts) if part.count(" ") > 1)
        self._addresses = frozenset(map(_trim, _ADDRESS.findall(self._given)))

    def with_flagged(self, flagged: Callable[[str], bool]) -> Guard:
        """Return a copy of the guard that also withholds sentences flagged as harmful."""
        extended = copy(self)
        extended._flagged = flagged
        return extended

    def shown(self, text: str, *, before: str = "") -> GuardedText:
        """Remove from ``text`` what readers must not see. Line breaks are kept."""
        lines: list[str] = []
        withheld = 0
        recent = before
        for line in self._without_markup(text).split("\n"):
            allowed, lost = self._allowed_sentences(line)
            if allowed and self._repeats_prompt(f"{_last_words(recent)} {allowed}"):
                allowed, lost = "", lost + 1
            withheld += lost
            if allowed.strip() or not line.strip():
                lines.append(allowed)
                recent = f"{_last_words(recent)} {allowed}"
        return GuardedText(text="\n".join(lines), withheld=withheld)

    def lines(self, lines: Iterable[str]) -> tuple[str, ...]:
        """Shorten and guard the notes beside an answer; notes with withheld text are dropped."""
        guarded = (self.shown(" ".join(line.split())[:MAX_NOTE_CHARACTERS]) for line in lines)
        allowed = (note.text.strip() for note in guarded if not note.withheld)
        return tuple(line for line in allowed if line)[:MAX_NOTES]

    def _allowed_sentences(self, line: str) -> tuple[str, int]:
        """The sentences of a line that may be shown, and the number of withheld ones."""
        if CALL_LINE.match(line) or _plain_words(line) in self._short:
            return "", 1
        if any(map(str.isalnum, line)) and line.strip() in self._lines:
            return "", 1
        spans = sentence_spans(line)
        withheld = [
            span
            for span in spans
            if _plain_words(span.of(line)) in self._short
            or self._repeats_prompt(span.of(line))
            or self._flagged(_MARKER.sub(" ", span.of(line)))
        ]
        if not withheld and not self._repeats_prompt(line):
            return line, 0
        if not withheld:  # the repeated words span two sentences
            return "", max(len(spans), 1)
        for span in reversed(withheld):
            line = line[: span.start] + line[span.end :].lstrip(" ")
        has_rest = not self._repeats_prompt(line) and any(map(str.isalnum, line))
        return (line.rstrip(), len(withheld)) if has_rest else ("", len(spans))

    def _repeats_prompt(self, text: str) -> bool:
        if self._fence in text.casefold() or _CALL.search(text):
            return True
        return not self._secret.isdisjoint(_shingles(text))

    def _without_markup(self, text: str) -> str:
        text = visible(text)
        before = None
        while before != text:  # removing one thing may join the parts of another
            before = text
            text = _COMMENT.sub("", text)
            text = _AUTOLINK.sub(lambda match: match.group(1), text)
            text = _TAG.sub(lambda tag: " " if _BREAKS.match(tag.group()) else "", text)
            text = _IMAGE.sub(lambda match: match["words"], text)
            text = _LINK.sub(self._link, text)
        text = "\n".join(line for line in text.split("\n") if not _DEFINITION.fullmatch(line))
        # Text that follows (the stream, a page around it) could complete a half-open link or tag.
        text = re.sub(r"!+\[", "[", text).replace("](", "] (")
        text = re.sub(r"<(?=[A-Za-z/!?])(?![A-Za-z]\w*>)", "< ", text)
        return _ADDRESS.sub(self._address, text)

    def _link(self, match: re.Match[str]) -> str:
        """The words of a link, with its address only if a source contains it."""
        target = match["target"].strip().partition(" ")[0].strip("<>")
        words = str(match["words"])
        if _CITING.fullmatch(words):
            return f"{match['open']}{words}{match['close']}"
        if target.startswith("#") or target in words or _trim(target) not in self._addresses:
            return words
        return f"{words}: {target}"

    def _address(self, match: re.Match[str]) -> str:
        address = _trim(match.group())
        if address in self._addresses and not _is_executable(address):
            return match.group()
        return REMOVED + match.group()[len(address) :]


def _trim(address: str) -> str:
    return address.rstrip(_TRAILING)


def _is_executable(address: str) -> bool:
    return address.casefold().startswith(("javascript:", "vbscript:", "data:", "blob:"))


def _plain_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _last_words(text: str) -> str:
    return " ".join(text.rsplit(maxsplit=SHINGLE)[-SHINGLE:])


def _shingles(text: str) -> Iterator[str]:
    words = _plain_words(text).split()
    for place in range(len(words) - SHINGLE + 1):
        yield " ".join(words[place : place + SHINGLE])


Facts = Sequence[tuple[str, str]]
"""Names and values, in order."""
SourceFacts = Mapping[str, Facts]
"""The facts on a document beyond its text, by the key of its first piece of evidence."""

MAX_RELATED = 12  # names per relation; a hub has hundreds
MAX_VALUES = 12  # values per taxonomy dimension
INCOMING = "← "  # marks a relation without a named inverse, seen from its target
LENGTH_WORDS = {
    "short": "in two or three sentences at most",
    "long": "at length, with every detail that the evidence has",
}


def source_facts(kb: KnowledgeBase, evidence: Sequence[Evidence]) -> SourceFacts:
    """Facts from catalogue and graph about the documents of ``evidence``.

    ``context.include_metadata`` and ``context.include_relationships`` select which.
    """
    options = kb.settings.context
    first = {piece.hit.document.id: piece for piece in reversed(evidence)}
    facts_by_key: dict[str, Facts] = {}
    for piece in first.values():
        document = piece.hit.document
        nodes = kb.catalogue.graph.resolve([document.collection], document.title)
        node = next((node for node in nodes if document.id in node.documents), None)
        facts: list[tuple[str, str]] = []
        if options.include_metadata:
            facts += [("type", node.type)] if node and node.type else []
            listed = kb.catalogue.listings.listed(document.id)
            facts += [
                (dimension, _listing(values, MAX_VALUES))
                for dimension, values in sorted(listed.taxonomy.items() if listed else ())
                if values and not (node and values == (node.type,))  # these repeat the type
            ]
        if options.include_relationships and node:
            facts += _relations(kb, node)
        facts_by_key[piece.key] = facts
    return facts_by_key


def _relations(kb: KnowledgeBase, node: EntityNode) -> list[tuple[str, str]]:
    """The entity's relations with the names of their targets, as one line."""
    names_by_relation: dict[str, list[str]] = {}
    for neighbour in kb.catalogue.graph.neighbours([node.collection], node.id):
        names_by_relation.setdefault(neighbour.relation, []).append(neighbour.name)
    descriptions = []
    for relation, names in sorted(names_by_relation.items(), key=lambda item: len(item[1])):
        words, listing = relation.replace("_", " "), _listing(names, MAX_RELATED)
        incoming = words.startswith(INCOMING)
        descriptions.append(
            f"{listing} {words.removeprefix(INCOMING)} this" if incoming else f"{words} {listing}"
        )
    return [("relations", "; ".join(descriptions))] if descriptions else []


def _listing(names: Sequence[str], limit: int) -> str:
    unique_names = list(dict.fromkeys(names))
    more = f" and {len(unique_names) - limit} more" if len(unique_names) > limit else ""
    return f"{', '.join(unique_names[:limit])}{more}"


def build_prompt(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    *,
    similar_questions: str = "",
    about: SourceFacts = MappingProxyType({}),
) -> Prompt:
    """Build the writer's prompt: evidence, rules and question. Deterministic."""
    if not evidence:
        raise ValueError("a prompt without evidence would be answered from general knowledge")
    fence = _fence(analysis, evidence)
    block = _block(analysis, evidence, fence, about)
    question = template("user.md", HERE).render(fence=fence, question=_line(analysis.asked, fence))
    rules = _rules(analysis, fence, similar_questions)
    return Prompt(system=_system(fence), user=block + rules + question, shared=len(block))


def judge_prompt(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    claims: Sequence[Claim],
    *,
    about: SourceFacts,
    schema: Mapping[str, object],
) -> Prompt:
    """Build the judge's prompt, with the answer's sentences numbered from 1."""
    fence = _fence(analysis, evidence)
    block = _block(analysis, evidence, fence, about)
    evidence_keys = {piece.key for piece in evidence}
    sentences = [
        {
            "number": number,
            "cites": "".join(f"[{key}] " for key in claim.keys if key in evidence_keys),
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
    about: SourceFacts = MappingProxyType({}),
) -> Guard:
    """Build the guard for replies to the writer's or judge's prompt."""
    fence = _fence(analysis, evidence)
    source_lines = [*_entity_lines(analysis), *source_texts(evidence, about)]
    # Past questions and answers may be repeated; experts' notes on them are for the model only.
    repeatable_starts = ("Q: ", "A: ", "Correction: ")
    question_lines = [
        line for line in similar_questions.split("\n") if line.startswith(repeatable_starts)
    ]
    rules = f"{_system(fence)}\n{_rules(analysis, fence, similar_questions)}"
    return Guard(rules, fence, [analysis.asked, *question_lines, *source_lines])


def _system(fence: str) -> str:
    return template("system.md", HERE).render(fence=fence)


def _block(analysis: Analysis, evidence: Sequence[Evidence], fence: str, about: SourceFacts) -> str:
    by_document: dict[str, list[Evidence]] = {}
    for piece in evidence:  # documents with the best pieces come first
        by_document.setdefault(piece.hit.document.id, []).append(piece)
    documents = [
        {
            "facts": _shown_facts(_document_facts(pieces, about), fence),
            "pieces": [
                _shown_piece(piece, _place_facts(piece), fence)
                for piece in sorted(pieces, key=lambda piece: piece.span.start)
            ],
        }
        for pieces in by_document.values()
    ]
    entities = [_line(line, fence) for line in _entity_lines(analysis)]
    return template("evidence.md", HERE).render(fence=fence, documents=documents, entities=entities)


def template_pieces(evidence: Sequence[Evidence], fence: str) -> list[Mapping[str, object]]:
    """The key, facts and text of each piece for a template, without hidden text and the fence."""
    return [_shown_piece(piece, piece_facts(piece), fence) for piece in evidence]


def _shown_piece(piece: Evidence, facts: Facts, fence: str) -> Mapping[str, object]:
    """The piece for a template; with several speakers, each turn begins with its speaker's name."""
    text = piece.text
    if len({turn.speaker for turn in piece.turns}) > 1:
        text = "\n".join(
            f"{' '.join(turn.speaker.split())}: {' '.join(text_of(piece, turn.span).split())}"
            for turn in piece.turns
        )
    return {"key": piece.key, "facts": _shown_facts(facts, fence), "text": fenced(text, fence)}


def _shown_facts(facts: Facts, fence: str) -> Facts:
    return [(_line(name, fence), _line(value, fence)) for name, value in facts if value.strip()]


def source_texts(
    evidence: Sequence[Evidence], about: SourceFacts = MappingProxyType({})
) -> list[str]:
    """All source text that the prompt shows."""
    return [
        text
        for piece in evidence
        for text in [*(value for _, value in piece_facts(piece, about)), piece.text]
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


def piece_facts(piece: Evidence, about: SourceFacts = MappingProxyType({})) -> Facts:
    """The facts shown with a piece: name and value, in order."""
    return [*_document_facts([piece], about), *_place_facts(piece)]


def _document_facts(pieces: Sequence[Evidence], about: SourceFacts) -> Facts:
    document = pieces[0].hit.document
    finer = document.source_type
    return [
        ("title", document.title),
        ("kind", f"{document.kind} ({finer})" if finer else document.kind),
        ("author", ", ".join(document.authors)),
        ("publisher", (urlsplit(document.url).hostname or "").removeprefix("www.")),
        ("date", document.published_at.date().isoformat() if document.published_at else ""),
        *(fact for piece in pieces for fact in about.get(piece.key, ())),
    ]


def _place_facts(piece: Evidence) -> Facts:
    speaker_names = [turn.speaker for turn in piece.turns] or piece.hit.passage.speakers
    speakers = dict.fromkeys(speaker_names or filter(None, [piece.locator.speaker]))
    cut = piece.tables[0] if piece.tables and piece.tables[0].start < piece.span.start else None
    return [
        ("place", piece.locator.label),
        ("columns", BETWEEN_CELLS.join(cut.columns) if cut else ""),
        ("speakers" if len(speakers) > 1 else "speaker", ", ".join(speakers)),
    ]


def _entity_lines(analysis: Analysis) -> list[str]:
    """Lines that say which entity each name means: "BIP 340": Schnorr signatures (topic)."""
    lines = (
        f"“{entity.span.of(analysis.question)}”: {entity.title}"
        + (f" ({entity.type})" if entity.type else "")
        for entity in analysis.entities
    )
    return list(dict.fromkeys(lines))


def _fence(analysis: Analysis, evidence: Sequence[Evidence]) -> str:
    """A word that no source can know in advance: a hash of the question and all evidence."""
    parts = [part for piece in evidence for part in (piece.key, piece.hit.document.id, piece.text)]
    return fence_of(analysis.question, *parts)


def _line(text: str, fence: str) -> str:
    return " ".join(fenced(text, fence).split())
