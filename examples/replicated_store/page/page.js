"use strict";
// The status page: asks this replica and its peers' pages once a second, and
// draws what they say. All text goes in as text, never as markup.

const LEAVES = 65536;
const KINDS = ["values", "keys", "offers", "filters", "streams", "other"];
const HEALED_MS = 4000;  // how long a healed leaf is shown as such
const LAGS_MS = 60000;  // of a stream, as in monitoring/alerts.yml
const EXPIRES_MS = 14 * 86400000;  // of a certificate, as there

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

function ago(ms, now) {
  if (!ms) return "never";
  const s = Math.max(0, Math.round((now - ms) / 1000));
  if (s < 2) return "just now";
  if (s < 120) return `${s} s ago`;
  return s < 7200 ? `${Math.round(s / 60)} min ago` : `${Math.round(s / 3600)} h ago`;
}

// Replica number 0 is this page's own, number i > 0 the peer page i - 1.
const replicas = [{ name: "this replica", base: "" }];

async function ask(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(4000) });
  if (!response.ok) throw new Error((await response.text()).trim() || `HTTP ${response.status}`);
  return response;
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
    const status = await (await ask(`${replica.base}/status.json`)).json();
    if (typeof status?.name !== "string" || !status.stats) throw new Error("no status page of a replica is there");
    drawAlone({ ...replica, name: status.name, status });
    replica.status = status;
    replica.name = status.name;
    replica.id = status.stats.replica_id;
    replica.error = "";
    remember(replica);
  } catch (error) {
    replica.status = null;
    replica.error = error.message;
  }
}

// The pages of other replicas are asked through this page's own.
async function notAsked(replica) {
  replica.status = null;
  replica.error = `not known, as ${replicas[0].name} does not answer`;
}

// The name of a replica whose page answered once; before, what a status that names
// it knows: its id, and its address if it is a peer there.
function nameOf(id, stats) {
  const known = replicas.find((r) => r.id === id);
  if (known) return known.name;
  const peer = stats.peers.find((p) => p.replica_id === id && p.configured);
  return peer ? `${id} at ${peer.address}` : id;
}

function wasMet(peer) {
  return !/^0+$/.test(peer.replica_id);
}

// What a session has done of what it found so far.
function progress(session, silent_ms) {
  const silent = silent_ms ? `, silent for ${Math.round(silent_ms / 1000)} s` : "";
  const part = (done, found) => `${count(done)} of ${count(Math.max(done, found))}`;
  return `in session: ${part(session.pairs_sent, session.pairs_to_send)} sent, ` +
         `${part(session.pairs_received, session.pairs_to_receive)} received, ${bytes(session.bytes_total)}${silent}`;
}

// "good", "warn" or "bad", and a word for it.
function health(replica) {
  if (!replica.status) return replica === replicas[0] || replicas[0].status ? ["bad", "not reached"] : ["warn", "not known"];
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
  if (stats.peers.some((p) => p.last_error)) return ["warn", "a peer fails"];
  if (stats.peers.some((p) => p.silent_ms)) return ["warn", "a peer is silent"];
  if (stats.stream.lag_ms > LAGS_MS) return ["warn", "a peer is behind"];
  const met = stats.peers.filter(wasMet);
  if (met.length && met.every((p) => !p.last_proven_equal_ms)) return ["warn", "not proven equal yet"];
  return ["good", "fine"];
}

function card(replica) {
  const [level, word] = health(replica);
  const made = element("article", "card",
    element("h3", "", element("span", "", replica.name), element("span", `state ${level}`, word)));
  if (!replica.status) {
    made.append(element("p", "error bad", replica.error));
    return made;
  }
  const { stats, wall_clock_ms: now } = replica.status;
  made.append(element("p", "id", stats.replica_id));
  const list = element("dl", "");
  const row = (name, value) => list.append(element("dt", "", name), element("dd", "", value));
  const stream = stats.stream;
  row("Elements at the last session", count(stats.elements));
  row("Sessions, failed", `${count(stats.sessions)}, ${count(stats.sessions_failed)}`);
  row("By sessions: sent, applied", `${count(stats.pairs_sent)}, ${count(stats.pairs_applied)}`);
  row("By streams: sent, applied", `${count(stream.pairs_sent)}, ${count(stream.pairs_applied)}`);
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
  for (const peer of stats.peers) {
    const met = wasMet(peer);
    const equal = ago(peer.last_proven_equal_ms, now);
    peers.append(element("li", "",
      element("span", "", `${met ? `${peer.in_session ? "with" : "equal to"} ${nameOf(peer.replica_id, stats)}` : `not met since its start: ${peer.address}`}${peer.configured ? "" : " (not configured)"}`),
      element("span", "number", peer.in_session ? progress(peer.last_session, peer.silent_ms) : met ? equal : "")));
    if (peer.stream.open) {
      peers.append(element("li", "", element("span", "", `stream to ${met ? nameOf(peer.replica_id, stats) : peer.address}`),
        element("span", "number", peer.stream.lag_pairs ? `${count(peer.stream.lag_pairs)}\u00a0changes, ${count(peer.stream.lag_ms)}\u00a0ms behind` : "nothing behind")));
    }
    if (peer.last_error) peers.append(element("li", "", element("p", "error warn", peer.last_error)));
  }
  if (peers.childElementCount) made.append(peers);
  return made;
}

// What the page of another version leaves out must not keep the others from being
// drawn: an error here makes that replica alone one that was not reached.
function drawAlone(replica) {
  try {
    card(replica);
    holder(replica.status.stats);
    replica.status.traffic.slice(0);
  } catch (error) {
    throw new Error(`the page there is of another version: ${error.message}`);
  }
}

function drawReplicas() {
  const byName = [...replicas].sort((a, b) => a.name.localeCompare(b.name));
  at("replicas").replaceChildren(...byName.map(card));
  at("tombstones").replaceChildren(...byName.filter((r) => r.status).map((r) => {
    const gc = r.status.stats.tombstone_gc;
    return element("tr", "", element("td", "", r.name), element("td", "number", count(gc.tombstones)), element("td", "", holder(r.status.stats)));
  }));
}

// Of the two whose leaves are shown.
function whoDiffers() {
  const pair = [replicas[at("left").selectedIndex], replicas[at("right").selectedIndex]];
  return `${pair.map((r) => r.name).join(" and ")} differ`;
}

// Why tombstones are kept.
function holder(stats) {
  const gc = stats.tombstone_gc;
  if (gc.held_up_by) return nameOf(gc.held_up_by, stats);
  if (!gc.epoch) return "no member list: kept permanently";
  return gc.tombstones ? "nobody: collected once they are 1 in 50 elements" : "nobody";
}

function drawVerdict() {
  const verdict = at("verdict");
  const say = (level, text) => {
    verdict.className = `verdict ${level}`;
    if (verdict.textContent !== text) verdict.textContent = text;
  };
  const unwell = replicas.map((r) => [r.name, ...health(r)]).filter(([, level]) => level !== "good");
  const told = unwell.map(([name, , word]) => `${name}: ${word}`);
  if (picture.differing > 0) {
    told.unshift(whoDiffers());
    if (!unwell.length) told.push("their sessions heal it");
  }
  if (told.length) return say(unwell.some(([, level]) => level === "bad") ? "bad" : "warn", told.join("; "));
  say("good", replicas.length > 1 ? `All ${replicas.length} replicas are fine` : "This replica is fine");
}

// Keeps what the reader chose while names come to be known.
function fill(select, chosen) {
  const options = replicas.map((r) => r.name);
  if (select.length === options.length && options.every((o, i) => select.options[i].text === o)) return;
  const kept = select.length ? Math.max(select.selectedIndex, 0) : chosen;
  select.replaceChildren(...options.map((o, i) => new Option(o, i)));
  select.selectedIndex = Math.min(kept, options.length - 1);
}

// --- Leaves ------------------------------------------------------------------

const picture = { left: null, right: null, pair: "", wasDifferent: new Uint8Array(LEAVES),
                  healedAt: new Float64Array(LEAVES), differing: -1 };

function colour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

async function refreshLeaves() {
  const pair = [at("left").selectedIndex, at("right").selectedIndex];
  if (replicas.length < 2 || pair.includes(-1)) return;
  if (picture.pair !== pair.join()) {
    picture.pair = pair.join();
    picture.wasDifferent.fill(0);
    picture.healedAt.fill(-HEALED_MS);
  }
  try {
    const got = await Promise.all(pair.map(async (i) => {
      const buffer = await (await ask(`${replicas[i].base}/leaves`)).arrayBuffer();
      if (buffer.byteLength !== 4 * LEAVES) throw new Error("not a picture of leaves");
      return new Uint32Array(buffer);
    }));
    if (picture.pair !== pair.join()) return;
    [picture.left, picture.right] = got;
    drawLeaves();
  } catch (error) {
    picture.differing = -1;
    picture.left = picture.right = null;
    at("leaves").getContext("2d").clearRect(0, 0, 256, 256);
    at("leaves-text").textContent = `The leaves cannot be compared now: ${error.message}`;
  }
}

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
  picture.differing = differing;
  const names = `${replicas[at("left").selectedIndex].name} and ${replicas[at("right").selectedIndex].name}`;
  const text = differing === 0 ? `No leaf of ${names} differs.`
                               : `${count(differing)} of ${count(LEAVES)} leaves of ${names} differ.`;
  if (at("leaves-text").textContent !== text) at("leaves-text").textContent = text;
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
  if (!replica || !replica.status) return;
  const samples = replica.status.traffic.slice(-120);
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
  parts.push(svg("text", { x: left, y: 232 }, "2 minutes ago"),
             svg("text", { x: right, y: 232, "text-anchor": "end" }, "now"));
  at("traffic").replaceChildren(...parts);
  const sums = KINDS.map((kind) => [kind, samples.reduce((sum, s) => sum + s[kind], 0)]).filter(([, n]) => n);
  at("traffic-text").textContent = sums.length
    ? `In the last two minutes: ${sums.map(([kind, n]) => `${bytes(n)} of ${kind}`).join(", ")}.`
    : "Nothing in the last two minutes.";
}

// --- The clock ---------------------------------------------------------------

async function refresh() {
  try {
    if (!document.hidden) await draw();
  } finally {
    setTimeout(refresh, 1000);
  }
}

async function draw() {
  await refreshStatus(replicas[0]);
  const pages = replicas[0].status ? replicas[0].status.peer_pages : [];
  while (replicas.length <= pages.length) {
    const number = replicas.length - 1;
    const page = pages[number];
    replicas.push({ name: `page ${page}`, ...seen(page), page, base: `/peers/${number}` });
  }
  await Promise.all(replicas.slice(1).map(replicas[0].status ? refreshStatus : notAsked));
  fill(at("left"), 0);
  fill(at("right"), 1);
  fill(at("traffic-of"), 0);
  await refreshLeaves();
  drawReplicas();
  drawVerdict();
  drawTraffic();
  document.documentElement.dataset.refreshed = String(Date.now());
}

// A replica is not compared with itself: the other side takes what this one had.
function choosePair(chosen, other) {
  const before = Number(picture.pair.split(",")[chosen === "left" ? 0 : 1]);
  if (at(chosen).selectedIndex === at(other).selectedIndex) at(other).selectedIndex = before;
  refreshLeaves();
}
at("left").addEventListener("change", () => choosePair("left", "right"));
at("right").addEventListener("change", () => choosePair("right", "left"));
at("traffic-of").addEventListener("change", drawTraffic);
setInterval(drawLeaves, 250);
refresh();
