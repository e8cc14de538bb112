"use strict";
// The status page: asks this replica and its peers' pages once a second, and
// draws what they say, without waiting for those that take longer. All text goes in as text, never as markup.

const LEAVES = 65536;
const KINDS = ["values", "keys", "offers", "filters", "streams", "other"];
const HEALED_MS = 4000;  // how long a healed leaf is shown as such
const LAGS_MS = 60000;  // of a stream, as in monitoring/alerts.yml
const ASK_MS = 4000;  // a question without an answer is given up
const WAIT_MS = 500;  // the others are drawn without an answer that takes longer
const OLD_MS = 3000;  // this page's store is said not to answer from then on
const LONGEST_TEXT = 1500;
const OLD_LEAVES_MS = 2500;  // leaves are said to be of before from then on
const UNCOMPARED_MS = 10000;  // a busy replica may miss rounds for as long
const EXPIRES_MS = 14 * 86400000;  // of a certificate, as there
// How long a member holds up the collection of tombstones before it is said to:
// this, or more where sessions are rare. Where there are sessions on demand only
// it is an hour.
const HOLDS_UP_MS = 60000;
const HOLDS_UP_SESSIONS = 10;
const HOLDS_UP_ON_DEMAND_MS = 3600000;

const at = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat("en", { useGrouping: true });
const count = (n) => numbers.format(n).replaceAll(",", "\u202f");

function element(tag, className, ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

function bytes(n) {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (n < 1000 || unit === "GB") return `${n < 10 && unit !== "B" ? n.toFixed(1) : Math.round(n)} ${unit}`;
    n /= 1000;
  }
}

function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = Math.round(ms / 1000);
  if (s < 120) return `${s} s`;
  return s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}

function ago(ms, now) {
  if (!ms) return "never";
  return now - ms < 1500 ? "just now" : `${duration(now - ms)} ago`;
}

// "a, b and c".
function list(names) {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

// As list(), of many names the first ones only.
function few(names) {
  return names.length <= 6 ? list(names) : `${names.slice(0, 5).join(", ")} and ${names.length - 5} more`;
}

// Replica number 0 is this page's own, number i > 0 the peer page i - 1.
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
  const text = value.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
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

async function refreshStatus(replica) {
  try {
    const status = await askJson(`${replica.base}/status.json`);
    if (typeof status?.name !== "string" || !status.stats) throw new Error("no status page of a replica is there");
    drawAlone({ ...replica, name: status.name, status });
    replica.status = status;
    replica.last = { status, at: performance.now() };
    replica.name = status.name;
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

// One question to a replica at a time: a second waits for the first's answer.
const askStatus = (replica) => replica.asking ??= refreshStatus(replica).finally(() => delete replica.asking);

// Waits for the answers of those that are asked, but of those of which something
// `isKnown` only for a moment: one that is frozen does not hold up what is told of
// the others.
async function soon(asked, isKnown, question) {
  const answers = asked.map((replica) => [isKnown(replica), question(replica)]);
  const moment = new Promise((over) => setTimeout(over, WAIT_MS));
  await Promise.all(answers.map(([known, answer]) => known ? Promise.race([answer, moment]) : answer));
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

function wasMet(peer) {
  return !/^0+$/.test(peer.replica_id);
}

// Who is at an address where sessions fail may be another one than was met there
// before.
function peerName(peer, stats) {
  const known = wasMet(peer) && (peer.last_proven_equal_ms || !peer.last_error || replicas.some((r) => r.id === peer.replica_id));
  return known ? nameOf(peer.replica_id, stats) : peer.address;
}

// One of the two reads its database into the index: "adopting". As in
// rocksync_peer_failing that is no failure.
function indexBuild(peer) {
  return /index build in progress \(([\w-]+)/.exec(peer.last_error)?.[1];
}

// The error stays while the session runs that comes after the build.
function waitsForIndexBuild(peer) {
  return !peer.in_session && indexBuild(peer);
}

// As tombstone_gc_meeting.cc words it; of either of the two.
function whoIsNoMember(peer) {
  return /replica ([0-9a-f]{16}) is not in the member list/.exec(peer.last_error)?.[1];
}

// Those for which rocksync_peer_failing is 1. A peer that only dials this replica
// comes from many ports, and is one peer.
function failingPeers(stats) {
  const failing = new Map();
  for (const peer of stats.peers) {
    if (!peer.configured && !wasMet(peer)) continue;
    const name = peer.configured ? peer.address : peer.replica_id;
    const fails = Boolean(peer.last_error) && !indexBuild(peer);
    failing.set(name, fails && failing.get(name) !== null ? peer : null);
  }
  return [...failing.values()].filter(Boolean);
}

// What a session has done of what it found so far.
function progress(session, silent_ms) {
  const silent = silent_ms ? `, silent for ${duration(silent_ms)}` : "";
  // Of a key that differs on both sides one pair travels, and both are found.
  const part = (done, found) => done || found ? `${count(done)} of at most ${count(Math.max(done, found))}` : "0";
  const { pairs_to_send, pairs_to_receive, pairs_sent, pairs_received } = session;
  if (!pairs_to_send && !pairs_to_receive && !pairs_sent && !pairs_received) {
    return `nothing found yet, ${bytes(session.bytes_total)}${silent}`;
  }
  return `${part(session.pairs_sent, session.pairs_to_send)} sent, ` +
         `${part(session.pairs_received, session.pairs_to_receive)} received, of those found so far, ${bytes(session.bytes_total)}${silent}`;
}

// The cluster of a replica, if it said one.
const clusterOf = (replica) => told(replica)?.stats.cluster;

// Replicas of two clusters never become equal, and their leaves tell nothing.
function ofOneCluster(one, other) {
  const [a, b] = [clusterOf(one), clusterOf(other)];
  return a === undefined || b === undefined || a === b;
}

const OF_ANOTHER = "of another cluster";
const NOT_REACHED = "not reached";

// Of an error its first clause, without the kind of status before it.
function reasonOf(error) {
  const text = error.replace(/^[A-Z][A-Za-z ]*[.:] (rocksync: )?/, "").replace(/[;(].*$/s, "").trim();
  return text.length <= 120 ? text : `${text.slice(0, 119)}…`;
}

// "good", "warn", "bad" or "unknown", a word for it, and which peers it is about;
// and why.
function health(replica) {
  if (isSilent() || replica.unasked) return replica === replicas[0] ? ["warn", "does not answer"] : ["unknown", "not known now"];
  if (!replica.status) return ["bad", NOT_REACHED];
  const stats = replica.status.stats;
  if (stats.tombstone_gc.identity_conflict) return ["bad", `two copies of ${nameOf(stats.tombstone_gc.identity_conflict, stats)} were seen`];
  if (stats.disk?.writes_refused) return ["bad", "disk full, writes refused"];
  if (stats.disk?.write_error) return ["bad", "takes no writes"];
  if (stats.disk?.log_batches_dropped) return ["bad", "its log was damaged"];
  if (stats.index?.error) return ["bad", "index build stopped"];
  if (stats.certificate_expires_ms && stats.certificate_expires_ms < replica.status.wall_clock_ms) return ["bad", "certificate expired"];
  if (stats.paused) return ["warn", "paused"];
  if (stats.index && !stats.index.done) return ["warn", `${stats.index.activity}, ${stats.index.percent} %: no session begins`];
  if (stats.certificate_error) return ["warn", "certificate files cannot be used"];
  if (stats.certificate_expires_ms && stats.certificate_expires_ms < replica.status.wall_clock_ms + EXPIRES_MS) {
    const days = Math.floor((stats.certificate_expires_ms - replica.status.wall_clock_ms) / 86400000);
    return ["warn", `certificate expires in ${days} ${days === 1 ? "day" : "days"}`];
  }
  if (!ofOneCluster(replica, replicas[0])) return ["warn", OF_ANOTHER];
  const names = (peers) => peers.map((peer) => peerName(peer, stats));
  if (stats.peers.some((peer) => whoIsNoMember(peer) === stats.replica_id)) return ["warn", "not in the member list"];
  const failing = failingPeers(stats);
  if (failing.length) return ["warn", "a peer fails", names(failing), reasonOf(failing[0].last_error)];
  if (stats.peers.some(waitsForIndexBuild)) return ["warn", "waits for an index build"];
  const silent = stats.peers.filter((p) => p.silent_ms);
  if (silent.length) return ["warn", "a peer is silent", names(silent)];
  if (stats.stream.lag_ms > LAGS_MS) return ["warn", "a peer is behind", names(stats.peers.filter((p) => p.stream.lag_ms > LAGS_MS))];
  const met = stats.peers.filter(wasMet);
  if (met.length && met.every((p) => !p.last_proven_equal_ms)) return ["warn", "not proven equal yet"];
  if ((replica.digest === null || replica.uncompared) && replicas.length > 1) return ["warn", "its leaves cannot be compared"];
  return ["good", "fine"];
}

// What is under way to a peer. That nothing is says little of one that is
// silent or was not reached, so it is not said then.
function inFlight(peer) {
  const { lag_pairs: changes, lag_ms: age } = peer.stream;
  if (changes) return `${count(changes)} ${changes === 1 ? "change" : "changes"} in flight for ${duration(age)}`;
  return peer.silent_ms || peer.last_error ? "" : "nothing in flight";
}

// What keeps sessions with a peer from success, in a list.
function trouble(peer, stats) {
  const build = waitsForIndexBuild(peer);
  if (build) return [element("p", "error unknown", `no session with ${peerName(peer, stats)} while an index is built (${build})`)];
  return peer.last_error && !indexBuild(peer) ? [element("p", "error warn", peer.last_error)] : [];
}

// What there is to say of a peer to which a replica was never proven equal.
function neverEqual(peer, stats) {
  if (!wasMet(peer)) return "not met since its start";
  const known = replicas.find((r) => r.id === peer.replica_id);
  return known && (clusterOf(known) ?? stats.cluster) !== stats.cluster ? OF_ANOTHER : "not proven equal yet";
}

// What is under way is told of a replica that answers now.
function peerLines(peer, { stats, wall_clock_ms: now }, current) {
  const name = peerName(peer, stats);
  const lines = [];
  const line = (...content) => lines.push(element("li", "", ...content));
  const figure = (text, value) => line(element("span", "", text), element("span", "number", value));
  const unnamed = peer.configured ? "" : " (at no configured address)";
  if (wasMet(peer) && peer.last_proven_equal_ms) figure(`equal to ${name}${unnamed}`, ago(peer.last_proven_equal_ms, now));
  else figure(`${neverEqual(peer, stats)}: ${name}${unnamed}`, "");
  if (current && peer.in_session) figure(`in session with ${name}`, progress(peer.last_session, peer.silent_ms));
  if (current && peer.stream.open && inFlight(peer)) figure(`stream to ${name}`, inFlight(peer));
  trouble(peer, stats).forEach((text) => line(text));
  return lines;
}

function card(replica) {
  const [level, word] = health(replica);
  const made = element("article", "card",
    element("h3", "", element("span", "", shown(replica)), element("span", `state ${level}`, word)));
  if (!replica.status && replica.error) made.append(element("p", `error ${level}`, replica.error));
  const status = told(replica);
  if (!status) return made;
  if (!isCurrent(replica)) {
    made.classList.add("old");
    made.append(element("p", "hint", `As of ${duration(age(replica))} ago:`));
  }
  const { stats, wall_clock_ms: now } = status;
  made.append(element("p", "id", stats.replica_id + (stats.cluster ? ` of cluster ${stats.cluster}` : "")));
  const list = element("dl", "");
  const row = (name, value) => list.append(element("dt", "", name), element("dd", "", value));
  const stream = stats.stream;
  row("Elements at the last session", stats.sessions || stats.elements ? count(stats.elements) : "no session yet");
  row("Sessions that ended", count(stats.sessions));
  row("Failed sessions and attempts", count(stats.sessions_failed));
  row("By sessions: sent, applied", `${count(stats.pairs_sent)}, ${count(stats.pairs_applied)}`);
  row("By streams: sent, applied", `${count(stream.pairs_sent)}, ${count(stream.pairs_applied)}`);
  const duplicates = (stats.pairs_superseded || 0) + (stream.duplicates || 0);
  if (duplicates) row("Received, but were here already", count(duplicates));
  row("Bytes, both directions", bytes(stats.bytes_total + stream.bytes_sent + stream.bytes_received));
  if (stats.connections_refused) row("Connections refused", count(stats.connections_refused));
  if (stats.scrub.corruption_found) row("Corruption found", count(stats.scrub.corruption_found));
  if (stats.software) row("rocksync, RocksDB, protocol", `${stats.software.rocksync}, ${stats.software.rocksdb}, ${count(stats.software.protocol)}`);
  made.append(list);
  if (stats.last_refusal) made.append(element("p", "error warn", `refused ${ago(stats.last_refusal_ms, now)}: ${stats.last_refusal}`));
  if (stats.disk?.log_batches_dropped) {
    made.append(element("p", "error bad", `${count(stats.disk.log_batches_dropped)} batches of its damaged log were dropped when it was opened`));
  }
  if (stats.disk?.write_error) made.append(element("p", "error bad", stats.disk.write_error));
  if (stats.certificate_error) made.append(element("p", "error warn", stats.certificate_error));
  const peers = element("ul", "peers");
  for (const peer of stats.peers) peers.append(...peerLines(peer, status, isCurrent(replica)));
  if (peers.childElementCount) made.append(peers);
  return made;
}

// What the page of another version leaves out must not keep the others from being
// drawn: an error here makes that replica alone one that was not reached.
function drawAlone(replica) {
  try {
    card(replica);
    whyKept(replica.status);
    if (!Array.isArray(replica.status.traffic)) throw new Error("its traffic is no list");
  } catch (error) {
    throw new Error(`the page there is of another version: ${error.message}`);
  }
}

function drawReplicas() {
  const byName = [...replicas].sort((a, b) => shown(a).localeCompare(shown(b)));
  at("replicas").replaceChildren(...byName.map(card));
  at("tombstones").replaceChildren(...byName.filter(told).map((r) => {
    const gc = told(r).stats.tombstone_gc;
    const old = isCurrent(r) ? "" : ` (as of ${duration(age(r))} ago)`;
    return element("tr", "", element("td", "", shown(r)), element("td", "number", count(gc.tombstones)),
      element("td", "", whyKept(told(r)) + old));
  }));
}

// The names of those whose leaves are the same, as last asked; fewest first.
function alike() {
  const groups = new Map();
  for (const replica of replicas) {
    if (typeof replica.digest !== "number" || !ofOneCluster(replica, replicas[0])) continue;
    groups.set(replica.digest, [...groups.get(replica.digest) || [], shown(replica)]);
  }
  return [...groups.values()].sort((a, b) => a.length - b.length);
}

// Of all replicas; empty: none differ.
function whoDiffers() {
  const groups = alike();
  if (groups.length < 2) return "";
  const [few, most] = groups;
  if (groups.length > 2 || most.length === 1) return `${list(groups.map((names) => names.join(" = ")))} differ`;
  return `${list(few)} ${few.length === 1 ? "differs" : "differ"} from ${list(most)}`;
}

// Between two sessions some member's acknowledgement is always the oldest; only
// one that stays holds anything up.
function holdsUpAfter(interval_ms) {
  return interval_ms ? Math.max(HOLDS_UP_MS, HOLDS_UP_SESSIONS * interval_ms) : HOLDS_UP_ON_DEMAND_MS;
}

function hearsNobody(stats) {
  const peers = stats.peers.filter((peer) => peer.configured);
  return peers.length > 0 && peers.every((peer) => peer.last_error && !indexBuild(peer));
}

function whyKept({ stats, wall_clock_ms: now, session_interval_ms: interval, tombstones_held_up_since_ms: since }) {
  const gc = stats.tombstone_gc;
  if (!gc.epoch) return "no member list: kept permanently";
  if (!gc.tombstones && !gc.held_up_by) return "none are kept";
  if (!gc.held_up_by && gc.tombstones * 50 < stats.elements) return "collected once they are 1 in 50 elements";
  if (gc.held_up_by && stats.paused) return "it is paused, and hears of no acknowledgement";
  if (gc.held_up_by && hearsNobody(stats)) return "its sessions fail, and it hears of no acknowledgement";
  if (!gc.held_up_by || !since || now - since < holdsUpAfter(interval)) return "they wait for the next sessions";
  return `held up by ${nameOf(gc.held_up_by, stats)} for ${duration(now - since)}`;
}

// What is said of those of which the same is to be said, in one.
function complaints() {
  const groups = new Map();
  for (const replica of replicas) {
    const [level, word, about = [], why = ""] = health(replica);
    if (level === "good") continue;
    const key = JSON.stringify([word, about]);
    if (!groups.has(key)) groups.set(key, { level, word, about, why, names: [] });
    groups.get(key).names.push(shown(replica));
  }
  return accusedFirst([...groups.values()]);
}

// A replica that does not answer others may be one that is not reached: one
// sentence tells all of it. Where two accuse each other, one does.
function accusedFirst(groups) {
  const gone = groups.filter((group) => group.word === NOT_REACHED && group.names.length > 1).flatMap((group) => group.names);
  const heard = groups.filter((group) => !groups.some((other) => areMutual(group, other) && isBefore(other, group, groups)) &&
                                         !(group.about.length && group.about.every((name) => gone.includes(name))));
  const alone = (group, name) => !group.about.length && group.names.length === 1 && group.names[0] === name;
  const accused = (group) => group.about.length === 1 && heard.some((of) => alone(of, group.about[0]));
  return heard.filter((group) => !accused(group)).map((group) => ({
    ...group, accusations: heard.filter((of) => of.about.length === 1 && alone(group, of.about[0])) }));
}

function areMutual(one, other) {
  const same = (names, others) => String([...names].sort()) === String([...others].sort());
  return one.word === other.word && one.about.length > 0 && same(one.about, other.names) && same(one.names, other.about);
}

// The one that is about fewer is told.
function isBefore(one, other, groups) {
  return (one.about.length - other.about.length || groups.indexOf(one) - groups.indexOf(other)) < 0;
}

// The head's words for what a card says of a peer: of whom, and by whom.
const ACCUSATIONS = {
  "a peer is silent": (about, by, many) => `${about} ${many ? "do" : "does"} not answer ${by}`,
  "a peer fails": (about, by) => `sessions of ${by} with ${about} fail`,
  "a peer is behind": (about, by, many) => `${about} ${many ? "lag" : "lags"} behind the writes of ${by}`};

function accusation({ word, about, names }, whom) {
  return ACCUSATIONS[word](whom, few(names), about.length > 1);
}

function sentence(group) {
  const { word, about, names, why } = group;
  if (about.length) return accusation(group, few(about)) + (why ? `: ${why}` : "");
  const said = names.length > 1 ? word.replace(/^its /, "their ") : word;
  return [`${few(names)}: ${said}`, ...group.accusations.map((of) => accusation(of, "it"))].join("; ");
}

const HOW_HEALED = ["their sessions heal it", "a session heals it, once one is asked for (--sync-interval-ms is 0)"];

function areOnDemand() {
  return replicas.every(({ status }) => status?.session_interval_ms === 0);
}

function drawVerdict() {
  const verdict = at("verdict");
  const say = (level, text) => {
    verdict.className = `verdict ${level}`;
    if (verdict.textContent !== text) verdict.textContent = text;
    document.title = `${text} – rocksync`;
  };
  if (isSilent()) return say("warn", ownStory());
  // It answers again, and what it said was before.
  if (replicas.some((r) => r.unasked)) return;
  const unwell = complaints();
  const sentences = unwell.map(sentence);
  const differ = whoDiffers();
  if (differ) {
    sentences.unshift(differ);
    if (!unwell.length) sentences.push(HOW_HEALED[Number(areOnDemand())]);
  } else if (unwell.length && unwell.every(({ word, accusations }) => word === OF_ANOTHER && !accusations.length)) {
    sentences.unshift(wellIs(replicas.filter((r) => ofOneCluster(r, replicas[0]))));
  }
  if (sentences.length) return say(unwell.some(({ level }) => level === "bad") ? "bad" : "warn", sentences.join("; "));
  say("good", wellIs(replicas));
}

// Cards may be of later than the leaves of a busy replica.
function sinceCompared(group) {
  const ms = performance.now() - Math.min(...group.map((r) => r.comparedAt ?? performance.now()));
  return ms < OLD_LEAVES_MS ? "differs" : `differed ${duration(ms)} ago`;
}

// Of those of which nothing bad is known.
function wellIs(group) {
  const all = group.length === replicas.length;
  if (group.length === 1) return all ? "This replica is fine" : `${shown(group[0])} is fine`;
  const who = group.length === 2 ? "Both" : `All ${group.length}`;
  const alike = group.every((r) => typeof r.digest === "number") ? `, and no leaf ${sinceCompared(group)}` : "";
  return `${who} replicas${all ? "" : ` of cluster ${clusterOf(group[0])}`} are fine${alike}`;
}

// Keeps what the reader chose while names come to be known.
function fill(select, chosen) {
  const options = replicas.map(shown);
  if (select.length === options.length && options.every((o, i) => select.options[i].text === o)) return;
  const kept = select.length ? Math.max(select.selectedIndex, 0) : chosen;
  select.replaceChildren(...options.map((o, i) => new Option(o, i)));
  select.selectedIndex = Math.min(kept, options.length - 1);
}

// --- Leaves ------------------------------------------------------------------

// `of`: when its comparison began.
const picture = { left: null, right: null, of: NaN, failed: false, pair: "", wasDifferent: new Uint8Array(LEAVES),
                  healedAt: new Float64Array(LEAVES) };

function colour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

function chosenPair() {
  return [at("left").selectedIndex, at("right").selectedIndex];
}

// FNV-1a of numbers, as /leaves/digest.
function digestOf(leaves) {
  let digest = 0x811c9dc5;
  for (const leaf of leaves) digest = Math.imul(digest ^ leaf, 0x01000193);
  return digest >>> 0;
}

// Of a replica that is in the picture, its leaves, too.
async function askLeaves(replica, isInPicture) {
  if (!replica.status) throw new Error(replica.error || ownFault());
  const { index } = replica.status.stats;
  if (index && !index.done) throw new Error(`${shown(replica)} is ${index.activity}, ${index.percent} %`);
  if (!isInPicture) {
    const digest = await askJson(`${replica.base}/leaves/digest`);
    if (!Number.isInteger(digest)) throw new Error("not a digest of leaves");
    return { digest };
  }
  const buffer = await ask(`${replica.base}/leaves`);
  if (buffer.byteLength !== 4 * LEAVES) throw new Error("not a picture of leaves");
  const leaves = new Uint32Array(buffer);
  return { leaves, digest: digestOf(leaves) };
}

function compared(replica, digest, began) {
  replica.digest = digest;
  replica.comparedAt = began;
  replica.uncompared = false;
}

// A busy replica may miss rounds: the last digest that it told still counts, or
// what differs would seem to be equal meanwhile. One that is not reached tells
// another once it is back.
function notCompared(replica) {
  if (isSilent()) return;
  if (!replica.status) {
    replica.digest = undefined;
  } else if (replica.digest === undefined) {
    replica.digest = null;
  }
  replica.uncompared = performance.now() - (replica.comparedAt ?? -Infinity) > UNCOMPARED_MS;
}

// Whether equal or not would be said of it already.
function hasDigest(replica) {
  return replica.digest !== undefined || !replica.status;
}

// Of the picture. A text that stays is not read aloud again.
function tell(text) {
  if (at("leaves-text").textContent !== text) at("leaves-text").textContent = text;
}

let comparison = null;  // the one that is under way

// Asks all replicas for their leaves at one time, and takes in their answers at
// one time: so the head and the picture are of the same.
const compare = () => comparison ??= compareAll().finally(() => comparison = null);

async function compareAll() {
  preparePicture();
  const pair = picture.pair;
  const asked = [...replicas];
  const inPicture = chosenPair().map((i) => asked[i]);
  const began = performance.now();
  const answers = await Promise.allSettled(asked.map((replica) => askLeaves(replica, inPicture.includes(replica))));
  answers.forEach(({ value }, i) => value ? compared(asked[i], value.digest, began) : notCompared(asked[i]));
  if (picture.pair === pair && !inPicture.includes(undefined)) {
    takePicture(inPicture.map((replica) => answers[asked.indexOf(replica)]), began);
  }
  drawFigures();
}

function preparePicture() {
  if (replicas.length < 2 && replicas[0].status) tell("No two replicas to compare: --http-peer names the status page of another one.");
  const pair = chosenPair().join();
  if (picture.pair === pair) return;
  picture.pair = pair;
  picture.wasDifferent.fill(0);
  picture.healedAt.fill(-HEALED_MS);
  picture.left = picture.right = null;
  at("leaves").getContext("2d").clearRect(0, 0, 256, 256);
}

function takePicture(answers, began) {
  const missing = answers.find(({ reason }) => reason);
  picture.failed = Boolean(missing);
  if (missing) {
    const last = picture.left ? "; the picture is the last one before" : "";
    return tell(`The leaves cannot be compared now: ${missing.reason.message}${last}`);
  }
  [picture.left, picture.right] = answers.map(({ value }) => value.leaves);
  picture.of = began;
}

const isOldPicture = () => performance.now() - picture.of > OLD_LEAVES_MS;

function drawLeaves() {
  const { left, right, wasDifferent, healedAt } = picture;
  if (!left) return;
  const differs = colour("--differs"), healed = colour("--healed");
  const equal = colour("--equal"), empty = colour("--empty");
  const context = at("leaves").getContext("2d");
  const image = context.createImageData(256, 256);
  const now = performance.now();
  let differing = 0;
  for (let i = 0; i < LEAVES; ++i) {
    let rgb;
    if (left[i] !== right[i]) {
      ++differing;
      wasDifferent[i] = 1;
      rgb = differs;
    } else {
      if (wasDifferent[i]) {
        wasDifferent[i] = 0;
        healedAt[i] = now;
      }
      const base = left[i] === 0 ? empty : equal;
      const fresh = Math.max(0, 1 - (now - healedAt[i]) / HEALED_MS);
      rgb = fresh === 0 ? base : base.map((c, k) => c + (healed[k] - c) * fresh);
    }
    image.data.set([rgb[0], rgb[1], rgb[2], 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
  at("leaves").classList.toggle("old", picture.failed || isOldPicture());
  if (picture.failed) return;
  const pair = chosenPair().map((i) => replicas[i]);
  const names = list(pair.map(shown));
  if (!ofOneCluster(...pair)) return tell(`${names} are of different clusters: their leaves tell nothing of one another.`);
  const when = isOldPicture() ? "Some seconds ago: " : "";
  tell(when + (differing === 0 ? `No leaf of ${names} differs.`
                               : `${count(differing)} of ${count(LEAVES)} leaves of ${names} differ.`));
}

// --- Traffic -----------------------------------------------------------------

function svg(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawTraffic() {
  const replica = replicas[Math.max(at("traffic-of").selectedIndex, 0)];
  const status = replica && told(replica);
  if (!status) return;
  const samples = status.traffic.slice(-120);
  const [left, right, top, bottom] = [56, 592, 12, 214];
  const total = (s) => KINDS.reduce((sum, kind) => sum + s[kind], 0);
  const peak = Math.max(2, ...samples.map(total));
  const step = 10 ** Math.floor(Math.log10(peak));
  const most = Math.ceil(peak / step) * step;
  const y = (value) => bottom - (bottom - top) * value / most;
  const parts = [0, most / 2, most].flatMap((value) => [
    svg("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, bytes(value))]);
  const width = (right - left) / 120;
  samples.forEach((sample, i) => {
    let below = 0;
    const x = right - (samples.length - i) * width;
    for (const kind of KINDS) {
      if (!sample[kind]) continue;
      const from = y(below), to = y(below += sample[kind]);
      parts.push(svg("rect", { class: kind, x, y: to, width: Math.max(width - 1, 1), height: from - to }));
    }
  });
  const end = isCurrent(replica) ? "now" : `${duration(age(replica))} ago`;
  parts.push(svg("text", { x: left, y: 232 }, isCurrent(replica) ? "2 minutes ago" : "2 minutes before"),
             svg("text", { x: right, y: 232, "text-anchor": "end" }, end));
  at("traffic").replaceChildren(...parts);
  const sums = KINDS.map((kind) => [kind, samples.reduce((sum, s) => sum + s[kind], 0)]).filter(([, n]) => n);
  const when = isCurrent(replica) ? "last two minutes" : `two minutes up to ${end}`;
  at("traffic-text").textContent = sums.length
    ? `In the ${when}: ${sums.map(([kind, n]) => `${bytes(n)} of ${kind}`).join(", ")}.`
    : `Nothing in the ${when}.`;
}

// --- The clock ---------------------------------------------------------------

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
  else await soon(others, (replica) => replica.status !== undefined, askStatus);
  leaveTwinsOut();
  fill(at("left"), 0);
  fill(at("right"), 1);
  fill(at("traffic-of"), 0);
  // Who is not reached any more is told before anybody waits for leaves; else cards
  // are drawn with the head and the picture of their moment.
  const lost = [...reached].some((replica) => !replica.status);
  reached = new Set(replicas.filter((replica) => replica.status));
  if (lost) drawFigures();
  // It draws, too, at its end, however late that is.
  await soon([compare], () => replicas.every(hasDigest), (begin) => begin());
  drawFigures();
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
