"""Stores on 127.0.0.1 for tests: an S3 server, a WebDAV server, an IMAP server, and a bad line."""

from __future__ import annotations

import contextlib
import imaplib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path
from threading import Thread

import boto3
import httpx
from cheroot.wsgi import Server
from moto.server import ThreadedMotoServer
from wsgidav.wsgidav_app import WsgiDAVApp

PASSWORD = "corr-ect-horse"


class Line:
    """A TCP port that leads to a server's until it is cut.

    Attributes:
        allowed: bytes that may still come from the server; then the connection is closed. None
            means any number.
        sent: all that was sent to the server.
    """

    def __init__(self, target: int) -> None:
        self.allowed: int | None = None
        self.sent = b""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.allowed == 0:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._target))
                Thread(target=self._up, args=(client, server), daemon=True).start()
                Thread(target=self._down, args=(server, client), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65_536):
                self.sent += data
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _down(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError), server, client:
            while data := server.recv(16_384):
                if self.allowed is not None:
                    data = data[: self.allowed]
                    self.allowed -= len(data)
                client.sendall(data)
                if self.allowed == 0:
                    client.shutdown(socket.SHUT_RDWR)
                    return


class Bucket:
    """The folder ``papers`` of a bucket."""

    address = "s3://shelf/papers"

    def __init__(self, port: int, line: Line) -> None:
        self.line = line
        self._client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            aws_access_key_id="me",
            aws_secret_access_key=PASSWORD,
            region_name="us-east-1",
        )
        self._client.create_bucket(Bucket="shelf")

    def write(self, path: str, content: bytes) -> None:
        self._client.put_object(Bucket="shelf", Key=f"papers/{path}", Body=content)

    def remove(self, path: str) -> None:
        self._client.delete_object(Bucket="shelf", Key=f"papers/{path}")


@contextmanager
def s3() -> Iterator[tuple[Bucket, Mapping[str, str]]]:
    """An S3 server, with what the environment must hold to reach it."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    httpx.post(f"http://127.0.0.1:{port}/moto-api/reset")  # all servers of a process share buckets
    line = Line(port)
    try:
        yield (
            Bucket(port, line),
            {
                "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{line.port}",
                "AWS_ACCESS_KEY_ID": "me",
                "AWS_SECRET_ACCESS_KEY": PASSWORD,
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_MAX_ATTEMPTS": "1",
            },
        )
    finally:
        line.close()
        server.stop()


class SharedFolder:
    """The folder ``papers`` of a WebDAV server, kept on the disk."""

    def __init__(self, folder: Path, line: Line) -> None:
        self.line = line
        self._folder = folder / "papers"
        self._folder.mkdir(parents=True)
        self.address = f"webdav://me@127.0.0.1:{line.port}/papers"

    def write(self, path: str, content: bytes) -> None:
        place = self._folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)

    def remove(self, path: str) -> None:
        (self._folder / path).unlink()


@contextmanager
def webdav(folder: Path) -> Iterator[tuple[SharedFolder, Mapping[str, str]]]:
    """A WebDAV server that asks for a password, and an environment that names a netrc."""
    root = folder / "dav"
    root.mkdir()
    app = WsgiDAVApp(
        {
            "provider_mapping": {"/": str(root)},
            "simple_dc": {"user_mapping": {"*": {"me": {"password": PASSWORD}}}},
            "http_authenticator": {
                "accept_basic": True,
                "accept_digest": False,
                "default_to_digest": False,
            },
            "verbose": 0,
            "logging": {"enable": False},
        }
    )
    server = Server(("127.0.0.1", 0), app)
    server.prepare()
    thread = Thread(target=server.serve, daemon=True)
    thread.start()
    line = Line(server.bind_addr[1])
    try:
        yield SharedFolder(root, line), {"NETRC": str(netrc(folder / "netrc"))}
    finally:
        line.close()
        server.stop()
        thread.join()


def netrc(path: Path, host: str = "127.0.0.1", password: str = PASSWORD) -> Path:
    """Write the password for ``me`` into a file that only its owner can read."""
    path.write_text(f"machine {host} login me password {password}\n")
    path.chmod(0o600)
    return path


class MailServer:
    """Mailboxes of ``me``."""

    def __init__(self, port: int, line: Line) -> None:
        self.line = line
        self._port = port
        self.address = f"imap://me@127.0.0.1:{line.port}"

    @contextmanager
    def client(self) -> Iterator[imaplib.IMAP4]:
        with imaplib.IMAP4("127.0.0.1", self._port) as client:
            client.login("me", PASSWORD)
            yield client

    def send(self, mailbox: str, subject: str, text: str) -> None:
        message = EmailMessage()
        message["Subject"], message["From"] = subject, "Desk <desk@paper.example>"
        message["Message-ID"] = f"<{subject.lower()}@paper.example>"
        message.set_content(text)
        with self.client() as client:
            client.create(mailbox)
            client.append(mailbox, "", "", bytes(message))

    def delete(self, mailbox: str, subject: str, *, expunge: bool = True) -> None:
        with self.client() as client:
            client.select(mailbox)
            (numbers,) = client.search(None, "SUBJECT", subject)[1]
            client.store(numbers.decode(), "+FLAGS", "\\Deleted")
            if expunge:
                client.expunge()

    def move(self, subject: str, start: str, goal: str) -> None:
        with self.client() as client:
            client.create(goal)
            client.select(start)
            (numbers,) = client.search(None, "SUBJECT", subject)[1]
            client.copy(numbers.decode(), goal)
        self.delete(start, subject)


@contextmanager
def imap(folder: Path, *options: str) -> Iterator[tuple[MailServer, Mapping[str, str]]]:
    """An IMAP server, in a process of its own, and an environment that names a netrc."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", "from pymap.main import main; main()", *options]
    command += ["--host", "127.0.0.1", "--port", str(port), "dict"]
    server = subprocess.Popen(
        [*command, "--demo-user", "me", "--demo-password", PASSWORD],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(400):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            break
        time.sleep(0.05)
    line = Line(port)
    try:
        yield MailServer(port, line), {"NETRC": str(netrc(folder / "netrc"))}
    finally:
        line.close()
        server.terminate()
        server.wait()
