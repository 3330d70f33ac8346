"""Answers, sources and hits for the eye, on a terminal or in a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from markdown_it.token import Token
from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from wellread.kb.language_models import dollars
from wellread.serve.features.asking.answer_additions import QuoteContextBody
from wellread.serve.features.asking.answer_bodies import EvidenceBody
from wellread.serve.features.passage_views import print_source
from wellread.serve.terminal import INDENT, linked, print_link, shortened
from wellread.text.words import harmless
from wellread.values.answer_blocks import CLOSE, MARK, OPEN, tokens_of
from wellread.values.answers import NOBODY, Answer, Citation, Conflict, Sentence, VerdictName

LONGEST_QUOTE = 240
CITED, MARKED = "cited", "marked"  # the styles of a marker, and of what answers in a quotation

_BANDS = {"high": "green", "medium": "yellow", "low": "red", "none": "red"}
_STYLES = {f"markdown.{CITED}": "bold cyan", f"markdown.{MARKED}": "bold"}
_MARKER = re.compile(r"\[\d+(?:, ?\d+)*\]")
_MARKS = re.compile(rf"({MARK.pattern}|{_MARKER.pattern})")


def print_answer(
    console: Console,
    answer: Answer,
    *,
    seconds: float,
    detailed: bool,
    contexts: Sequence[QuoteContextBody] = (),
) -> None:
    """The answer with a sign per sentence, then sources, confidence, gaps and notes.

    Args:
        detailed: also every step with its seconds.
        contexts: what stands around the quotations, which are then shown whole.
    """
    around = {one.number: one for one in contexts}
    if answer.standalone:
        console.print(Text(f"Understood as: {harmless(answer.standalone)}", style="italic"))
    if answer.answered_by == NOBODY:
        near = "No clear answer in this material"
        told = near if answer.citations else "No answer in this material"
        console.print(Text(told, style="bold yellow"))
    _print_text(console, answer)
    if answer.answered_by != NOBODY:
        _print_checks(console, answer.sentences)
    if answer.citations:
        console.print()
        console.print(Text("Sources", style="bold"))
        for citation in answer.citations:
            _print_citation(console, citation, around.get(citation.id))
    console.print()
    console.print(_confidence(answer))
    _print_list(console, "Missing", answer.data_gaps)
    _print_list(console, "Sources disagree", [_disagreement(each) for each in answer.conflicts])
    _print_list(
        console, "Related", ["; ".join(one.title for one in answer.related)][: len(answer.related)]
    )
    _print_list(console, "Ask next", answer.suggestions)
    _print_list(console, "Note", _notes(answer))
    console.print(Text(_byline(answer, seconds), style="dim"))
    if detailed:
        for step in answer.steps:
            line = f"  {step.name:<14}{step.seconds:>9.3f} s{step.found:>7,} found"
            console.print(Text(line, style="dim"))


def _print_text(console: Console, answer: Answer) -> None:
    """The delivered text, its Markdown drawn, the sign of each sentence after it."""
    page = Markdown("")
    page.inlines = page.inlines | {CITED, MARKED, *VerdictName}
    page.parsed = [_signed(token, answer.sentences) for token in tokens_of(answer)]
    styles = {f"markdown.{name}": name.style for name in VerdictName}
    with console.use_theme(Theme({**styles, **_STYLES})):
        lines = console.render_lines(page, pad=False)
    begun = False
    for line in lines:  # without the blanks that fill them, and those at the top
        shown = Text.assemble(*((piece.text, piece.style or "") for piece in line))
        shown.rstrip()
        begun = begun or bool(shown)
        if begun:
            console.print(shown, soft_wrap=True)


def _signed(token: Token, sentences: Sequence[Sentence]) -> Token:
    """The token with signs in place of the marks of sentences, and its markers in colour."""
    if token.children is not None:
        children = [piece for child in token.children for piece in _pieces(child, sentences)]
        return replace(token, children=children)
    return replace(token, content="".join(text for text, _ in _told(token.content, sentences)))


def _pieces(token: Token, sentences: Sequence[Sentence]) -> Iterator[Token]:
    if not token.content:
        yield token
    for text, style in _told(token.content, sentences):
        if style:
            yield Token("style_open", style, 1)
        yield Token("text", "", 0, content=text) if style else replace(token, content=text)
        if style:
            yield Token("style_close", style, -1)


def _told(content: str, sentences: Sequence[Sentence]) -> Iterator[tuple[str, str]]:
    """The text in pieces, each with the name of its style or none."""
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


def print_evidence(console: Console, pieces: Sequence[EvidenceBody]) -> None:
    """The passages that an answer could rest on."""
    if not pieces:
        console.print(Text("Nothing in this material is near the question.", style="yellow"))
    for number, piece in enumerate(pieces, start=1):
        print_source(console, f"[{number}]", piece, f"{piece.score:.2f}")


def _disagreement(conflict: Conflict) -> str:
    views = "; ".join(
        f"“{view.text}” {' '.join(f'[{known}]' for known in view.citations)}".rstrip()
        for view in conflict.views
    )
    said = f"{conflict.about}: {views}" if views else conflict.about
    return f"{said} ({conflict.reason})" if conflict.reason else said


def _print_checks(console: Console, sentences: Sequence[Sentence]) -> None:
    """How many sentences have which verdict, and the reason of each that is not borne out."""
    if not sentences:
        return
    counts = Counter(sentence.verdict.name for sentence in sentences)
    line = Text.assemble(("\nChecked: ", "dim"))
    for place, name in enumerate(name for name in VerdictName if counts[name]):
        line.append(", " if place else "", style="dim")
        line.append(name.symbol, style=name.style)
        line.append(f" {counts[name]} {name.label}", style="dim")
    console.print(line)
    for sentence in sentences:
        if not sentence.verdict.name.whole and sentence.verdict.reason:
            name = sentence.verdict.name
            note = Text.assemble((f"{name.symbol} ", name.style))
            note.append(f"“{shortened(sentence.text, 60)}”: {harmless(sentence.verdict.reason)}")
            console.print(Padding(note, (0, 0, 0, 2)))


def _print_citation(
    console: Console, citation: Citation, context: QuoteContextBody | None = None
) -> None:
    head = Text.assemble((f"[{citation.id}] ", "bold cyan"))
    head.append(_titled(citation.title, citation.locator.label), style=linked(citation.link))
    if context is None:
        head.append(f" — “{shortened(citation.quote, LONGEST_QUOTE)}” ")
    head.append(
        citation.verdict.symbol if context is None else f" {citation.verdict.symbol}",
        style=citation.verdict.style,
    )
    console.print(head)
    if context is not None:
        console.print(Padding(_in_context(citation, context), (0, 0, 0, INDENT)))
    print_link(console, citation.link)


def _in_context(citation: Citation, context: QuoteContextBody) -> Text:
    """The quotation set off among the sentences around it."""
    before, quote, after = (
        harmless(" ".join(part.split())) for part in (context.before, citation.quote, context.after)
    )
    parts = [(before, "dim"), (f"“{quote}”", "bold"), (after, "dim")]
    return Text(" ").join(Text(words, style=style) for words, style in parts if words)


def _titled(title: str, locator: str) -> str:
    return harmless(f"{title}, {locator}" if locator else title)


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
    found = answer.usage.clusters
    stories = f", {found} cluster{'' if found == 1 else 's'} retrieved" if found else ""
    return harmless(f"{who} in {seconds:.2f} s ({answer.mode}{stories}{spent}{again})")


def _print_list(console: Console, name: str, lines: Sequence[str]) -> None:
    for line in lines:
        console.print(Text.assemble((f"{name}: ", "bold"), harmless(line)))
