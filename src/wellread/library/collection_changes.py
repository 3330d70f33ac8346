"""Moves documents between collections, names and describes collections, and removes with uploads.

A document is known by its collection and address, and so are its passages. Moving one therefore
writes it into the other collection from its stored text, and one transaction of the catalogue
replaces the old documents and everything that cites them. Each source is moved wholly or not at
all; a move that was interrupted is finished by repeating it.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from wellread.errors import RequestError, StoreError, UnknownCollectionError, UnknownNameError
from wellread.identity import document_id
from wellread.ingest.integrity.verify import embed_pending
from wellread.ingest.joining.story_refresh import finish_run
from wellread.ingest.pipeline.commit import recover, write_changes, writing
from wellread.ingest.pipeline.parse import cut_text
from wellread.ingest.remove import RemoveReport, remove_collection, remove_named
from wellread.ingest.settings.folder_settings import DESCRIPTION
from wellread.ingest.sources.discover import uri_of
from wellread.kb import KnowledgeBase
from wellread.library.uploads import free_path, upload_folder, uploaded_file, uploads_below
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.types import Document

MAX_NAME_CHARS = 80
MAX_TITLE_CHARS = 300
MOVED_TOGETHER = 500_000  # characters written in one transaction, or those of one source


def collection_name(name: str) -> str:
    """``name`` without surplus white space; ``default`` when it is empty."""
    return " ".join(name.split())[:MAX_NAME_CHARS] or "default"


def collection_choices(kb: KnowledgeBase) -> list[str]:
    """The names of all collections that the asker may read, also of empty ones."""
    names = {*kb.catalogue.collection_names(), *kb.catalogue.collection_settings.names()}
    return sorted(names, key=str.casefold)


def sources_of(kb: KnowledgeBase, document_ids: Sequence[str]) -> dict[str, list[str]]:
    """The addresses of the sources that the documents come from, by collection.

    Raises:
        UnknownNameError: one of the documents does not exist.
    """
    known = kb.catalogue.facts(document_ids)
    if gone := [name for name in document_ids if name not in known]:
        raise UnknownNameError(f"there is no document {gone[0]!r}", hint="it may have been removed")
    by_collection: dict[str, list[str]] = {}
    for collection, uri in kb.catalogue.integrity.sources_of(document_ids):
        by_collection.setdefault(collection, []).append(uri)
    return by_collection


def move(kb: KnowledgeBase, collection: str, uris: Sequence[str], into: str) -> dict[str, str]:
    """Move sources with all their documents; return the documents' new ids by their old ones.

    Answers that cite them cite them in their new place.

    Raises:
        RequestError: ``into`` holds another document with the same address; nothing is moved.
        StoreError: a store cannot be written; the sources moved before stay moved.
    """
    into = collection_name(into)
    if into == collection:
        return {}
    records = kb.catalogue.sources(collection)
    moving = [records[uri] for uri in dict.fromkeys(uris) if uri in records]
    there = kb.catalogue.sources(into)
    for record in moving:
        other = there.get(record.uri)
        if other is not None and other.digest != record.digest:
            raise RequestError(
                f"“{into}” has another document from {Path(record.uri).name}",
                hint="remove one of the two first",
            )
    recover(kb)
    moved: dict[str, str] = {}
    waiting = deque(moving)
    while waiting:
        moved |= _move_first(kb, waiting, into)
    for name in (collection, into):
        finish_run(kb, name)
    embed_pending(kb)
    return moved


def _move_first(kb: KnowledgeBase, waiting: deque[SourceRecord], into: str) -> dict[str, str]:
    """Move the first sources of those ``waiting``, as many as one transaction may hold.

    At most one of them is an upload, so that a killed move leaves no more than one file behind.
    """
    olds: list[SourceRecord] = []
    changes: list[SourceChange] = []
    moved: dict[str, str] = {}
    upload, characters = None, 0
    with writing(kb):
        while waiting and upload is None and characters < MOVED_TOGETHER:
            olds.append(old := waiting.popleft())
            upload = uploaded_file(kb, old.uri)
            uri = _copy_upload(kb, upload, into) if upload else old.uri
            new = replace(old, collection=into, uri=uri, root=uri if upload else old.root)
            documents = _moved(kb, old, new)
            moved |= {key: document_id(into, one.document.uri) for key, one in documents.items()}
            changes.append(SourceChange(record=new, documents=tuple(documents.values())))
            characters += sum(len(one.document.text) for one in documents.values())

        def commit(planned: Sequence[tuple[str, str]]) -> None:
            kb.catalogue.move_sources(olds, changes, planned, moved)
            if upload and uri_of(str(upload)) != changes[-1].record.uri:
                upload.unlink(missing_ok=True)

        write_changes(kb, changes, commit)
    return moved


def _moved(kb: KnowledgeBase, old: SourceRecord, new: SourceRecord) -> dict[str, DocumentChange]:
    """The documents of ``old`` as those of ``new``, by their old ids."""
    changes = {}
    for old_id in kb.catalogue.forgetting.documents_of_sources(old.collection, [old.uri]):
        if document := kb.catalogue.document(old_id):
            below = document.uri.startswith(old.uri)
            uri = new.uri + document.uri.removeprefix(old.uri) if below else document.uri
            changes[old_id] = _change(kb, replace(document, collection=new.collection, uri=uri))
    return changes


def _change(kb: KnowledgeBase, document: Document) -> DocumentChange:
    passages = cut_text(document, kb.live().tokens).passages()
    return DocumentChange(document=document, passages=passages, owes_vectors=True)


def _copy_upload(kb: KnowledgeBase, stored: Path, into: str) -> str:
    """Give a stored upload a second name in the folder of ``into``, and return its address."""
    folder = upload_folder(kb, into)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        target = free_path(folder, stored.name, stored)
        if not target.exists():
            try:
                os.link(stored, target)
            except OSError:  # a file system without links
                shutil.copy2(stored, target)
    except OSError as error:
        raise StoreError(f"{stored.name} cannot be moved: {error.strerror}") from error
    return uri_of(str(target))


def retitle(kb: KnowledgeBase, document: str, title: str) -> None:
    """Give a document another title, until its source changes and is read again."""
    title = " ".join(title.split())
    if not title or len(title) > MAX_TITLE_CHARS:
        raise RequestError(f"a title has 1 to {MAX_TITLE_CHARS} characters")
    with writing(kb):
        current = kb.catalogue.document(document)
        origins = kb.catalogue.integrity.sources_of([document])
        record = kb.catalogue.source(*origins[0]) if origins else None
        if current is None or record is None:
            raise UnknownNameError(f"there is no document {document!r}")
        change = _change(kb, replace(current, title=title))
        changes = [SourceChange(record=record, documents=(change,), accumulates=True)]
        write_changes(kb, changes, partial(kb.catalogue.commit, changes))
    embed_pending(kb)


def create(kb: KnowledgeBase, name: str, description: str = "") -> str:
    """Create an empty collection and return its name as stored."""
    name = collection_name(name)
    if kb.catalogue.forgetting.has_collection(name):
        raise RequestError(f"there is already a collection “{name}”", hint="choose another name")
    kb.catalogue.collection_settings.set_settings(name, {})
    describe(kb, name, description)
    return name


def description_of(kb: KnowledgeBase, name: str) -> str:
    """What the collection holds, in the words of whoever described it."""
    return str((kb.catalogue.collection_settings.settings(name) or {}).get(DESCRIPTION, ""))


def describe(kb: KnowledgeBase, name: str, description: str) -> None:
    """Store what the collection holds; an empty description removes it."""
    _check_exists(kb, name)
    settings = kb.catalogue.collection_settings
    described = {**(settings.settings(name) or {}), DESCRIPTION: " ".join(description.split())}
    settings.set_settings(name, {key: value for key, value in described.items() if value})


def rename(kb: KnowledgeBase, name: str, new: str, *, merge: bool = False) -> int:
    """Give a collection another name and return the number of its documents.

    The rights on it move along. With ``merge``, ``new`` may exist and keeps its own rights: who
    could only read ``name`` then reads nothing of it any more.

    Raises:
        RequestError: ``new`` exists, or holds another document with the same address.
    """
    new = collection_name(new)
    _check_exists(kb, name)
    if new == name:
        return 0
    exists = kb.catalogue.forgetting.has_collection(new)
    if exists and not merge:
        raise RequestError(
            f"there is already a collection “{new}”", hint="choose another name, or merge the two"
        )
    settings = kb.catalogue.collection_settings
    if settings.settings(name) is None:
        settings.set_settings(name, {})  # so that a rename that is killed can be repeated
    if not exists:
        settings.share_rights(name, new)
    moved = move(kb, name, list(kb.catalogue.sources(name)), new)
    if kb.catalogue.documents(name, 1):
        raise RequestError(
            f"material is still being added to “{name}”", hint="repeat this when it is done"
        )
    for left in uploads_below(kb, str(upload_folder(kb, name))):  # a killed move left its file
        if free_path(upload_folder(kb, new), left.name, left).exists():
            left.unlink()
    settings.renamed(name, new, keys_follow=not exists)
    kb.catalogue.forgetting.collection(name)
    return len(moved)


def _check_exists(kb: KnowledgeBase, name: str) -> None:
    if not kb.catalogue.forgetting.has_collection(name):
        raise UnknownCollectionError(f"there is no collection named {name!r}")


def remove_with_uploads(
    kb: KnowledgeBase, collection: str, sources: Sequence[str] | None
) -> RemoveReport:
    """Remove sources or documents (None: the collection) with their stored files, and prove it.

    The files go first, since the proof searches all stored files. They are restored when the
    removal is refused.
    """
    named = list(kb.catalogue.sources(collection)) if sources is None else list(sources)
    contents = {
        path: path.read_bytes()
        for source in named
        if source.startswith("file:")
        for path in uploads_below(kb, source)
    }
    for path in contents:
        path.unlink()
    try:
        if sources is None:
            return remove_collection(kb, collection)
        return remove_named(kb, collection, named)
    except BaseException:
        for path, data in contents.items():
            path.write_bytes(data)
        raise
