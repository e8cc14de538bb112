"""The status page in headless Chromium: it shows three replicas, where two of
them differ, and how that heals. usage: page_browser_test.py STORE [PICTURES]
With PICTURES, a folder, screenshots are put there."""

import os
import sys
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
            return self.browser.run("return health({status: {wall_clock_ms: 100 * 86400000, stats: {peers: [], stream: {},"
                                    f"tombstone_gc: {{identity_conflict: '{conflict}'}},"
                                    f"certificate_expires_ms: {day} * 86400000 + 1}}}}}})")

        self.assertEqual(word(113, ""), ["warn", "certificate expires in 13 days"])
        self.assertEqual(word(101, ""), ["warn", "certificate expires in 1 day"])
        self.assertEqual(word(114, ""), ["good", "fine"])
        self.assertEqual(word(99, ""), ["bad", "certificate expired"])
        self.assertEqual(word(200, "00000000000000a1"), ["bad", "two copies of 00000000000000a1 were seen"])

    def test_the_story(self):
        browser = self.browser
        self.load(0, 0, 60000)
        self.cluster.sync()
        browser.go(f"http://{self.cluster.replicas[2].page}/")
        browser.wait_for_text("#verdict", "All 3 replicas are fine")
        self.assertEqual(browser.run("return document.querySelectorAll('.card').length"), 3)
        # The last one was given the addresses of the others, and asked them.
        a, b, c = browser.run("return [...document.querySelectorAll('.card')].map((card) => card.innerText)")
        self.assertEqual([card.count("(not configured)") for card in (a, b, c)], [1, 1, 0], a + b + c)
        browser.wait_for_text("#leaves-text", "No leaf of c and a differs")
        self.assertGreater(browser.run(SQUARES, "--equal"), 30000)
        self.assertEqual(browser.run(SQUARES, "--differs"), 0)

        # Apart: writes at a that c does not have.
        self.load(0, 60000, 75000)
        browser.wait_for_text("#verdict", "c and a differ; their sessions heal it")
        self.cluster.redis(2, "REPLICATION", "PAUSE")
        browser.wait_for_text("#verdict", "c and a differ;.* c: paused")
        self.cluster.redis(2, "REPLICATION", "RESUME")
        browser.wait_for_text("#verdict", "c and a differ; their sessions heal it")
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
