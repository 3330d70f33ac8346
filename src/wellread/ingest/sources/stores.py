"""Reads folders that lie elsewhere: in a bucket, on a WebDAV server, in a mailbox, in a plug-in.

Each kind is a ``Store``, which lists a folder and fetches a file. A file whose fingerprint is that
of the last run is not fetched. Passwords never stand in an address: they come from the places that
a back end's library knows (``AWS_PROFILE``) or from a netrc file that only its owner can read.
"""

from __future__ import annotations

import imaplib
import netrc
import os
import re
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlsplit

import httpx

from wellread.errors import SourceError
from wellread.ingest.sources.addresses import without_credentials
from wellread.plugins import SOURCES, installed, load

READ_SECONDS = 30.0  # to wait for a connection, and for the next piece of an answer
INSTALL = "pip install 'wellread[remote]' reads s3://, webdavs:// and imaps://"

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/?#]*)(/.*)?", re.DOTALL)
_LOGIN = re.compile(r"(?<=://)[^\s/]*@")  # of a proxy, for example
_MAX_REASON = 200
_SAFE = "/;="  # not percent-encoded: RFC 5092 writes a message as ;UID=20


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAddress:
    """The address of a store, or of a folder or file in it.

    Attributes:
        host: with its port if it has one; the name of a bucket.
        path: percent-decoded, without slashes at its ends.
        home: the folder of the knowledge base, where passwords may lie.
    """

    scheme: str
    user: str
    host: str
    path: str
    home: Path | None = None

    @classmethod
    def parse(cls, text: str, home: Path | None = None) -> StoreAddress:
        """Parse an address that ``is_store``; it must not contain a password."""
        match = _ADDRESS.fullmatch(text.strip())
        shown = without_credentials(text)
        user, _, host = match[2].rpartition("@") if match else ("", "", "")
        if shown != " ".join(text.split()):
            raise SourceError(shown, "a password may not stand in an address: put it into a netrc")
        if not match or not host or any(c in shown for c in "?#"):
            reason = "not the address of a store: SCHEME://HOST/PATH, with %23 for # and %3F for ?"
            raise SourceError(shown, reason)
        path = unquote(match[3] or "").strip("/")
        return cls(scheme=match[1].lower(), user=unquote(user), host=host, path=path, home=home)

    def __str__(self) -> str:
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        path = f"/{quote(self.path, safe=_SAFE)}" if self.path else ""
        return f"{self.scheme}://{user}{self.host}{path}"

    def login(self) -> tuple[str, str] | None:
        """Return user and password of the host, from the first netrc file that names it.

        Raises:
            SourceError: a file is damaged, or others than its owner may read it.
        """
        places = [self.home / "netrc"] if self.home else []  # exports and backups lack it
        places.append(Path(os.environ.get("NETRC") or Path.home() / ".netrc"))
        host = urlsplit(f"//{self.host}").hostname or ""
        for path in (place for place in places if place.is_file()):
            if os.name == "posix" and path.stat().st_mode & 0o077:
                raise SourceError(str(self), f"others may read {path}: chmod 600 {path}")
            try:
                hosts = netrc.netrc(path).hosts
                found = hosts.get(f"{self.user}@{host}") or hosts.get(host)
            except (netrc.NetrcParseError, UnicodeDecodeError):
                # Without its cause, whose message quotes the file.
                raise SourceError(str(self), f"{path} is not a netrc file") from None
            if found and (not self.user or self.user == found[0]):
                return found[0], found[2]
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file or folder of a store.

    Attributes:
        path: below the store's address, with slashes; empty for a file that is the address itself.
        name: the file name, whose ending tells the kind.
        fingerprint: changes whenever the content does; empty if the store cannot tell.
        size: in bytes; 0 if unknown.
    """

    path: str
    name: str
    fingerprint: str = ""
    size: int = 0
    is_folder: bool = False


class Store(Protocol):
    """What a back end does. Any exception means that the store cannot be read now."""

    def entries(self, folder: str) -> Iterable[Entry]:
        """List a folder: empty for the address itself, otherwise the path of an ``Entry``."""

    def fetch(self, entry: Entry, path: Path, limit: int) -> None:
        """Write an entry's content into the file ``path``; more than ``limit`` bytes may be cut."""

    def close(self) -> None:
        """Close the connection; called once."""


class OpenStore:
    """A store in use: its errors name the address and are all ``SourceError``."""

    def __init__(self, text: str, home: Path, limit: int) -> None:
        address = StoreAddress.parse(text, home)
        self.uri = str(address)
        self._limit = limit
        self._store: Store = self._guarded(self.uri, lambda: _opener(address)(address))

    def uri_of(self, path: str) -> str:
        """Return the address of an entry or folder."""
        return f"{self.uri}/{quote(path, safe=_SAFE)}" if path else self.uri

    def entries(self, folder: str) -> list[Entry]:
        """List a folder."""
        uri = self.uri_of(folder)
        entries: list[Entry] = self._guarded(uri, lambda: list(self._store.entries(folder)))
        return entries

    def fetch(self, entry: Entry, path: Path) -> None:
        """Write an entry's content into the file ``path``."""
        uri = self.uri_of(entry.path)
        if entry.size > self._limit:
            reason = f"too large: {entry.size:,} bytes, the limit is {self._limit:,}"
            raise SourceError(uri, f"{reason} (sources.max_bytes)")
        self._guarded(uri, self._store.fetch, entry, path, self._limit)
        if entry.size and path.stat().st_size != entry.size:
            raise SourceError(uri, "changed while it was read; add it again")

    def read(self, entry: Entry) -> bytes:
        """Return an entry's content."""
        with TemporaryDirectory(prefix="wellread-") as folder:
            self.fetch(entry, Path(folder, "entry"))
            return Path(folder, "entry").read_bytes()

    def close(self) -> None:
        """Close the connection."""
        self._guarded(self.uri, self._store.close)

    @staticmethod
    def _guarded(uri: str, call: Any, *values: Any) -> Any:
        try:
            return call(*values)
        except SourceError as error:
            raise SourceError(uri, error.reason) from error
        except ImportError as error:
            raise SourceError(uri, f"a package is missing: {error} ({INSTALL})") from error
        except FileNotFoundError as error:
            raise SourceError(uri, "there is no such file or folder") from error
        except Exception as error:  # libraries of back ends raise what they like
            said = _LOGIN.sub("…@", f"{type(error).__name__}: {error}")[:_MAX_REASON]
            raise SourceError(uri, f"cannot be read: {said}") from error


def _opener(address: StoreAddress) -> Any:
    built_in = {"imaps": Mailbox, "webdav": _webdav, "webdavs": _webdav}
    if address.scheme not in built_in and (plugin := installed(SOURCES).get(address.scheme)):
        return load(plugin)
    return built_in.get(address.scheme, _file_system)


# --- file systems of fsspec ------------------------------------------------------------------


class FileSystem:
    """A folder or file in a file system of fsspec."""

    def __init__(self, system: Any, base: str, close: Callable[[], None] | None = None) -> None:
        self._system = system
        self._base = base.rstrip("/")
        self.close = close or (lambda: None)

    def entries(self, folder: str) -> Iterable[Entry]:
        """List a folder. ``ls`` is used because ``find`` leaves out what it fails to open."""
        path = f"{self._base}/{folder}".rstrip("/")
        if not folder and (info := self._system.info(path))["type"] == "file":
            yield self._entry("", info)
            return
        for info in self._system.ls(path, detail=True):
            name = str(info["name"]).rstrip("/").rpartition("/")[2]
            if name and str(info["name"]).strip("/") != path.strip("/"):
                yield self._entry(f"{folder}/{name}".lstrip("/"), info)

    def fetch(self, entry: Entry, path: Path, limit: int) -> None:  # noqa: ARG002 the seam's
        """Download one file; its size was checked."""
        self._system.get_file(f"{self._base}/{entry.path}".rstrip("/"), str(path))

    @staticmethod
    def _entry(path: str, info: Any) -> Entry:
        tag = info.get("ETag") or info.get("etag") or ""
        moment = info.get("LastModified") or info.get("modified") or info.get("mtime") or ""
        size = int(info.get("size") or 0)
        return Entry(
            path=path,
            name=str(info["name"]).rpartition("/")[2],
            fingerprint=f"{tag} {size} {moment}" if tag or moment else "",
            size=size,
            is_folder=info["type"] == "directory",
        )


def _file_system(address: StoreAddress) -> FileSystem:
    """Open a file system by its scheme; its library finds the credentials."""
    # Imported late: an extra brings it.
    from fsspec import get_filesystem_class  # noqa: PLC0415

    kind = get_filesystem_class(address.scheme)
    text = f"{address.scheme}://{address.user and address.user + '@'}{address.host}/{address.path}"
    options = kind._get_kwargs_from_urls(text)
    # An instance of its own, because a shared one keeps old lists.
    return FileSystem(kind(skip_instance_cache=True, **options), kind._strip_protocol(text))


def _webdav(address: StoreAddress) -> FileSystem:
    """Open a WebDAV server, at https unless the scheme is ``webdav``."""
    # Imported late: an extra brings it.
    from webdav4.fsspec import WebdavFileSystem  # noqa: PLC0415

    start = httpx.URL(f"http{'s' * (address.scheme == 'webdavs')}://{address.host}/")
    system = WebdavFileSystem(
        start,
        auth=address.login(),
        timeout=READ_SECONDS,
        event_hooks={"request": [partial(_stay_on, start)]},
        skip_instance_cache=True,
    )
    return FileSystem(system, address.path, system.client.http.close)


def _stay_on(start: httpx.URL, request: httpx.Request) -> None:
    """Refuse a redirect to another server: it could name one of a private network."""
    if (request.url.scheme, request.url.netloc) != (start.scheme, start.netloc):
        raise SourceError(str(start), f"redirects to another server: {request.url.host}")


# --- mailboxes -------------------------------------------------------------------------------

_NOT_OPENED = {"\\noselect", "\\nonexistent"}  # names that only have others below them


class Mailbox:
    """The mailbox at ``imaps://name@host/Newsletters``: messages are files, mailboxes folders.

    A message is the same while its UID and the mailbox's UIDVALIDITY are (RFC 3501, 2.3.1.1).
    Nothing is marked as read. One thread at a time has the connection.
    """

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._connection: Any = None
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
        name = self._names[self._path(folder.rstrip("/"))]
        with self._connected() as box:
            if box.folder.get() != name:
                box.folder.set(name, readonly=True)
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
    def _connected(self) -> Iterator[Any]:
        """Lend the connection; after a failure the next call opens a new one."""
        with self._lock:
            try:
                self._connection = self._connection or self._connect()
                yield self._connection
            except (OSError, imaplib.IMAP4.error):
                self.close()
                raise

    def _connect(self) -> Any:
        # Imported late: an extra brings it.
        from imap_tools import MailBox, MailboxLoginError  # noqa: PLC0415

        login = self._address.login()
        if login is None:
            raise SourceError("", "no netrc file has its name and password (docs/sources.md)")
        host = urlsplit(f"//{self._address.host}")
        context = ssl.create_default_context()
        box = MailBox(host.hostname or "", host.port or 993, READ_SECONDS, ssl_context=context)
        try:
            box.login(*login, initial_folder=None)
        except (MailboxLoginError, imaplib.IMAP4.error, OSError):
            with suppress(OSError):
                box.client.shutdown()
            # Without its cause: a server may repeat what it was sent.
            reason = "the login failed: the name or the password is wrong, or the server broke off"
            raise SourceError("", reason) from None
        return box
