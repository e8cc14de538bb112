"""The status page in headless Chromium: it shows three replicas, where two of
them differ, and how that heals. usage: page_browser_test.py STORE [PICTURES]
With PICTURES, a folder, screenshots are put there."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402
from hostile_page import HostilePage  # noqa: E402
from replicas import Cluster, wait_for  # noqa: E402

STORE = sys.argv[1]
PICTURES = sys.argv[2] if len(sys.argv) > 2 else None

# How many squares of the picture have a colour of the style sheet.
SQUARES = """
const text = getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim();
const rgb = [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
const data = document.getElementById("leaves").getContext("2d").getImageData(0, 0, 256, 256).data;
let squares = 0;
for (let i = 0; i < data.length; i += 4) squares += rgb.every((c, k) => data[i + k] === c);
return squares;
"""
# What a screen reader needs: names of controls and pictures, one h1, a language.
UNNAMED = """
const named = (e) => e.getAttribute("aria-label") || e.getAttribute("aria-describedby") ||
    e.getAttribute("aria-labelledby") || e.closest("label");
return [...document.querySelectorAll("select, canvas, svg, table")].filter((e) => !named(e)).map((e) => e.id)
    .concat(document.querySelectorAll("h1").length === 1 ? [] : ["h1"], document.documentElement.lang ? [] : ["lang"]);
"""
# Contrast of text and background (WCAG 2), the least over all texts shown.
CONTRAST = """
const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
function back(e) {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length && c[3] !== 0) return c;
  }
  return [255, 255, 255];
}
let worst = [99, ""];
for (const e of document.querySelectorAll("h1,h2,h3,p,dt,dd,li,th,td,label,footer,a,.state")) {
  if (!e.innerText) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(back(e))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < worst[0]) worst = [contrast, e.innerText.slice(0, 40)];
}
return worst;
"""


# What the page would show of these replicas, drawn within one task: its clock
# does not see them.
DRAWN = """
const [given, selectors] = arguments;
given.forEach((r) => { if ("ago" in r) r.comparedAt = performance.now() - r.ago; });
const kept = replicas.splice(0, replicas.length, ...given);
try {
  drawReplicas();
  drawVerdict();
  return selectors.map((selector) => document.querySelector(selector).innerText);
} finally {
  replicas.splice(0, replicas.length, ...kept);
}
"""
# A real status, in which each part is in turn what it never is: it is refused, or all
# that the page draws of it is drawn, now and once that replica has not answered for long.
ALTERED = """
const [status] = arguments;
const wrong = [null, { toString: 1 }, [], [null], "", "x", -1, 1e300, 0, true, undefined];
const problems = [];
function alter(path, value) {
  const copy = structuredClone(status);
  const last = path.at(-1);
  path.slice(0, -1).reduce((part, key) => part[key], copy)[last] = value;
  let read;
  try {
    read = readStatus(copy);
  } catch (error) {
    if (!/another version|no status page/.test(error.message)) problems.push([String(path), error.message]);
    return;
  }
  for (const age of [0, 4e5]) {
    const replica = { name: "altered", base: "", digest: 1, id: read.stats.replica_id, status: age ? null : read, error: "",
                      last: { status: read, at: performance.now() - age } };
    const kept = replicas.splice(0, replicas.length, { ...replicas[0] }, replica);
    try {
      at("traffic-of").selectedIndex = 1;
      drawReplicas();
      drawVerdict();
      drawTraffic();
    } catch (error) {
      problems.push([String(path), JSON.stringify(value), error.message]);
    } finally {
      replicas.splice(0, replicas.length, ...kept);
    }
  }
}
let altered = 0;
(function walk(part, path) {
  if (path.length) wrong.forEach((value) => alter(path, value));
  ++altered;
  if (part && typeof part === "object") Object.keys(part).forEach((key) => walk(part[key], [...path, key]));
})(status, []);
return [altered, problems];
"""
# Collects each text that the head of the page has, and how it is coloured.
WATCH_HEAD = """
window.heads = [];
setInterval(() => {
  const verdict = document.getElementById("verdict");
  const now = [verdict.textContent, verdict.className.split(" ").at(-1)];
  if (String(now) !== String(heads.at(-1))) heads.push(now);
}, 30);
"""
NOW = 1_800_000_000_000


def peer_of(number, **fields):
    """As in status.json; a peer that was met."""
    return {"address": f"host{number}:7400", "replica_id": f"{number:016x}", "configured": True, "last_error": "",
            "last_proven_equal_ms": NOW - 12_000, "in_session": False, "silent_ms": 0,
            "stream": {"open": 1, "lag_pairs": 0, "lag_ms": 0}, **fields}


def replica_of(number, name, peers=(), tombstone_gc=None, digest=1, **fields):
    """As the page knows one that answered."""
    gc = {"epoch": 0, "tombstones": 0, **(tombstone_gc or {})}
    stats = {"replica_id": f"{number:016x}", "elements": 0, "sessions": 240, "sessions_failed": 28, "pairs_sent": 0,
             "pairs_applied": 0, "bytes_total": 0, "scrub": {}, "peers": list(peers), "tombstone_gc": gc,
             "stream": {"pairs_sent": 0, "pairs_applied": 0, "bytes_sent": 0, "bytes_received": 0}}
    return {"name": name, "id": stats["replica_id"], "base": "", "digest": digest,
            "status": {"wall_clock_ms": NOW, "session_interval_ms": 1000, "stats": stats}, **fields}


@contextlib.contextmanager
def frozen(replica):
    replica.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        replica.process.send_signal(signal.SIGCONT)


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(STORE, 3, page=True)
        cls.addClassCleanup(cls.cluster.close)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def load(self, number, first, last):
        pairs = "".join(f"SET key:{i} {'v' * 80}\r\n" for i in range(first, last))
        self.cluster.redis(number, "--pipe", stdin=pairs.encode())

    def keep(self, name):
        if PICTURES:
            os.makedirs(PICTURES, exist_ok=True)
            self.browser.screenshot(os.path.join(PICTURES, name))

    def told(self, expected):
        """How many leaves the page says differ, if that is as expected."""
        text = self.browser.wait_for_text("#leaves-text", r"([\d\u202f]+) of 65\u202f536 leaves of c and a differ").group(1)
        leaves = int(text.replace("\u202f", ""))
        return leaves if leaves in expected else None

    def test_a_page_of_another_version_keeps_nobody_from_being_shown(self):
        with HostilePage() as page:
            page.kind = "another version"
            cluster = Cluster(STORE, 1, page=True, options=["--http-peer", page.address])
            self.addCleanup(cluster.close)
            self.browser.go(f"http://{cluster.replicas[0].page}/")
            self.browser.wait_for_text("#verdict", r"page \S+: not reached")
            cards = self.browser.run("return [...document.querySelectorAll('.card')].map((card) => card.innerText)")
            self.assertEqual(len(cards), 2)
            self.assertEqual([("Elements" in card) for card in sorted(cards)].count(True), 1, cards)
            self.assertEqual([("another version" in card) for card in cards].count(True), 1, cards)
            page.kind = "no page of a store"
            self.browser.wait_for_text("#replicas", "no status page of a replica is there")
            # Before the store goes, of which the page would complain in the next test.
            self.browser.go("about:blank")
            self.assertEqual(self.browser.messages(), [])

    def test_a_page_that_says_anything_keeps_nobody_from_being_drawn(self):
        status = self.cluster.status(2)
        status["traffic"] = status["traffic"][:1] or [{"time_ms": 1, **dict.fromkeys(
            ["values", "keys", "offers", "filters", "streams", "other"], 1)}]
        status["stats"]["tombstone_gc"].update(epoch=1, tombstones=7, held_up_by=f"{3:016x}")
        self.browser.go(f"http://{self.cluster.replicas[2].page}/")
        wait_for("a first round", lambda: self.browser.run("return document.documentElement.dataset.refreshed"))
        altered, problems = self.browser.run(ALTERED, status)
        self.assertGreater(altered, 100)
        self.assertEqual(problems, [])
        self.assertEqual(self.browser.run("""
            const [status] = arguments;
            status.stats.peers = Array(30000).fill(status.stats.peers[0]);
            return readStatus(status).stats.peers.length""", status), 1000)
        self.browser.go("about:blank")
        self.assertEqual([m for m in self.browser.messages() if "attribute" in str(m)], [])

    def test_a_scrub_that_could_not_read_all_is_told(self):
        given = [replica_of(1, "a"), replica_of(3, "c")]
        given[0]["status"]["stats"]["scrub"] = {"corruption_found": 3, "incomplete": True, "last_error": "passed over 1 range of keys"}
        card, verdict = self.shown(given, ".card", "#verdict")
        self.assertIn("passed over 1 range of keys", card)
        self.assertEqual(verdict, "a: its scrub could not read all of it")
        # And what it says of a peer besides; of one that has no sessions nothing is.
        failing = peer_of(4, last_error="cannot connect")
        for replica in given:
            replica["status"]["stats"]["peers"] = [failing]
        given.append(replica_of(4, "d", status=None, error="away"))
        self.assertEqual(self.shown(given, "#verdict")[0],
                         "a: its scrub could not read all of it; d: not reached; sessions of a and c with it fail")
        given[0]["status"]["stats"]["paused"] = True
        self.assertEqual(self.shown(given, "#verdict")[0],
                         "a: its scrub could not read all of it; a: paused; d: not reached; sessions of c with it fail")

    def test_the_head_tells_all_troubles_of_a_replica(self):
        given = [replica_of(1, "a", [peer_of(2, last_error="IO error: refused"), peer_of(3, silent_ms=90_000)]), replica_of(2, "b"), replica_of(3, "c")]
        stats = given[0]["status"]["stats"]
        stats["disk"] = {"log_batches_dropped": 2}
        self.assertEqual(self.shown(given, "#verdict")[0],
                         "a: its log was damaged; sessions of a with b fail: refused; c does not answer a")
        stats["peers"][1].update(silent_ms=0, last_error="IO error: certificate expired")
        self.assertEqual(self.shown(given, "#verdict")[0], "a: its log was damaged; sessions of a with b and c fail")
        stats["certificate_expires_ms"] = NOW - 86_400_000
        self.assertEqual(self.shown(given, "#verdict")[0], "a: its log was damaged; a: certificate expired")
        card = self.shown(given, ".card")[0]
        self.assertIn("certificate expired", card, "beside the gravest")
        del stats["certificate_expires_ms"]
        stats["scrub"]["last_error"] = "disk full"
        stats["paused"] = True
        self.assertEqual(self.shown(given, "#verdict")[0], "a: its log was damaged; a: its scrub does not go on; a: paused")

    def test_cards_tell_versions_and_who_was_refused_last(self):
        cluster = Cluster(STORE, 1, page=True)
        self.addCleanup(cluster.close)
        replica, = cluster.replicas
        self.browser.go(f"http://{replica.page}/")
        self.browser.wait_for_text("#replicas", r"rocksync, RocksDB, protocol\s+[0-9.]+, [0-9.]+, [0-9]+")
        self.assertNotIn("refused", self.browser.text("#replicas"))
        cluster.redis(0, "REPLICATION", "SYNC", replica.address)
        self.browser.wait_for_text("#replicas", "refused .*: .*" + cluster.status(0)["stats"]["replica_id"])
        self.browser.go("about:blank")

    def test_what_is_wrong_names_the_copied_replica_and_the_days_of_a_certificate(self):
        self.browser.go(f"http://{self.cluster.replicas[0].page}/")

        def word(day, conflict):
            return self.browser.run("return complaintsOf({status: {wall_clock_ms: 100 * 86400000, stats: {peers: [], stream: {}, scrub: {},"
                                    f"tombstone_gc: {{identity_conflict: '{conflict}'}},"
                                    f"certificate_expires_ms: {day} * 86400000 + 1}}}}}})[0]")

        self.assertEqual(word(113, ""), ["warn", "certificate expires in 13 days"])
        self.assertEqual(word(101, ""), ["warn", "certificate expires in 1 day"])
        self.assertIsNone(word(114, ""))
        self.assertEqual(word(99, ""), ["bad", "certificate expired"])
        self.assertEqual(word(200, "00000000000000a1"), ["bad", "two copies of 00000000000000a1 were seen"])

    def shown(self, given, *selectors):
        """What the page shows of these, at each of the selectors."""
        self.browser.go(f"http://{self.cluster.replicas[0].page}/")
        return self.browser.run(DRAWN, given, selectors)

    def card(self, peer, **session):
        if session:
            peer["last_session"] = {"pairs_sent": 0, "pairs_to_send": 0, "pairs_received": 0, "pairs_to_receive": 0,
                                    "bytes_total": 0, **session}
        return self.shown([replica_of(1, "a", [peer]), replica_of(3, "c")], ".card")[0]

    def test_failed_attempts_are_no_part_of_the_sessions_that_ended(self):
        card, = self.shown([replica_of(1, "a")], ".card")
        self.assertRegex(card, r"Sessions that ended\s+240\s+Failed sessions and attempts\s+28\s")

    def test_pairs_that_were_here_already_are_told(self):
        given = [replica_of(1, "a"), replica_of(3, "c")]
        given[0]["status"]["stats"]["pairs_superseded"] = 4116
        given[0]["status"]["stats"]["stream"]["duplicates"] = 3
        card, others = self.shown(given, ".card", ".card + .card")
        self.assertRegex(card, r"Received, but were here already\s+4\u202f119\s")
        self.assertNotIn("already", others)

    def test_a_replica_of_another_cluster_is_told_as_one_and_never_compared(self):
        given = [replica_of(1, "a", [peer_of(3, last_proven_equal_ms=0), peer_of(2)], digest=1),
                 replica_of(2, "b", digest=1), replica_of(3, "c", digest=2)]
        for replica, cluster in zip(given, ("store", "store", "other")):
            replica["status"]["stats"]["cluster"] = cluster
        verdict, = self.shown(given, "#verdict")
        self.assertEqual(verdict, "Both replicas of cluster store are fine, and no leaf differs; c: of another cluster")
        given[0]["status"]["stats"]["peers"][0]["last_error"] = "another cluster: ..."
        verdict, card, other = self.shown(given, "#verdict", ".card", ".card:last-child")
        self.assertEqual(verdict, "c: of another cluster; sessions of a with it fail")
        self.assertRegex(card, r"0{15}1 of cluster store\s")
        self.assertRegex(card, r"of another cluster: c\s")
        self.assertNotIn("equal to c", card)
        self.assertRegex(other, r"0{15}3 of cluster other\s")
        # Who is there now may be somebody else than was met there before.
        card = self.card(peer_of(9, last_proven_equal_ms=0, last_error="it is a copy"))
        self.assertRegex(card, r"not proven equal yet: host9:7400\s")
        self.assertNotIn(f"{9:016x}", card)
        self.assertRegex(self.card(peer_of(3, last_proven_equal_ms=0)), r"not proven equal yet: c\s")

    def test_the_picture_of_two_clusters_claims_nothing(self):
        one = Cluster(STORE, 1, page=True, shown_as="one")
        self.addCleanup(one.close)
        other = Cluster(STORE, 1, page=True, shown_as="other",
                        options=["--cluster", "other", "--http-peer", one.replicas[0].page])
        self.addCleanup(other.close)
        self.browser.go(f"http://{other.replicas[0].page}/")
        self.browser.wait_for_text("#leaves-text", "other and one are of different clusters: their leaves tell nothing")
        self.browser.wait_for_text("#verdict", "^other is fine; one: of another cluster$")
        self.browser.wait_for_text("#replicas", "of cluster other")
        self.browser.go("about:blank")
        self.browser.messages()

    def test_the_head_says_once_what_many_say_of_one(self):
        def head(peers, away):
            given = [replica_of(i, f"node-{i}", peers) for i in range(1, 8)]
            for paused in given[4:6]:
                paused["status"]["stats"].update(paused=True, peers=[])
            given[6].update({"status": None, "error": "away"} if away else {})
            if not away:
                given[6]["status"]["stats"].update(peers=[])
            return self.shown(given, "#verdict")[0]

        silent, failing = {"silent_ms": 9000}, {"last_error": "cannot connect"}
        four, paused = "node-1, node-2, node-3 and node-4", "node-5 and node-6: paused"
        self.assertEqual(head([peer_of(7, **silent)], False), f"node-7 does not answer {four}; {paused}")
        self.assertEqual(head([peer_of(7, **silent)], True), f"{paused}; node-7: not reached; it does not answer {four}")
        self.assertEqual(head([peer_of(7, **failing)], True), f"{paused}; node-7: not reached; sessions of {four} with it fail")
        self.assertEqual(head([peer_of(6, **silent), peer_of(7, **silent)], False),
                         f"node-6 and node-7 do not answer {four}; {paused}")
        self.assertEqual(head([peer_of(7, silent_ms=4000)], False), paused)
        # Three sentences of one, and two of two who accuse each other.
        given = [replica_of(1, "a", [peer_of(3, **failing)]), replica_of(2, "b", [peer_of(3, **silent)]),
                 replica_of(3, "c", status=None, error="away")]
        self.assertEqual(self.shown(given, "#verdict")[0],
                         "c: not reached; sessions of a with it fail; it does not answer b")
        given = [replica_of(1, "a", [peer_of(3, **failing)]), replica_of(2, "b", [peer_of(3, **failing)]),
                 replica_of(3, "c", [peer_of(2, **failing), peer_of(1, **failing)])]
        self.assertEqual(self.shown(given, "#verdict")[0], "sessions of a and b with c fail: cannot connect")
        given = [replica_of(1, "a", [peer_of(3, **failing)]), replica_of(3, "c", [peer_of(1, **failing)])]
        self.assertEqual(self.shown(given, "#verdict")[0], "sessions of a with c fail: cannot connect")
        given = [replica_of(1, "a", [peer_of(2, **silent), peer_of(3, **silent)]),
                 *(replica_of(i, name, status=None, error="away") for i, name in ((2, "b"), (3, "c")))]
        self.assertEqual(self.shown(given, "#verdict")[0], "b and c: not reached")
        ahead = ("Result incomplete: some pairs were not replicated: 2 too far in the future (max_clock_ahead_ms; correct "
                 "the clock of held_back_replica); more")
        given = [replica_of(1, "a", [peer_of(3, last_error=ahead)]), replica_of(3, "c")]
        self.assertEqual(self.shown(given, "#verdict")[0],
                         "sessions of a with c fail: some pairs were not replicated: 2 too far in the future")
        self.assertIn("c: some pairs were not replicated", self.shown(given, ".card")[0])
        full = "Operation failed. Try again.: this replica's storage failed: No space left on device: While appending"
        given = [replica_of(1, "a", [peer_of(3, last_error=full)]), replica_of(3, "c")]
        given[1]["status"]["stats"]["paused"] = True
        self.assertEqual(self.shown(given, "#verdict")[0],
                         "c: paused; sessions of a with it fail: this replica's storage failed: No space left on device: While appending")
        behind = {"stream": {"open": 1, "lag_pairs": 5, "lag_ms": 70_000}}
        lagging = [replica_of(1, "a", [peer_of(3, **behind)]), replica_of(3, "c")]
        lagging[0]["status"]["stats"]["stream"]["lag_ms"] = 70_000
        self.assertEqual(self.shown(lagging, "#verdict")[0], "c lags behind the writes of a")
        many = [replica_of(i, f"n{i}", digest=None) for i in range(1, 9)]
        self.assertEqual(self.shown(many, "#verdict")[0], "n1, n2, n3, n4, n5 and 3 more: their leaves cannot be compared")

    def test_a_replica_that_is_no_member_is_told_as_one(self):
        lacks = (f"Operation aborted: replica {3:016x} is not in the member list of epoch 2, which replica {1:016x} has; "
                 "if it is new, add it by a newer list")
        given = [replica_of(1, "a", [peer_of(2), peer_of(3, last_error=lacks)]),
                 replica_of(2, "b", [peer_of(1), peer_of(3, last_error=lacks)]),
                 replica_of(3, "c", [peer_of(1, last_error=lacks), peer_of(2, last_error=lacks)])]
        self.assertEqual(self.shown(given, "#verdict")[0], "c: not in the member list; sessions of a and b with it fail")
        # Whatever else is wrong with it, and whoever says so.
        given[2]["status"]["stats"].update(paused=True, peers=[])
        self.assertEqual(self.shown(given, "#verdict")[0], "c: not in the member list; sessions of a and b with it fail; c: paused")

    def test_who_is_gone_or_of_another_cluster_tells_nothing_of_the_member_list(self):
        lacks = f"Operation aborted: replica {3:016x} is not in the member list of epoch 1, which replica {2:016x} has"
        gone = replica_of(2, "b", [peer_of(3, last_error=lacks)])
        gone.update(last={"status": gone["status"], "at": 0}, status=None, error="cannot connect")
        given = [replica_of(1, "a", [peer_of(3)]), gone, replica_of(3, "c", [peer_of(1)])]
        self.assertEqual(self.shown(given, "#verdict")[0], "b: not reached")
        other = replica_of(4, "d", [peer_of(3, last_error=lacks)])
        for replica, cluster in ((given[0], "mine"), (given[2], "mine"), (other, "theirs")):
            replica["status"]["stats"]["cluster"] = cluster
        given[1] = other
        self.assertNotIn("not in the member list", self.shown(given, "#verdict")[0])

    def test_a_stream_tells_what_is_in_flight_and_nothing_of_a_peer_that_is_away(self):
        self.assertRegex(self.card(peer_of(3)), r"stream to c\s+nothing in flight")
        behind = {"open": 1, "lag_pairs": 500, "lag_ms": 28_013}
        self.assertRegex(self.card(peer_of(3, stream=behind)), r"stream to c\s+500 changes in flight for 28 s")
        behind = {"open": 1, "lag_pairs": 1, "lag_ms": 13}
        self.assertRegex(self.card(peer_of(3, stream=behind)), r"stream to c\s+1 change in flight for 13 ms")
        self.assertNotIn("stream to", self.card(peer_of(3, last_error="cannot connect")))
        self.assertNotIn("stream to", self.card(peer_of(3, silent_ms=9000)))

    def test_the_last_proof_stays_while_a_session_runs(self):
        card = self.card(peer_of(3, in_session=True, silent_ms=9000), bytes_total=70)
        self.assertRegex(card, r"equal to c\s+12 s ago")
        self.assertRegex(card, r"in session with c\s+nothing found yet, 70 B, silent for 9 s")
        card = self.card(peer_of(3, in_session=True), pairs_to_send=5, bytes_total=70)
        self.assertRegex(card, r"in session with c\s+0 of at most 5 sent, 0 received, of those found so far, 70 B\s")

    def test_a_peer_that_freezes_is_silent_and_its_last_proof_stays(self):
        cluster = Cluster(STORE, 2, page=True, interval_ms=300)
        self.addCleanup(cluster.close)
        self.browser.go(f"http://{cluster.replicas[1].page}/")
        self.browser.wait_for_text("#verdict", "Both replicas are fine")
        with frozen(cluster.replicas[0]):
            self.browser.wait_for_text("#replicas", "silent for [0-9]+ s")
            self.keep("status-page-silent.png")
            text = self.browser.text("#replicas")
        self.assertRegex(text, r"equal to a\s+[0-9]+ s ago")
        self.assertNotIn("stream to", text)
        self.browser.wait_for_text("#verdict", "Both replicas are fine")
        self.browser.go("about:blank")
        self.browser.messages()

    def test_a_replica_that_does_not_answer_holds_up_nothing_that_is_told_of_others(self):
        self.browser.go(f"http://{self.cluster.replicas[2].page}/")
        refreshed = "return document.documentElement.dataset.refreshed"
        wait_for("a first round", lambda: self.browser.run(refreshed))
        self.browser.run("const before = ask;"
                         "window.ask = (url) => url.startsWith('/peers/1/') ? new Promise(() => {}) : before(url);")
        told = set()
        wait_for("five rounds", lambda: told.add(self.browser.run(refreshed)) or len(told - {None}) > 5)
        self.browser.go("about:blank")
        self.browser.messages()

    def test_many_that_do_not_answer_leave_questions_to_the_others(self):
        # A browser asks a server six questions at once, and a store gives a silent
        # peer's page up after two seconds.
        self.browser.go(f"http://{self.cluster.replicas[2].page}/")
        wait_for("a first round", lambda: self.browser.run("return document.documentElement.dataset.refreshed"))
        self.browser.run(
            "const before = ask; let asking = 0; window.most = 0; window.later = 0; window.ended = 0;"
            "window.ask = (url) => {"
            "  if (!url.startsWith('/peers/silent')) return before(url);"
            "  window.most = Math.max(window.most, ++asking);"
            "  if (window.ended >= 12) window.later = Math.max(window.later, asking);"
            "  return new Promise((_, no) => setTimeout(() => { --asking; ++window.ended; no(new Error('not reached')); }, 500));"
            "};"
            "for (let i = 0; i < 12; ++i)"
            "  replicas.splice(1, 0, { name: `silent ${i}`, page: `silent:${i}`, base: `/peers/silent${i}` });")
        wait_for("second answers of the silent", lambda: self.browser.run("return window.ended >= 20"))
        most, later, others = self.browser.run(
            "return [window.most, window.later, replicas.filter((r) => r.status).map((r) => r.name)]")
        self.assertLessEqual(most, 4)
        self.assertLessEqual(later, 2)
        self.assertEqual(sorted(others), ["a", "b", "c"])
        self.browser.go("about:blank")
        self.browser.messages()

    def test_texts_of_other_pages_are_shown_as_far_as_they_go(self):
        self.browser.go(f"http://{self.cluster.replicas[2].page}/")
        text = self.browser.run("""
            window.ask = async () => new TextEncoder().encode(JSON.stringify({a: ["x".repeat(9999), "a\\u202eb\\nc", 5]}));
            return askJson("").then(({a}) => [a[0].length, a[1], a[2]]);""")
        self.assertEqual(text, [1501, "a\ufffdb\ufffdc", 5])
        self.browser.go("about:blank")
        self.browser.messages()

    def test_long_texts_do_not_widen_the_page(self):
        long = "n" * 60
        given = [replica_of(1, long, [peer_of(2, last_error="e" * 1500)]), replica_of(2, long + "2")]
        for replica in given:
            replica["status"]["stats"]["software"] = {"rocksync": "v" * 1400, "rocksdb": "w" * 1400, "protocol": 6}
        self.browser.go(f"http://{self.cluster.replicas[0].page}/")
        beyond = self.browser.run("""
            const [given] = arguments;
            const right = (element) => element.getBoundingClientRect().right;
            const kept = replicas.splice(0, replicas.length, ...given);
            try {
              document.body.style.width = "420px";
              drawReplicas();
              drawVerdict();
              for (const id of ["left", "right", "traffic-of"]) fill(at(id), 0);
              return [...document.body.querySelectorAll("*")].filter((one) => right(one) > right(document.body)).map((one) => one.id || one.tagName);
            } finally {
              replicas.splice(0, replicas.length, ...kept);
            }""", given)
        self.assertEqual(beyond, [])
        self.browser.go("about:blank")
        self.browser.messages()

    def test_two_addresses_of_one_page_are_one_replica(self):
        self.browser.go(f"http://{self.cluster.replicas[2].page}/")
        wait_for("a first round", lambda: self.browser.run("return document.documentElement.dataset.refreshed"))
        self.assertEqual(self.browser.run("return replicas.push({name: 'twin', page: 'twin:1', base: ''})"), 4)
        wait_for("three replicas", lambda: self.browser.run("return replicas.map((r) => r.page)").count("twin:1") == 0)
        self.assertEqual(self.browser.run("return replicas.length"), 3)
        self.browser.go("about:blank")
        self.browser.messages()

    def test_the_picture_changes_with_the_head(self):
        """Leaves of b come late: until then both are of the comparison before."""
        self.browser.go(f"http://{self.cluster.replicas[2].page}/")
        self.browser.wait_for_text("#leaves-text", "leaves of|leaf of")
        self.browser.run("""
            window.wrong = [];
            window.ask = async (url) => {
              const name = {"/peers/0": "b", "/peers/1": "c"}[url.slice(0, 8)] || "a";
              own.answeredAt = performance.now();
              const text = (json) => new TextEncoder().encode(JSON.stringify(json));
              if (url.endsWith("status.json")) return text({...replicas[0].last.status, name, page_id: name});
              if (name === "a") ++window.changed;
              const leaves = new Uint32Array(LEAVES).fill(name === "b" ? 0 : window.changed, 0, 5);
              if (name === "b") await new Promise((over) => setTimeout(over, 700));
              return url.endsWith("digest") ? text(digestOf(leaves)) : leaves.buffer;
            };
            window.changed = -3;
            new MutationObserver(() => {
              const [head, text] = ["#verdict", "#leaves-text"].map((at) => document.querySelector(at).textContent);
              const isEqual = text.includes("No leaf");
              if (changed > -2 && (isEqual && head.includes("differ from") || !isEqual && head.includes("fine"))) wrong.push([head, text, window.changed, ...replicas.map((r) => r.digest), picture.left[0], picture.right[0]]);
            }).observe(document.body, {subtree: true, childList: true, characterData: true});""")
        wait_for("some rounds", lambda: self.browser.run("return window.changed") > 8)
        self.assertEqual(self.browser.run("return wrong"), [])
        self.browser.go("about:blank")
        self.browser.messages()

    def test_nobody_is_told_that_there_is_nothing_to_compare_before_the_peers_were_asked(self):
        with HostilePage() as page:
            page.kind = "drip"
            cluster = Cluster(STORE, 1, page=True, options=["--http-peer", page.address])
            self.addCleanup(cluster.close)
            self.browser.go(f"http://{cluster.replicas[0].page}/")
            self.assertEqual(self.browser.text("#leaves-text"), "Asking the replicas …")
            self.browser.wait_for_text("#leaves-text", "The leaves cannot be compared now: .*does not answer")
        alone = Cluster(STORE, 1, page=True)
        self.addCleanup(alone.close)
        self.browser.go(f"http://{alone.replicas[0].page}/")
        self.browser.wait_for_text("#leaves-text", "No two replicas to compare: --http-peer")
        self.browser.go("about:blank")
        self.browser.messages()

    def test_the_head_tells_who_differs_of_all_replicas(self):
        def head(**digests):
            return self.shown([replica_of(i, name, digest=digest) for i, (name, digest) in enumerate(digests.items())],
                              "#verdict")[0]

        heals = "; their sessions heal it"
        self.assertEqual(head(a=1, b=1, c=1), "All 3 replicas are fine, and no leaf differs")
        self.assertEqual(head(a=1, b=1, c=2), "c differs from a and b" + heals)
        self.assertEqual(head(a=1, b=2), "a and b differ" + heals)
        self.assertEqual(head(a=1, b=2, c=1, d=2), "a and c differ from b and d" + heals)
        self.assertEqual(head(a=1, b=2, c=3, d=3), "a, b and c = d differ" + heals)
        given = [replica_of(1, "a"), replica_of(2, "b", digest=2)]
        for replica in given:
            replica["status"]["session_interval_ms"] = 0
        self.assertEqual(self.shown(given, "#verdict")[0],
                         "a and b differ; a session heals it, once one is asked for (--sync-interval-ms is 0)")
        self.assertEqual(head(a=1, b=1, c=None), "c: its leaves cannot be compared")
        old = [replica_of(1, "a", ago=7000), replica_of(2, "b", ago=0)]
        self.assertEqual(self.shown(old, "#verdict")[0], "Both replicas are fine, and no leaf differed 7 s ago")
        missed = [replica_of(1, "a"), replica_of(2, "b", digest=2, uncompared=True)]
        self.assertEqual(self.shown(missed, "#verdict")[0], "a and b differ; b: its leaves cannot be compared")

    def test_leaves_are_said_not_to_be_compared_once_rounds_were_missed_for_ten_seconds(self):
        self.browser.go(f"http://{self.cluster.replicas[0].page}/")

        def missed(**replica):
            return self.browser.run("const r = {status: {}, ...arguments[0]};"
                                    "if (r.ago) r.comparedAt = performance.now() - r.ago;"
                                    "notCompared(r); return [r.digest, r.uncompared];", replica)

        self.assertEqual(missed(digest=1, ago=9000), [1, False])
        self.assertEqual(missed(digest=1, ago=11_000), [1, True])
        self.assertEqual(missed(), [None, True])
        # It tells another one once it is back.
        self.assertIsNone(missed(status=None, digest=1, ago=500)[0])

    def test_a_page_whose_own_store_freezes_says_so_and_keeps_the_last_picture(self):
        cluster = Cluster(STORE, 2, page=True, interval_ms=300)
        self.addCleanup(cluster.close)
        peer, own = cluster.replicas
        self.browser.go(f"http://{own.page}/")
        self.browser.wait_for_text("#leaves-text", "No leaf of b and a differs")
        with frozen(peer):
            self.browser.wait_for_text("#leaves-text", "cannot be compared now: .*; the picture is the last one before")
        self.browser.wait_for_text("#verdict", "Both replicas are fine")
        self.browser.run(WATCH_HEAD)
        with frozen(own):
            self.browser.wait_for_text("#verdict", "No answer of this page's store for 10")
            self.keep("status-page-own-silent.png")
            text = self.browser.text("body")
        fine = "Both replicas are fine, and no leaf differs"
        wait_for("a head that is fine again, and recorded", lambda: self.browser.run("return heads.at(-1)[0]") == fine)
        heads = [head for head, _ in self.browser.run("return heads")]
        self.assertEqual(heads[0], fine)
        said = [re.fullmatch(r"No answer of this page's store for (\d+) s", head) for head in heads[1:-1]]
        self.assertTrue(all(said), heads)
        seconds = [int(match.group(1)) for match in said]
        self.assertEqual(seconds, sorted(seconds))
        self.assertLessEqual(seconds[0], 4)
        self.keeps_what_was_told(text)
        self.browser.go("about:blank")
        self.browser.messages()

    def keeps_what_was_told(self, text):
        """Of both replicas, while the page's own store does not answer."""
        self.assertEqual(len(re.findall(r"As of \d+ s ago:", text)), 2, text)
        self.assertEqual(text.count("Elements at the last session"), 2, text)
        self.assertRegex(text, r"\(as of \d+ s ago\)")
        self.assertNotIn("not reached", text)
        self.assertNotIn("fetch", text)

    def test_a_page_whose_own_store_has_stopped_says_so_and_accuses_nobody(self):
        cluster = Cluster(STORE, 2, page=True, interval_ms=300)
        self.addCleanup(cluster.close)
        own = cluster.replicas[1]
        self.browser.go(f"http://{own.page}/")
        self.browser.wait_for_text("#leaves-text", "No leaf of b and a differs")
        self.browser.wait_for_text("#verdict", "Both replicas are fine")
        self.browser.run(WATCH_HEAD)
        own.kill()
        self.browser.wait_for_text("#verdict", "This page's store has stopped, or cannot be reached: no answer for [4-9] s")
        self.browser.wait_for_text("#leaves-text", "cannot be compared now: this page's store has stopped, or cannot be reached; "
                                                   "the picture is the last one before")
        self.keep("status-page-own-stopped.png")
        heads = [head for head, _ in self.browser.run("return heads")]
        self.assertEqual([head for head in heads[1:] if not head.startswith("This page's store has stopped")], [])
        self.keeps_what_was_told(self.browser.text("body"))
        self.browser.go("about:blank")
        self.browser.messages()

    def test_the_demo_ends_with_equal_replicas_and_no_accusation(self):
        program = os.path.join(os.path.dirname(os.path.abspath(STORE)), "demo")
        with tempfile.TemporaryFile() as said:
            demo = subprocess.Popen([program, "--page", "--keys", "30000", "--changes", "6000", "--store", STORE],
                                    stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            self.addCleanup(demo.wait)
            self.addCleanup(demo.kill)

            def page():
                text = os.pread(said.fileno(), 100_000, 0).decode()
                return re.search(r"status page: (http://\S+/)", text)

            self.browser.go(wait_for("a page", page).group(1))
            self.browser.run(WATCH_HEAD)
            self.assertEqual(demo.wait(120), 0, os.pread(said.fileno(), 100_000, 0).decode())
        self.browser.wait_for_text("#verdict", "has stopped")
        heads = self.browser.run("return heads")
        self.keep("status-page-demo-ended.png")
        self.browser.go("about:blank")
        self.browser.messages()
        apart = max(i for i, (head, _) in enumerate(heads) if "differ" in head)
        self.assertEqual([level for head, level in heads[apart:] if head.startswith("All 3 replicas are fine")], ["good"], heads)
        self.assertEqual([head for head, level in heads[apart:] if level == "bad" or "compared" in head], [], heads)

    def test_replicas_of_one_name_are_told_apart(self):
        cluster = Cluster(STORE, 2, page=True, shown_as="db")
        self.addCleanup(cluster.close)
        first, second = (replica.page for replica in cluster.replicas)
        cluster.redis(0, "SET", "key", "value")
        self.browser.go(f"http://{second}/")
        self.browser.wait_for_text("#verdict", f"db at {second} and db at {first} differ")
        cluster.sync()
        self.browser.wait_for_text("#replicas", rf"equal to db at {first}\s")
        chosen = self.browser.run("return [...document.querySelectorAll('#left option')].map((o) => o.text)")
        self.assertEqual(chosen, [f"db at {second}", f"db at {first}"])
        self.browser.wait_for_text("#leaves-text", f"No leaf of db at {second} and db at {first} differs")
        self.keep("status-page-names.png")

        # Hosts are enough, where they differ; ids, where nothing else does.
        def names(*pages):
            given = [replica_of(i * 0x1111111111111111, "db", page=page) for i, page in enumerate(pages, 1)]
            return sorted(line for line in self.shown(given, "#tombstones")[0].split("\t") if "db" in line
                          for line in line.split("\n") if "db" in line)

        self.assertEqual(names("m1:80", "m2:80"), ["db at m1", "db at m2"])
        self.assertEqual(names("[::1]:80", "m2:80", "m2:81"), ["db at [::1]", "db at m2:80", "db at m2:81"])
        self.assertEqual(names("m1:80", "m1:80"), ["db 11111111", "db 22222222"])
        self.browser.go("about:blank")
        self.browser.messages()

    def test_an_index_build_is_no_failure_of_a_peer(self):
        building = {"last_error": "the peer cannot compare now: adopting", "waits_for_index_build": True}
        given = [replica_of(1, "a", [peer_of(3, **building)]), replica_of(3, "c")]
        card, verdict = self.shown(given, ".card", "#verdict")
        self.assertEqual(verdict, "a: waits for an index build")
        self.assertIn("no session with c while an index is built", card)
        self.assertNotIn("adopting", card)
        self.assertNotIn("stream to", card)
        # A session has begun since.
        session = {"pairs_sent": 0, "pairs_to_send": 0, "pairs_received": 0, "pairs_to_receive": 0, "bytes_total": 0}
        given[0]["status"]["stats"]["peers"][0].update(in_session=True, last_session=session)
        card, verdict = self.shown(given, ".card", "#verdict")
        self.assertEqual(verdict, "Both replicas are fine, and no leaf differs")
        self.assertNotIn("an index is built", card)

    def test_a_peer_fails_where_its_metric_says_so(self):
        def verdict(*peers):
            return self.shown([replica_of(1, "a", peers), replica_of(3, "c")], "#verdict")[0]

        failing = {"last_error": "cannot connect"}
        self.assertEqual(verdict(peer_of(3, **failing)), "sessions of a with c fail: cannot connect")
        # A connection that ended, of one that dials this replica and came again.
        self.assertEqual(verdict(peer_of(3, configured=False, **failing), peer_of(3, configured=False)),
                         "Both replicas are fine, and no leaf differs")
        # An address that a SYNC was given by mistake.
        self.assertEqual(verdict(peer_of(3), peer_of(0, configured=False, **failing)),
                         "Both replicas are fine, and no leaf differs")

    def test_a_member_is_named_only_once_it_stays(self):
        def why(held_up_s=59, interval_ms=1000, epoch=1, tombstones=500):
            gc = {"epoch": epoch, "tombstones": tombstones, **({"held_up_by": f"{3:016x}"} if held_up_s else {})}
            given = [replica_of(1, "a", tombstone_gc=gc), replica_of(3, "c")]
            given[0]["status"]["stats"]["elements"] = 50 * 500 + 1
            given[0]["status"].update(session_interval_ms=interval_ms, tombstones_held_up_since_ms=NOW - 1000 * held_up_s)
            return self.shown(given, "#tombstones")[0].split("\n")[0].split("\t")[-1]

        self.assertEqual(why(), "they wait for the next sessions")
        self.assertEqual(why(61), "held up by c for 61 s")
        self.assertEqual(why(99, interval_ms=10_000), "they wait for the next sessions")
        self.assertEqual(why(3599, interval_ms=0), "they wait for the next sessions")
        self.assertEqual(why(7200, interval_ms=0), "held up by c for 2 h")
        for fields, word in (({"paused": True}, "it is paused, and"), ({"peers": [peer_of(3, last_error="x")]}, "its sessions fail, and it")):
            given = [replica_of(1, "a", tombstone_gc={"epoch": 1, "tombstones": 5, "held_up_by": f"{3:016x}"}), replica_of(3, "c")]
            given[0]["status"]["stats"].update(fields)
            given[0]["status"].update(tombstones_held_up_since_ms=NOW - 10_000_000)
            self.assertIn(word + " hears of no acknowledgement", self.shown(given, "#tombstones")[0].split("\n")[0])
        self.assertEqual(why(0), "collected once they are 1 in 50 elements")
        self.assertEqual(why(0, tombstones=0), "none are kept")
        self.assertEqual(why(0, epoch=0), "no member list: kept permanently")

    def test_a_healthy_cluster_accuses_nobody_of_keeping_tombstones(self):
        cluster = Cluster(STORE, 3, page=True, interval_ms=300)
        self.addCleanup(cluster.close)
        ids = [cluster.status(i)["stats"]["replica_id"] for i in range(3)]
        cluster.redis(0, "REPLICATION", "MEMBERS", "1", *ids)
        self.browser.go(f"http://{cluster.replicas[2].page}/")
        wait_for("the list", lambda: all(cluster.status(i)["stats"]["tombstone_gc"]["epoch"] for i in range(3)))
        said = set()

        def waits_for_sessions():
            pairs = "".join(f"SET key:{i} v\r\nDEL key:{i}\r\n" for i in range(50))
            cluster.redis(0, "--pipe", stdin=pairs.encode())
            said.update(line.split("\t")[-1] for line in self.browser.text("#tombstones").split("\n"))
            return {"they wait for the next sessions", "none are kept"} <= said

        wait_for("tombstones that wait for sessions, and none", waits_for_sessions)
        self.assertEqual([why for why in said if "held up" in why or why in ("a", "b", "c")], [])
        self.browser.go("about:blank")
        self.browser.messages()

    def test_the_story(self):
        browser = self.browser
        self.load(0, 0, 60000)
        self.cluster.sync()
        browser.go(f"http://{self.cluster.replicas[2].page}/")
        browser.wait_for_text("#verdict", "All 3 replicas are fine")
        self.assertEqual(browser.run("return document.querySelectorAll('.card').length"), 3)
        # The last one was given the addresses of the others, and asked them.
        a, b, c = browser.run("return [...document.querySelectorAll('.card')].map((card) => card.innerText)")
        self.assertEqual([card.count("(at no configured address)") for card in (a, b, c)], [1, 1, 0], a + b + c)
        browser.wait_for_text("#leaves-text", "No leaf of c and a differs")
        self.assertGreater(browser.run(SQUARES, "--equal"), 30000)
        self.assertEqual(browser.run(SQUARES, "--differs"), 0)

        # Apart: writes at a that c does not have.
        self.load(0, 60000, 75000)
        browser.wait_for_text("#verdict", "a differs from c and b; a session heals it, once one is asked for")
        self.cluster.redis(2, "REPLICATION", "PAUSE")
        browser.wait_for_text("#verdict", "a differs from c and b;.* c: paused")
        self.cluster.redis(2, "REPLICATION", "RESUME")
        browser.wait_for_text("#verdict", "a differs from c and b; a session heals it, once one is asked for")
        # 15 000 keys in 65 536 leaves; the page may have looked while they were written.
        told = wait_for("all leaves that differ", lambda: self.told(range(13000, 13900)))
        self.assertEqual(browser.run(SQUARES, "--differs"), told)
        self.keep("status-page-apart.png")

        # Healed before one's eyes.
        self.cluster.sync()
        browser.wait_for_text("#leaves-text", "No leaf of c and a differs")
        self.assertEqual(browser.run(SQUARES, "--differs"), 0)
        self.keep("status-page.png")
        browser.wait_for_text("#verdict", "All 3 replicas are fine")
        browser.wait_for_text("#traffic-text", "kB of|MB of")
        self.assertGreater(browser.run("return document.querySelectorAll('#traffic rect').length"), 2)
        self.assertIn("no member list", browser.text("#tombstones"))
        kinds = [part.split(" of ")[1] for part in browser.text("#traffic-text").split(": ")[1].rstrip(".").split(", ")]
        legend = browser.run("return [...document.querySelectorAll('#traffic ~ .legend li')].map((li) => li.innerText)")
        self.assertEqual(set(kinds) - set(legend), set())

        # A replica that is not in the picture differs.
        self.cluster.redis(1, "SET", "key of b", "value")
        browser.wait_for_text("#verdict", "b differs from c and a; a session heals it")
        self.assertEqual(browser.text("#leaves-text"), "No leaf of c and a differs.")
        self.cluster.sync()
        self.cluster.sync()
        browser.wait_for_text("#verdict", "All 3 replicas are fine")

        # Another pair may be chosen; never a replica and itself.
        browser.run("const s = document.getElementById('left'); s.selectedIndex = 1;"
                    "s.dispatchEvent(new Event('change'));")
        browser.wait_for_text("#leaves-text", "No leaf of a and c differs")

        # For everybody, in light and dark.
        self.assertEqual(browser.run(UNNAMED), [])
        contrast, where = browser.run(CONTRAST)
        self.assertGreaterEqual(contrast, 4.5, where)
        browser.emulate_dark()
        contrast, where = browser.run(CONTRAST)
        self.assertGreaterEqual(contrast, 4.5, f"dark: {where}")
        wait_for("dark squares", lambda: browser.run(SQUARES, "--equal") > 30000)
        self.keep("status-page-dark.png")

        # One is gone, and said to be; by its name, which the browser keeps. One that does
        # not know it has the address of its page, and its id and address in others' cards.
        self.assertEqual(browser.messages(), [])
        gone = self.cluster.replicas[1]
        gone.kill()
        browser.wait_for_text("#verdict", f"{gone.name}: not reached")
        browser.wait_for_text("#replicas", "does not answer")
        browser.go(f"http://{self.cluster.replicas[2].page}/")
        browser.wait_for_text("#verdict", f"{gone.name}: not reached")
        browser.wait_for_text("#replicas", f"equal to {gone.name}")
        browser.run("localStorage.clear()")
        browser.go(f"http://{self.cluster.replicas[2].page}/")
        browser.wait_for_text("#verdict", "page 127.0.0.1:[0-9]+: not reached")
        browser.wait_for_text("#replicas", "equal to [0-9a-f]{16} at 127.0.0.1:[0-9]+")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
