"""The tool ``check_text``: a verdict for each sentence of somebody else's text."""

from __future__ import annotations

from mcp.types import CallToolResult
from pydantic import Field

from wellread.errors import RequestError
from wellread.library.check_text import CheckedText, GivenText, check, check_texts
from wellread.models.word_pieces import count_tokens
from wellread.serve.features.bodies import Body
from wellread.serve.mcp.answer_results import OVERHEAD, CitedBody, ToldBody, cited_body, counted
from wellread.serve.mcp.arguments import CheckArguments
from wellread.serve.mcp.result_markdown import citation_line
from wellread.serve.mcp.results import fitted, told
from wellread.serve.mcp.served import Call
from wellread.types import Filters
from wellread.values.answer_text import escaped
from wellread.values.answers import Sentence, VerdictName

QUOTED = 3  # tokens of a passage for each of the sentence, at a guess


class CheckResult(Body):
    """Sentences of a text with their verdicts; the citation is what bears one out, or comes near.

    ``answer`` is the text that was given, from the first of the sentences to the last.
    """

    answer: str
    borne_out: bool = Field(description="whether none of the sentences is left unsupported")
    verdicts: dict[str, int] = Field(description="how many of the sentences have which")
    sentences: tuple[ToldBody, ...]
    citations: tuple[CitedBody, ...]
    left_out: int = Field(description="sentences after these: check them in a call of their own")


def check_text(call: Call, wanted: CheckArguments) -> CallToolResult:
    """Check a text.

    Raises:
        RequestError: there is no sentence in it, or nothing to check it against.
        UnknownCollectionError: the collection is not there.
    """
    found = _checked(call, wanted)

    def build(tokens: int) -> CallToolResult:
        body = _body(call, wanted, found, _fitting(found.sentences, tokens))
        return told(_markdown(body), body)

    return fitted(build)


def _checked(call: Call, wanted: CheckArguments) -> CheckedText:
    kb = call.kb
    if not wanted.sources:
        call.served.check_filled()
        filters = Filters(collections=call.served.within(wanted.collection))
        return check(kb, wanted.text, filters=filters)
    if wanted.collection:
        raise RequestError("collection and sources exclude each other", hint="leave one out")
    given = [GivenText(text=source.text, title=source.title) for source in wanted.sources]
    return check_texts(kb, wanted.text, given)


def _fitting(sentences: tuple[Sentence, ...], tokens: int) -> tuple[Sentence, ...]:
    count = 0
    for sentence in sentences:
        tokens -= count_tokens(sentence.text) * QUOTED + 2 * OVERHEAD
        if tokens < 0 and count:
            break
        count += 1
    return sentences[:count]


def _body(
    call: Call, wanted: CheckArguments, found: CheckedText, shown: tuple[Sentence, ...]
) -> CheckResult:
    rest = found.sentences[len(shown) :]
    cited = {number for one in shown for number in one.citations}
    part = CheckedText(text=found.text, sentences=shown, citations=())
    stored = not wanted.sources
    return CheckResult(
        answer=found.text[: rest[0].span.start] if rest else found.text,
        borne_out=part.borne_out(strict=wanted.strict),
        verdicts=counted(shown),
        sentences=tuple(ToldBody.of(one, one.verdict, verdict=one.verdict.name) for one in shown),
        citations=tuple(
            cited_body(call, one, stored=stored) for one in found.citations if one.id in cited
        ),
        left_out=len(rest),
    )


def _markdown(body: CheckResult) -> str:
    by_number = {citation.number: citation for citation in body.citations}
    lines: list[str] = []
    for one in body.sentences:
        lines.append(f"- {one.verdict.symbol} {escaped(' '.join(one.text.split()))}")
        if not one.verdict.whole and one.reason:
            lines.append(f"  - {one.verdict.label}: {escaped(one.reason)}")
        lines += [f"  {citation_line(by_number[n])}" for n in one.citations if n in by_number]
    names = [VerdictName(name) for name in body.verdicts]
    counts = ", ".join(f"{one.symbol} {body.verdicts[one.value]} {one.label}" for one in names)
    outcome = "borne out" if body.borne_out else "not borne out"
    lines += ["", f"**Checked:** {counts}: {outcome}"]
    if body.left_out:
        lines.append(f"**Not checked** {body.left_out} sentences after these: check them next")
    return "\n".join(lines)
