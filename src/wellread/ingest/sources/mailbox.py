"""Reads a mailbox on an IMAP server: each message is a file, each mailbox below it a folder.

A message is known by its UID and the mailbox's UIDVALIDITY: while both are the same, the message
is too (RFC 3501, 2.3.1.1). It is only looked at: nothing is marked as read, moved or deleted.
"""

from __future__ import annotations

import imaplib
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from imap_tools import MailBox, MailboxLoginError

from wellread.errors import SourceError
from wellread.ingest.sources.stores import READ_SECONDS, Entry, StoreAddress

MAX_NAMED = 12  # mailboxes that an error names
_NOT_OPENED = {"\\noselect", "\\nonexistent"}  # names that only have others below them

T = TypeVar("T")


class Mailbox:
    """The mailbox at an address such as ``imaps://name@host/Newsletters``.

    One connection is used by one thread at a time, and opened again when it is lost.
    """

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._connection: MailBox | None = None
        self._names: dict[str, str] = {}  # paths with slashes to the server's names

    def entries(self, folder: str) -> Iterable[Entry]:
        """List the messages of a mailbox and the mailboxes directly below it."""
        with self._lock:
            return self._repeated(lambda box: list(self._listed(box, folder)))

    def fetch(self, entry: Entry, path: Path, limit: int) -> None:
        """Write a message as the server sends it; one more byte than ``limit`` at most."""
        folder, _, uid = entry.path.rpartition(";UID=")
        part = f"(BODY.PEEK[]<0.{limit + 1}>)"

        def get(box: MailBox) -> list[Any]:
            self._select(box, folder.rstrip("/"))
            return list(box.client.uid("FETCH", uid, part)[1])

        with self._lock:
            answer = self._repeated(get)
        bodies = [item[1] for item in answer if isinstance(item, tuple)]
        if not bodies:
            raise SourceError(entry.path, "was removed before it was read")
        path.write_bytes(bodies[0])

    def close(self) -> None:
        """Log out."""
        with self._lock:
            self._leave()

    def _listed(self, box: MailBox, folder: str) -> Iterator[Entry]:
        if not folder:
            found = box.folder.list()
            self._names = {
                info.name.replace(info.delim, "/") if info.delim else info.name: info.name
                for info in found
                if _NOT_OPENED.isdisjoint(flag.lower() for flag in info.flags)
            }
        name = self._path(folder)
        below = f"{name}/"
        children = {path.removeprefix(below) for path in self._names if path.startswith(below)}
        if name not in self._names and not children:
            known = ", ".join(sorted(self._names)[:MAX_NAMED])
            raise SourceError(name, f"name a mailbox at the end of the address: {known}")
        for child in sorted({path.partition("/")[0] for path in children}):
            yield Entry(path=f"{folder}/{child}".lstrip("/"), is_folder=True)
        if name in self._names:
            self._select(box, folder)
            validity = box.client.response("UIDVALIDITY")[1][0].decode()
            for uid in box.uids("UNDELETED", None):
                path = f"{folder}/;UID={uid}".lstrip("/")
                yield Entry(path=path, name=f"{uid}.eml", fingerprint=f"UIDVALIDITY={validity}")

    def _path(self, folder: str) -> str:
        start = self._address.path
        start = "INBOX" if start.upper() == "INBOX" else start  # the one name without case
        return f"{start}/{folder}" if folder else start

    def _select(self, box: MailBox, folder: str) -> None:
        box.folder.set(self._names[self._path(folder)], readonly=True)

    def _repeated(self, ask: Callable[[MailBox], T]) -> T:
        """Ask the server, once more at a new connection if the present one was lost."""
        if self._connection is not None:
            try:
                return ask(self._connection)
            except (OSError, imaplib.IMAP4.abort):
                self._leave()
        try:
            self._connection = self._connect()
            return ask(self._connection)
        except (OSError, imaplib.IMAP4.error):
            self._leave()
            raise

    def _connect(self) -> MailBox:
        login = self._address.login()
        if login is None:
            reason = "no netrc file has its name and password (docs/sources.md)"
            raise SourceError(str(self._address), reason)
        parts = urlsplit(f"//{self._address.host}")
        host = parts.hostname or ""
        context = ssl.create_default_context()
        box = MailBox(host, parts.port or 993, READ_SECONDS, ssl_context=context)
        try:
            box.login(*login, initial_folder=None)
        except (MailboxLoginError, imaplib.IMAP4.error) as error:
            with suppress(OSError, imaplib.IMAP4.error):
                box.client.shutdown()
            # Without its cause: a server may repeat what it was sent.
            lost = isinstance(error, imaplib.IMAP4.abort)
            reason = "ended the connection" if lost else "refuses the name or the password"
            raise SourceError(str(self._address), f"the server {reason}") from None
        return box

    def _leave(self) -> None:
        box, self._connection = self._connection, None
        if box is not None:
            with suppress(OSError, imaplib.IMAP4.error):
                box.client.logout()
            with suppress(OSError):
                box.client.shutdown()
