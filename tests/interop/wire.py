"""Bytes of the protocol (protocol.md, "Conventions")."""
from __future__ import annotations


class ProtocolError(Exception):
    """The peer said what the protocol does not allow."""


def varint(n: int) -> bytes:
    """Seven bits a byte, least significant first, shortest form."""
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def fixed(n: int, size: int) -> bytes:
    """Big-endian."""
    return n.to_bytes(size, "big")


def string(b: bytes) -> bytes:
    """A length as a varint, then the bytes."""
    return varint(len(b)) + b


class Reader:
    """Takes a message apart."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def bytes(self, n: int) -> bytes:
        if n < 0 or self.at + n > len(self.data):
            raise ProtocolError("message too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def fixed(self, n: int) -> int:
        return int.from_bytes(self.bytes(n), "big")

    def varint(self) -> int:
        value = shift = 0
        while True:
            b = self.fixed(1)
            value |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                break
            if shift > 63:
                raise ProtocolError("varint too long")
        if (b == 0 and shift > 7) or value >> 64:
            raise ProtocolError("varint not in shortest form")
        return value

    def string(self) -> bytes:
        return self.bytes(self.varint())

    def rest(self) -> bytes:
        return self.bytes(len(self.data) - self.at)

    def done(self) -> bool:
        return self.at == len(self.data)

    def expect_end(self) -> None:
        if not self.done():
            raise ProtocolError(f"{len(self.data) - self.at} bytes left over")
