"use strict";
// A card for each replica, and why deletes are kept.

const LAGS_MS = 60000;  // of a stream, as in monitoring/alerts.yml
const SILENT_MS = 5000;  // what is in the system's buffers may take as long on a slow link
const EXPIRES_MS = 14 * 86400000;  // of a certificate, as there
// How long a member holds up the collection of tombstones before it is said to:
// this, or more where sessions are rare. Where there are sessions on demand only
// it is an hour.
const HOLDS_UP_MS = 60000;
const HOLDS_UP_SESSIONS = 10;
const HOLDS_UP_ON_DEMAND_MS = 3600000;

function wasMet(peer) {
  return !/^0+$/.test(peer.replica_id);
}

// Who is at an address where sessions fail may be another one than was met there
// before.
function peerName(peer, stats) {
  const known = wasMet(peer) && (peer.last_proven_equal_ms || !peer.last_error || replicas.some((r) => r.id === peer.replica_id));
  return known ? nameOf(peer.replica_id, stats) : peer.address;
}

// That it waits for an index build stays while the session runs that comes after it.
function waitsForIndexBuild(peer) {
  return !peer.in_session && peer.waits_for_index_build;
}

// As in rocksync_peer_failing, an index build is no failure.
function isFailing(peer) {
  return Boolean(peer.last_error) && !peer.waits_for_index_build;
}

// As tombstone_gc_judgement.cc words it; of either of the two.
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
    failing.set(name, isFailing(peer) && failing.get(name) !== null ? peer : null);
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
const NO_MEMBER = "not in the member list";

// Of an error what it says, without RocksDB's kind of status before it.
function messageOf(error) {
  return error.replace(/^(Operation (failed\. Try again\.|timed out|aborted|expired)|IO error|Not implemented|Invalid argument|Result incomplete|Resource busy|Shutdown in progress|Corruption|NotFound|Column family dropped): /, "").replace(/^rocksync: /, "");
}

// Of that the first clause.
function reasonOf(error) {
  const text = messageOf(error).replace(/[;(].*$/s, "").trim();
  return text.length <= 120 ? text : `${text.slice(0, 119)}…`;
}

// What is wrong with a replica itself, gravest first: "warn" or "bad", a word
// for it, and whether it keeps all sessions from success.
function ownTroubles({ status: { stats, wall_clock_ms: now } }) {
  const { certificate_expires_ms: expires, disk, index } = stats;
  const days = Math.floor((expires - now) / 86400000);
  const copy = stats.tombstone_gc.identity_conflict;
  return [
    copy && ["bad", `two copies of ${nameOf(copy, stats)} were seen`, true],
    disk?.writes_refused && ["bad", "disk full, writes refused", true],
    disk?.write_error && ["bad", "takes no writes", true],
    disk?.log_batches_dropped && ["bad", "its log was damaged", false],
    index?.error && ["bad", "index build stopped", true],
    stats.scrub.incomplete && ["bad", "its scrub could not read all of it", false],
    !stats.scrub.incomplete && stats.scrub.last_error && ["bad", "its scrub does not go on", false],
    expires && expires < now && ["bad", "certificate expired", true],
    stats.paused && ["warn", "paused", true],
    index && !index.done && !index.error && ["warn", `${index.activity}, ${index.percent} %: no session begins`, true],
    stats.certificate_error && ["warn", "certificate files cannot be used", false],
    expires && expires >= now && expires < now + EXPIRES_MS && ["warn", `certificate expires in ${days} ${days === 1 ? "day" : "days"}`, false],
  ].filter(Boolean);
}

// The reason, if it is one.
function theReason(peers) {
  const reasons = new Set(peers.map((peer) => reasonOf(peer.last_error)));
  return reasons.size === 1 ? [...reasons][0] : "";
}

// Why it has no session with others, whatever else is wrong with it.
function strangeness(replica) {
  const stats = replica.status.stats;
  if (!ofOneCluster(replica, replicas[0])) return [["warn", OF_ANOTHER]];
  // What one that is gone has told was of the list of its time.
  const heard = replicas.filter((one) => isCurrent(one) && ofOneCluster(one, replicas[0])).flatMap((one) => one.status.stats.peers);
  return heard.map(whoIsNoMember).some((who) => who && who === stats.replica_id) ? [["warn", NO_MEMBER]] : [];
}

// What a replica says of its peers, each once: a list of the same, then which
// ones, and why.
function troublesWithPeers(replica) {
  const stats = replica.status.stats;
  const failing = failingPeers(stats);
  const told = new Set(failing);
  const others = (is) => {
    const found = stats.peers.filter((peer) => !told.has(peer) && is(peer));
    found.forEach((peer) => told.add(peer));
    return found;
  };
  const waits = stats.peers.some(waitsForIndexBuild);
  const silent = others((peer) => peer.silent_ms > SILENT_MS);
  const behind = others((peer) => peer.stream.lag_ms > LAGS_MS);
  const names = (peers) => peers.map((peer) => peerName(peer, stats));
  return [
    failing.length && ["warn", "a peer fails", names(failing), theReason(failing)],
    waits && ["warn", "waits for an index build"],
    silent.length && ["warn", "a peer is silent", names(silent)],
    behind.length && ["warn", "a peer is behind", names(behind)],
  ].filter(Boolean);
}

// All that is wrong with it, gravest first, and what it says of its peers, if it
// has sessions: "warn", "bad" or "unknown", a word for it, and which peers it is
// about; and why. Empty: it is fine.
function complaintsOf(replica) {
  if (isSilent() || replica.unasked) return [replica === replicas[0] ? ["warn", "does not answer"] : ["unknown", "not known now"]];
  if (!replica.status) return [["bad", NOT_REACHED]];
  const own = ownTroubles(replica);
  const hasSessions = own.every(([, , stops]) => !stops);
  const strange = strangeness(replica);
  const mine = own.map(([level, word]) => [level, word]);
  const is = (bad) => ([level]) => (level === "bad") === bad;
  const all = [...mine.filter(is(true)), ...strange, ...mine.filter(is(false)),
    ...(hasSessions && !strange.length ? troublesWithPeers(replica) : [])];
  if (all.length) return all;
  const met = replica.status.stats.peers.filter(wasMet);
  if (met.length && met.every((p) => !p.last_proven_equal_ms)) return [["warn", "not proven equal yet"]];
  if ((replica.digest === null || replica.uncompared) && replicas.length > 1) return [["warn", "its leaves cannot be compared"]];
  return [];
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
  if (waitsForIndexBuild(peer)) return [element("p", "error unknown", `no session with ${peerName(peer, stats)} while an index is built`)];
  return isFailing(peer) ? [element("p", "error warn", `${peerName(peer, stats)}: ${messageOf(peer.last_error)}`)] : [];
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
  const [[level, word] = ["good", "fine"], ...more] = complaintsOf(replica);
  const made = element("article", "card",
    element("h3", "", element("span", "", shown(replica)), element("span", `state ${level}`, word)));
  for (const [alsoLevel, also, about = []] of more) {
    if (!about.length) made.append(element("p", `error ${alsoLevel}`, also));
  }
  if (!replica.status && replica.error) made.append(element("p", `error ${level}`, messageOf(replica.error)));
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
  if (stats.last_refusal) made.append(element("p", "error warn", `refused ${ago(stats.last_refusal_ms, now)}: ${messageOf(stats.last_refusal)}`));
  if (stats.disk?.log_batches_dropped) {
    made.append(element("p", "error bad", `${count(stats.disk.log_batches_dropped)} batches of its damaged log were dropped when it was opened`));
  }
  if (stats.index?.error) made.append(element("p", "error bad", `the index build stopped: ${messageOf(stats.index.error)}`));
  if (stats.disk?.write_error) made.append(element("p", "error bad", `RocksDB takes no writes: ${messageOf(stats.disk.write_error)}`));
  if (stats.scrub.last_error) made.append(element("p", "error bad", `scrub: ${messageOf(stats.scrub.last_error)}`));
  if (stats.certificate_error) made.append(element("p", "error warn", `certificate files: ${messageOf(stats.certificate_error)}`));
  const peers = element("ul", "peers");
  for (const peer of stats.peers) peers.append(...peerLines(peer, status, isCurrent(replica)));
  if (peers.childElementCount) made.append(peers);
  return made;
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

// Between two sessions some member's acknowledgement is always the oldest; only
// one that stays holds anything up.
function holdsUpAfter(interval_ms) {
  return interval_ms ? Math.max(HOLDS_UP_MS, HOLDS_UP_SESSIONS * interval_ms) : HOLDS_UP_ON_DEMAND_MS;
}

const WAIT_FOR_SESSIONS = "they wait for the next sessions";

function hearsNobody(stats) {
  const peers = stats.peers.filter((peer) => peer.configured);
  return peers.length > 0 && peers.every(isFailing);
}

function whyKept({ stats, wall_clock_ms: now, session_interval_ms: interval, tombstones_held_up_since_ms: since }) {
  const gc = stats.tombstone_gc;
  if (!gc.epoch) return "no member list: kept permanently";
  if (!gc.held_up_by) {
    if (!gc.tombstones) return "none are kept";
    return gc.tombstones * 50 < stats.elements ? "collected once they are 1 in 50 elements" : WAIT_FOR_SESSIONS;
  }
  if (stats.paused) return "it is paused, and hears of no acknowledgement";
  if (hearsNobody(stats)) return "its sessions fail, and it hears of no acknowledgement";
  if (!since || now - since < holdsUpAfter(interval)) return WAIT_FOR_SESSIONS;
  return `held up by ${nameOf(gc.held_up_by, stats)} for ${duration(now - since)}`;
}
