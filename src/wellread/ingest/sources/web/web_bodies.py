"""The body of a web answer, unpacked as it comes and cut off at a limit.

A few kilobytes can unpack to gigabytes. zlib is therefore asked for no more than the limit still
leaves, whatever it could give.
"""

from __future__ import annotations

import zlib

ENCODINGS = "gzip, deflate"

_GZIP = zlib.MAX_WBITS | 16
_GZIP_START = b"\x1f\x8b"


class TooLargeError(Exception):
    """The body is larger than allowed."""


class BadEncodingError(Exception):
    """The body is not packed in the way that its header says."""


class Body:
    """Collects the pieces of a body.

    Args:
        encoding: the Content-Encoding header.
        limit: most bytes, packed and unpacked.

    Raises:
        BadEncodingError: an encoding that was not asked for.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        self._limit = limit
        self._packed = 0
        self._pieces: list[bytes] = []
        self._length = 0
        self._head = b""
        self._encoding = encoding.strip().lower().removeprefix("x-")
        self._unpacker: zlib._Decompress | None = None
        if self._encoding not in ("", "identity", "gzip", "deflate"):
            raise BadEncodingError(f"packed as {encoding[:40]}, which was not asked for")

    def feed(self, chunk: bytes) -> None:
        """Take the next piece.

        Raises:
            TooLargeError, BadEncodingError: see there.
        """
        self._packed += len(chunk)
        if self._packed > self._limit:
            raise TooLargeError
        if self._encoding in ("", "identity"):
            self._keep(chunk)
            return
        try:
            self._unpack(chunk)
        except zlib.error as error:
            raise BadEncodingError(f"not {self._encoding} as it says: {error}") from error

    def finish(self) -> bytes:
        """The whole body.

        Raises:
            BadEncodingError: it ends in the middle.
        """
        unpacker = self._unpacker
        if unpacker is None and self._head:
            raise BadEncodingError(f"not {self._encoding} as it says")
        if unpacker is not None and not unpacker.eof:
            raise BadEncodingError("the packed data ends in the middle")
        return b"".join(self._pieces)

    def _unpack(self, chunk: bytes) -> None:
        if self._unpacker is None:
            self._head += chunk
            if len(self._head) < 2:  # it takes two bytes to see what it is
                return
            chunk, self._head = self._head, b""
            self._unpacker = zlib.decompressobj(self._window_bits(chunk))
        while chunk:
            if self._unpacker.eof:
                if not chunk.startswith(_GZIP_START):  # padding after the end
                    return
                self._unpacker = zlib.decompressobj(_GZIP)
            # One byte more than is left shows that there is too much.
            self._keep(self._unpacker.decompress(chunk, self._limit - self._length + 1))
            chunk = self._unpacker.unconsumed_tail or self._unpacker.unused_data

    def _window_bits(self, head: bytes) -> int:
        """By the first bytes: servers call both raw deflate and zlib ``deflate``."""
        if self._encoding == "gzip" or head.startswith(_GZIP_START):
            return _GZIP
        is_zlib = head[0] & 0x0F == 8 and int.from_bytes(head[:2]) % 31 == 0
        return zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > self._limit:
            raise TooLargeError
        self._pieces.append(piece)
