"""Frames over plain TCP (protocol.md, "Conventions", "The bundled transports")."""
from __future__ import annotations

import socket

from wire import ProtocolError, varint

MAGIC = b"rocksync plaintext 1\r\n"
UNAUTHENTICATED_LIMIT = 2 << 10
SETUP_LIMIT = 4 << 20
SESSION_LIMIT = 16 << 20


class ConnectionClosed(Exception):
    """The other side closed between two frames."""


class Connection:
    """An ordered stream of frames over a socket with a timeout."""

    def __init__(self, sock: socket.socket, timeout: float) -> None:
        sock.settimeout(timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self.limit = UNAUTHENTICATED_LIMIT
        self.sent = self.received = 0

    def send(self, frame: bytes) -> None:
        data = varint(len(frame)) + frame
        self.sock.sendall(data)
        self.sent += len(data)

    def receive(self) -> bytes:
        length = shift = 0
        while True:
            b = self._exactly(1, first=shift == 0)[0]
            length |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                break
        if length > self.limit:
            raise ProtocolError(f"frame of {length} bytes")
        return self._exactly(length, first=False)

    def _exactly(self, n: int, first: bool) -> bytes:
        out = bytearray()
        while len(out) < n:
            piece = self.sock.recv(min(n - len(out), 1 << 16))
            if not piece:
                if first:
                    raise ConnectionClosed()
                raise ProtocolError("connection ended within a frame")
            out += piece
        self.received += n
        return bytes(out)

    def close(self) -> None:
        self.sock.close()


def dial(address: str, timeout: float) -> Connection:
    """Connects, says the magic, waits for the greeting."""
    host, port = address.rsplit(":", 1)
    connection = Connection(socket.create_connection((host, int(port)), timeout), timeout)
    connection.sock.sendall(MAGIC)
    greeting = connection.receive()
    if greeting:
        connection.close()
        kind = {1: "refused", 2: "come back later"}.get(greeting[0], "unknown greeting")
        raise ProtocolError(f"{kind}: {greeting[1:].decode('utf-8', 'replace')}")
    return connection


def accept(sock: socket.socket, timeout: float) -> Connection:
    """Reads the magic of an accepted socket and lets the dialer in."""
    connection = Connection(sock, timeout)
    if connection._exactly(len(MAGIC), first=True) != MAGIC:
        connection.close()
        raise ProtocolError("not rocksync in plaintext")
    connection.send(b"")
    return connection
