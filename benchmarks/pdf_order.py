"""PDF reading: pages and words kept, and the reading order of pages with two columns.

    python -m benchmarks.pdf_order

Kept: each page's words against pdfium's plain text of the page, which orders and joins nothing.
Order: for pages with columns, tables, figures and footnotes, a few words from the beginnings of
lines in the order in which a person reads them (written from the rendered pages); the score is the
longest run of them that the stored text has in that order (longest increasing subsequence), for
Wellread and for pdfium's plain text. Joins: places where a sentence goes on in the next column,
behind a footnote or under a table, and must go on in the text. Rows: rows of tables in one piece.
Large: a file of 10,000 pages, refused at the limit, and read without one.
"""

from __future__ import annotations

import argparse
import io
import resource
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pypdfium2 as pdfium
from reportlab.pdfgen.canvas import Canvas

from benchmarks.paths import eval_data
from benchmarks.record import save
from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline import kinds
from wellread.types import Document, PageMark

FOLDERS = ("aragog/pdf", "docling_pdfs")
MANY_PAGES = 10_000
LEAST_KEPT = 0.9  # share of a page's words under which it is listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """What a person reads on one page.

    Attributes:
        order: beginnings of lines, in reading order.
        joins: words on both sides of a place where the text must go on.
        rows: rows of tables.
    """

    file: str
    page: int
    order: tuple[str, ...]
    joins: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


# Written after the loader was finished, from pages that nobody had looked at before.
UNSEEN = (
    Gold(
        file="bert.pdf",
        page=15,
        order=(
            "Figure 4: Illustrations",
            "SST-2 The Stanford",
            "CoLA The Corpus",
            "STS-B The Semantic",
            "MRPC Microsoft",
            "for whether the sentences",
            "RTE Recognizing",
            "WNLI Winograd",
            "GLUE submission, we always",
            "Note that we only report",
        ),
        joins=("human annotations for whether",),
    ),
    Gold(
        file="llama.pdf",
        page=6,
        order=(
            "MATH",
            "Minerva",
            "Table 7: Model",
            "docstring. The model",
            "As show in Table 8",
            "It is possible to improve",
            "on code tokens is beyond",
            "Params HumanEval",
            "LaMDA 137B 14.0",
            "Table 8: Model",
            "3.6 Massive",
            "The massive multitask",
            "3.7 Evolution",
            "During training",
        ),
        joins=("3.6 Massive Multitask Language Understanding",),
        rows=("LaMDA 137B 14.0 47.3 14.8 62.4", "13B 3.9 8.8 17.8 29.3"),
    ),
    Gold(
        file="roberta.pdf",
        page=10,
        order=(
            "7 Conclusion",
            "We carefully evaluate",
            "We additionally use",
            "References",
            "Eneko Agirre",
            "Luisa Bentivogli",
            "William Chan",
            "Ido Dagan, Oren",
            "Jacob Devlin",
            "Felix Hamborg",
            "Shankar Iyer",
        ),
        joins=("Nikita Kitaev, Kelvin Guu, Mitchell Stern",),
    ),
)
GOLD = (
    Gold(
        file="bert.pdf",
        page=1,
        order=(
            "BERT: Pre-training",
            "Jacob Devlin",
            "Abstract",
            "We introduce a new",
            "fine-tuned with just",
            "BERT is conceptually simple",
            "1 Introduction",
            "Language model pre-training has",
            "De Meulder, 2003",
            "There are two existing",
            "We argue that current",
            "In this paper, we improve",
            "predict the original",
        ),
        joins=("Transformers for Language Understanding",),
    ),
    Gold(
        file="bert.pdf",
        page=6,
        order=(
            "System MNLI",
            "Pre-OpenAI SOTA",
            "OpenAI GPT 82.1",
            "Table 1: GLUE",
            "We use a batch",
            "Results are presented",
            "We find that",
            "4.2 SQuAD",
            "The Stanford Question",
            "predict the answer",
            "As shown in Figure",
            "Table 2 shows",
            "Our best performing",
            "The GLUE data set",
            "QANet is described",
        ),
        joins=("a passage from Wikipedia containing", "during fine-tuning. The probability"),
        rows=("BiLSTM+ELMo+Attn 76.4/76.1 64.8 79.8 90.4 36.0 73.3 84.9 56.8 71.0",),
    ),
    Gold(
        file="bert.pdf",
        page=7,
        order=(
            "Top Leaderboard Systems",
            "R.M. Reader",
            "Table 2: SQuAD",
            "SLQA+",
            "Table 3: SQuAD",
            "4.3 SQuAD v2.0",
            "We use a simple approach",
            "ESIM+GloVe",
            "Human (5 annotations)",
            "Table 4: SWAG",
            "The results compared",
            "4.4 SWAG",
            "When fine-tuning on the SWAG",
            "5 Ablation Studies",
            "The TriviaQA data",
        ),
        rows=("R.M. Reader (Ensemble) 81.2 87.9 82.3 88.5", "ESIM+ELMo 59.1 59.2"),
    ),
    Gold(
        file="roberta.pdf",
        page=5,
        order=(
            "Model SQuAD",
            "SEGMENT-PAIR 90.4",
            "Table 2: Development",
            "SENTENCE-PAIR+NSP: Each",
            "FULL-SENTENCES: Each",
            "DOC-SENTENCES: Inputs",
            "Results Table 2",
            "We next compare",
            "Finally we find",
            "4.3 Training with",
            "Past work in Neural",
            "In Table 3 we compare",
        ),
        joins=("individual sentences hurts performance",),
        rows=("FULL-SENTENCES 90.4/79.1 84.7 92.5 64.8",),
    ),
    Gold(
        file="roberta.pdf",
        page=9,
        order=(
            "SQuAD 1.1 SQuAD 2.0",
            "Single models on dev",
            "Table 6: Results",
            "XLNet, while we use",
            "For SQuAD v1.1 we",
            "5.3 RACE Results",
            "We modify RoBERTa",
            "Model Accuracy",
            "Table 7: Results",
            "Results on the RACE",
            "6 Related Work",
            "Pretraining methods have",
            "relative performance of all",
        ),
        joins=(
            "methods have been designed with different training objectives, including language",
        ),
        rows=("RoBERTa 83.2 86.5 81.3",),
    ),
    Gold(
        file="llama.pdf",
        page=4,
        order=(
            "BoolQ PIQA",
            "Gopher 280B 79.3",
            "Table 3: Zero-shot",
            "reduce the memory",
            "When training a 65B",
            "3 Main results",
            "Zero-shot. We provide",
            "Few-shot. We provide",
            "We compare LLaMA",
            "We evaluate LLaMA",
            "Chinchilla 70B 16.6",
            "Table 4: NaturalQuestions",
            "3.1 Common Sense",
            "We consider eight",
        ),
        rows=("PaLM-cont 62B 83.9 81.4 - 80.6 77.0", "0-shot 1-shot 5-shot 64-shot"),
    ),
    Gold(
        file="llama.pdf",
        page=3,
        order=(
            "params dimension",
            "Table 2: Model sizes",
            "Overall, our entire",
            "2.2 Architecture",
            "Pre-normalization",
            "SwiGLU activation",
            "Rotary Embeddings",
            "2.3 Optimizer",
            "gradient clipping of",
            "Figure 1: Training",
            "2.4 Efficient implementation",
            "We make several",
            "To further improve",
            "To fully benefit",
        ),
        rows=("65.2B 8192 64 80",),
    ),
    Gold(
        file="amt_handbook_sample.pdf",
        page=1,
        order=(
            "pulleys, provided",
            "The two general types",
            "Boots Self-Locking",
            "The spring keeps",
            "The spring, through",
            "styles and in various",
            "Figure 7-26.",
            "the most common ranges",
            "Stainless Steel Self",
            "The stainless steel",
            "Elastic Stop Nut",
            "The elastic stop nut",
            "Figure 7-27.",
        ),
    ),
    Gold(
        file="normal_4pages.pdf",
        page=3,
        order=(
            "작성자인 사업자에",
            "(4) 생보업계의",
            "코로나-19와 관련하여",
            "문제점",
            "(1) 상위법에",
            "따라서 법정1급",
            "(2) 감독당국의",
            "개정된 「감염병",
            "개별 보험사의",
            "(3) 보험사의",
            "(4) 신종위험에",
            "이러한 기후변화",
            "대수의 법칙은",
        ),
    ),
)


def main() -> None:
    """Measure, print, write ``results/pdf_order.json``."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "").parse_args()
    paths = {path.name: path for name in FOLDERS for path in sorted(eval_data(name).rglob("*.pdf"))}
    read = {name: load(path) for name, path in paths.items()}
    figures: dict[str, Any] = {
        "kept": {name: kept(paths[name], document) for name, document in read.items()},
        "order": {f"{gold.file} p. {gold.page}": order(gold, paths, read) for gold in GOLD},
        "order, unseen pages": {
            f"{gold.file} p. {gold.page}": order(gold, paths, read) for gold in UNSEEN
        },
    }
    figures["large"] = large()
    save("pdf_order", figures)
    print("\n".join(table(figures)))


def load(path: Path) -> Document:
    """What the loader yields; a file that it refuses stops the run."""
    source = Source(uri=path.as_uri(), name=path.name, data=path.read_bytes(), collection="default")
    try:
        (document,) = kinds.load(source, LoaderLimits())
    except SourceError as error:
        raise SystemExit(str(error)) from error
    return document


def large() -> dict[str, object]:
    """Seconds and memory for a file with more pages than the limit allows, and for all of it."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(595, 842), invariant=1)
    for number in range(MANY_PAGES):
        canvas.drawString(70, 700, f"Page number {number} of a long book about boats.")
        canvas.showPage()
    canvas.save()
    source = Source(
        uri="file:///long.pdf", name="long.pdf", data=buffer.getvalue(), collection="default"
    )
    figures: dict[str, object] = {"pages": MANY_PAGES}
    for name, limits in (
        ("refused", LoaderLimits()),
        ("read", LoaderLimits(max_pages=MANY_PAGES)),
    ):
        before, began = _peak(), perf_counter()
        try:
            figures[name] = f"{len(kinds.load(source, limits)[0].text)} characters"
        except SourceError as error:
            figures[name] = error.reason
        figures[f"{name}, seconds"] = round(perf_counter() - began, 3)
        figures[f"{name}, MiB more"] = round(_peak() - before, 1)
    return figures


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def page_text(document: Document, page: int) -> str:
    """The stored text of one page."""
    spans = [mark for mark in document.marks if isinstance(mark, PageMark) and not mark.box]
    return "\n\n".join(document.text[one.start : one.end] for one in spans if one.page == page)


def plain_text(path: Path, page: int) -> str:
    """pdfium's own text of one page."""
    text: str = pdfium.PdfDocument(path)[page - 1].get_textpage().get_text_range()
    return text.replace("\ufffe\r\n", "").replace("\ufffe", "")


def kept(path: Path, document: Document) -> dict[str, object]:
    """Pages with text and of these with marks, letters kept and added; pages that lost many."""
    with_text = with_marks = whole = held = added = 0
    poor: list[str] = []
    for page in range(1, len(pdfium.PdfDocument(path)) + 1):
        there, ours = letters(plain_text(path, page)), letters(page_text(document, page))
        if not there:
            continue
        with_text += 1
        with_marks += bool(ours)
        both = (there & ours).total()
        whole, held, added = whole + there.total(), held + both, added + ours.total() - both
        if both < LEAST_KEPT * there.total():
            poor.append(f"p. {page}: {both} of {there.total()} letters")
    return {
        "pages": with_text,
        "pages with marks": with_marks,
        "letters kept": round(held / max(whole, 1), 4),
        "letters added": round(added / max(whole, 1), 4),
        "pages with less than 90 %": poor,
    }


def letters(text: str) -> Counter[str]:
    """Letters and digits with their counts: hyphens and white space do not matter."""
    return Counter(filter(str.isalnum, text))


def order(gold: Gold, paths: Mapping[str, Path], read: Mapping[str, Document]) -> dict[str, object]:
    """Anchors in order, for ours and for the plain text; joins and rows that are whole."""
    ours = squeezed(page_text(read[gold.file], gold.page))
    theirs = squeezed(plain_text(paths[gold.file], gold.page))
    lines = [squeezed(line) for line in page_text(read[gold.file], gold.page).split("\n")]
    wanted = [squeezed(anchor) for anchor in gold.order]
    return {
        "anchors": len(wanted),
        "in order": in_order(wanted, ours),
        "in order, plain text": in_order(wanted, theirs),
        "missing": [a for a, s in zip(gold.order, wanted, strict=True) if s not in ours],
        "joins": len(gold.joins),
        "joined": sum(any(squeezed(join) in line for line in lines) for join in gold.joins),
        "rows": len(gold.rows),
        "whole rows": sum(any(squeezed(row) in line for line in lines) for row in gold.rows),
    }


def squeezed(text: str) -> str:
    """The text without white space and the bars between cells."""
    return "".join(text.replace(" | ", "").split())


def in_order(anchors: Sequence[str], text: str) -> int:
    """How many anchors the text has at most in this order."""
    tails: list[int] = []
    for anchor in anchors:
        place = text.find(anchor)
        if place < 0:
            continue
        at = bisect_left(tails, place)
        tails[at : at + 1] = [place]
    return len(tails)


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures for people."""
    lines = ["| file | pages | with marks | letters kept | added |", "|---|---|---|---|---|"]
    for name, found in figures["kept"].items():
        cells = [str(found[key]) for key in list(found)[:4]]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        lines += [f"  {poor}" for poor in found["pages with less than 90 %"]]
    lines += [
        "",
        "| page | in order | plain text | of | joins | rows |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in (*figures["order"].items(), *figures["order, unseen pages"].items()):
        lines.append(
            f"| {name} | {row['in order']} | {row['in order, plain text']} | {row['anchors']} | "
            f"{row['joined']} of {row['joins']} | {row['whole rows']} of {row['rows']} |"
        )
        lines += [f"  missing: {one}" for one in row["missing"]]
    lines += ["", *(f"{name}: {value}" for name, value in figures["large"].items())]
    return [*lines, ""]


if __name__ == "__main__":
    main()
