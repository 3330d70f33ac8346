"""Stores on 127.0.0.1 for tests: an S3 server, a WebDAV server, an IMAP server, and a bad line."""

from __future__ import annotations

import contextlib
import imaplib
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path
from select import select
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

import boto3
import httpx
import pytest
import trustme
from cheroot.wsgi import Server
from moto.server import ThreadedMotoServer
from wsgidav.wsgidav_app import WsgiDAVApp

PASSWORD = "corr-ect-horse"


class Line(ThreadingTCPServer):
    """A TCP port that leads to a server's until it is cut.

    Attributes:
        allowed: bytes that may still come from the server, then the connection is closed; None
            means any number.
        mends: whether new connections hold again after a cut.
        sent: all that was sent to the server.
    """

    daemon_threads = True
    mends = False

    def __init__(self, target: int, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), StreamRequestHandler)
        self.allowed: int | None = None
        self.sent = b""
        self.port: int = self.server_address[1]
        self._target = target
        self._tls = tls

    def finish_request(self, request: Any, client_address: Any) -> None:
        with contextlib.suppress(OSError):
            client = self._tls.wrap_socket(request, server_side=True) if self._tls else request
            with client, socket.create_connection(("127.0.0.1", self._target)) as server:
                while self.allowed != 0 and self._passed_on(client, server):
                    pass
                if self.mends:
                    self.allowed = None

    def _passed_on(self, client: Any, server: socket.socket) -> bool:
        """Wait for one piece of either side and send it to the other; False at the end."""
        waiting = self._tls and client.pending()
        for side in [client] if waiting else select([client, server], [], [])[0]:
            data = side.recv(16_384)
            if side is client:
                self.sent += data
                server.sendall(data)
            elif self.allowed is None:
                client.sendall(data)
            else:
                client.sendall(data[: self.allowed])
                self.allowed -= min(self.allowed, len(data))
            if not data:
                return False
        return True


@contextmanager
def line_to(port: int, tls: ssl.SSLContext | None = None) -> Iterator[Line]:
    with Line(port, tls) as line:
        Thread(target=line.serve_forever, args=(0.02,), daemon=True).start()
        yield line
        line.shutdown()


class Bucket:
    """The folder ``papers`` of a bucket."""

    address = "s3://shelf/papers"

    def __init__(self, port: int, line: Line) -> None:
        self.line = line
        self._client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
        self._client.create_bucket(Bucket="shelf")

    def write(self, path: str, content: bytes) -> None:
        self._client.put_object(Bucket="shelf", Key=f"papers/{path}", Body=content)

    def remove(self, path: str) -> None:
        self._client.delete_object(Bucket="shelf", Key=f"papers/{path}")


@contextmanager
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """An S3 server that the environment names."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    httpx.post(f"http://127.0.0.1:{port}/moto-api/reset")  # all servers of a process share buckets
    with line_to(port) as line:
        for name, value in {
            "ENDPOINT_URL_S3": f"http://127.0.0.1:{line.port}",
            "ACCESS_KEY_ID": "me",
            "SECRET_ACCESS_KEY": PASSWORD,
            "DEFAULT_REGION": "us-east-1",
            "MAX_ATTEMPTS": "1",
        }.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        yield Bucket(port, line)
    server.stop()


class SharedFolder:
    """The folder ``papers`` of a WebDAV server, kept on the disk."""

    moved_to = ""  # where a request for a file is redirected to

    def __init__(self, root: Path, line: Line) -> None:
        self.line = line
        self._folder = root / "papers"
        self.address = f"webdav://me@127.0.0.1:{line.port}/papers"

    def write(self, path: str, content: bytes) -> None:
        place = self._folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)

    def remove(self, path: str) -> None:
        (self._folder / path).unlink()


@contextmanager
def webdav(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedFolder]:
    """A WebDAV server that asks for a password; the environment names the netrc with it."""
    root = folder / "dav"
    root.mkdir()
    options = {
        "provider_mapping": {"/": str(root)},
        "simple_dc": {"user_mapping": {"*": {"me": {"password": PASSWORD}}}},
        "http_authenticator": {"accept_digest": False, "default_to_digest": False},
        "logging": {"enable": False},
    }
    app = WsgiDAVApp(options)

    def answer(environ: Any, start: Any) -> Any:
        if shared.moved_to and environ["REQUEST_METHOD"] == "GET":
            start("302 Found", [("Location", shared.moved_to)])
            return [b""]
        return app(environ, start)

    server = Server(("127.0.0.1", 0), answer)
    server.prepare()
    thread = Thread(target=server.serve, daemon=True)
    thread.start()
    monkeypatch.setenv("NETRC", str(netrc(folder / "netrc")))
    with line_to(server.bind_addr[1]) as line:
        shared = SharedFolder(root, line)
        yield shared
    server.stop()
    thread.join()


def netrc(path: Path, password: str = PASSWORD) -> Path:
    """Write the password of ``me`` into a file that only its owner can read."""
    path.write_text(f"machine 127.0.0.1 login me password {password}\n")
    path.chmod(0o600)
    return path


class MailServer:
    """Mailboxes of ``me``."""

    def __init__(self, port: int, line: Line) -> None:
        self.line = line
        self._port = port
        self.address = f"imaps://me@127.0.0.1:{line.port}"

    @contextmanager
    def client(self, mailbox: str = "INBOX") -> Iterator[imaplib.IMAP4]:
        with imaplib.IMAP4("127.0.0.1", self._port) as client:
            client.login("me", PASSWORD)
            client.create(mailbox)
            client.select(mailbox)
            yield client

    def send(self, mailbox: str, subject: str, text: str) -> None:
        message = EmailMessage()
        message["Subject"], message["From"] = subject, "Desk <desk@paper.example>"
        message.set_content(text)
        with self.client(mailbox) as client:
            client.append(mailbox, "", "", bytes(message))

    def delete(
        self, mailbox: str, number: int, *, moved_to: str = "", expunge: bool = True
    ) -> None:
        with self.client(moved_to or mailbox) as client:
            client.select(mailbox)
            if moved_to:
                client.copy(str(number), moved_to)
            client.store(str(number), "+FLAGS", "\\Deleted")
            if expunge:
                client.expunge()


@contextmanager
def imap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    """An IMAP server with TLS, in a process of its own; the environment names the netrc."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    run = [sys.executable, "-c", "from pymap.main import main; main()", "--no-tls"]
    run += ["--host", "127.0.0.1", "--port", str(port), "dict", "--demo-user", "me"]
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(folder / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "authority.pem"))
    monkeypatch.setenv("NETRC", str(netrc(folder / "netrc")))
    with subprocess.Popen([*run, "--demo-password", PASSWORD], stderr=subprocess.DEVNULL) as server:
        for _ in range(400):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        with line_to(port, context) as line:
            yield MailServer(port, line)
        server.terminate()
