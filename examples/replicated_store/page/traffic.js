"use strict";
// Traffic over time, of one replica.

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
