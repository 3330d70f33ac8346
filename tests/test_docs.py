"""The pages for readers: links resolve, pictures and lists are what the code says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

# The measurements are not part of the installed package.
from benchmarks import architecture

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
SOURCE = ROOT / "src" / "wellread"
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```", re.DOTALL)
WORDS_OF_CODE = re.compile(r"`[^`\n]*`")
# A document beside the repository, or a chapter of one: readers do not have it.
OUTSIDE = re.compile(r"\bSPEC\b(?! \w*\.md)|\bDESIGN\b|HOUSE-STYLE|\bshared/(?!data\b)")
WITHOUT_WORDS = (".pdf", ".json", ".jsonl", ".svg", ".onnx", ".png")


def tracked() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in done.stdout.splitlines() if (path := ROOT / name).is_file()]


def pages() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".md" and SOURCE not in path.parents]


def anchors(page: Path) -> set[str]:
    """The names that headings of a page are linked by."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}


def test_links_resolve() -> None:
    broken = []
    for page in pages():
        text = CODE.sub("", page.read_text(encoding="utf-8"))
        for link in LINK.findall(WORDS_OF_CODE.sub("code", text)):
            name, _, anchor = link.partition("#")
            if "://" in link or link.startswith("mailto:"):
                continue
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []


def test_the_index_of_the_pages_names_them_all() -> None:
    named = {link.partition("#")[0] for link in LINK.findall((DOCS / "README.md").read_text())}
    assert {path.name for path in DOCS.glob("*.md")} - {"README.md"} <= named


def test_every_decision_has_a_status_and_stands_in_the_list() -> None:
    listed = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    numbers = {path.name[:3] for path in DECISIONS}
    for path in DECISIONS:
        lines = path.read_text(encoding="utf-8").splitlines()
        status = re.fullmatch(r"Status: (accepted|superseded by (.+))\.", lines[2])
        assert status, path.name
        assert set(re.findall(r"\d+", status[2] or "")) <= numbers
        assert f"| [{path.name[:3]}]({path.name}) | " in listed
        assert f"| {status[1]} |" in next(
            line for line in listed.splitlines() if f"({path.name})" in line
        )


def test_nothing_refers_to_a_document_outside_the_repository() -> None:
    found = []
    for path in tracked():
        folder = path.relative_to(ROOT).parts[0]
        if folder in (".git", "examples") or path.suffix in WITHOUT_WORDS:
            continue
        if path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8", errors="ignore")
        found += [f"{path.relative_to(ROOT)}: {one.group()}" for one in OUTSIDE.finditer(text)]
    assert found == []


def test_messages_in_the_trouble_shooting_are_those_of_the_code() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py")))
    code = re.sub(r'"\s*\n\s*f?"', "", code)
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = re.findall(r'^\| "([^"]+)"', page, re.MULTILINE)
    assert len(quoted) > 15
    missing = [said for said in quoted if not all(part.strip() in code for part in said.split("…"))]
    assert missing == []


def test_places_that_the_guides_name_exist() -> None:
    missing = []
    for page in (DOCS / "architecture.md", ROOT / "CONTRIBUTING.md"):
        text = CODE.sub("", page.read_text(encoding="utf-8"))
        for name in re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py|\.md)?|[a-z_]+\.py)`", text):
            if not any((base / name).exists() for base in (SOURCE, ROOT)):
                missing.append(f"{page.name}: {name}")
    assert missing == []


def test_the_picture_of_the_architecture_is_that_of_the_imports() -> None:
    """``python -m benchmarks.architecture`` draws it anew."""
    assert architecture.PICTURE.read_text(encoding="utf-8") == architecture.picture()
