"""Collection settings: what comes in from two real archives, and how exact it is.

    python -m benchmarks.optech

Documents come from the same functions that ingest uses; no index is needed. Edges are held against
lists that were made from the archives by other means (``derived/``), speakers and times of talks
against the files by a pattern of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.paths import ROOT, eval_data
from benchmarks.record import save
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline import kinds
from wellread.ingest.settings.collection import CollectionSettings
from wellread.ingest.settings.mapping import SourceRules
from wellread.ingest.sources.discover import FoundFile, find_files
from wellread.types import Document, Span
from wellread.values.locators import Marks

EXAMPLES = ROOT / "examples" / "collections"
SEED = 7
TURNS = 50
LISTED = 40  # failures printed of each kind
_TALK_TURN = re.compile(
    r"^(?:\*\*)?([A-Z][\w .'’-]{1,40}?)(?:\*\*)?\s*:(?:\*\*)?\s+(\d+):(\d\d):(\d\d)\s*$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A folder as a collection: relative path to its documents."""

    documents: Mapping[str, Sequence[Document]]

    def all(self) -> list[Document]:
        return [one for found in self.documents.values() for one in found]

    def edges(self, kind: str) -> list[tuple[str, str]]:
        return [
            (document.entity.entity_id, edge.target)
            for document in self.all()
            if document.entity
            for edge in document.entity.relations
            if edge.type == kind
        ]


def main() -> None:
    """Measure, print, write ``results/optech.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.parse_args()
    optech = read(eval_data("bitcoin_optech"), "optech.yaml")
    patterns = read(eval_data("s3_patterns"), "s3_patterns.yaml")
    figures = {
        "see_also": see_also(optech),
        "mentions": mentions(optech),
        "s3_patterns": pattern_links(patterns, eval_data("s3_patterns")),
        "talks": talks(eval_data("bitcoin_transcripts")),
    }
    save("optech", figures)
    print(json.dumps(figures, indent=1, ensure_ascii=False))
    print(table(figures))


def read(root: Path, settings_file: str) -> Archive:
    """The folder's documents by the rules of an example settings file."""
    settings = CollectionSettings.read(EXAMPLES / settings_file)
    found = [one for one in find_files([str(root)], ()) if isinstance(one, FoundFile)]
    files = [(one.path.relative_to(root).as_posix(), one.path) for one in found]
    documents: dict[str, list[Document]] = {}
    for relative, path in files:
        rule = settings.rule_for(relative)
        reading = SourceRules(rule=rule, relative=relative) if rule else None
        source = source_of(path)
        if kinds.loader_name(source, reading):
            documents[relative] = kinds.load(source, LoaderLimits(), reading)
    return Archive(documents=documents)


def source_of(path: Path) -> Source:
    return Source(
        uri=path.as_uri(), name=path.name, data=path.read_bytes(), collection="c", path=path
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def names(archive: Archive) -> dict[str, str]:
    """Case-folded id, title or alias of every entity to its id, as the catalogue resolves them."""
    entities = [(one.title, one.entity) for one in archive.all() if one.entity]
    pairs = [(entity.entity_id, entity.entity_id) for _, entity in entities]
    pairs += [(title, entity.entity_id) for title, entity in entities]
    pairs += [(alias, entity.entity_id) for _, entity in entities for alias in entity.aliases]
    found: dict[str, str] = {}
    for name, entity_id in pairs:
        found.setdefault(name.casefold(), entity_id)
    return found


def see_also(archive: Archive) -> dict[str, Any]:
    """Edges and aliases against the list made from the archive."""
    graph = json.loads(eval_data("bitcoin_optech", "derived", "graph.json").read_text())
    known = names(archive)
    edges = {(a, known.get(b.casefold(), b)) for a, b in archive.edges("see_also")}
    expected = {tuple(pair) for pair in graph["see_also"]}
    aliases = [(alias, topic) for topic, given in graph["aliases"].items() for alias in given]
    lost = [(alias, topic) for alias, topic in aliases if known.get(alias.casefold()) != topic]
    return {
        "n": len(expected),
        "found": len(expected & edges),
        "missing": sorted(map(str, expected - edges)),
        "beyond the list": sorted(map(str, edges - expected)),
        "aliases": len(aliases),
        "topics": len(graph["aliases"]),
        "aliases resolved": len(aliases) - len(lost),
        "aliases lost": lost,
    }


def mentions(archive: Archive) -> dict[str, Any]:
    """Topic to newsletter, per mention of the list."""
    gold = lines(eval_data("bitcoin_optech", "derived", "mentions.jsonl"))
    ids = {
        path: found[0].entity.entity_id
        for path, found in archive.documents.items()
        if found[0].entity
    }
    edges = set(archive.edges("mentioned_in"))
    missing = [one for one in gold if (one["topic"], ids[one["doc"]]) not in edges]
    known = set(ids.values())
    dangling = Counter(
        f"{kind} -> {target}"
        for kind in ("mentioned_in", "links_to", "recap_of")
        for _, target in archive.edges(kind)
        if target not in known and target.casefold() not in names(archive)
    )
    return {
        "n": len(gold),
        "found": len(gold) - len(missing),
        "missing": [f"{one['topic']}: {one['query']}" for one in missing[:LISTED]],
        "edges": {
            kind: len(archive.edges(kind))
            for kind in ("mentioned_in", "links_to", "recap_of", "see_also")
        },
        "to something that is not there": dict(dangling.most_common(LISTED)),
        "of them edges": sum(dangling.values()),
    }


def pattern_links(archive: Archive, root: Path) -> dict[str, Any]:
    """Links in the sources against edges; groups, summaries, terms."""
    texts = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((root / "content").rglob("*.md"))
        if "website" not in path.parts
    }
    texts["content/glossary.yaml"] = (root / "content" / "glossary.yaml").read_text("utf-8")
    lost, count = [], Counter[str]()
    for relative, text in texts.items():
        own = Path(relative).stem
        edges = {
            edge
            for document in archive.documents.get(relative, ())
            if document.entity
            for edge in ((one.type, one.target) for one in document.entity.relations)
        }
        for kind, prefix, found in (
            ("links_to", "", re.findall(r"\]\(\s*section:([^)\s]+)", text)),
            ("uses_term", "term/", re.findall(r"\]\(\s*glossary:([^)\s]+)", text)),
        ):
            for target in found:
                count[kind] += 1
                if (kind, prefix + target) not in edges and target != own:
                    lost.append(f"{relative}: {target}")
    known = {one.entity.entity_id for one in archive.all() if one.entity}
    patterns = [one for one in archive.all() if one.entity and one.entity.entity_type == "pattern"]
    terms = [one for one in archive.all() if one.entity and one.entity.entity_type == "term"]
    tree = archive.edges("part_of")
    dangling = Counter(
        target
        for kind in ("links_to", "uses_term", "part_of")
        for _, target in archive.edges(kind)
        if target not in known
    )
    return {
        "links in the sources": dict(count),
        "without an edge": lost[:LISTED],
        "edges": {kind: len(archive.edges(kind)) for kind in ("links_to", "uses_term", "part_of")},
        "to something that is not there": dict(dangling),
        "patterns": len(patterns),
        "with their group": sum(bool(one.taxonomy.get("group")) for one in patterns),
        "with a summary": sum(bool(one.summary) for one in patterns),
        "part of their group": sum(
            (one.entity.entity_id, one.taxonomy["group"][0]) in tree
            for one in patterns
            if one.entity
        ),
        "terms": len(terms),
    }


def talks(root: Path) -> dict[str, Any]:
    """Random turns of talks: is what was said marked with its speaker and its time?"""
    turns: list[tuple[Path, str, float, str]] = []
    for path in sorted(root.rglob("*.md")):
        text = path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(text):
            found = _TALK_TURN.match(line)
            said = next((one.strip() for one in text[number + 1 : number + 4] if one.strip()), "")
            if found and re.fullmatch(r"[\w ,.'’?!-]{25,}", said):
                said_at = seconds(":".join(found.groups()[1:]))
                turns.append((path, " ".join(found[1].split()), said_at, said))
    loaded: dict[Path, Document] = {}
    wrong: list[str] = []
    asked = random.Random(SEED).sample(turns, TURNS)
    for path, speaker, begin, said in asked:
        if path not in loaded:
            (loaded[path],) = kinds.load(source_of(path), LoaderLimits())
        document = loaded[path]
        here = [
            found.start() for found in re.finditer(re.escape(" ".join(said.split())), document.text)
        ]
        located = [Marks(document.marks).locate(Span(start=place, end=place + 1)) for place in here]
        if not any((one.speaker, one.begin) == (speaker, begin) for one in located):
            wrong.append(f"{path.name}: {speaker} {begin:.0f}: {said[:60]!r} {located[:2]}")
    return {
        "turns in the files": len(turns),
        "n": len(asked),
        "right": len(asked) - len(wrong),
        "wrong": wrong,
    }


def seconds(stamp: str) -> float:
    total = 0.0
    for part in stamp.split(":"):
        total = total * 60 + int(part)
    return total


def table(figures: Mapping[str, Any]) -> str:
    """The figures of one line each."""
    also, said = figures["see_also"], figures["mentions"]
    links, spoken = figures["s3_patterns"], figures["talks"]
    count = sum(links["links in the sources"].values())
    rows = [
        ("see_also edges", also["found"], also["n"]),
        ("aliases", also["aliases resolved"], also["aliases"]),
        ("mentions", said["found"], said["n"]),
        ("s3 links that are edges", count - len(links["without an edge"]), count),
        ("patterns with group and summary", links["with a summary"], links["patterns"]),
        ("turns of talks", spoken["right"], spoken["n"]),
    ]
    return "\n".join(f"{name:40} {right:>6} of {n:>6}" for name, right, n in rows)


if __name__ == "__main__":
    main()
