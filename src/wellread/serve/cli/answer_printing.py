"""Prints answers, search results and quotations on a terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from markdown_it.token import Token
from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from wellread.ask.aggregate.query import AggregateResult
from wellread.kb.language_models import dollars
from wellread.library.searches import Result, Results, Surroundings
from wellread.serve.features.answering import PastBeside, QuoteContext, past_question_status
from wellread.serve.terminal import SHORT_ID, print_line, shortened, table
from wellread.serve.views import source_link
from wellread.text.characters import harmless
from wellread.values.answer_blocks import CLOSE, MARK, OPEN, tokens_of
from wellread.values.answer_text import disagreement
from wellread.values.answers import NOBODY, Answer, Citation, Evidence, Sentence, VerdictName

INDENT = 4
MAX_QUOTE_CHARS = 240
MAX_CELL_CHARS = 120
CITED, MARKED = "cited", "marked"  # styles of citation markers and of highlighted quotations

_BANDS = {"high": "green", "medium": "yellow", "low": "red", "none": "red"}
_STYLES = {f"markdown.{CITED}": "bold cyan", f"markdown.{MARKED}": "bold"}
_MARKER = re.compile(r"\[\d+(?:, ?\d+)*\]")
_MARKS = re.compile(rf"({MARK.pattern}|{_MARKER.pattern})")


def print_markdown(console: Console, text: str) -> None:
    """Print Markdown, rendered on a terminal and plain elsewhere."""
    safe_text = harmless(text)
    console.print(Markdown(safe_text) if console.is_terminal else Text(safe_text), soft_wrap=True)


def print_answer(
    console: Console,
    answer: Answer,
    *,
    seconds: float,
    detailed: bool = False,
    contexts: Sequence[QuoteContext] = (),
) -> None:
    """Print the answer with a symbol per sentence, then sources, confidence, gaps and notes.

    Args:
        detailed: also print the duration of every step.
        contexts: the text around the quotations, which are then printed in full.
    """
    around = {context.number: context for context in contexts}
    if answer.standalone:
        print_line(console, f"Understood as: {answer.standalone}", "italic")
    if answer.answered_by == NOBODY:
        # With citations of related passages it is not clear that there is none.
        clear = "No clear answer in this material"
        print_line(
            console, clear if answer.citations else "No answer in this material", "bold yellow"
        )
    _print_text(console, answer)
    if answer.answered_by != NOBODY:
        _print_checks(console, answer.sentences)
    if answer.citations:
        console.print(Text("\nSources", style="bold"))
        for citation in answer.citations:
            _print_citation(console, citation, around.get(citation.id))
    console.print()
    console.print(_confidence(answer))
    _print_list(console, "Missing", answer.data_gaps)
    _print_list(console, "Sources disagree", map(disagreement, answer.conflicts))
    if answer.related:
        _print_list(console, "Related", ["; ".join(document.title for document in answer.related)])
    _print_list(console, "Ask next", answer.suggestions)
    _print_list(console, "Note", _notes(answer))
    print_line(console, _byline(answer, seconds), "dim")
    for step in answer.steps if detailed else ():
        line = f"  {step.name:<14}{step.seconds:>9.3f} s{step.found:>7,} found"
        print_line(console, line, "dim")


def _print_text(console: Console, answer: Answer) -> None:
    """Print the text with rendered Markdown and a verdict symbol after each sentence."""
    page = Markdown("", justify="default")  # "left" would fill every line with spaces
    page.inlines = page.inlines | {CITED, MARKED, *VerdictName}
    tokens = [_with_symbols(token, answer.sentences) for token in tokens_of(answer)]
    if not console.is_terminal:  # its lines have no end: nothing is centred, no rule drawn
        tokens = [replace(token, tag=token.tag.replace("h1", "h2")) for token in tokens]
        tokens = [token for token in tokens if token.type != "hr"]
    page.parsed = tokens
    styles = {f"markdown.{name}": name.style for name in VerdictName}
    with console.use_theme(Theme({**styles, **_STYLES})):
        lines = console.render_lines(page, pad=False)
    started = False
    for line in lines:  # without padding and leading blank lines
        visible_line = Text.assemble(*((piece.text, piece.style or "") for piece in line))
        visible_line.rstrip()
        started = started or bool(visible_line)
        if started:
            console.print(visible_line, soft_wrap=True)


def _with_symbols(token: Token, sentences: Sequence[Sentence]) -> Token:
    """The token with verdict symbols in place of sentence marks, and its markers coloured."""
    if token.children is not None:
        children = [piece for child in token.children for piece in _pieces(child, sentences)]
        return replace(token, children=children)
    return replace(
        token, content="".join(text for text, _ in _styled_pieces(token.content, sentences))
    )


def _pieces(token: Token, sentences: Sequence[Sentence]) -> Iterator[Token]:
    if not token.content:
        yield token
    for text, style in _styled_pieces(token.content, sentences):
        if style:
            yield Token("style_open", style, 1)
        yield Token("text", "", 0, content=text) if style else replace(token, content=text)
        if style:
            yield Token("style_close", style, -1)


def _styled_pieces(content: str, sentences: Sequence[Sentence]) -> Iterator[tuple[str, str]]:
    """Yield the text in pieces, each with the name of its style (empty: none)."""
    style = ""
    for piece in filter(None, _MARKS.split(content)):
        if piece[0] == CLOSE:
            style, sentence = "", sentences[int(piece.strip(CLOSE)) - 1]
            if not sentence.within:
                yield f" {sentence.verdict.name.symbol}", sentence.verdict.name
        elif piece[0] == OPEN:
            style = MARKED if sentences[int(piece.strip(OPEN)) - 1].marked else ""
        else:
            yield piece, CITED if _MARKER.fullmatch(piece) else style


def _print_checks(console: Console, sentences: Sequence[Sentence]) -> None:
    """Print counts by verdict, and the reason for each sentence not fully supported."""
    if not sentences:
        return
    counts = Counter(sentence.verdict.name for sentence in sentences)
    line = Text.assemble(("\nChecked: ", "dim"))
    for index, name in enumerate(name for name in VerdictName if counts[name]):
        line.append(", " if index else "", style="dim")
        line.append(name.symbol, style=name.style)
        line.append(f" {counts[name]} {name.label}", style="dim")
    console.print(line)
    for sentence in sentences:
        if not sentence.verdict.name.whole and sentence.verdict.reason:
            name = sentence.verdict.name
            note = Text.assemble((f"{name.symbol} ", name.style))
            note.append(f"“{shortened(sentence.text, 60)}”: {harmless(sentence.verdict.reason)}")
            console.print(Padding(note, (0, 0, 0, 2), expand=False))


def _print_head(
    console: Console, marker: str, titles: tuple[str, str], link: str, *details: tuple[str, str]
) -> None:
    """Print a line on a source: marker, linked title and locator, and other details."""
    head = Text.assemble((f"{marker} ", "bold cyan"))
    clean = harmless(link)
    link_style = f" link {clean}" if clean and not any(map(str.isspace, clean)) else ""
    head.append(harmless(", ".join(filter(None, titles))), style=f"bold{link_style}")
    for text, style in details:
        head.append(text, style=style)
    console.print(head)


def _print_quote(console: Console, quote: str | Text, link: str) -> None:
    """Print a quotation below the line on its source, and the link as text."""
    if quote:
        console.print(Padding(quote, (0, 0, 0, INDENT), expand=False))
    if link:
        print_line(console, " " * INDENT + link, "dim")


def _print_citation(
    console: Console, citation: Citation, context: QuoteContext | None = None
) -> None:
    quotation = " " if context else f" — “{shortened(citation.quote, MAX_QUOTE_CHARS)}” "
    verdict = (citation.verdict.symbol, citation.verdict.style)
    titles = (citation.title, citation.locator.label)
    _print_head(console, f"[{citation.id}]", titles, citation.link, (quotation, ""), verdict)
    _print_quote(console, _in_context(citation, context) if context else "", citation.link)


def _in_context(citation: Citation, context: QuoteContext) -> Text:
    """The quotation highlighted among the sentences around it."""
    before, quote, after = (
        harmless(" ".join(part.split())) for part in (context.before, citation.quote, context.after)
    )
    parts = [(before, "dim"), (f"“{quote}”", "bold"), (after, "dim")]
    return Text(" ").join(Text(text, style=style) for text, style in parts if text)


def _confidence(answer: Answer) -> Text:
    confidence = answer.confidence
    line = Text("Confidence ")
    line.append(f"{confidence.score:.0%} ({confidence.band})", style=_BANDS[confidence.band])
    if confidence.reasoning:
        line.append(f": {harmless(confidence.reasoning)}")
    return line


def _notes(answer: Answer) -> list[str]:
    notes = list(answer.notes)
    if answer.fallback:
        notes.insert(0, f"written by {answer.answered_by}: {answer.fallback}")
    if answer.hallucinated_citations:
        notes.append(f"{answer.hallucinated_citations} citations of unknown sources were removed")
    return notes


def _byline(answer: Answer, seconds: float) -> str:
    who = "Declined" if answer.answered_by == NOBODY else f"Answered by {answer.answered_by}"
    tokens = answer.usage.input_tokens + answer.usage.output_tokens
    spent = f", {tokens:,} tokens" if tokens else ""
    spent += f", {dollars(answer.usage.cost)}" if answer.usage.cost else ""
    again = ", as before" if answer.cached else ""
    clusters = answer.usage.clusters
    stories = f", {clusters} cluster{'' if clusters == 1 else 's'} retrieved" if clusters else ""
    return harmless(f"{who} in {seconds:.2f} s ({answer.mode}{stories}{spent}{again})")


def _print_list(console: Console, name: str, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(Text.assemble((f"{name}: ", "bold"), harmless(line)))


def print_past(console: Console, similar: Sequence[PastBeside]) -> None:
    """Print past questions, whether each is the same question, and their answers."""
    for past in similar:
        head = Text.assemble(("\nAsked before: ", "bold"), harmless(past.question))
        head.append(f" ({past_question_status(past)})", style="dim")
        console.print(head)
        text = f"{past.answer}\nCorrected: {past.correction}" if past.correction else past.answer
        _print_quote(console, Text(harmless(text)), past.link)


def print_coverage(console: Console, bodies: Sequence[AggregateResult]) -> None:
    """Print each part of the coverage: the sentence, its rows, and the method."""
    console.print(Text("\nCoverage of what the question could be answered from", style="bold"))
    for result in bodies:
        print_line(console, result.sentence)
        if result.rows:
            rows = ([shortened(cell, MAX_CELL_CHARS) for cell in row.cells] for row in result.rows)
            console.print(table(map(harmless, result.columns), rows, header_style="bold"))
        for line in filter(None, (*result.notes, *result.failures, result.method)):
            print_line(console, line, "dim")


def print_source(console: Console, marker: str, source: Result | Evidence, *facts: str) -> None:
    """Print a quoted place: linked title and locator, facts, and its first words."""
    document = source.hit.document
    link = source_link(document, source.locator, source.text)
    day = [f"{document.published_at:%Y-%m-%d}"] if document.published_at else []
    details = f"  {', '.join((document.kind, *day, *facts))}"
    _print_head(console, marker, (document.title, source.locator.label), link, (details, "dim"))
    _print_quote(console, Text(f"“{shortened(source.text, MAX_QUOTE_CHARS)}”"), link)


def print_results(console: Console, results_: Results) -> None:
    """Print search results with their ranks, or documents listed newest first."""
    for note in results_.notes:
        print_line(console, note, "dim")
    if not results_.results:
        message = f"Nothing found for “{results_.query}”." if results_.query else "Nothing matches."
        print_line(console, message, "yellow")
    for number, result in enumerate(results_.results, start=1):
        facts = [result.hit.passage.id[:SHORT_ID]]
        if result.hit.ranks:
            ranks = ", ".join(f"{rank.name} #{rank.rank}" for rank in result.hit.ranks)
            facts.insert(0, f"{result.hit.score:.3f} ({ranks})")
        print_source(console, f"{number}.", result, *facts)
    if results_.total is not None and results_.total > len(results_.results):
        print_line(console, f"… the newest of {results_.total:,}", "dim")


def print_surroundings(console: Console, body: Surroundings) -> None:
    """Print the passage, with the passages around it dimmed."""
    head = f"{body.document.title}  passage {body.ordinal + 1:,} of {body.passages:,}"
    print_line(console, head, "bold")
    for result in body.results:
        requested = result.hit.passage.id == body.passage_id
        location = f"\n{result.locator.label}  {result.hit.passage.id[:SHORT_ID]}"
        print_line(console, location, "bold cyan" if requested else "cyan")
        print_line(console, result.text, "" if requested else "dim")
        if requested:
            _print_quote(console, "", source_link(body.document, result.locator, result.text))
