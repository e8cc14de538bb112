"use strict";
// The status page: asks this replica and its peers' pages once a second, and
// draws what they say, without waiting for those that take longer. The other files of
// this folder have the parts.

const WAIT_MS = 500;  // the others are drawn without an answer that takes longer

// Keeps what the reader chose while names come to be known.
function fill(select, chosen) {
  const options = replicas.map(shown);
  if (select.length === options.length && options.every((o, i) => select.options[i].text === o)) return;
  const kept = select.length ? Math.max(select.selectedIndex, 0) : chosen;
  select.replaceChildren(...options.map((o, i) => new Option(o, i)));
  select.selectedIndex = Math.min(kept, options.length - 1);
}

// One question to a replica at a time: a second waits for the first's answer.
const askStatus = (replica) =>
  replica.asking ??= inTurn(replica, () => refreshStatus(replica)).finally(() => delete replica.asking);

// Waits for an answer, but where an earlier one `isKnown` only for a moment: a replica
// that is frozen does not hold up what is told of the others.
function soon(answer, isKnown) {
  return isKnown ? Promise.race([answer, new Promise((over) => setTimeout(over, WAIT_MS))]) : answer;
}

async function refresh() {
  const begun = performance.now();
  try {
    if (!document.hidden) await draw();
  } finally {
    setTimeout(refresh, Math.max(100, 1000 - (performance.now() - begun)));
  }
}

let asked = 0;  // of the peers' pages, so many
let reached = new Set();

// Two names of one page, of this one maybe: --http-peer is the same for all stores.
function leaveTwinsOut() {
  const serving = (replica) => replica.status?.page_id && `${replica.status.page_id} ${replica.id}`;
  for (let i = replicas.length - 1; i > 0; --i) {
    if (serving(replicas[i]) && replicas.findIndex((r) => serving(r) === serving(replicas[i])) < i) replicas.splice(i, 1);
  }
}

async function draw() {
  await refreshStatus(replicas[0]);
  const pages = replicas[0].status?.peer_pages ?? [];
  for (; asked < pages.length; ++asked) {
    const page = pages[asked];
    replicas.push({ name: `page ${page}`, ...seen(page), page, base: `/peers/${asked}` });
  }
  const others = replicas.slice(1);
  if (!replicas[0].status) others.forEach(notAsked);
  else await Promise.all(others.map((replica) => soon(askStatus(replica), replica.status !== undefined)));
  leaveTwinsOut();
  fill(at("left"), 0);
  fill(at("right"), 1);
  fill(at("traffic-of"), 0);
  // Who is not reached any more is told before anybody waits for leaves; else cards
  // are drawn with the head and the picture of their moment.
  const lost = [...reached].some((replica) => !replica.status);
  reached = new Set(replicas.filter((replica) => replica.status));
  if (lost) drawFigures();
  // It draws at its end, however late that is; until then cards are drawn without it.
  await soon(compare(), replicas.every(hasDigest));
  if (comparison) drawFigures();
  document.documentElement.dataset.refreshed = String(Date.now());
}

function drawFigures() {
  drawLeaves();
  drawReplicas();
  drawVerdict();
  drawTraffic();
}

// The page waits for the others' pages, too, and must not go on to say that all
// is fine, or that its own store is silent, meanwhile: it asks that one again.
async function watchOwn() {
  if (document.hidden) return;
  if (isSilent()) drawFigures();
  if (own.asked || sinceAnswer() < OLD_MS / 2) return;
  own.asked = true;
  await ask("/status.json").catch(() => {});
  own.asked = false;
}

// While the page is hidden it asks nothing: that is no silence of the store.
function shownAgain() {
  if (document.hidden) own.wasSilent = isSilent();
  else if (!own.wasSilent) own.answeredAt = performance.now();
}

// A replica is not compared with itself: the other side takes what this one had.
function choosePair(chosen, other) {
  const before = Number(picture.pair.split(",")[chosen === "left" ? 0 : 1]);
  if (at(chosen).selectedIndex === at(other).selectedIndex) at(other).selectedIndex = before;
  preparePicture();
  (comparison ?? Promise.resolve()).then(compare);
}
at("left").addEventListener("change", () => choosePair("left", "right"));
at("right").addEventListener("change", () => choosePair("right", "left"));
at("traffic-of").addEventListener("change", drawTraffic);
setInterval(drawLeaves, 250);
setInterval(watchOwn, 500);
document.addEventListener("visibilitychange", shownAgain);
refresh();
