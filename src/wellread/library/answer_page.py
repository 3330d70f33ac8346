"""An answer as one HTML file: nothing is loaded from elsewhere, nothing in it runs."""

from __future__ import annotations

from functools import cache
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from wellread.answer_blocks import html_parts
from wellread.answers import NOBODY, Answer
from wellread.store.schema.catalogue_values import StoredAnswer
from wellread.text.words import harmless

STALE = "A source of this answer has changed or gone since it was given."


def answer_page(stored: StoredAnswer, answer: Answer) -> str:
    """``answer`` as a file for a browser and for paper, with all that is known of its proof."""
    return _template().render(
        stored=stored,
        answer=answer,
        parts=html_parts(answer),
        known={citation.id for citation in answer.citations},
        byline=byline(answer),
        stale=STALE,
    )


def byline(answer: Answer) -> str:
    """Who answered, in words."""
    return "Declined" if answer.answered_by == NOBODY else f"Answered by {answer.answered_by}"


def web_link(link: str) -> str:
    """``link`` when it is one of the web, else nothing: no other scheme is to be followed."""
    try:
        parts = urlsplit(link.strip())
    except ValueError:  # brackets in a host
        return ""
    return link.strip() if parts.scheme in ("http", "https") and parts.netloc else ""


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("wellread.library"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: harmless(value) if type(value) is str else value,
    )
    environment.filters["web"] = web_link
    return environment.get_template("answer.html")
