"use strict";
// What the page reads of a status. Other stores' pages serve theirs, maybe of another
// version, maybe nobody's: of a status the page has what is listed here, of these
// types, and nothing else, so that whatever draws it need not ask again.

const KINDS = ["values", "keys", "offers", "filters", "streams", "other"];

const [TEXT, NUMBER, FLAG] = ["string", "number", "boolean"];
const all = (type, ...names) => Object.fromEntries(names.map((name) => [name, type]));
// A name with "?" may be missing.
const STATUS = {
  name: TEXT, "page_id?": TEXT, ...all(NUMBER, "wall_clock_ms", "session_interval_ms", "tombstones_held_up_since_ms"),
  "peer_pages?": [TEXT],
  traffic: [all(NUMBER, ...KINDS)],
  stats: {
    replica_id: TEXT, "cluster?": TEXT, "paused?": FLAG,
    ...all(NUMBER, "elements", "sessions", "sessions_failed", "pairs_sent", "pairs_applied", "pairs_superseded?", "bytes_total"),
    ...all(NUMBER, "connections_refused?", "last_refusal_ms?", "certificate_expires_ms?"),
    ...all(TEXT, "last_refusal?", "certificate_error?"),
    "software?": { rocksync: TEXT, rocksdb: TEXT, protocol: NUMBER },
    stream: all(NUMBER, "lag_ms", "pairs_sent", "pairs_applied", "duplicates", "bytes_sent", "bytes_received"),
    "index?": { done: FLAG, activity: TEXT, percent: NUMBER, error: TEXT },
    "disk?": { writes_refused: FLAG, write_error: TEXT, log_batches_dropped: NUMBER },
    scrub: { corruption_found: NUMBER, last_error: TEXT, "incomplete?": FLAG },
    tombstone_gc: { epoch: NUMBER, tombstones: NUMBER, "held_up_by?": TEXT, "identity_conflict?": TEXT },
    peers: [{
      ...all(TEXT, "address", "replica_id", "last_error"), ...all(FLAG, "configured", "in_session", "waits_for_index_build?"),
      ...all(NUMBER, "last_proven_equal_ms", "silent_ms"),
      stream: all(NUMBER, "open", "lag_pairs", "lag_ms"),
      last_session: all(NUMBER, "pairs_to_send", "pairs_to_receive", "pairs_sent", "pairs_received", "bytes_total"),
    }],
  },
};
const MOST_ENTRIES = 1000;  // of a list: its last ones

function inShape(value, shape, path) {
  const refuse = (why) => { throw new Error(`the page there is of another version: ${path} ${why}`); };
  if (value === undefined) refuse("is missing");
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) refuse("is no list");
    return value.slice(-MOST_ENTRIES).map((entry) => inShape(entry, shape[0], `an entry of ${path}`));
  }
  if (typeof shape === "string") {
    if (typeof value !== shape || shape === NUMBER && !(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) refuse(`is no ${shape}`);
    return value;
  }
  if (value === null || typeof value !== "object") refuse("has no parts");
  const read = {};
  for (const [key, part] of Object.entries(shape)) {
    const name = key.replace("?", "");
    if (value[name] === undefined && name !== key) continue;
    read[name] = inShape(value[name], part, path ? `${path}.${name}` : name);
  }
  return read;
}

function readStatus(json) {
  if (typeof json?.name !== "string" || !json.stats) throw new Error("no status page of a replica is there");
  return inShape(json, STATUS, "");
}
