"""Entities as people read them on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.serve.api.entity_schemas import EntityBody, EntityListBody, MentionBody
from wellread.serve.terminal import harmless

NO_TYPE = "(no type)"


def print_entity(console: Console, body: EntityBody) -> None:
    """Facts, relations and mentions of one entity."""
    _line(console, (body.title, "bold"), (f"  {body.type or NO_TYPE}", "cyan"))
    _line(console, (f"{body.id} in “{body.collection}”", "dim"))
    if body.aliases:
        _line(console, (f"also called {', '.join(body.aliases)}", ""))
    for dimension, values in body.taxonomy.items():
        if values != (body.type,):
            _line(console, (f"{dimension}: {', '.join(values)}", ""))
    if body.summary:
        _line(console, (body.summary, ""))
    _line(console, (body.url, "dim"))
    _print_relations(console, body)
    _print_mentions(console, body)
    if body.others:
        others = ", ".join(f"{one.title} ({one.id} in “{one.collection}”)" for one in body.others)
        _line(console, (f"\nAlso called so: {others}", "yellow"))


def print_entities(console: Console, body: EntityListBody) -> None:
    """Every type with its count and entities."""
    if not body.types:
        console.print("There are no entities here.")
        return
    for group in body.types:
        _line(console, (f"{group.type or NO_TYPE}", "bold"), (f"  {group.count:,}", "cyan"))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for heading in ("entity", "id"):
            table.add_column(heading, overflow="fold")
        for heading in ("relations", "documents", "mentions"):
            table.add_column(heading, justify="right")
        for one in group.entities:
            counts = (f"{count:,}" for count in (one.relations, one.mentioned_in, one.mentions))
            table.add_row(Text(harmless(one.title)), Text(harmless(one.id), style="dim"), *counts)
        console.print(table)
        if group.count > len(group.entities):
            console.print(Text(f"… and {group.count - len(group.entities):,} more", style="dim"))
        console.print()


def _print_relations(console: Console, body: EntityBody) -> None:
    if not body.relations:
        return
    _line(console, ("\nRelations", "bold"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for one in body.relations:
        name = Text(harmless(one.name))
        if one.entity:
            name.append(harmless(f"  {one.entity.id}"), style="dim")
        else:
            name.append("  not there yet", style="yellow")
        table.add_row(Text(harmless(one.relation)), name)
    console.print(table)


def _print_mentions(console: Console, body: EntityBody) -> None:
    total = body.mention_total
    if not total.documents:
        _line(console, ("\nNo other document names it.", "dim"))
        return
    documents = "1 document" if total.documents == 1 else f"{total.documents:,} documents"
    times = "once" if total.mentions == 1 else f"{total.mentions:,} times"
    _line(console, (f"\nNamed in {documents}, {times}", "bold"))
    for one in body.mentions:
        day = f"  {one.published_at.date().isoformat()}" if one.published_at else ""
        _line(
            console,
            (f"{one.mentions:>4}× ", "cyan"),
            (one.title, ""),
            (f"{day}{'  ' if one.locator else ''}{one.locator}", "dim"),
        )
        console.print(_quote(one), soft_wrap=True)
    if total.documents > len(body.mentions):
        console.print(Text(f"… and {total.documents - len(body.mentions):,} more", style="dim"))


def _quote(body: MentionBody) -> Text:
    """The sentence with the name in it set off."""
    start = body.name_span.start - body.source_span.start
    end = body.name_span.end - body.source_span.start
    parts = (body.quote[:start], body.quote[start:end], body.quote[end:])
    before, name, after = (harmless(part.replace("\n", " ")) for part in parts)
    return Text.assemble("      ", (before, "dim"), (name, "bold"), (after, "dim"))


def _line(console: Console, *parts: tuple[str, str]) -> None:
    shown = [(harmless(words), style) for words, style in parts]
    console.print(Text.assemble(*shown), soft_wrap=True)
