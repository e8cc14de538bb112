"""Authentication and set-up (protocol.md, sections of these names)."""
from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass

import transport
from store import Store
from transport import Connection
from wire import ProtocolError, Reader, fixed, string, varint

SETUP, CONFIRM, REFUSAL = 16, 17, 18
AUTH_HELLO, CHALLENGE, PROOF, FAREWELL = 22, 23, 27, 28
IDS = bytes(16)  # plaintext: no replica id is authenticated
PROTOCOL = 6
COMPARATOR = b"leveldb.BytewiseComparator"


class Refused(ProtocolError):
    """The peer refused, by a Refusal or a Farewell."""


@dataclass
class Link:
    """A connection that is set up."""
    connection: Connection
    dialer: bool
    dialer_nonce: bytes
    listener_nonce: bytes
    peer_id: int
    sessions: int = 0


def _proof(secret: bytes, label: bytes, *parts: bytes) -> bytes:
    text = label + b"".join(string(p) for p in parts)
    return hmac.new(secret, text, hashlib.sha256).digest()[:16]


def _receive(connection: Connection, kind: int) -> Reader:
    """A message of the type, without its head."""
    frame = connection.receive()
    if not frame:
        raise ProtocolError("empty message")
    got = frame[0] & 0x1F
    if got == FAREWELL:
        raise Refused("farewell: " + frame[1:].decode("utf-8", "replace"))
    if got == REFUSAL:
        raise Refused(f"refusal {frame[1]}: " + frame[18:].decode("utf-8", "replace"))
    if got != kind:
        raise ProtocolError(f"type {got} instead of {kind}")
    reader = Reader(frame)
    reader.at = 1
    return reader


def authenticate_dialer(connection: Connection, cluster: bytes, secret: bytes) -> None:
    hello = (bytes([AUTH_HELLO]) + b"rocksync" + varint(1) + string(cluster) + os.urandom(16))
    connection.send(hello)
    challenge = _receive(connection, CHALLENGE)
    proof, nonce = challenge.bytes(16), challenge.bytes(16)
    challenge.expect_end()
    if not hmac.compare_digest(proof, _proof(secret, b"rocksync challenge", IDS, hello, nonce)):
        raise ProtocolError("the listener does not know the secret")
    connection.send(bytes([PROOF]) + _proof(secret, b"rocksync proof", IDS, hello, challenge.data))
    connection.limit = transport.SETUP_LIMIT


def authenticate_listener(connection: Connection, cluster: bytes, secret: bytes) -> None:
    hello = _receive(connection, AUTH_HELLO)
    if hello.bytes(8) != b"rocksync" or hello.varint() != 1 or hello.string() != cluster:
        raise ProtocolError("not this cluster")
    hello.bytes(16)
    hello.expect_end()
    nonce = os.urandom(16)
    challenge = (bytes([CHALLENGE])
                 + _proof(secret, b"rocksync challenge", IDS, hello.data, nonce) + nonce)
    connection.send(challenge)
    proof = _receive(connection, PROOF)
    if not hmac.compare_digest(
            proof.rest(), _proof(secret, b"rocksync proof", IDS, hello.data, challenge)):
        raise ProtocolError("the dialer does not know the secret")
    connection.limit = transport.SETUP_LIMIT


def make_setup(store: Store, cluster: bytes, incarnation: bytes, nonce: bytes) -> bytes:
    """A Setup of a replica in its first incarnation, without a member list."""
    families = b"".join(string(f) + string(COMPARATOR) for f in store.families)
    return (bytes([SETUP]) + b"rocksync" + varint(PROTOCOL) + varint(PROTOCOL)
            + string(cluster) + fixed(store.replica_id, 8)
            + varint(1) + incarnation
            + fixed(store.first_clock, 8) + fixed(store.clock, 8)
            + varint(0) + fixed(0, 8) + fixed(0, 8)  # epoch, stable time, purged
            + varint(0)  # capabilities
            + nonce + varint(len(store.families)) + families
            + varint(0) + varint(0))  # past incarnations: none


@dataclass
class PeerSetup:
    """What is used of the peer's Setup."""
    replica_id: int
    nonce: bytes
    capabilities: int
    incarnation: int


def parse_setup(reader: Reader, store: Store, cluster: bytes) -> PeerSetup:
    if reader.bytes(8) != b"rocksync":
        raise ProtocolError("not a Setup")
    oldest, newest = reader.varint(), reader.varint()
    if not oldest <= PROTOCOL <= newest or reader.string() != cluster:
        raise ProtocolError("another protocol or cluster")
    replica, incarnation = reader.fixed(8), reader.varint()
    reader.bytes(8 + 8 + 8)  # random, first clock, clock
    epoch = reader.varint()
    stable, purged = reader.fixed(8), reader.fixed(8)
    if epoch or stable or purged:
        raise ProtocolError("member lists are not implemented here")
    capabilities = reader.varint()
    nonce = reader.bytes(16)
    families = []
    for _ in range(reader.varint()):
        families.append(reader.string())
        if reader.string() != COMPARATOR:
            raise ProtocolError("another comparator")
    if families != store.families:
        raise ProtocolError(f"families {families}")
    return PeerSetup(replica, nonce, capabilities, incarnation)


def set_up(connection: Connection, store: Store, cluster: bytes, secret: bytes,
           incarnation: bytes, dialer: bool) -> Link:
    """Setup and Confirm, both ways."""
    nonce = os.urandom(16)
    mine = make_setup(store, cluster, incarnation, nonce)
    if dialer:
        connection.send(mine)
        reader = _receive(connection, SETUP)
        both = (mine, reader.data)
    else:
        reader = _receive(connection, SETUP)
        both = (reader.data, mine)
    peer = parse_setup(reader, store, cluster)

    def confirm(side: bytes) -> bytes:
        return _proof(secret, b"rocksync confirm" + side, *both)

    if not dialer:
        connection.send(mine)
        connection.send(bytes([CONFIRM]) + confirm(b"l"))
    got = _receive(connection, CONFIRM)
    if not hmac.compare_digest(got.rest(), confirm(b"l" if dialer else b"d")):
        raise ProtocolError("a wrong Confirm")
    if dialer:
        connection.send(bytes([CONFIRM]) + confirm(b"d"))
    connection.limit = transport.SESSION_LIMIT
    nonces = (nonce, peer.nonce) if dialer else (peer.nonce, nonce)
    return Link(connection, dialer, *nonces, peer.replica_id)
