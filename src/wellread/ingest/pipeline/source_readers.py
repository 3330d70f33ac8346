"""Who may know of a source, and of how it fared: who may read something of what it yields."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.identity import NO_ONE
from wellread.ingest.loaders.named_readers import readers_of_all
from wellread.ingest.parsing.parse import Parsed, ParsedDocument
from wellread.ingest.settings.mapping import SourceRules
from wellread.store.schema.catalogue_values import SourceRecord

Names = tuple[str, ...]


def at_rest(known: SourceRecord | None, rules: SourceRules | None) -> Names:
    """Of a source that is not read now: what is known of it, else what the settings say."""
    if known is not None and known.digest:
        return known.readers
    return rules.readers if rules else ()


def when_read(
    parsed: Parsed,
    documents: Sequence[ParsedDocument],
    known: SourceRecord | None,
    rules: SourceRules | None,
) -> Names:
    """Of a source that was read, or could not be.

    Args:
        documents: what it yields now.
    """
    if parsed.unclear:
        return (NO_ONE,)
    if documents:
        return readers_of_all(each.document.readers for each in documents)
    return at_rest(known, rules)


def in_log(readers: Names, documents: Sequence[ParsedDocument]) -> Names:
    """Who may read how the source fared: who may read all that it yields, since all is counted.

    Args:
        readers: of the source, where it yields nothing now.
    """
    lists = {each.document.readers for each in documents}
    return (lists.pop() if len(lists) == 1 else (NO_ONE,)) if lists else readers
