#!/usr/bin/python3
"""docs/test_vectors.md by the peer's own code: what it can compute has to be what stands
there. tests/integration/vectors checks all of it against the library."""
from __future__ import annotations

import hashlib
import pathlib
import re
import unittest
from unittest import mock

import handshake
import messages
import transport
from adaptive import AdaptiveExchange, Groups, pack
from bloom import BloomExchange, Shape, build
from elements import (Hasher, Key, Version, digest, mapping_key, mix, place, short_mix)
from filtercode import decode_slice
from pinsketch import _TAILS, decode, field
from session import Session
from store import Store
from wire import Reader, fixed, string, varint

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "test_vectors.md"
HEADS = {  # of each session's messages
    "session.0": "81 c3 cd 86 82",
    "session.1": "81 03 87 87 87 07 c9 0a cd 86 82",
    "session.2": "81 82",
    "session.3": "c1 03 87 07 c9 0a 0d c9 0a 0b 86 82",
    "session.4": "c1 44 87 25 87 07 c9 0a 0d 86 82",
    "session.5": "c1 44 87 25 c9 0a cd 0b 86 82",
    "session.6": "c1 03 87 07 d3 14 86 82",
}


def read_vectors() -> "dict[str, bytes]":
    """The document's `name = value` lines."""
    vectors: dict[str, bytes] = {}
    name = ""
    for text in re.findall(r"^```vectors\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S):
        for line in text.splitlines():
            if line[:1] not in (" ", "#", ""):
                name, line = (s.strip() for s in line.split("=", 1))
                vectors[name] = b""
            for quoted, digits, _ in re.findall(r'"([^"]*)"|([0-9a-f]+)|(#.*)', line):
                vectors[name] += quoted.encode() or bytes.fromhex(digits)
    return vectors


V = read_vectors()
SEED = V["exchange.seed"]
LINK = mock.Mock(dialer_nonce=V["auth.hello"][-16:], listener_nonce=V["auth.challenge"][-16:])


def number(name: str) -> int:
    return int.from_bytes(V[name], "big")


def numbers(name: str) -> "list[int]":
    return [int.from_bytes(V[name][i:i + 4], "big") for i in range(0, len(V[name]), 4)]


def elements(first: int, last: int) -> "list[int]":
    return [i << 96 | i * i for i in range(first, last + 1)]


def found(x: "AdaptiveExchange | BloomExchange") -> bytes:
    return bytes(sorted(e >> 96 for e in x.candidates))


class VectorsTest(unittest.TestCase):
    maxDiff = None

    def expect(self, name: str, value: "bytes | int") -> None:
        """Fails with the line that should stand in the document."""
        if isinstance(value, int):
            value = fixed(value, len(V[name]))
        self.assertEqual(f"{name} = {V[name].hex()}", f"{name} = {value.hex()}")

    def setUp(self) -> None:
        self.hasher = Hasher(V["secret"])
        self.version = Version(number("version") >> 64, number("version") & (1 << 64) - 1)

    # -- protocol.md, "Conventions"

    def test_elements(self) -> None:
        family, key, value = V["family"], V["key"], V["value"]
        hasher, version, zero = self.hasher, self.version, Version(0, 0)
        self.expect("value_hash", hasher.value_hash(version, value))
        self.expect("value_hash.unversioned", hasher.value_hash(zero, value))
        three = [hasher.element(family, key, version, value),
                 hasher.element(family, key, version, None),
                 hasher.element(family, key, zero, value)]
        for name, element in zip(("element", "element.tombstone", "element.unversioned"), three):
            self.expect(name, element)
        self.expect("digest", digest(three).sum)
        position = hasher.position(family, key)
        self.expect("position", position)
        self.expect("position.long_key", hasher.position(family, b"k" * 300))
        self.expect("leaf", position >> 48)
        for name, leaf in (("leaf.element", digest(three)), ("leaf.element.empty", digest([]))):
            text = V["leaf"] + fixed(leaf.count, 8) + fixed(leaf.sum, 16)
            self.expect(name, hashlib.sha256(b"rocksync leaf" + text).digest()[:16])
        # index_format.md, "Entries"
        time = fixed(version.time, 8)
        self.expect("index.key", fixed(position, 8) + varint(300) + key)
        self.expect("index.entry.home", b"\x08" + time + fixed(three[0], 16))
        self.expect("index.entry.pending.home", b"\x0a" + time + V["value_hash"])
        self.expect("index.entry.home_tombstone", b"\x09" + time + fixed(three[1], 16))
        self.expect("index.entry.unversioned", b"\0" + fixed(three[2], 16))

    # -- protocol.md, "The bundled transports" to "Set-up"

    def test_connection(self) -> None:
        self.expect("frame.header.300", varint(300))
        self.expect("preamble.plaintext", transport.MAGIC)
        self.expect("greeting.welcome", b"\0")
        for name, ids in (("auth", bytes(16)),
                          ("auth.tls", bytes.fromhex("0102030405060708 1112131415161718"))):
            hello, challenge = V[name + ".hello"], V[name + ".challenge"]
            nonce = challenge[17:]
            self.assertEqual(hello, b"\x16rocksync\1" + string(V["cluster"]) + hello[-16:])
            self.expect(name + ".challenge", b"\x17" + handshake._proof(
                V["secret"], b"rocksync challenge", ids, hello, nonce) + nonce)
            self.expect(name + ".proof", b"\x1b" + handshake._proof(
                V["secret"], b"rocksync proof", ids, hello, challenge))
        request = V["request.compare"][17:]
        self.expect("request.compare", b"\x18" + handshake._proof(
            V["secret"], b"rocksync request", V["auth.hello"], V["auth.challenge"], request)
            + request)

    def test_set_up(self) -> None:
        both = (V["setup.dialer"], V["setup.listener"])
        for replica, setup in enumerate(both, 1):
            store = Store(V["secret"], [V["family"]])
            store.replica_id, store.first_clock, store.clock = replica, 0, 0
            nonce = bytes((0xC0 + 0x10 * replica) + i for i in range(16))
            made = handshake.make_setup(store, V["cluster"], fixed(0x1111 * replica, 8), nonce)
            self.assertEqual(setup.hex(), made.hex())
        for side in ("listener", "dialer"):
            self.expect("confirm." + side, b"\x11" + handshake._proof(
                V["secret"], b"rocksync confirm" + side[:1].encode(), *both))
        # Reason and text stand behind the strings.
        refusal = V["refusal.listener"]
        text = b"rocksync refusall" + string(V["setup.dialer"]) + string(
            V["refusal.listener.setup"]) + refusal[1:2] + refusal[18:]
        self.expect("refusal.listener", b"\x12\x09" + handshake.hmac.new(
            V["secret"], text, "sha256").digest()[:16] + refusal[18:])

    # -- protocol.md, "A session"

    def test_bodies(self) -> None:
        version = self.version
        entries = messages.decode_entries(V["message.offers"], offers=True)
        self.assertEqual([(e.family, e.key, e.kind, e.size) for e in entries],
                         [(0, b"a", 2, 300), (1, b"b", 0, 0), (0, b"c", 1, 0), (0, b"d", 2, 5)])
        self.assertEqual([e.version for e in entries],
                         [version, Version(version.time - (3 << 16) - 5, 7), version,
                          Version(0, 0)])
        self.expect("message.offers", messages.encode_entries(entries))
        for name, want in (("all", [True] * 20),
                           ("runs", [i not in (2, 3) for i in range(20)]),
                           ("bitmap", [i % 3 == 0 for i in range(20)])):
            self.assertEqual(messages.decode_wants(V["message.wants." + name], 20), want)
        self.expect("message.wants.bitmap",
                    messages.encode_wants([i % 3 == 0 for i in range(20)]))

    def pairs(self, session: str, replica: str, held: "dict[str, tuple]") -> "list[int]":
        """The elements of what a replica holds: key -> (milliseconds, replica, value)."""
        out = []
        for key, (ms, by, value) in held.items():
            element = self.hasher.element(V["family"], key.encode(), Version(ms << 16, by), value)
            self.expect(".".join(filter(None, ("pair", session, replica, key))), element)
            out.append(element)
        return out

    def test_sessions(self) -> None:
        first = {"apple": (1001, 1, b"red"), "pear": (1002, 1, b"green"),
                 "plum": (1003, 1, b"blue")}
        here = first | {"apple": (2001, 1, b"crimson"), "pear": (2002, 1, None)}
        there = first | {"apple": (2005, 2, b"pink"), "plum": (2003, 2, b"purple"),
                         "quince": (2004, 2, b"yellow")}
        merged = there | {"pear": here["pear"]}
        third = merged | {"apple": (3001, 1, b"gold")}
        other = merged | {"plum": (3003, 2, b"black"), "quince": (3002, 2, None)}
        self.pairs("second", "listener", there)
        self.pairs("third", "listener", other)
        whole = other | {"apple": third["apple"]}
        end = [self.hasher.element(V["family"], k.encode(), Version(ms << 16, by), value)
               for k, (ms, by, value) in whole.items()]
        sets = {"session.0.04.listener": self.pairs("first", "", first),
                "session.1.01.dialer": self.pairs("second", "dialer", here),
                "session.3.01.dialer": self.pairs("third", "dialer", third),
                "session.3.11.dialer": end}
        sets["session.0.01.dialer"] = sets["session.0.04.listener"]
        for name, held in sets.items():
            d = digest(held)
            self.assertEqual(V[name][1:18].hex(), (varint(d.count) + fixed(d.sum, 16)).hex(), name)
        for session, heads in HEADS.items():
            self.assertEqual(bytes.fromhex(heads), b"".join(
                v[:1] for n, v in V.items() if n.startswith(session)), session)
        for name, message in V.items():
            kind = message[0] & 0x1F if name.startswith("session.") else 0
            if kind in (messages.OFFERS, messages.PAIRS):
                entries = messages.decode_entries(message[1:], kind == messages.OFFERS)
                self.expect(name, message[:1] + messages.encode_entries(entries))
        self.assertEqual(messages.decode_wants(V["session.1.08.listener"][1:], 3),
                         [True, False, False])
        self.assertEqual(messages.decode_wants(V["session.3.06.listener"][1:], 2), [True, False])
        self.expect("session.3.10.dialer", b"\x0b" + varint(5) + b"gold")

    def test_exchanges_of_sessions(self) -> None:
        def of(ms: int, by: int, key: bytes, value: "bytes | None") -> int:
            return self.hasher.element(V["family"], key, Version(ms << 16, by), value)

        def seed(session: int) -> bytes:
            return Session._seed(mock.Mock(link=LINK, number=session, exchanges=0))

        here = [of(2001, 1, b"apple", b"crimson"), of(2002, 1, b"pear", None),
                of(1003, 1, b"plum", b"blue")]
        x = AdaptiveExchange(here, 3, 4, seed(1), False, False)
        x.receive(V["session.1.03.listener"][1:])
        self.expect("session.1.04.dialer", b"\x87" + b"".join(x.outgoing()))
        x.receive(V["session.1.05.listener"][1:])
        self.expect("session.1.06.dialer", b"\x07" + b"".join(x.outgoing()))
        here = [of(3001, 1, b"apple", b"gold"), of(2002, 1, b"pear", None),
                of(2003, 2, b"plum", b"purple"), of(2004, 2, b"quince", b"yellow")]
        there = [of(2005, 2, b"apple", b"pink"), here[1], of(3003, 2, b"plum", b"black"),
                 of(3002, 2, b"quince", None)]
        initiator = BloomExchange(there, 4, 4, seed(3), True, 0.25)
        self.expect("session.3.03.listener", b"\x87" + b"".join(initiator.outgoing()))
        other = BloomExchange(here, 4, 4, seed(3), False, 0)
        other.receive(V["session.3.03.listener"][1:])
        self.expect("session.3.04.dialer", b"\x07" + b"".join(other.outgoing()))

    def test_search_for_leaves(self) -> None:
        """The probe of session 4, from the listener's leaves, and the leaf that it finds."""
        held = {"apple": (3001, 1, b"gold"), "pear": (2002, 1, None),
                "plum": (3003, 2, b"black"), "quince": (3002, 2, None)}
        leaves: dict[int, list[int]] = {}
        for key, (ms, by, value) in held.items():
            leaf = self.hasher.position(V["family"], key.encode()) >> 48
            leaves.setdefault(leaf, []).append(
                self.hasher.element(V["family"], key.encode(), Version(ms << 16, by), value))
        key = mapping_key(Session._seed(mock.Mock(link=LINK, number=4, exchanges=0)), 5, 0)
        factor = key.high << 64 | key.low | 1
        f, syndromes = field(17), [0] * 6
        for leaf, own in leaves.items():
            d = digest(own)
            power = (d.count & 3) << 15 | (factor * d.sum % 2 ** 128) >> 113
            for j in range(6):
                syndromes[j] ^= power
                power = f.mul(power, leaf + 1)
        self.expect("session.4.03.listener", b"\x87\0" + pack(syndromes, 17))
        apple = self.hasher.position(V["family"], b"apple") >> 48
        self.assertEqual(V["session.4.04.dialer"][-2:], pack([apple << 1], 16))

    def test_finds(self) -> None:
        """Session 5: the keyed sum that the dialer learns of the listener's element."""
        key = mapping_key(Session._seed(mock.Mock(link=LINK, number=5, exchanges=0)), 5, 0)
        factor = key.high << 64 | key.low | 1
        grape = number("pair.fourth.listener.grape")
        leaf = self.hasher.position(V["family"], b"grape") >> 48
        fits = [pack([leaf << 1, total >> 113], 16)
                for total in (factor * grape % 2 ** 128 + carry * 2 ** 113 for carry in (0, 1))]
        self.assertIn(V["session.5.04.dialer"][-4:], fits)

    # -- exchange.md

    def test_mappings(self) -> None:
        self.expect("exchange.seed", Session._seed(mock.Mock(link=LINK, number=2, exchanges=1)))
        for name in V:
            if name.startswith("mapping."):
                key = mapping_key(SEED, *(int(n) for n in name.split(".")[1:]))
                self.expect(name, fixed(key.high, 8) + fixed(key.low, 8))
        element, key = number("mix.element"), mapping_key(SEED, 1, 0)
        self.expect("mix", mix(element, key))
        self.expect("short_mix", short_mix(element, key))
        self.expect("place.1000", place(element, key, 1000))
        self.expect("place.1000000000", place(element, key, 10 ** 9))

    def test_fields(self) -> None:
        for w in range(4, 33):
            self.expect(f"field.{w}", _TAILS[w - 4])
        for w in (4, 8, 15, 32):
            mask = (1 << w) - 1
            self.expect(f"field.{w}.product", field(w).mul(0x89ABCDEF & mask, 0x98765432 & mask))

    def test_sketch(self) -> None:
        key = mapping_key(SEED, 2, 0)
        self.expect("sketch.place", mix(elements(1, 1)[0], key) >> 24)
        sums = []
        for side, own in (("mine", elements(1, 8)), ("theirs", elements(2, 9))):
            groups = Groups(own, key, 2, 15)
            for g in (0, 1):
                self.assertEqual(numbers(f"sketch.{side}.ids.{g}"), sorted(groups.ids[g]))
            sums.append(groups.sums(0, 0, 3) + groups.sums(1, 0, 3))
            self.expect(f"sketch.{side}.sums", pack(sums[-1], 15))
        both = [a ^ b for a, b in zip(*sums)]
        for g in (0, 1):
            ids = decode(field(15), both[3 * g:3 * g + 3], [])
            self.assertEqual(numbers(f"sketch.difference.{g}"), sorted(ids or []))

    def test_estimates(self) -> None:
        x = AdaptiveExchange(elements(1, 40), 40, 40, SEED, False, False)
        self.expect("estimate", x._estimate())
        x.theirs = 340
        self.expect("estimate.fine", x._fine_estimate())

    def test_parities(self) -> None:
        """Coupled parities of elements, and of keys of which a bit of the element tells."""
        own = elements(1, 40)
        keys = [mapping_key(SEED, 4, i) for i in (0, 1)]
        self.expect_parities("parities", own, keys)
        positions = [(i << 56) + i for i in range(1, 41)]
        told = mapping_key(SEED, 7, 0)
        for plane in (0, 2):
            keys = [mapping_key(SEED, 4, i + 2 * plane + 2) for i in (0, 1)]
            shown = [p << 64 | p for p, e in zip(positions, own) if mix(e, told) >> plane & 1]
            self.expect_parities(f"key_parities.{plane}", shown, keys)

    def expect_parities(self, name: str, items: "list[int]", keys: "list[Key]") -> None:
        """Three windows of ten cells, five of them split."""
        rows = [[[0] * 10, [0] * 10] for _ in range(7)]
        for item in items:
            a, b = (mix(item, key) for key in keys)
            window = (a >> 40) * 3 >> 24
            groups = (a >> 20, a, b >> 44, b >> 24, b >> 4)
            for j, group in enumerate(g & 0xFFFFF for g in groups):
                rows[window + j][group & 1][(group >> 1) * 10 >> 19] ^= 1
        cells = [x ^ y for first, second in rows for x, y in zip(first, second)]
        self.expect(f"{name}.cells", pack(cells, 1))
        self.expect(f"{name}.splits", pack([x for _, second in rows for x in second[:5]], 1))

    def test_filters(self) -> None:
        self.assertEqual(decode_slice(V["filter.slots"], 0, 1000), [0, 1, 5, 40, 41, 300, 999])
        shape = Shape(10, 0.01)
        self.expect("bloom.shape", fixed(shape.k, 1) + fixed(shape.m, 8))
        self.expect("bloom.first", build(elements(1, 10), shape, SEED, True))
        self.expect("bloom.second", build(elements(1, 10), shape, SEED, False))

    def test_exchanges(self) -> None:
        seed = b"\3" + bytes(31)
        here, there = elements(1, 40), elements(2, 41)
        for name, hurry, sums in (("bytes", False, 3), ("round_trips", True, 16)):
            initiator = AdaptiveExchange(here, 40, 40, seed, True, hurry)
            sketch = initiator.sketch
            probe = pack(sketch.groups.sums(0, 0, sums), sketch.groups.width)
            estimate = initiator._estimate() if hurry else b""
            self.expect(f"exchange.{name}.1.initiator",
                        bytes([0x10 * hurry]) + probe + estimate)
            other = AdaptiveExchange(there, 40, 40, seed, False, hurry)
            other.receive(V[f"exchange.{name}.1.initiator"])
            self.expect(f"exchange.{name}.2.other", b"".join(other.outgoing()))
            initiator.receive(V[f"exchange.{name}.2.other"])
            self.assertTrue(initiator.done and other.done)
            self.expect(f"exchange.{name}.found.initiator", found(initiator))
            self.expect(f"exchange.{name}.found.other", found(other))
        initiator = BloomExchange(here, 40, 40, seed, True, 0.25)
        other = BloomExchange(there, 40, 40, seed, False, 0)
        self.expect("exchange.bloom.1.initiator", b"".join(initiator.outgoing()))
        other.receive(V["exchange.bloom.1.initiator"])
        self.expect("exchange.bloom.2.other", b"".join(other.outgoing()))
        initiator.receive(V["exchange.bloom.2.other"])
        self.expect("exchange.bloom.found.initiator", found(initiator))
        self.expect("exchange.bloom.found.other", found(other))

    def test_exchange_with_filters(self) -> None:
        """Up to the answerer's filter, whose rate is its own choice."""
        x = AdaptiveExchange(elements(21, 60), 40, 40, b"\3" + bytes(31), False, False)
        x.receive(V["exchange.filters.1.initiator"])
        self.expect("exchange.filters.2.other", b"".join(x.outgoing()))
        x.receive(V["exchange.filters.3.initiator"])
        self.expect("exchange.filters.4.other", b"".join(x.outgoing()))
        x.receive(V["exchange.filters.5.initiator"])
        self.assertEqual(x.found, Reader(V["exchange.filters.6.other"][1:]).varint())


if __name__ == "__main__":
    unittest.main()
