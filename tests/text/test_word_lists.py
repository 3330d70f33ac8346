"""English stands in ``text/data``: no other module holds a list of its words.

A list, tuple, set, table, split text or pattern counts when it names more than eight words. What
is no list of English is left out: names of columns, fields and options, HTML tags, file formats.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "wellread"
MOST = 8
# May only shrink: how many lists of a module are still to be moved.
LEFT: dict[str, int] = {
    "ask/aggregate/query.py": 2,
    "ask/plan.py": 1,
    "ask/retrieve/search.py": 1,
    "ask/understand/source_limits.py": 1,
    "ask/write/parse_draft.py": 1,
    "ask/write/prompts/__init__.py": 2,
}
# Technical vocabularies, no English: columns of tables, tags, formats, names of settings.
TECHNICAL = (
    "errors.py",  # pydantic's names of problems
    "store/",
    "serve/",
    "evaluation/",
    "testing/",
    "models/",
    "library/",
    "values/question.py",
    "values/answer_blocks.py",
    "values/reports.py",
    "ingest/loaders/",
    "ingest/pipeline/worker.py",
)
# Words of the sample base, Optech and SciFact that are no general English: no rule knows them.
OVERFIT = (
    r"a\\s+village|a\s+village|archipelago|harbour.{0,4}master|different.{0,4}story|knockdown"
    r"|\bcouncil\b|oldwick|skerrick|kittiwake|bech32|taproot|lightning"
)

_PHRASE = re.compile(r"[A-Za-z][a-z'’]*(?:[ -][a-z'’]+){0,2}")
_MARKUP = re.compile(r"\(\?P<\w+>|\(\?[:=!<]+|\\[bswdWSB]|[?+*^$]|\{[^}]*\}|\[[^\]]*\]")


def modules() -> list[Path]:
    every = (path for path in sorted(SRC.rglob("*.py")) if path.parent.name != "text")
    return [path for path in every if not name_of(path).startswith(TECHNICAL)]


def name_of(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


def text_of(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (text_of(part) if isinstance(part, ast.Constant) else "\0" for part in node.values)
        return "".join(parts)
    return ""


def words_listed(node: ast.AST) -> int:
    """How many words ``node`` lists."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return sum(_PHRASE.fullmatch(text_of(one)) is not None for one in node.elts)
    if isinstance(node, ast.Dict):
        return sum(_PHRASE.fullmatch(text_of(one)) is not None for one in node.keys)
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "split":
        assert isinstance(node.func, ast.Attribute)
        return len(text_of(node.func.value).split())
    if isinstance(node, ast.Constant | ast.JoinedStr):
        several = _MARKUP.sub(" ", text_of(node)).split("|")
        named = sum(re.search(r"[A-Za-z]{2,}", one) is not None for one in several)
        return named if len(several) > 1 else 0
    return 0


def lists_in(source: str) -> Iterator[tuple[int, int]]:
    """Line and number of words of each list in ``source``."""
    tree = ast.parse(source)
    skipped = {
        id(part)
        for node in ast.walk(tree)
        for part in (
            node.values
            if isinstance(node, ast.JoinedStr)
            else [node.value]
            if isinstance(node, ast.Expr)
            else []
        )
    }
    for node in ast.walk(tree):
        count = 0 if id(node) in skipped else words_listed(node)
        if count > MOST:
            yield getattr(node, "lineno", 0), count


@cache
def lists_of(path: Path) -> int:
    """How many lists a module holds."""
    return len(list(lists_in(path.read_text("utf-8"))))


def test_lists_of_words_are_seen() -> None:
    words = "one two three four five six seven eight nine".split()
    for source in (
        f"X = {words}",
        f"X = {set(words)}",
        f"X = {dict.fromkeys(words)}",
        f"X = '{' '.join(words)}'.split()",
        f"X = r'\\b(?:{'|'.join(words)})\\b'",
    ):
        assert [count for _, count in lists_in(source)] == [9], source
        assert list(lists_in(source.replace("nine", ""))) == []


def test_english_stands_in_one_place() -> None:
    found = {name_of(path): lists_of(path) for path in modules()}
    more = {name: count for name, count in found.items() if count > LEFT.get(name, 0)}
    assert more == {}, "move the words to text/data"


def test_what_was_moved_is_no_longer_let_in() -> None:
    fewer = {
        name: count
        for name, count in LEFT.items()
        if not (SRC / name).exists() or lists_of(SRC / name) < count
    }
    assert fewer == {}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_no_rule_knows_a_word_of_a_data_set(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            assert re.search(OVERFIT, node.value, re.IGNORECASE) is None, node.lineno
