"use strict";
// Text and elements of the page. All text goes in as text, never as markup.

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
