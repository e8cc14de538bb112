"""A session: compare, find what differs, ship it, prove equality
(protocol.md, "Turns", "A session", "Batches of leaves", "Shipping")."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Optional, Protocol

import messages as m
import shipping
from adaptive import AdaptiveExchange
from batches import EVERY, Batches, leaf_elements, leaf_of
from bloom import BloomExchange
from elements import Digest, Pair, digest
from handshake import Link
from messages import Entry, Message
from store import Store
from wire import ProtocolError, Reader, fixed, varint

MAX_ROUNDS = 64

FamilyKey = tuple[bytes, bytes]


class Exchange(Protocol):
    """One side of an exchange."""
    done: bool
    candidates: list[int]
    log: list[str]

    def outgoing(self) -> list[bytes]: ...

    def receive(self, payload: bytes) -> None: ...


class SessionEnded(Exception):
    """The peer said End (protocol.md, type 15), or we gave up."""

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(f"end {reason}: {text}")
        self.reason = reason


@dataclass
class Result:
    """How a session ended: `equal` is the proof."""
    equal: bool
    digest: Digest
    rounds: int = 0
    exchanges: int = 0


@dataclass
class Mode:
    """How exchanges are made: a rate for Bloom filters only, else adaptive."""
    rate: Optional[float] = None
    round_trips: bool = False


class Session:
    """One session over a link, as initiator or responder."""

    def __init__(self, link: Link, store: Store, mode: Mode, trace: "list[str] | None" = None) -> None:
        self.link, self.store, self.mode = link, store, mode
        self.number = link.sessions
        link.sessions += 1
        self.trace = trace
        with store.lock:
            self.held: dict[FamilyKey, Pair] = store.snapshot()
        self.result: Optional[Result] = None
        self.exchanges = self.rounds = 0
        self.rounds_of_batch = 0
        self.told: set[int] = set()  # elements offered or sent: once in a session
        self.sent: set[int] = set()  # of them, those sent as winners
        self.refused = False  # the peer refused a pair (Summary, bit 6)
        self.round_moved = True  # this round offered or sent something
        self.barren = 0  # rounds in a row without any pair
        self.exchange: Optional[Exchange] = None
        self.peer_count = 0
        self.answer: Optional[Digest] = None  # a summary to be answered
        self.batches: Optional[Batches] = None  # once one side has said Locate
        self.large = False  # the initiator cannot compare everything at once
        self.locating: "dict[int, int]" = {}  # leaves by element, in an exchange over them
        self._begin_round()

    # -- turns

    def _send(self, turn: list[Message]) -> None:
        if not turn:
            turn = [Message(m.PASS, 0, b"")]
        turn[-1].flags |= m.LAST
        for message in turn:
            if self.trace is not None:
                self.trace.append("> " + message.bytes()[:200].hex())
            self.link.connection.send(message.bytes())

    def _receive_message(self) -> Message:
        while True:
            message = m.parse(self.link.connection.receive())
            if self.trace is not None:
                self.trace.append("< " + message.bytes()[:200].hex())
            if message.kind != m.HEARTBEAT:
                return message

    def initiate(self) -> Result:
        """Runs the session as its initiator."""
        d = self._digest()
        flags, options = 0, b""
        if self.mode.round_trips:
            flags |= m.BIT5
        if self.mode.rate is not None:
            flags |= m.BIT6
            options = b"\1" + fixed(max(1, round(self.mode.rate * 65536)), 2)
        self._send([Message(m.HELLO, flags, varint(d.count) + fixed(d.sum, 16) + options)])
        return self._loop()

    def respond(self, hello: Message) -> Result:
        """Runs the session as responder to a Hello."""
        if self.trace is not None:
            self.trace.append("< " + hello.bytes().hex())
        r = Reader(hello.body)
        theirs = Digest(r.varint(), r.fixed(16))
        self.mode = Mode(None, bool(hello.flags & m.BIT5))
        if hello.flags & m.BIT6:
            options = r.fixed(1)
            if options & 1:
                self.mode.rate = r.fixed(2) / 65536
            batch_bits = r.fixed(1) if options & 0x20 else 19
            if options & 0x10:
                r.varint()
            self.large = bool(options & 2) or len(self.held) > 4 << batch_bits
            if options & ~0x33:
                self._send([Message(m.END, 0, b"\2not implemented")])
                raise SessionEnded(2, f"options {options:#x} are not implemented here")
        r.expect_end()
        self.answer = theirs
        self._send(self._compose())
        return self.result or self._loop()

    def _loop(self) -> Result:
        while self.result is None:
            while True:
                message = self._receive_message()
                self._take(message)
                if message.last:
                    break
            self._end_of_peer_turn()
            if self.result is None:
                self._send(self._compose())
        return self.result

    # -- what comes in

    def _take(self, message: Message) -> None:
        handler = {
            m.EQUAL: self._take_equal, m.DIFFERS: self._take_differs,
            m.LOCATE: lambda b: self._take_locate(message),
            m.LEAF_BATCH: lambda b: self._take_leaf_batch(message),
            m.SUMMARY: lambda b: self._take_summary(message),
            m.PAYLOAD: self._take_payload,
            m.PASS: lambda b: None, m.OFFERS: self._take_offers,
            m.WANTS: self._take_wants, m.VALUES: self._take_values,
            m.CHUNK: self._take_chunk, m.PAIRS: self._take_pairs,
            m.END: self._take_end, m.ABANDON: self._take_abandon,
        }.get(message.kind)
        if handler is None:
            raise ProtocolError(f"type {message.kind} is not implemented here")
        if message.kind == m.SUMMARY and message.flags & m.BIT6:
            self.refused = True
        if message.kind in (m.OFFERS, m.VALUES, m.PAIRS, m.CHUNK):
            self.round_moved = True
        handler(message.body)
        self.peer_idle = message.kind in m.IDLE_TYPES and bool(message.flags & m.BIT6)

    def _take_end(self, body: bytes) -> None:
        raise SessionEnded(body[0], body[1:].decode("utf-8", "replace"))

    def _take_equal(self, body: bytes) -> None:
        if self.summarised != self._digest():
            raise ProtocolError("equal, but our set changed since it was summarised")
        if self.batches is not None and not self.of_everything and not self._in_last_round():
            self.batches.close()
        else:
            self._finish(proven=not body)

    def _take_differs(self, body: bytes) -> None:
        r = Reader(body)
        count = r.varint()
        r.expect_end()
        # Instead of a summary: then it stands for both counts.
        self._start_round(count, initiator=False, own_count=count if self.shipping else None)

    def _take_abandon(self, body: bytes) -> None:
        raise SessionEnded(4, "abandoned")

    def _take_summary(self, message: Message) -> None:
        r = Reader(message.body)
        self.answer = Digest(r.varint(), r.fixed(16))
        if message.flags & m.BIT5:
            self._compare_everything()

    def _take_locate(self, message: Message) -> None:
        r = Reader(message.body)
        peer_count = r.varint()
        r.expect_end()
        self._begin_round()
        self.batches = self.batches or Batches()
        leaves = self.batches.open()
        if not message.flags & (m.BIT5 | m.BIT6):
            self._exchange_leaves(initiator=False)
        elif message.flags & m.BIT5 and not peer_count:
            self.batches.found = {leaf_of(p) for p in self.held.values()} & set(leaves)
        elif message.flags & m.BIT6:
            self._seed()  # a search has a number, too
            self.searched = True
            self.batches.found = set(leaves)
        elif self.held:
            self.batches.found = set(leaves)

    def _take_leaf_batch(self, message: Message) -> None:
        if self.batches is None:
            raise ProtocolError("a batch of leaves without Locate")
        self._begin_batch()
        self.answer = self.batches.take(message)

    def _take_payload(self, body: bytes) -> None:
        if self.searched:
            return  # of a search, which our batch ends
        if self.exchange is None:
            raise ProtocolError("a payload without an exchange")
        self.exchange.receive(body)

    def _take_offers(self, body: bytes) -> None:
        for e in m.decode_entries(body, offers=True):
            family = self._family(e.family)
            key = (family, e.key)
            self.offered_to_me.append((key, e))
            self.keys_offered_to_me.add(key)

    def _take_wants(self, body: bytes) -> None:
        wanted = m.decode_wants(body, len(self.unanswered))
        for pair, kind, want in zip(
                [p for p, _ in self.unanswered], [k for _, k in self.unanswered], wanted):
            if want and kind == 2:
                self.values_to_send.append(pair.value or b"")
        self.unanswered = []

    def _take_chunk(self, body: bytes) -> None:
        self.chunk += body

    def _take_values(self, body: bytes) -> None:
        r = Reader(body)
        while not r.done():
            if not self.values_to_come:
                raise ProtocolError("a value that was not wanted")
            key, e = self.values_to_come.pop(0)
            size = r.varint()
            if size == 0:
                self.chunk = b""
                continue
            value = self.chunk + r.bytes(size - 1)
            self.chunk = b""
            self._gain(key, e, value)

    def _take_pairs(self, body: bytes) -> None:
        entries = m.decode_entries(body, offers=False, head=self.chunk)
        self.chunk = b""
        for e in entries:
            key = (self._family(e.family), e.key)
            self._gain(key, e, e.value if e.kind == 1 else None)

    def _end_of_peer_turn(self) -> None:
        """Judges the offers of a turn: Wants, and our own winners."""
        self.wants: list[bool] = []
        for key, e in self.offered_to_me:
            mine = self.held.get(key)
            self.wants.append(self._judge_offer(key, e, mine))
        if self.offered_to_me:
            self.reached = max(self.store.hasher.position(*k) for k, _ in self.offered_to_me)
        self.offered_to_me = []

    def _judge_offer(self, key: FamilyKey, e: Entry, mine: Optional[Pair]) -> bool:
        if e.kind != 2:
            pair = self.store.hasher.pair(*key, e.version, e.value if e.kind else None)
            if pair.beats(mine):
                self._gain_pair(pair)
                return True
            self._send_winner(mine, pair.element)
            return False
        if mine is None or e.version > mine.version:
            wanted = True
        elif e.version == mine.version and mine.value is not None and e.element is not None:
            wanted = e.element > mine.element
        else:
            wanted = False
        if wanted:
            self.values_to_come.append((key, e))
        elif mine is not None and (mine.version > e.version or mine.value is None
                                   or e.element != mine.element):
            self._send_winner(mine, None)
        return wanted

    def _send_winner(self, mine: Optional[Pair], element: Optional[int]) -> None:
        if mine is not None and mine.element != element and mine.element not in self.sent:
            self.told.add(mine.element)
            self.sent.add(mine.element)
            self.winners.append(mine)

    def _gain(self, key: FamilyKey, e: Entry, value: Optional[bytes]) -> None:
        pair = self.store.hasher.pair(*key, e.version, value)
        if e.element is not None and e.element != pair.element:
            raise ProtocolError("another value than was offered")
        mine = self.held.get(key)
        if pair.beats(mine):
            self._gain_pair(pair)
        else:
            self._send_winner(mine, pair.element)

    def _gain_pair(self, pair: Pair) -> None:
        self.held[pair.family, pair.key] = pair
        self.told.add(pair.element)
        self.store.apply(pair)

    def _family(self, ordinal: int) -> bytes:
        if ordinal >= len(self.store.families):
            raise ProtocolError("no such family")
        return self.store.families[ordinal]

    # -- rounds

    of_everything = True  # what was summarised last is the whole set

    def _in_batch(self) -> "list[Pair]":
        """The pairs that are compared now."""
        pairs = self.held.values()
        if self.batches is None:
            return list(pairs)
        return [p for p in pairs if leaf_of(p) in self.batches.now]

    def _in_last_round(self) -> bool:
        """In a round of a batch beside which all leaves are closed: summaries are of everything."""
        return (self.batches is not None and not self.of_everything
                and self.rounds_of_batch > 0 and self.batches.last())

    def _digest(self) -> Digest:
        pairs = list(self.held.values()) if self._in_last_round() else self._in_batch()
        self.summarised = digest([p.element for p in pairs])
        return self.summarised

    def _finish(self, proven: bool) -> None:
        self.result = Result(proven, self._digest(), self.rounds, self.exchanges)

    def _begin_round(self) -> None:
        """Forgets what belongs to one round."""
        self.exchange = None
        self.locating = {}
        self.searched = False
        self.shipping = False
        self.leader = False
        self.candidates: list[Pair] = []
        self.keys_offered_to_me: set[FamilyKey] = set()
        self.offered_to_me: list[tuple[FamilyKey, Entry]] = []
        self.reached = -1
        self.unanswered: list[tuple[Pair, int]] = []
        self.values_to_send: list[bytes] = []
        self.values_to_come: list[tuple[FamilyKey, Entry]] = []
        self.winners: list[Pair] = []
        self.wants = []
        self.chunk = b""
        self.peer_idle = False

    def _seed(self) -> bytes:
        """The mapping seed of the next exchange (protocol.md, "A round")."""
        seed = hashlib.sha256(
            b"rocksync exchange" + self.link.dialer_nonce + self.link.listener_nonce
            + fixed(self.number, 8) + fixed(self.exchanges, 8)).digest()
        self.exchanges += 1
        return seed

    def _start_round(self, peer_count: int, initiator: bool,
                     own_count: "Optional[int]" = None) -> None:
        self._begin_round()
        self.rounds += 1
        self.rounds_of_batch += 1
        self.round_moved = False
        if self.rounds_of_batch > MAX_ROUNDS:
            raise SessionEnded(5, "too many rounds")
        self.peer_count = peer_count
        self.peer_empty = peer_count == 0
        mine = self._in_batch()
        own_count = len(mine) if own_count is None else own_count
        if not own_count or not peer_count:
            self._ship(mine)
            return
        self._exchange([p.element for p in mine], peer_count, initiator,
                       [p.position for p in mine], own_count)

    def _exchange(self, elements: "list[int]", peer_count: int, initiator: bool,
                  positions: "Optional[list[int]]" = None,
                  own_count: "Optional[int]" = None) -> None:
        seed = self._seed()
        own_count = len(elements) if own_count is None else own_count
        if self.mode.rate is not None:
            self.exchange = BloomExchange(
                elements, len(elements), peer_count, seed, initiator, self.mode.rate)
        else:
            self.exchange = AdaptiveExchange(
                elements, own_count, peer_count, seed, initiator, self.mode.round_trips,
                positions)

    def _ship(self, candidates: list[Pair]) -> None:
        self.shipping = True
        self.candidates = sorted(candidates, key=Pair.order)

    # -- batches of leaves

    def _begin_batch(self) -> None:
        """An element is told once in a batch; rounds are counted for each."""
        self._begin_round()
        self.of_everything = False
        self.rounds_of_batch = 0
        self.told, self.sent = set(), set()

    def _compare_everything(self) -> None:
        self._begin_round()
        self.of_everything = True
        if self.batches is not None:
            self.batches.now = EVERY

    def _exchange_leaves(self, initiator: bool) -> None:
        """An exchange that tells in which leaves the sets differ."""
        leaves = self.batches.open()
        if not leaves:
            raise SessionEnded(5, "all leaves are equal, their sum is not")
        self.locating = leaf_elements(self.held.values(), leaves)
        self._exchange(list(self.locating), len(leaves), initiator)

    def _locate(self, peer_count: int) -> "list[Message]":
        """Says Locate: with an exchange over leaves, or without if a side is empty."""
        count = len(self.held)
        self._begin_round()
        self.batches = self.batches or Batches()
        if count and peer_count:
            self._exchange_leaves(initiator=True)
            return [Message(m.LOCATE, 0, varint(count))]
        self.batches.found = {leaf_of(p) for p in self.held.values()} - self.batches.closed
        return [Message(m.LOCATE, m.BIT5, varint(count))] + self._propose(otherwise_all=False)

    def _propose(self, otherwise_all: bool = True) -> "list[Message]":
        """A batch of the leaves that were found here; without any, Summary of everything."""
        batch = self.batches.propose(self.held.values())
        if batch is not None:
            self._begin_batch()
            self._digest()
            return [batch]
        if not otherwise_all:
            return []
        self._compare_everything()
        d = self._digest()
        return [Message(m.SUMMARY, m.BIT5, varint(d.count) + fixed(d.sum, 16))]

    def _answer_summary(self, theirs: Digest) -> "list[Message]":
        """Equal, or what leads on: Differs, Locate, or the next batch."""
        mine = self._digest()
        if mine == theirs:
            if self.batches is None or self.of_everything or self._in_last_round():
                self._finish(proven=True)
                return [Message(m.EQUAL, 0, b"")]
            self.batches.close()
            return [Message(m.EQUAL, 0, b"")] + self._propose()
        self._count_barren_rounds()
        if self.batches is None and not self.large or not self.of_everything:
            here = len(self._in_batch())
            beside = mine.count - here
            self._start_round(theirs.count - beside, initiator=True)
            return [Message(m.DIFFERS, 0, varint(here))]
        if self.batches is not None and self.batches.found:
            return self._propose()
        return self._locate(theirs.count)

    def _count_barren_rounds(self) -> None:
        self.barren = 0 if self.round_moved else self.barren + 1
        if self.refused and not self.round_moved or self.barren >= 20:
            reason = 4 if self.refused else 5
            self._send([Message(m.END, 0, bytes([reason]))])
            raise SessionEnded(reason, "given up here")

    # -- what goes out

    def _compose(self) -> list[Message]:
        turn: list[Message] = []
        if self.answer is not None:
            theirs, self.answer = self.answer, None
            turn += self._answer_summary(theirs)
            if self.result is not None or turn[-1].kind in (m.LEAF_BATCH, m.SUMMARY):
                return turn
        if self.exchange is not None and not self.shipping:
            turn += [Message(m.PAYLOAD, 0, p) for p in self.exchange.outgoing()]
            if self.exchange.done and self.trace is not None:
                self.trace.append("exchange " + "; ".join(self.exchange.log))
            if not self.exchange.done:
                return turn
            if self.locating:
                self.batches.found = {self.locating[e] for e in self.exchange.candidates}
                self.exchange = None
                return turn + self._propose()
            # The first to be done leads; then no offers have come yet.
            self.leader = not self.keys_offered_to_me and not self.peer_idle
            found = set(self.exchange.candidates)
            self._ship([p for p in self._in_batch() if p.element in found])
        elif self.batches is not None and not self.shipping and not turn:
            return self._propose()
        return self._compose_shipping(turn)

    def _compose_shipping(self, turn: list[Message]) -> list[Message]:
        answerable = False
        if self.wants:
            turn.append(Message(m.WANTS, 0, m.encode_wants(self.wants)))
            self.wants = []
        values, value_cut = shipping.values_of_a_turn(self.values_to_send)
        turn += values
        if self.winners and not value_cut:
            turn += shipping.entries(m.PAIRS, self.winners, self.store.families)
            self.winners = []
            answerable = True
        offers = [] if self.values_to_send else self._due_candidates()
        if offers:
            answerable = True
            kind = m.PAIRS if self.peer_empty else m.OFFERS
            turn += shipping.entries(kind, offers, self.store.families)
            if kind == m.OFFERS:
                self.unanswered += [(p, shipping.kind_of(p, kind)) for p in offers]
        if any(x.kind in (m.OFFERS, m.VALUES, m.PAIRS) for x in turn):
            self.round_moved = True
        idle = not self.candidates and not self.winners
        if (idle and self.peer_idle and not self.values_to_come and not answerable
                and not self.values_to_send):
            d = self._digest()
            turn.append(Message(m.SUMMARY, 0, varint(d.count) + fixed(d.sum, 16)))
            return turn
        if not turn:
            turn.append(Message(m.PASS, 0, b""))
        if idle and turn[-1].kind in m.IDLE_TYPES:
            turn[-1].flags |= m.BIT6
        return turn

    def _due_candidates(self) -> list[Pair]:
        """Candidates to offer now, as many as a turn holds."""
        due: list[Pair] = []
        size = 0
        while self.candidates and size < shipping.TURN_BYTES:
            p = self.candidates[0]
            if (not self.leader and not self.peer_idle and not self.peer_empty
                    and p.position > self.reached):
                break
            self.candidates.pop(0)
            if p.element in self.told or (p.family, p.key) in self.keys_offered_to_me:
                continue
            if self.held.get((p.family, p.key)) is not p:
                continue
            self.told.add(p.element)
            due.append(p)
            size += len(p.key) + 32 + (len(p.value or b"") if self.peer_empty else 0)
        return due
