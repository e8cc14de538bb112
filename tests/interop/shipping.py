"""The messages that carry pairs (protocol.md, "Shipping"): what a turn holds, and how
large values are cut."""
from __future__ import annotations

import messages as m
from elements import Pair
from messages import Entry, Message
from wire import varint

TURN_BYTES = 1 << 20
CHUNK_BYTES = 256 << 10
MESSAGE_BYTES = 256 << 10


def values_of_a_turn(waiting: "list[bytes]") -> "tuple[list[Message], bool]":
    """Takes values that were wanted from `waiting`, as many as a turn holds. A large one
    is cut, and goes on in the next turn: then the second result is true."""
    out: list[Message] = []
    body = b""
    sent = 0
    while waiting and sent < TURN_BYTES:
        value = waiting.pop(0)
        if len(value) > CHUNK_BYTES and body:
            out.append(Message(m.VALUES, 0, body))
            body = b""
        while len(value) > CHUNK_BYTES and sent < TURN_BYTES:
            out.append(Message(m.CHUNK, 0, value[:CHUNK_BYTES]))
            value = value[CHUNK_BYTES:]
            sent += CHUNK_BYTES
        if len(value) > CHUNK_BYTES:
            waiting.insert(0, value)
            return out, True
        sent += len(value)
        body += varint(len(value) + 1) + value
        if len(body) > MESSAGE_BYTES:
            out.append(Message(m.VALUES, 0, body))
            body = b""
    if body:
        out.append(Message(m.VALUES, 0, body))
    return out, False


def entries(kind: int, pairs: "list[Pair]", families: "list[bytes]") -> "list[Message]":
    """Pairs as messages of a kind, Offers or Pairs."""
    out: list[Message] = []
    waiting: list[Entry] = []
    size = 0

    def flush() -> None:
        nonlocal waiting, size
        if waiting:
            out.append(Message(kind, 0, m.encode_entries(waiting)))
        waiting, size = [], 0

    for p in pairs:
        e = _entry(p, kind, families)
        if e.kind == 1 and e.size > CHUNK_BYTES:
            flush()
            out += _chunks(e)
        waiting.append(e)
        size += len(e.key) + 32 + len(e.value or b"")
        if size > MESSAGE_BYTES:
            flush()
    flush()
    return out


def kind_of(p: Pair, message_kind: int) -> int:
    """0 tombstone, 1 the value follows, 2 on request."""
    if p.value is None:
        return 0
    return 2 if message_kind == m.OFFERS and p.value else 1


def _entry(p: Pair, message_kind: int, families: "list[bytes]") -> Entry:
    family = families.index(p.family)
    kind = kind_of(p, message_kind)
    if kind == 0:
        return Entry(family, p.key, p.version, 0, 0)
    if kind == 2:
        return Entry(family, p.key, p.version, 2, len(p.value), p.element)
    return Entry(family, p.key, p.version, 1, len(p.value), None, p.value)


def _chunks(e: Entry) -> "list[Message]":
    """Cuts the beginning of a large value off, as Chunk messages."""
    out = []
    value = e.value or b""
    while len(value) > CHUNK_BYTES:
        out.append(Message(m.CHUNK, 0, value[:CHUNK_BYTES]))
        value = value[CHUNK_BYTES:]
    e.value, e.size = value, len(value)
    return out
