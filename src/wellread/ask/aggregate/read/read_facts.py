"""Reads a question for a fact of documents that the catalogue holds: by whom, when, what about.

Such a question is a fact, a document, and words that say nothing. Whatever is left beside the fact
is the document's name; when nothing is called so, the question is about texts and not of here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wellread.ask.aggregate.queries.query import nouns, spelling
from wellread.ask.aggregate.queries.result import Scope, limits_of, scope_of
from wellread.ask.understand.document_names import (
    LIKELY,
    SURE,
    IsKind,
    Meant,
    Name,
    meant_by,
    title_runs,
    titles_in,
)
from wellread.ask.understand.mentions import people_in
from wellread.ask.understand.vocabulary import Vocabulary, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.store.catalogue.documents.aggregates import Entry
from wellread.store.catalogue.documents.name_keys import FILE, INITIALS, MAIN, TITLE, cut, one_of
from wellread.text.english import STOP_WORDS
from wellread.text.english_catalogue import (
    ANY_DOCUMENT,
    AROUND_A_FACT,
    BARE_LEADS,
    BEFORE_A_COMPANION,
    BEFORE_A_SUBJECT,
    DOCUMENT_NOUNS,
    DOING,
    EARLIEST_ONES,
    FACTS_ASKED,
    LATEST_ONES,
    SPOKEN_NOUNS,
    SUMMING_UP,
)
from wellread.text.english_questions import STANDS_FOR
from wellread.text.names import is_acronym, singular
from wellread.text.tokens import ARTICLES, Token, key_of, key_of_words, plain, tokens_of
from wellread.types import KINDS, Filters, Kind, Span

Fact = str  # a name of ``FACTS_ASKED``
OF_A_TEXT = frozenset({"abstract", "definition", "contribution", "summary"})
WRITTEN = ("paper", "article")  # what people write and publish
TELLING = ("article", "transcript")  # what is not called after a thing that it defines
LONG_TITLE = 3  # words with which a title is no everyday name
MOST_DOCUMENTS = 200
ANSWERING: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind not in ("entity", "qa"))
NONE = Filters(document_ids=("",))


@dataclass(frozen=True, slots=True, kw_only=True)
class FactAsked:
    """One fact of some documents.

    Attributes:
        name: what the question calls them.
        several: all of a kind are meant, and not one by name.
    """

    fact: Fact
    meant: Meant
    name: str = ""
    several: bool = False


def read_fact(kb: KnowledgeBase, analysis: Analysis) -> FactAsked | None:
    """The fact that the question asks for; None when it asks for something else.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError: the catalogue cannot be read.
    """
    scope = scope_of(kb, limits_of(analysis))
    tokens = _tokens(analysis, _companions(analysis.question, vocabulary_of(kb, scope.collections)))
    asked = list(_facts(tokens))
    short = STANDS_FOR.search(analysis.question)
    if short and is_acronym(short["short"]):
        meant = _Reading(kb, analysis, scope).called(short["short"])
        if len(meant.entries) == 1 and meant.exact:
            return FactAsked(fact="definition", meant=meant, name=meant.entries[0].title)
    if not asked or any(one.kind == "speaker" for one in analysis.constraints):
        return None
    reading = _Reading(kb, analysis, scope)
    for fact, used in asked:
        meant, several = reading.meant(tokens, used)
        fits = several and fact != "definition"
        if meant.entries and (fits or reading.fits(fact, meant, tokens, used)):
            name = " ".join(reading.name(tokens, used)[0].words)
            return FactAsked(fact=fact, meant=meant, name=name, several=several)
    return None


def _companions(question: str, vocabulary: Vocabulary) -> list[Span]:
    """The authors beside whom others are asked for: "who wrote it with Ada Moor"."""
    return [
        one.span
        for one in people_in(question, vocabulary)
        if one.authors and question[: one.span.start].rstrip().lower().endswith(BEFORE_A_COMPANION)
    ]


def _tokens(analysis: Analysis, companions: Sequence[Span]) -> list[Token]:
    """The words of the question outside of its limits on time and people."""
    limits = [one.span for one in analysis.constraints if one.kind in ("time", "author")]
    limits += companions
    return [
        token
        for token in tokens_of(analysis.question)
        if not any(span.start < token.end and token.start < span.end for span in limits)
    ]


def _facts(tokens: Sequence[Token]) -> Iterator[tuple[Fact, frozenset[int]]]:
    """The facts that the words can ask for, each with the places of those that ask for it."""
    plain = [token.plain for token in tokens]
    for name, things, leads, verbs in FACTS_ASKED:
        named = frozenset(at for at, word in enumerate(plain) if word in things)
        if name == "summary":
            told = next((at for at, word in enumerate(plain) if word in SUMMING_UP), None)
            named |= {told} if told is not None else _inside(plain)
        lead = next((at for at, word in enumerate(plain) if word in leads), len(plain))
        asking = frozenset(at for at in range(lead + 1, len(plain)) if plain[at] in verbs)
        if named or asking:
            yield name, frozenset({*named, *asking, *([lead] if lead < len(plain) else [])})
        bare = lead < len(plain) and BARE_LEADS.get(plain[lead]) == name
        if bare and not (named or asking) and not DOING.intersection(plain):
            yield name, frozenset((lead,))


def _inside(plain: Sequence[str]) -> set[int]:
    """Where "what is in" stands."""
    found = plain[:1] in (["what"], ["whats"]) and "in" in plain[1:3]
    return {0, plain.index("in")} if found else set()


class _Reading:
    """Finds out which documents a question means."""

    def __init__(self, kb: KnowledgeBase, analysis: Analysis, scope: Scope) -> None:
        self._kb = kb
        self._analysis = analysis
        self._scope = scope
        self._vocabulary = vocabulary_of(kb, scope.collections)
        self._of = _kind_test(self._vocabulary)

    def meant(self, tokens: Sequence[Token], used: frozenset[int]) -> tuple[Meant, bool]:
        """The documents that the words beside ``used`` mean; whether they are all of a kind."""
        question = self._analysis.question
        quoted = titles_in(question, self._found((TITLE,), title_runs(question)))
        if quoted:
            inside = key_of(quoted[0].title)
            rest = [one for at, one in enumerate(tokens) if at not in used]
            left = [one.plain for one in rest if not self._empty(one) and one.plain not in inside]
            if not left:
                found = meant_by(
                    Name(words=tuple(t.plain for t in tokens_of(quoted[0].title)), nouns=()),
                    quoted,
                    (),
                    {},
                    self._of,
                )
                return found, False
        name, plural = self.name(tokens, used)
        one = self._one_by_time(tokens, name, plural=plural)
        if one is not None:
            return one, False
        if name.words:  # "in the papers": many, in which what the words say is looked for
            said = [one for at, one in enumerate(tokens) if at not in used]
            said = [one for one in said if one.plain in (name.words[0], name.words[-1])]
            whole = self._analysis.question[said[0].start : said[-1].end]
            return (Meant() if plural else self._named(name, key_of(whole))), False
        if not name.nouns:
            return Meant(), False
        fitting = tuple(self._fitting(name).some(MOST_DOCUMENTS + 1 if plural else 2))
        if plural and len(fitting) <= MOST_DOCUMENTS:
            return Meant(entries=fitting, certainty=SURE), True
        return Meant(entries=fitting if len(fitting) == 1 else (), certainty=SURE), False

    def _found(self, sorts: Sequence[str], keys: Sequence[str]) -> list[Entry]:
        """The documents within the limits that are called by one of the keys."""
        names = self._kb.catalogue.names
        return self._inside(names.documents(self._scope.collections, sorts, keys))

    def _inside(self, ids: Sequence[str]) -> list[Entry]:
        """Those of the documents that are within the limits and no past questions."""
        found = self._scope.only(ids).entries() if ids else []
        return [entry for entry in found if entry.kind != "qa"]

    def _fitting(self, name: Name) -> Scope:
        """Where the documents are of the kinds that the nouns say."""
        scope = self._scope.within(Filters(kinds=ANSWERING))
        for noun in name.nouns:
            scope = scope.within(_kind_limit(self._vocabulary, noun))
        return scope

    def _one_by_time(self, tokens: Sequence[Token], name: Name, *, plural: bool) -> Meant | None:
        """The one document that its time tells: "the meeting in May", "the latest letter"."""
        if not name.nouns or plural:
            return None
        said = [one.plain for one in tokens]
        edge = [word for word in said if word in LATEST_ONES or word in EARLIEST_ONES]
        others = [word for word in name.words if word not in edge]
        timed = any(one.kind == "time" for one in self._analysis.constraints)
        summed = not SUMMING_UP.isdisjoint(said)
        if timed and (summed or not others):
            inside = self._scope.within(Filters(kinds=(*ANSWERING, "entity"))).some(2)
            if len(inside) == 1:
                return Meant(entries=tuple(inside), certainty=LIKELY)
        if not edge or others:
            return None
        last = edge[0] in LATEST_ONES
        first, *beside = self._fitting(name).dated(2, last=last)[:: -1 if last else 1] or (None,)
        alone = first is not None and not any(
            one.published_at == first.published_at for one in beside if one
        )
        return Meant(entries=(first,), certainty=LIKELY) if first and alone else None

    def called(self, short: str) -> Meant:
        """What a short form is of: an entity that has it as an alias, a title by its letters."""
        return self._named(Name(words=(plain(short),)), key_of(short))

    def name(self, tokens: Sequence[Token], used: frozenset[int]) -> tuple[Name, bool]:
        """What the document is called, and whether several are."""
        words, kinds, plural = [], [], False
        for at, token in enumerate(tokens):
            one = singular(token.plain) or token.plain
            one = token.plain if token.plain in DOCUMENT_NOUNS else one
            if at not in used and (one in DOCUMENT_NOUNS or self._is_type(token.plain)):
                kinds.append(one)
                plural = plural or one != token.plain
            elif at not in used and not self._empty(token):
                words.append(token.plain)
        return Name(words=tuple(words), nouns=tuple(dict.fromkeys(kinds))), plural

    def _empty(self, token: Token) -> bool:
        return token.plain in AROUND_A_FACT or (
            token.plain in STOP_WORDS and (len(token.plain) < 2 or not token.written.isupper())
        )

    def _is_type(self, word: str) -> bool:
        known = nouns(self._vocabulary).get(spelling(word))
        return known is not None and known.what in ("documents", "entities")

    def _named(self, name: Name, whole: str) -> Meant:
        """What bears the name; ``whole`` is the key of it with the words that say nothing."""
        keys = (key_of_words(list(name.words)), whole)
        forms = [form for key in keys for form in self._vocabulary.names.get(key, ())]
        aliased = [known for form in forms for known in form.node.documents]
        names, scope = self._kb.catalogue.names, self._scope.collections
        sorts = (TITLE, MAIN, FILE, *((INITIALS,) if len(name.words) == 1 else ()))
        called = names.documents(scope, sorts, map(cut, keys))
        worded = names.worded(scope, map(one_of, name.words))
        entries = self._inside([*called, *worded, *aliased])
        known = self._kb.catalogue.facts([entry.id for entry in entries])
        files = {one.id: one.uri for one in known.values()}
        return meant_by(name, entries, aliased, files, self._of)

    def fits(self, fact: Fact, meant: Meant, tokens: Sequence[Token], used: frozenset[int]) -> bool:
        """Whether the fact is asked of the document, and not of the thing that it is named after.

        "When was Atlas released" need not mean the talk that is called "Atlas".
        """
        plain = [token.plain for token in tokens]
        noun = any(
            not DOCUMENT_NOUNS.isdisjoint((word, singular(word)))
            for at, word in enumerate(plain)
            if at not in used
        )
        if _about(tokens, meant.entries[0]) or (fact in OF_A_TEXT and _which_document(plain)):
            return False
        if fact == "definition":
            return meant.exact and any(one.kind not in TELLING for one in meant.entries)
        if noun or meant.certainty < SURE:
            return noun
        first = meant.entries[0]
        if first.kind in WRITTEN or _digits(first.title) & set(plain):
            return True
        if fact in OF_A_TEXT:
            return bool(SUMMING_UP.intersection(plain)) or first.kind == "entity"
        whole = len([word for word in tokens_of(first.title) if word.plain not in STOP_WORDS])
        return whole >= LONG_TITLE


def _about(tokens: Sequence[Token], entry: Entry) -> bool:
    """Whether the title's first word follows "about" and no document: it is a subject there."""
    words = {token.plain for token in tokens_of(entry.title)} - STOP_WORDS
    first = next((at for at, one in enumerate(tokens) if one.plain in words), 0)
    before = [one.plain for one in tokens[:first] if one.plain not in ARTICLES]
    subject = bool(before) and before[-1] in BEFORE_A_SUBJECT
    return subject and (before[-2:-1] or [""])[0] not in DOCUMENT_NOUNS


def _which_document(plain: Sequence[str]) -> bool:
    """Whether a document is asked for, and none is named: "in which newsletter"."""
    return any(
        word in ("which", "what") and (singular(noun) or noun) in DOCUMENT_NOUNS
        for word, noun in pairwise(plain)
    )


def _digits(title: str) -> set[str]:
    return {token.plain for token in tokens_of(title) if token.plain.isdigit()}


def _kind_limit(vocabulary: Vocabulary, noun: str) -> Filters:
    """The documents of the kind that a noun says; none, where it says no kind."""
    one = nouns(vocabulary).get(spelling(noun))
    if one is None or one.what not in ("documents", "entities"):
        return Filters(kinds=("transcript",)) if noun in SPOKEN_NOUNS else NONE
    if one.what == "entities":
        return Filters(kinds=("entity",))
    return Filters() if noun in ANY_DOCUMENT else one.filters if one.filters != Filters() else NONE


def _kind_test(vocabulary: Vocabulary) -> IsKind:
    """Tells whether a document is of the kind that a noun says."""
    known = nouns(vocabulary)

    def of(entry: Entry, noun: str) -> bool:
        one = known.get(spelling(noun))
        if one is None or one.what not in ("documents", "entities"):
            return noun in SPOKEN_NOUNS and entry.kind == "transcript"
        if one.what == "entities":
            return entry.kind == "entity"
        kinds, types = one.filters.kinds, one.filters.source_types
        if noun in ANY_DOCUMENT:
            return True
        return (bool(kinds) and entry.kind in kinds) or (bool(types) and entry.source_type in types)

    return of
