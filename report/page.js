"use strict";
// The page: the answer, the facts, the figures by section, from the data that it holds.

(function page() {
  const data = JSON.parse(document.getElementById("data").textContent), root = document.getElementById("page");

  const isEmpty = (figure) => figure.parts.every((p) => p.empty);
  const theme = el("button", { type: "button", class: "theme", "aria-label": "light or dark" }, "◐");
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    redrawAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);

  const sections = [...new Set(data.figures.map((f) => f.section))];
  const id = (i) => `figure-${i + 1}`;
  const nav = el("nav", { "aria-label": "figures" }, sections.map((s) => [el("h2", {}, s), el("ul", {},
    data.figures.map((f, i) => (f.section === s ? el("li", { class: isEmpty(f) ? "is-empty" : "" }, el("a", { href: "#" + id(i) }, f.title)) : null)))]));

  // What is not exact: first what concerns many figures; what concerns single ones is folded.
  const above = Object.entries(data.top), others = data.marks.filter((m) => !(m in data.top));
  const doubt = (text) => {
    const [, mark, rest] = /^([A-Z][a-z]+: )?([^]*)$/.exec(text);
    return mark ? [el("strong", {}, mark), coded(rest)] : coded(text);
  };
  const marks = data.marks.length ? el("div", { class: "marks", role: "note" },
    above.map(([m, places]) => el("p", {}, doubt(m), el("small", {}, ` (${places.join(", ")})`))),
    others.length ? el("details", { open: above.length ? null : "" }, el("summary", {}, `${above.length ? "And " : ""}${others.length} reservation${others.length > 1 ? "s" : ""} at single figures`),
      el("ul", {}, others.map((m) => el("li", {}, doubt(m))))) : null) : null;

  const header = el("header", {}, el("div", { class: "head" }, el("h1", {}, data.title), theme), marks,
    el("ol", { class: "answer" }, data.sentences.map((s, i) => el("li", {}, el("strong", {}, ["How long", "Where the time goes", "What would help"][i]), el("span", {}, coded(s))))),
    el("div", { class: "tiles" }, data.facts.map(([value, name, note]) => el("div", { class: "tile" }, el("b", {}, value), el("span", {}, name), el("small", {}, note)))));

  function part(figure, one) {
    const out = el("div", { class: "part" });
    const own = (one.marks || []).filter((m) => !(data.doubts[figure.section] || []).includes(m)); // the section says the others
    if (own.length) out.append(el("p", { class: "mark" }, own.map((m) => [doubt(m), " "])));
    if (one.empty) {
      out.append(el("p", { class: "empty" }, coded(one.empty)));
      return out;
    }
    let chart;
    try {
      chart = CHARTS[one.kind](one);
    } catch (error) { // an input with other types than ours must not cost the other figures
      out.append(el("p", { class: "empty" }, `It cannot be drawn: ${error.message}.`));
      return out;
    }
    out.append(chart.node);
    if (one.note) out.append(el("p", { class: "note" }, coded(one.note)));
    const behind = el("details", {}, el("summary", {}, "Numbers and command"),
      el("p", {}, el("code", { class: "command" }, figure.command)));
    behind.addEventListener("toggle", () => {
      if (behind.open && chart.rows && !behind.querySelector("table")) behind.append(numbers(chart.columns, chart.rows));
    });
    out.append(behind);
    return out;
  }

  function draw(figure, i) {
    if (isEmpty(figure)) return el("figure", { id: id(i), class: "is-empty" }, el("h3", {}, figure.title), el("p", { class: "empty" }, coded(figure.parts[0].empty)));
    const box = el("figure", { id: id(i) }, el("h3", {}, figure.title),
      el("figcaption", {}, figure.caption));
    const place = el("div");
    if (figure.parts.length > 1) {
      const pick = choice(figure.parts.map((p) => p.name), (k) => place.replaceChildren(part(figure, figure.parts[k])), "result");
      box.append(pick.node);
      pick.pick(0);
    } else place.append(part(figure, figure.parts[0]));
    box.append(place);
    return box;
  }

  // Wide figures take a row; the others go into the shorter of two columns, in their order.
  const WIDE = ["nest", "ranks", "timeline", "drawing"];
  function length(figure) {
    const one = figure.parts.find((p) => !p.empty);
    const lines = { bars: one.second ? 62 : 48, steps: 40, facts: 26, table: 30 }[one.kind];
    return 150 + (one.marks && one.marks.length ? 50 : 0) + (lines ? lines * one.rows.length : one.kind === "matrix" ? 520 : 330);
  }
  function arrange(figures) {
    let columns = null, filled;
    for (const [figure, i] of figures) {
      const wide = figure.parts.some((p) => WIDE.includes(p.kind)), node = draw(figure, i);
      node.style.order = i;
      if (wide) {
        columns = null;
        main.append(node);
        continue;
      }
      if (!columns) {
        columns = [el("div"), el("div")];
        filled = [0, 0];
        main.append(el("div", { class: "figures" }, columns));
      }
      const shorter = filled[1] < filled[0] ? 1 : 0;
      filled[shorter] += length(figure);
      columns[shorter].append(node);
    }
  }

  const main = el("main", {}, header);
  root.append(nav, main, el("footer", {}, `ti-report ${data.version} of ${data.trace}, ${data.size}${data.run ? ", run " + data.run : ""}. `,
    "Arrow keys move in a figure that has the focus, shift and arrows pan it, + and − zoom, 0 shows all."));
  for (const s of sections) {
    const all = data.figures.map((f, i) => [f, i]).filter(([f]) => f.section === s), empty = all.filter(([f]) => isEmpty(f));
    main.append(el("h2", {}, s));
    if (data.doubts[s] && empty.length < all.length) main.append(el("p", { class: "mark" }, "All figures of this section: ", [...new Set(data.doubts[s].map((m) => m.split(":")[0].toLowerCase()))].map((m, i) => [i ? ", " : "", el("strong", {}, m)]), ", as the top of the page says."));
    arrange(all.filter(([f]) => !isEmpty(f)));
    if (empty.length) main.append(el("div", { class: "empties" }, empty.map(([f, i]) => draw(f, i)))); // a line for each
  }
  addEventListener("scroll", () => tip.hide(), { passive: true });
})();
