"""Stores on 127.0.0.1 for tests: an S3 server, a WebDAV server, an IMAP server, and a bad line."""

from __future__ import annotations

import asyncio
import contextlib
import imaplib
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

import boto3
import httpx
from cheroot.wsgi import Server
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
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

    def __init__(self, target: int, tls: ssl.SSLContext | None = None) -> None:
        self.allowed: int | None = None
        self.sent = b""
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._lead, "127.0.0.1", 0, ssl=tls)
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _lead(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        server, forth = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            ways = [
                asyncio.create_task(way)
                for way in (self._up(client, forth), self._down(server, back))
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            for writer in (forth, back):
                writer.transport.abort()
            self._tasks.discard(task)

    async def _up(self, client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        while data := await client.read(65_536):
            self.sent += data
            server.write(data)

    async def _down(self, server: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while self.allowed != 0 and (data := await server.read(16_384)):
            if self.allowed is not None:
                data = data[: self.allowed]
                self.allowed -= len(data)
            client.write(data)
            await client.drain()


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
        self.address = f"imaps://me@127.0.0.1:{line.port}"

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
def imap(folder: Path) -> Iterator[tuple[MailServer, Mapping[str, str]]]:
    """An IMAP server, in a process of its own, with TLS, and what must be in the environment."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", "from pymap.main import main; main()", "--no-tls"]
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
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    write_certificate(certificate, key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    line = Line(port, context)
    environment = {"NETRC": str(netrc(folder / "netrc")), "SSL_CERT_FILE": str(certificate)}
    try:
        yield MailServer(port, line), environment
    finally:
        line.close()
        server.terminate()
        server.wait()


def write_certificate(certificate: Path, key: Path) -> None:
    """Write a certificate for 127.0.0.1 that nobody else signed."""
    made = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, made.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(made, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    certificate.write_bytes(signed.public_bytes(pem))
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key.write_bytes(made.private_bytes(pem, *plain))
