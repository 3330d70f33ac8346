"""Reads a mailbox on an IMAP server: each message is a file, each mailbox below it a folder.

A message is known by its UID and the mailbox's UIDVALIDITY: while both are the same, the message
is too (RFC 3501, 2.3.1.1). Nothing is marked as read, moved or deleted.
"""

from __future__ import annotations

import imaplib
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from imap_tools import MailBox, MailboxLoginError

from wellread.errors import SourceError
from wellread.ingest.sources.stores import READ_SECONDS, Entry, StoreAddress

_NOT_OPENED = {"\\noselect", "\\nonexistent"}  # names that only have others below them


class Mailbox:
    """The mailbox at ``imaps://name@host/Newsletters``; its connection is used by one at a time."""

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._connection: MailBox | None = None
        self._names: dict[str, str] = {}  # paths with slashes to the server's names

    def entries(self, folder: str) -> Iterable[Entry]:
        """List the messages of a mailbox and the mailboxes directly below it."""
        with self._connected() as box:
            if not folder:
                self._names = {
                    info.name.replace(info.delim or "/", "/"): info.name
                    for info in box.folder.list()
                    if _NOT_OPENED.isdisjoint(flag.lower() for flag in info.flags)
                }
            path = self._path(folder)
            below = [name[len(path) + 1 :] for name in self._names if name.startswith(f"{path}/")]
            for name in sorted({name.partition("/")[0] for name in below}):
                yield Entry(path=f"{folder}/{name}".lstrip("/"), name=name, is_folder=True)
            if path not in self._names:
                if not below:
                    known = ", ".join(sorted(self._names))
                    raise SourceError(path, f"name a mailbox at the end of the address: {known}")
                return
            box.folder.set(self._names[path], readonly=True)
            validity = box.client.response("UIDVALIDITY")[1][0].decode()
            for uid in box.uids("UNDELETED", None):
                message = f"{folder}/;UID={uid}".lstrip("/")
                yield Entry(path=message, name=f"{uid}.eml", fingerprint=f"UIDVALIDITY={validity}")

    def fetch(self, entry: Entry, path: Path, limit: int) -> None:
        """Write a message as the server sends it; one more byte than ``limit`` at most."""
        folder, _, uid = entry.path.rpartition(";UID=")
        with self._connected() as box:
            box.folder.set(self._names[self._path(folder.rstrip("/"))], readonly=True)
            _, answer = box.client.uid("FETCH", uid, f"(BODY.PEEK[]<0.{limit + 1}>)")
        bodies = [item[1] for item in answer if isinstance(item, tuple)]
        if not bodies:
            raise SourceError(entry.path, "was removed before it was read")
        path.write_bytes(bodies[0])

    def close(self) -> None:
        """Close the connection."""
        box, self._connection = self._connection, None
        if box is not None:
            with suppress(OSError):
                box.client.shutdown()

    def _path(self, folder: str) -> str:
        start = self._address.path
        start = "INBOX" if start.upper() == "INBOX" else start  # the one name without case
        return f"{start}/{folder}" if folder else start

    @contextmanager
    def _connected(self) -> Iterator[MailBox]:
        """Lend the connection; after a failure the next call opens a new one."""
        with self._lock:
            try:
                self._connection = self._connection or self._connect()
                yield self._connection
            except (OSError, imaplib.IMAP4.error):
                self.close()
                raise

    def _connect(self) -> MailBox:
        login = self._address.login()
        if login is None:
            raise SourceError("", "no netrc file has its name and password (docs/sources.md)")
        host = urlsplit(f"//{self._address.host}")
        context = ssl.create_default_context()
        box = MailBox(host.hostname or "", host.port or 993, READ_SECONDS, ssl_context=context)
        try:
            box.login(*login, initial_folder=None)
        except (MailboxLoginError, imaplib.IMAP4.error):
            box.client.shutdown()
            # Without its cause: a server may repeat what it was sent.
            raise SourceError("", "the server refuses the name or the password") from None
        return box
