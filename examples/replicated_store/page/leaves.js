"use strict";
// The leaves of all replicas are compared, and those of two drawn.

const LEAVES = 65536;
const HEALED_MS = 4000;  // how long a healed leaf is shown as such
const OLD_LEAVES_MS = 2500;  // leaves are said to be of before from then on
const UNCOMPARED_MS = 10000;  // a busy replica may miss rounds for as long

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
