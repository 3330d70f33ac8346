"""An answer in Markdown, for people and for models whose program keeps the text alone.

What sources say is shown letter by letter: a title or a quotation can make no heading, no link and
no picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wellread.serve.mcp.answer_results import (
    AnswerPart,
    AnswerResult,
    CitedBody,
    RowsBody,
    ToldBody,
)
from wellread.text.words import harmless
from wellread.values.answer_text import (
    PLAIN,
    disagreement,
    escaped,
    escaped_row,
    markers_after,
    target,
    without_links,
)
from wellread.values.answers import Answer, Conflict, VerdictName

UNDECIDED = "No answer in this material."
LONGEST = 80  # characters of a sentence that is named again


def answer_markdown(part: AnswerPart, body: AnswerResult) -> str:
    """All of ``body`` as Markdown."""
    return "\n\n".join(section for section in _sections(part, body) if section)


def _sections(part: AnswerPart, body: AnswerResult) -> Iterator[str]:
    if body.standalone:
        yield f"Understood as: {escaped(body.standalone)}"
    if body.answered_by == "none":
        yield f"**{UNDECIDED}**"
    yield _signed(part)
    if body.table and body.table.rows:
        yield _table(body.table)
    yield _checked(body)
    yield _sources(body.citations)
    confidence = body.confidence
    said = f"**Confidence** {confidence.score:.2f} ({confidence.band})"
    yield f"{said}: {escaped(confidence.reasoning)}" if confidence.reasoning else said
    yield from _beside(body, part.answer.conflicts)
    yield _byline(part.answer)
    if part.left_out:
        more = f"{part.left_out:,} sentences and rows did not fit"
        yield f"*This is a part: {more}. All of it: `wellread answers show {part.answer.id}`*"


def _signed(part: AnswerPart) -> str:
    """The text with the sign of each sentence's verdict after its markers."""
    answer = part.answer
    literal = answer.answered_by in PLAIN
    pieces: list[str] = []
    place = 0
    for sentence in part.sentences:
        after = markers_after(answer.text, sentence).end
        said = sentence.span.of(answer.text)
        pieces.append(without_links(answer.text[place : sentence.span.start]))
        pieces.append(escaped_row(said, answer.text) if literal else without_links(said))
        if not sentence.within:
            pieces += [f" [{number}]" for number in sentence.citations]
            pieces.append(f" {sentence.verdict.name.symbol}")
        place = max(place, after)
    rest = f"{part.text[place:]}\n"  # a bracket that ends it begins no link
    bare = literal and not part.sentences and answer.mode != "deep"  # a report has headings
    pieces.append(escaped(rest) if bare else without_links(rest))
    return "".join(pieces).strip()


def _checked(body: AnswerResult) -> str:
    """What the signs mean, and why a sentence is not borne out."""
    if not body.verdicts:
        return ""
    names = [VerdictName(name) for name in body.verdicts]
    counts = (f"{one.symbol} {body.verdicts[one.value]} {one.label}" for one in names)
    return "\n".join([f"**Checked:** {', '.join(counts)}", *_doubts(body.sentences)])


def _doubts(sentences: Iterable[ToldBody]) -> Iterator[str]:
    for one in sentences:
        if not one.verdict.whole and one.reason:
            said = one.text if len(one.text) <= LONGEST else f"{one.text[:LONGEST].rstrip()}…"
            flat = escaped(" ".join(said.split()))
            yield f"- {one.verdict.symbol} “{flat}”: {escaped(one.reason)}"


def _sources(citations: Iterable[CitedBody]) -> str:
    lines = [citation_line(one) for one in citations]
    return "\n".join(["**Sources**", *lines]) if lines else ""


def citation_line(one: CitedBody) -> str:
    """A citation: number, title with its link, place, quotation, verdict, and how to open it."""
    title = escaped(" ".join(one.title.split())) or "untitled"
    named = f"[{title}]({target(one.link)})" if one.link else title
    place = f", {escaped(one.locator)}" if one.locator else ""
    day = f", {one.published_at:%Y-%m-%d}" if one.published_at else ""
    quote = escaped(" ".join(one.quote.split()))
    opens = f" · source `{one.source}`" if one.source else ""
    verdict = f"{one.verdict.symbol} {one.verdict.label}"
    return f"- [{one.number}] {named}{place}{day} — “{quote}” {verdict}{opens}"


def _beside(body: AnswerResult, conflicts: Iterable[Conflict]) -> Iterator[str]:
    yield _list("What is missing", body.data_gaps)
    yield _list("Sources disagree", map(disagreement, conflicts))
    notes = list(body.notes)
    if body.fallback:
        notes.insert(0, f"written by {body.answered_by}: {body.fallback}")
    if body.hallucinated_citations:
        notes.append(f"{body.hallucinated_citations} citations of unknown sources were removed")
    left_out = [f"limit left out: {one.kind} {one.value}" for one in body.limits if one.relaxed]
    yield _list("Notes", [*notes, *left_out])
    yield _list("Related", [f"{one.title} ({one.kind}) {one.id}".rstrip() for one in body.related])
    yield _list("Ask next", body.suggestions)


def _list(name: str, lines: Iterable[str]) -> str:
    shown = [f"- {escaped(' '.join(line.split()))}" for line in lines]
    return "\n".join([f"**{name}**", *shown]) if shown else ""


def _table(table: RowsBody) -> str:
    rows = [_row(table.columns), f"|{'---|' * len(table.columns)}", *map(_row, table.rows)]
    shown = len(table.rows)
    method = [f"\nHow it was worked out: {escaped(table.method)}"] if table.method else []
    part = [f"\n{shown:,} of {table.total:,} rows"] if shown < table.total else []
    return "\n".join([*rows, *part, *method])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(escaped(' '.join(cell.split())) for cell in cells)} |"


def _byline(answer: Answer) -> str:
    who = "declined" if answer.answered_by == "none" else f"answered by {answer.answered_by}"
    named = f", answer `{answer.id}`" if answer.id else ""
    session = f", session_id `{answer.session_id}` for a follow-up" if answer.session_id else ""
    return f"*{escaped(harmless(who))}{named}{session}*"
