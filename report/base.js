"use strict";
// Functions that all figures use: elements, numbers in words, colours, the tooltip.
// Texts of the data reach the page by textContent only, never as HTML.

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "class") node.className = value;
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) node.append(child); // strings become text nodes
  }
  return node;
}

function trimmed(value, digits) {
  return String(Number(value.toPrecision(digits || 3)));
}

function scaled(value, steps, digits) {
  for (const [factor, unit] of steps) {
    if (Math.abs(value) >= factor) return trimmed(value / factor, digits) + " " + unit;
  }
  const [factor, unit] = steps[steps.length - 1];
  return trimmed(value / factor, digits) + " " + unit;
}

const COUNTS = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const BYTES = [[2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const SECONDS = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

// A value for people; `exact` adds all digits where they are few.
function words(format, value, exact) {
  if (value === null || value === undefined) return "unknown";
  if (value === 0) return format === "pct" ? "0 %" : format === "s" ? "0 s" : format === "bytes" ? "0 B" : "0";
  if (format === "bytes") {
    const text = scaled(value, BYTES);
    return exact && value >= 1024 ? `${text} (${value.toLocaleString("en-US")} bytes)` : text;
  }
  if (format === "s") return value >= 120 ? `${trimmed(value / 60)} min` : scaled(value, SECONDS);
  if (format === "pct") return Math.abs(value) < 0.01 ? "< 0.01 %" : (Math.abs(value) < 1 || value >= 99.95 ? trimmed(value, 2) : value.toFixed(1)) + " %";
  if (exact) return value.toLocaleString("en-US");
  return Math.abs(value) < 1e4 ? trimmed(value, 4) : scaled(value, COUNTS);
}

// A text in which `...` is what one types: an option, a command, a name of a tool.
function coded(text) {
  // Options stay whole: a browser would break lines after their hyphens.
  return String(text).split("`").map((part, i) => (i % 2 ? el("code", {}, part.split(" ").map((word, k) => [k ? " " : "", el("span", {}, word)])) : part));
}

// How values that stand below each other are written: times in one unit, that of the largest.
function alike(format, values) {
  const most = Math.max(...values.map((v) => Math.abs(v || 0)));
  const [factor, unit] = SECONDS.find(([f]) => most >= f) || SECONDS[SECONDS.length - 1];
  return (v) => (format === "s" && v && most < 120 && Math.abs(v) >= 1e-2 * most ? `${trimmed(v / factor)} ${unit}` : words(format, v));
}

// --- colours: those of the style sheet, so that a canvas follows light and dark ---

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

const KIND = { computing: 0, communicating: 1, waiting: 2 };

function seriesColour(name, index) {
  return "c" + (name in KIND ? KIND[name] : index % 8);
}

function isDark() {
  const forced = document.documentElement.dataset.theme;
  return forced ? forced === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

const redraws = new Set(); // functions that draw again: the width or the theme has changed

function redrawAll() {
  for (const draw of redraws) draw();
}

// --- the tooltip: one for the page, read aloud by screen readers ---

const tip = {
  node: null,
  show(lines, x, y) {
    if (!this.node) {
      this.node = el("div", { class: "tip", role: "status" });
      document.body.append(this.node);
    }
    this.node.replaceChildren(...lines.map((line, i) => el("div", { class: i ? "" : "tip-first" }, line)));
    this.node.style.display = "block";
    const box = this.node.getBoundingClientRect();
    const left = Math.min(x + 14, innerWidth - box.width - 8);
    const top = y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16;
    this.node.style.left = Math.max(4, left) + "px";
    this.node.style.top = Math.max(4, top) + "px";
  },
  hide() {
    if (this.node) this.node.style.display = "none";
  },
};

// The tooltip of an element, for pointer and keyboard.
function explain(node, lines) {
  node.setAttribute("tabindex", "0");
  node.addEventListener("pointermove", (e) => tip.show(lines, e.clientX, e.clientY));
  node.addEventListener("pointerleave", () => tip.hide());
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    if (node.matches(":focus-visible")) tip.show(lines, box.left + Math.min(box.width / 2, 200), box.top + box.height / 2);
  });
  node.addEventListener("blur", () => tip.hide());
}

function legend(names) {
  return el("div", { class: "legend" }, names.map((name, i) => {
    const swatch = el("i");
    swatch.style.background = `var(--${seriesColour(name, i)})`;
    return el("span", {}, swatch, name);
  }));
}

// Buttons of which one is chosen; `choose` is called with its number, at first with 0.
function choice(names, choose, label) {
  const buttons = names.map((name, i) => {
    const button = el("button", { type: "button", "aria-pressed": "false" }, name);
    button.addEventListener("click", () => pick(i));
    return button;
  });
  function pick(i) {
    buttons.forEach((b, k) => b.setAttribute("aria-pressed", String(k === i)));
    choose(i);
  }
  const row = el("div", { class: "choice", role: "group", "aria-label": label || "shown" }, buttons);
  return { node: row, pick };
}

// The numbers behind a figure, made when they are first looked at.
const ROWS_AT_ONCE = 500;
function numbers(columns, rows) {
  const table = el("table", {}, el("thead", {}, el("tr", {}, columns.map((c) => el("th", { scope: "col" }, c)))));
  const body = el("tbody");
  for (const row of rows.slice(0, ROWS_AT_ONCE)) {
    body.append(el("tr", {}, row.map((v) => el("td", { class: typeof v === "number" ? "n" : "" },
      typeof v === "number" ? v.toLocaleString("en-US", { maximumSignificantDigits: 15 }) : v ?? ""))));
  }
  table.append(body);
  const more = rows.length > ROWS_AT_ONCE ? el("p", { class: "note" }, `${(rows.length - ROWS_AT_ONCE).toLocaleString("en-US")} further rows.`) : null;
  return el("div", { class: "scroll", tabindex: "0" }, table, more);
}
