"""Parses questions for a catalogue fact about documents: author, date, subject.

Such a question is a frame around a name: "Who wrote {document}?". Any run of its words may be the
name. A trained model (``catalogue_reading.py``) decides which fact the surrounding words ask for,
if any; the names in the best frames are looked up. If no document has such a name, the question is
about the content of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from wellread.ask.aggregate.catalogue_reading import (
    FACTS_MODEL_FILE,
    NOUN,
    PERSON,
    classify,
    load_model,
)
from wellread.ask.aggregate.holding import document_naming_most
from wellread.ask.aggregate.query import Scope, limits_of, nouns, scope_of, spelling
from wellread.ask.understand.mentions import (
    CERTAIN,
    LIKELY,
    DocumentMatch,
    Name,
    people_in,
    resolve_document_name,
)
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.name_records import (
    FILE,
    INITIALS,
    MAIN,
    TITLE,
    cut_key,
    singular_form,
)
from wellread.text.english import (
    DOCUMENT_NOUNS,
    LEADING_WORDS,
    PREPOSITIONS,
    SPOKEN_NOUNS,
    STOP_WORDS,
)
from wellread.text.tokens import (
    ARTICLES,
    Token,
    is_acronym,
    key_of,
    key_of_words,
    singular,
    tokens_of,
)
from wellread.types import KINDS, DocumentFacts, Filters, Kind
from wellread.values.question import Analysis

Fact = str  # a class of the model: author, date …
OF_A_TEXT = frozenset({"abstract", "definition", "contribution", "summary"})
# Placeholders for a name: of a document; of a thing, which may be no document; an acronym; a noun
# that means all documents of a kind.
DOCUMENT, THING, SHORT, SEVERAL = "{document}", "{thing}", "{short}", "{documents}"
PUBLISHED_KINDS = ("paper", "article")  # kinds that a short title without a noun may mean
NEVER_DEFINING_KINDS = ("article", "transcript")  # kinds that do not define what their title names
MIN_TITLE_WORDS = 3  # content words; a shorter title may be an everyday name
MAX_DOCUMENTS = 200
MAX_FRAME_WORDS = 16
MAX_NAMES_LOOKED_UP = 6
SMALL_WORDS = STOP_WORDS | PREPOSITIONS
LIMIT_PREPOSITIONS = PREPOSITIONS | {"of"}  # before a limit
ANSWERING_KINDS: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind not in ("entity", "qa"))
NO_DOCUMENTS = Filters(document_ids=("",))


@dataclass(frozen=True, slots=True, kw_only=True)
class FactAsked:
    """A fact asked of the documents called ``name``, or of ``several``: all of a kind."""

    fact: Fact
    meant: DocumentMatch
    name: str = ""
    several: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """A name (the words from ``first`` to before ``last``), and the fact asked for it."""

    fact: Fact
    slot: str
    first: int
    last: int
    score: float


def read_fact(kb: KnowledgeBase, analysis: Analysis) -> FactAsked | None:
    """Return the fact that the question asks for; None if it asks for something else."""
    if any(constraint.kind == "speaker" for constraint in analysis.constraints):
        return None
    reading = _Reading(kb, analysis)
    frames = sorted(reading.frames(), key=lambda frame: -frame.score)
    exact_names = reading.exact(frames)
    matches: dict[tuple[int, int], DocumentMatch] = {}
    for frame in frames:
        words = (frame.first, frame.last)
        must_be_exact = frame.slot in (THING, SHORT) or frame.fact == "definition"
        if must_be_exact and words not in exact_names:
            continue
        if words not in matches:
            if len(matches) == MAX_NAMES_LOOKED_UP:
                break
            matches[words] = reading.find_documents(*words, exact=words in exact_names)
        match, name = matches[words], reading.name(*words)
        if match.entries and _fits(frame, match, name):
            several, called = frame.slot == SEVERAL, " ".join(name.words)
            return FactAsked(fact=frame.fact, meant=match, name=called, several=several)
    return None


def _fits(frame: _Frame, match: DocumentMatch, name: Name) -> bool:
    """Whether the documents found can be what the frame asks about.

    "When was Atlas released" need not mean the talk with the title "Atlas".
    """
    first, is_sure = match.entries[0], match.certainty >= CERTAIN
    if frame.slot == SEVERAL:
        return True
    if frame.slot == SHORT:
        return match.exact and len(match.entries) == 1
    if frame.fact == "definition":
        kinds = {entry.kind for entry in match.entries}
        return match.exact and not kinds <= {*NEVER_DEFINING_KINDS}
    if frame.slot == THING:
        return match.exact and is_sure
    content_words = [token for token in tokens_of(first.title) if token.plain not in STOP_WORDS]
    has_long_title = first.kind != "entity" and len(content_words) >= MIN_TITLE_WORDS
    numbered = any(word.isdigit() for word in name.words)
    is_work = first.kind in PUBLISHED_KINDS or numbered or has_long_title
    return bool(name.nouns) or (is_sure and is_work)


class _Reading:
    """Finds the frames of a question, and looks up the documents that their names mean."""

    def __init__(self, kb: KnowledgeBase, analysis: Analysis) -> None:
        self._kb, self._question = kb, analysis.question
        self._scope = scope_of(kb, limits_of(analysis))
        self._timed = any(limit.kind == "time" for limit in analysis.constraints)
        self._vocabulary = vocabulary_of(kb, self._scope.collections)
        self._types = nouns(self._vocabulary)
        self._tokens = _tokens(analysis)
        self._nouns = list(map(self._noun, self._tokens))
        model_words = load_model(FACTS_MODEL_FILE).words
        self._words = [
            NOUN if noun and token.plain not in model_words else token.plain
            for token, noun in zip(self._tokens, self._nouns, strict=True)
        ]
        for person in people_in(self._question, self._vocabulary):
            positions = [
                at
                for at, token in enumerate(self._tokens)
                if person.span.start <= token.start < person.span.end
            ]
            for at in positions:
                self._words[at] = PERSON if at == positions[0] else ""

    def _noun(self, token: Token) -> str:
        """Return the word in the singular if it is a noun for documents or entities, else ""."""
        noun = singular(token.plain) or token.plain
        noun = token.plain if token.plain in DOCUMENT_NOUNS else noun
        catalogue_noun = self._types.get(spelling(token.plain))
        what = catalogue_noun.what if catalogue_noun else ""
        return noun if what in ("documents", "entities") or noun in DOCUMENT_NOUNS else ""

    # --- frames ---

    def frames(self) -> Iterator[_Frame]:
        """Yield the frames that surely ask for a fact, whatever their names mean."""
        model, count = load_model(FACTS_MODEL_FILE), len(self._words)
        common_words = {"", *model.words, *LEADING_WORDS}
        name_positions = [at for at, word in enumerate(self._words) if word not in common_words]
        begin, end = count - 1, 0  # the name contains every word that is not common
        if name_positions:
            begin, end = name_positions[0], name_positions[-1] + 1
        for first in range(begin + 1):
            for last in range(max(end, first + 1), count + 1):
                for slot in self._slots(first, last):
                    reading = classify(self._around(first, last, slot), model)
                    if reading and reading.sure:
                        fact, score = reading.name, reading.score
                        yield _Frame(fact=fact, slot=slot, first=first, last=last, score=score)

    def _around(self, first: int, last: int, slot: str) -> list[str]:
        before = [word for word in self._words[:first] if word]
        while before and before[-1] in LEADING_WORDS:
            before.pop()
        return [*before, slot, *filter(None, self._words[last:])]

    def _slots(self, first: int, last: int) -> tuple[str, ...]:
        """The placeholders that can stand for these words; none if they are no name."""
        has_leading_word = last - first > 1 and self._tokens[first].plain in LEADING_WORDS
        if has_leading_word or first + len(self._words) - last > MAX_FRAME_WORDS:
            return ()
        if not self.name(first, last).words:
            if not all(self._nouns[first:last]):
                return ()
            return (SEVERAL,) if self._is_plural(first, last) else (DOCUMENT,)
        is_short = last - first == 1 and is_acronym(self._tokens[first].written)
        return (DOCUMENT, THING, SHORT) if is_short else (DOCUMENT, THING)

    def _is_plural(self, first: int, last: int) -> bool:
        return any(is_plural for _, is_plural in self._kinds(first, last))

    def _kinds(self, first: int, last: int) -> list[tuple[str, bool]]:
        """The nouns for documents in a name or near it, and whether each is in the plural."""
        return [
            (noun, noun != token.plain)
            for at, (token, noun) in enumerate(zip(self._tokens, self._nouns, strict=True))
            if noun and (first <= at < last or self._words[at] == NOUN)
        ]

    # --- names ---

    def name(self, first: int, last: int) -> Name:
        """The words as a name; nouns for documents near it belong to it."""
        pairs = zip(self._tokens[first:last], self._nouns[first:last], strict=True)
        words = tuple(token.plain for token, noun in pairs if not (noun or _is_small(token)))
        kinds = dict.fromkeys(noun for noun, _ in self._kinds(first, last))
        return Name(words=words, nouns=tuple(kinds))

    def _key(self, first: int, last: int) -> str:
        tokens = self._tokens
        return key_of(self._question[tokens[first].start : tokens[last - 1].end])

    def exact(self, frames: Iterable[_Frame]) -> set[tuple[int, int]]:
        """The first and last positions of those frames whose words are a complete known name."""
        keys = {(frame.first, frame.last): self._key(frame.first, frame.last) for frame in frames}
        names, scope = self._kb.catalogue.names, self._scope.collections
        kinds, aliases = (TITLE, MAIN, FILE, INITIALS), self._vocabulary.names
        found = {key for _, key in names.look_up(scope, kinds, map(cut_key, keys.values()))}
        return {words for words, key in keys.items() if cut_key(key) in found or key in aliases}

    def find_documents(self, first: int, last: int, *, exact: bool) -> DocumentMatch:
        """Find the documents that the words refer to."""
        name, key = self.name(first, last), self._key(first, last)
        tokens, is_plural = self._tokens[first:last], self._is_plural(first, last)
        if exact:
            words = tuple(token.plain for token in tokens)
            has_article = len(words) > 1 and words[0] in ARTICLES
            match = self._named(replace(name, words=words[1:] if has_article else words), key)
            if match.exact:
                return match
        if _is_small(tokens[0]) or _is_small(tokens[-1]):
            return DocumentMatch()
        fitting = self._fitting(name)
        pairs = zip(tokens, self._nouns[first:last], strict=True)
        masked = [NOUN if noun else t.plain for t, noun in pairs if t.plain not in ARTICLES]
        edge = classify(masked, load_model()) if name.words and NOUN in masked else None
        if name.words and is_plural:  # "tides in the papers" searches the papers and names none
            return DocumentMatch()
        if edge and edge.name in ("latest", "oldest"):
            return _at_edge(fitting, last=edge.name == "latest")
        return self._named(name, key) if name.words else self._of_kind(fitting, is_plural=is_plural)

    def _of_kind(self, fitting: Scope, *, is_plural: bool) -> DocumentMatch:
        """Return all documents of a kind for a plural, else the only one."""
        limit = MAX_DOCUMENTS if is_plural else 1
        entries = tuple(fitting.first_entries(limit + 1))
        if not (entries or is_plural) and self._timed:  # the only one of that time, of any kind
            any_kind = self._scope.within(Filters(kinds=(*ANSWERING_KINDS, "entity")))
            found = tuple(any_kind.first_entries(2))
            return DocumentMatch(entries=found if len(found) == 1 else (), certainty=LIKELY)
        return DocumentMatch(entries=entries if len(entries) <= limit else (), certainty=CERTAIN)

    def _named(self, name: Name, full_key: str) -> DocumentMatch:
        """Find the documents with the name; ``full_key`` is its key including small words."""
        keys = (key_of_words(list(name.words)), full_key)
        forms = [form for key in keys for form in self._vocabulary.names.get(key, ())]
        aliased = [key for form in forms for key in form.node.documents]
        names, scope = self._kb.catalogue.names, self._scope.collections
        name_kinds = (TITLE, MAIN, FILE, *((INITIALS,) if len(name.words) == 1 else ()))
        with_name = names.documents(scope, name_kinds, map(cut_key, keys))
        with_words = names.with_words(scope, map(singular_form, name.words))
        # A past question is a document, too, but nobody refers to it by its title.
        candidates = self._scope.only([*with_name, *with_words, *aliased]).entries()
        entries = [entry for entry in candidates if entry.kind != "qa"]
        facts = self._kb.catalogue.facts([entry.id for entry in entries])
        files = {fact.id: fact.uri for fact in facts.values()}
        match = resolve_document_name(name, entries, aliased, files, self._is_of)
        if match.entries or not name.nouns:
            return match
        naming_it = document_naming_most(self._fitting(name), " ".join(name.words))
        return DocumentMatch(entries=tuple(naming_it), certainty=LIKELY)

    def _fitting(self, name: Name) -> Scope:
        """The scope restricted to documents of the kinds that the nouns name."""
        scope = self._scope.within(Filters(kinds=ANSWERING_KINDS))
        for noun in name.nouns:
            scope = scope.within(self._limit(noun))
        return scope

    def _limit(self, noun: str) -> Filters:
        """The filter for the kind that a noun names; one that matches nothing if it names none."""
        kind = self._types.get(spelling(noun))
        if kind is None or kind.what not in ("documents", "entities"):
            return Filters(kinds=("transcript",)) if noun in SPOKEN_NOUNS else NO_DOCUMENTS
        return Filters(kinds=("entity",)) if kind.what == "entities" else kind.filters

    def _is_of(self, entry: DocumentFacts, noun: str) -> bool:
        """Whether a document is of the kind that a noun names."""
        limit = self._limit(noun)
        has_kind = entry.kind in limit.kinds or entry.source_type in limit.source_types
        return has_kind or limit == Filters()


def _tokens(analysis: Analysis) -> list[Token]:
    """The words of the question, without its limits on time and people."""
    limits = [limit.span for limit in analysis.constraints if limit.kind in ("time", "author")]
    tokens = tokens_of(analysis.question)
    in_limit = [
        any(word.start < span.end and span.start < word.end for span in limits) for word in tokens
    ]
    before_limit = [*in_limit[1:], False]
    return [
        word
        for word, is_in, is_before in zip(tokens, in_limit, before_limit, strict=True)
        if not (is_in or (is_before and word.plain in LIMIT_PREPOSITIONS))
    ]


def _is_small(token: Token) -> bool:
    return token.plain in SMALL_WORDS and not (len(token.plain) > 1 and token.written.isupper())


def _at_edge(scope: Scope, *, last: bool) -> DocumentMatch:
    """Return the first or last document; none if another has the same date."""
    first, *others = scope.dated(2, last=last)[:: -1 if last else 1] or (None,)
    if first is None or any(entry and entry.published_at == first.published_at for entry in others):
        return DocumentMatch()
    return DocumentMatch(entries=(first,), certainty=LIKELY)
