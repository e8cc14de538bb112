"use strict";
// The replicas of the page: what they are called, the questions to them, and what
// they told.

const ASK_MS = 4000;  // a question without an answer is given up
const OLD_MS = 3000;  // this page's store is said not to answer from then on
const LONGEST_TEXT = 1500;
const LONGEST_NAME = 60;

// What others call themselves may be nothing, or fill the page.
function nameIn(text) {
  const letters = [...text.trim()];
  if (!letters.length) return "(no name)";
  return letters.length <= LONGEST_NAME ? letters.join("") : `${letters.slice(0, LONGEST_NAME).join("")}…`;
}


// The first is this page's own, the others are of peers' pages.
const replicas = [{ name: "this replica", base: "" }];

const pageOf = (replica) => replica.page || location.host;
// What tells replicas of one name apart, the first of these that does.
const SHOWN_AS = [
  (replica) => replica.name,
  (replica) => `${replica.name} at ${pageOf(replica).replace(/:\d+$/, "")}`,
  (replica) => `${replica.name} at ${pageOf(replica)}`,
  (replica) => `${replica.name} ${(replica.id || "").slice(0, 8)}`];

function shown(replica) {
  const namesakes = replicas.filter((r) => r !== replica && r.name === replica.name);
  const apart = SHOWN_AS.find((as) => namesakes.every((r) => as(r) !== as(replica)));
  return (apart || SHOWN_AS[0])(replica);
}

// This page's own store, which all questions go through: when it last answered
// one, be it for another replica; whether connections to it fail since.
const own = { answeredAt: performance.now(), stopped: false, asked: false, wasSilent: false };

const sinceAnswer = () => performance.now() - own.answeredAt;
const isSilent = () => own.stopped || sinceAnswer() >= OLD_MS;

function ownStory() {
  const seconds = duration(Math.max(1000, sinceAnswer()));
  return own.stopped ? `This page's store has stopped, or cannot be reached: no answer for ${seconds}`
                     : `No answer of this page's store for ${seconds}`;
}

// Why a question that was asked then has no answer: not in the browser's words.
function noAnswer(error, asked) {
  if (asked < own.answeredAt) return new Error(`no answer within ${duration(ASK_MS)}`);
  own.stopped = error.name !== "TimeoutError";
  return Object.assign(new Error(ownFault()), { own: true });
}

function ownFault() {
  return own.stopped ? "this page's store has stopped, or cannot be reached" : "this page's store does not answer";
}

// The bytes of an answer.
async function ask(url) {
  const asked = performance.now();
  let response, body;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(ASK_MS) });
    body = await response.arrayBuffer();
  } catch (error) {
    throw noAnswer(error, asked);
  }
  own.answeredAt = performance.now();
  own.stopped = false;
  if (!response.ok) throw new Error(new TextDecoder().decode(body).trim() || `HTTP ${response.status}`);
  return body;
}

// A text of another store's page as it may be shown: not of any length, and without
// characters that move others.
function presentable(_, value) {
  if (typeof value !== "string") return value;
  const text = value.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)}…`;
}

// Null, if it is no JSON.
async function askJson(url) {
  const body = await ask(url);
  try {
    return JSON.parse(new TextDecoder().decode(body), presentable);
  } catch {
    return null;
  }
}

// Which replica a page is of, as this browser saw it last: one that is down when this
// page is opened is still called by its name.
// Browsers may deny storage: then nothing is kept.
function seen(page) {
  try {
    return JSON.parse(localStorage.getItem(`replica at ${page}`) || "{}");
  } catch {
    return {};
  }
}

function remember({ page, name, id }) {
  if (!page) return;
  try {
    localStorage.setItem(`replica at ${page}`, JSON.stringify({ name, id }));
  } catch { /* see above */ }
}

// Browsers ask a server few questions at once, here this page's own store: these are
// of the others' pages, so that some are left for its own. Those that did not answer
// wait behind the others, and fewer of them are asked at once.
const AT_ONCE = 4;
const LOST_AT_ONCE = 2;
const turns = { asking: [], waiting: [] };
const isLost = (replica) => replica.status === null;

function goOn() {
  for (const lost of [false, true]) {
    for (const one of turns.waiting.filter(({ replica }) => isLost(replica) === lost)) {
      if (turns.asking.length >= AT_ONCE || (lost && turns.asking.filter(isLost).length >= LOST_AT_ONCE)) break;
      turns.waiting.splice(turns.waiting.indexOf(one), 1);
      turns.asking.push(one.replica);
      one.begin();
    }
  }
}

async function inTurn(replica, question) {
  await new Promise((begin) => {
    turns.waiting.push({ replica, begin });
    goOn();
  });
  try {
    return await question();
  } finally {
    turns.asking.splice(turns.asking.indexOf(replica), 1);
    goOn();
  }
}

async function refreshStatus(replica) {
  try {
    const status = readStatus(await askJson(`${replica.base}/status.json`));
    replica.status = status;
    replica.last = { status, at: performance.now() };
    replica.name = nameIn(status.name);
    replica.id = status.stats.replica_id;
    replica.error = "";
    replica.unasked = false;
    remember(replica);
  } catch (error) {
    replica.status = null;
    replica.error = error.own ? "" : error.message;
    replica.unasked = Boolean(error.own);
  }
}

// The pages of other replicas are asked through this page's own.
function notAsked(replica) {
  replica.status = null;
  replica.error = "";
  replica.unasked = true;
}

// Whether what is shown of it is of now.
const isCurrent = (replica) => Boolean(replica.status) && !isSilent();

// How long ago a replica that does not answer now told what is shown of it.
const age = (replica) => isCurrent(replica) || !replica.last ? 0 : performance.now() - replica.last.at;

// What a replica told last, by its clock as it is now. Null: nothing yet.
function told(replica) {
  if (isCurrent(replica) || !replica.last) return replica.status;
  return { ...replica.last.status, wall_clock_ms: replica.last.status.wall_clock_ms + age(replica) };
}

// The name of a replica whose page answered once; before, what a status that names
// it knows: its id, and its address if it is a peer there.
function nameOf(id, stats) {
  const known = replicas.filter((r) => r.id === id);  // several, if one is a copy
  if (known.length) return known.map(shown).join(" or ");
  const peer = stats.peers.find((p) => p.replica_id === id && p.configured);
  return peer ? `${id} at ${peer.address}` : id;
}
