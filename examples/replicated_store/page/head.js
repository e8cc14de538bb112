"use strict";
// The head of the page: what there is to say of all replicas, each thing once.

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

// What is said of those of which the same is to be said, in one.
function complaints() {
  const groups = new Map();
  for (const replica of replicas) {
    for (const [level, word, about = [], why = ""] of complaintsOf(replica)) {
      const key = JSON.stringify([word, about]);
      if (!groups.has(key)) groups.set(key, { level, word, about, why, names: [] });
      const group = groups.get(key);
      group.names.push(shown(replica));
      if (group.why !== why) group.why = "";  // each has its own
    }
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
  const told = new Set();
  const tellOnce = (accusations) => accusations.filter((of) => !told.has(of) && told.add(of));
  return heard.filter((group) => !accused(group)).map((group) => ({
    ...group, accusations: tellOnce(heard.filter((of) => of.about.length === 1 && alone(group, of.about[0]))) }));
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

// Of whom this is said, sessions fail for that.
const EXPLAINS = [NOT_REACHED, OF_ANOTHER, NO_MEMBER];

function accusation({ word, about, names }, whom) {
  return ACCUSATIONS[word](whom, few(names), about.length > 1);
}

function sentence(group) {
  const { word, about, names, why } = group;
  if (about.length) return accusation(group, few(about)) + (why ? `: ${why}` : "");
  const said = names.length > 1 ? word.replace(/^its /, "their ") : word;
  const because = (of) => of.why && !EXPLAINS.includes(word) ? `: ${of.why}` : "";
  const accusations = group.accusations.map((of) => accusation(of, "it") + because(of));
  return [`${few(names)}: ${said}`, ...accusations].join("; ");
}

function howHealed() {
  const areOnDemand = replicas.every(({ status }) => status?.session_interval_ms === 0);
  return areOnDemand ? "a session heals it, once one is asked for (--sync-interval-ms is 0)" : "their sessions heal it";
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
    if (!unwell.length) sentences.push(howHealed());
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
