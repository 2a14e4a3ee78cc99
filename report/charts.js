"use strict";
// Figures made of elements.  Each is a function of its data that returns {node, columns, rows}: what
// is shown, and the numbers behind it.

const CHARTS = {};

CHARTS.facts = (data) => ({
  node: el("dl", { class: "facts" }, data.rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
});

CHARTS.table = (data) => ({ node: numbers(data.columns, data.rows) });

const total = (values) => values.reduce((a, b) => a + (b || 0), 0);

// A bar of one or several series, as shares of what `part` says.  `first`: the colour of the first.
function track(values, series, part, low, first = 0) {
  const node = el("span", { class: "track" });
  values.forEach((value, i) => {
    if (!value) return;
    const bar = el("i");
    if (!i && low < 0) bar.style.marginLeft = 100 * part(Math.min(0, value)) + "%";
    bar.style.width = 100 * Math.abs(part(value || 0) - part(0)) + "%";
    bar.style.background = `var(--${seriesColour(series[i], first + i)})`;
    node.append(bar);
  });
  return node;
}

/*
 * Rows with a bar.  A full bar is data.whole (whose name is whole_name), or else the largest value; the
 * line below says so.  data.second and row.second are another measure of the same rows.
 */
CHARTS.bars = (data) => {
  const sums = data.rows.map((r) => total(r.values)), second = data.second;
  const most = data.whole || Math.max(0, ...data.rows.map((r, i) => Math.max(sums[i], r.high || 0)));
  const least = Math.min(...data.rows.map((r, i) => Math.min(sums[i], r.low || Infinity)).filter((v) => v > 0));
  const log = data.scale === "log" && least < most;
  const floor = log ? Math.pow(10, Math.floor(Math.log10(least) - 0.2)) : 0;
  // The axis begins at 0, or at the least value if one is below 0.
  const low = Math.min(0, ...data.rows.map((r, i) => Math.min(sums[i], r.low ?? 0)));
  const part = (v) => (log ? (v > floor ? Math.log(v / floor) / Math.log(most / floor) : 0) : (v - low) / (most - low || 1));
  const text = alike(data.format, sums), secondText = second && alike(second.format, data.rows.map((r) => total(r.second)));
  const alone = data.rows.length === 1 && !data.whole && !second && data.rows[0].low == null; // one full bar says nothing
  const rows = data.rows.map((row, k) => {
    const bars = track(row.values, data.series, part, low);
    if (row.low != null && row.high != null) {
      const line = el("b");
      line.style.left = 100 * part(row.low) + "%";
      line.style.width = 100 * (part(row.high) - part(row.low)) + "%";
      bars.append(line);
    }
    const node = el("div", { class: "bar" + (alone ? " alone" : "") },
      el("span", { class: "label" }, coded(row.label), row.note ? el("small", {}, coded(row.note)) : null),
      alone ? null : bars, el("span", { class: "value" }, text(sums[k])));
    if (second) {
      node.append(track(row.second, second.series, (v) => v / second.whole, 0, data.series.length), el("span", { class: "value" }, secondText(total(row.second))));
      node.classList.add("double");
    }
    explain(node, [row.label, ...row.values.map((v, i) => `${data.series[i]}: ${words(data.format, v, true)}`),
      ...(second ? row.second.map((v, i) => `${second.series[i]}: ${words(second.format, v, true)}`) : []),
      ...(row.low != null && row.high != null ? [`from ${words(data.format, row.low)} to ${words(data.format, row.high)}`] : []),
      ...(row.note ? [row.note.replaceAll("`", "")] : [])]);
    return node;
  });
  const scale = alone ? "" : second ? `Above: calls, from ${words("count", Math.max(floor, 0))} to ${text(most)} on a logarithmic axis. Below: ${second.name}; ` +
    `a full bar is ${words(second.format, second.whole)}, ${second.whole_name}.`
    : log ? `The axis is logarithmic: bars begin at ${words(data.format, floor)}, and a full bar is ${text(most)}.`
      : data.whole ? `A full bar is ${data.format === "pct" ? "100 %" : words(data.format, data.whole)}: ${data.whole_name}.`
        : low < 0 ? `Bars reach from ${text(low)} to ${text(most)}.` : `A full bar is the largest value, ${text(most)}.`;
  const names = second ? [...data.series, ...second.series] : data.series;
  return {
    node: el("div", { class: "bars" }, names.length > 1 ? legend(names) : null, rows, scale ? el("p", { class: "note scale" }, scale) : null),
    columns: ["", ...names, "note"],
    rows: data.rows.map((r) => [r.label, ...r.values, ...(second ? names.slice(data.series.length).map((_, i) => r.second[i] ?? 0) : []), r.note || ""]),
  };
};

CHARTS.steps = (data) => {
  const end = Math.max(...data.rows.map((r) => r.start + r.seconds)) || 1;
  return {
    node: el("div", { class: "bars" }, data.rows.map((row) => {
      const line = el("span", { class: "track" }), bar = el("i");
      bar.style.marginLeft = (100 * row.start) / end + "%";
      bar.style.width = Math.max((100 * row.seconds) / end, 0.4) + "%";
      bar.style.background = "var(--c0)";
      line.append(bar);
      const node = el("div", { class: "bar" },
        el("span", { class: "label" }, row.label, row.note ? el("small", {}, row.note) : null), line,
        el("span", { class: "value" }, words("s", row.seconds)));
      explain(node, [row.label, `${words("s", row.seconds)}, from ${words("s", row.start)} on`, row.note]);
      return node;
    }), el("p", { class: "note scale" }, `Bars lie where the steps were, within ${words("s", end)} from the first to the last.`)),
    columns: ["step", "start, s", "seconds"],
    rows: data.rows.map((r) => [r.label, r.start, r.seconds]),
  };
};

// A drawing that is made again when the width changes.
function responsive(draw) {
  const node = el("div", { class: "plot" });
  let before = 0;
  const again = (force) => {
    const width = Math.floor(node.clientWidth);
    if (!width || (width === before && force !== true)) return;
    before = width;
    draw(node, width);
  };
  new ResizeObserver(() => again()).observe(node);
  redraws.add(() => again(true));
  node.redraw = () => again(true);
  return node;
}

function svgIn(node, width, height) {
  node.replaceChildren();
  return d3.select(node).append("svg").attr("width", width).attr("height", height).attr("viewBox", `0 0 ${width} ${height}`);
}

CHARTS.columns = (data) => {
  const views = data.series.flatMap((s) => [
    { name: s.name, from: s.from, values: s.number, format: "count" },
    { name: (data.unit === "bytes" ? "bytes of " : "volume of ") + s.name, from: s.from, values: s.sum, format: data.unit },
  ]);
  let view = views[0];
  const node = responsive((box, width) => {
    const height = 260, left = 62, bottom = 44, top = 10;
    const svg = svgIn(box, width, height);
    const x = d3.scaleBand().domain(view.from.map((_, i) => i)).range([left, width - 8]).padding(0.12);
    const most = Math.max(...view.values), least = Math.min(...view.values.filter((v) => v > 0));
    const log = most / least > 200;
    const y = (log ? d3.scaleLog().domain([least / 2, most]) : d3.scaleLinear().domain([0, most])).range([height - bottom, top]);
    const ticks = log ? y.ticks(5).filter((v, i, a) => Number.isInteger(Math.log10(v)) && (a.length < 60 || Math.log10(v) % 2 === 0)) : y.ticks(5);
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
      .call(d3.axisLeft(y).tickValues(ticks).tickFormat((v) => words(view.format, v)).tickSize(-(width - left - 8)));
    const every = Math.ceil(view.from.length / ((width - left) / 46));
    const edge = (v) => (data.unit === "bytes" ? words("bytes", v) : words("count", v));
    svg.append("g").attr("class", "axis x").attr("transform", `translate(0,${height - bottom})`)
      .call(d3.axisBottom(x).tickValues(view.from.map((_, i) => i).filter((i) => i % every === 0)).tickFormat((i) => edge(view.from[i])).tickSize(4));
    svg.append("text").attr("class", "axis-name").attr("x", (left + width) / 2).attr("y", height - 6)
      .text((data.unit === "bytes" ? "size, from" : (data.xlabel || "volume") + ", from") + (log ? "; the other axis is logarithmic" : ""));
    view.values.forEach((value, i) => {
      if (!value) return;
      const bar = svg.append("rect").attr("class", "column").attr("x", x(i)).attr("width", x.bandwidth())
        .attr("y", y(value)).attr("height", height - bottom - y(value));
      const last = view.from[i] ? 2 * view.from[i] - 1 : 0;
      explain(bar.node(), [`${edge(view.from[i])} to ${edge(last)}`, `${view.name}: ${words(view.format, value, true)}`]);
    });
  });
  const pick = choice(views.map((v) => v.name), (i) => { view = views[i]; node.redraw(); });
  pick.pick(0);
  return {
    node: el("div", {}, pick.node, node), columns: ["", "from", "number", data.unit === "bytes" ? "bytes" : "volume"],
    rows: data.series.flatMap((s) => s.from.map((f, i) => [s.name, f, s.number[i], s.sum[i]]).filter((r) => r[2])),
  };
};

CHARTS.curves = (data) => {
  const named = (v) => (data.names || data.x)[data.x.indexOf(v)];
  const node = responsive((box, width) => {
    const height = 320, left = 66, bottom = 48, top = 14;
    const svg = svgIn(box, width, height);
    const x = d3.scalePoint().domain(data.x).range([left, width - 16]).padding(0.3);
    const all = data.series.flatMap((s) => [...s.values, ...s.low, ...s.high]).filter((v) => v !== null);
    const most = Math.max(...all), least = Math.min(...all), log = most / least > 20;
    const y = (log ? d3.scaleLog().domain([least / 1.2, most * 1.1]) : d3.scaleLinear().domain([0, most * 1.05])).range([height - bottom, top]);
    const ticks = log ? y.ticks(6).filter((v) => [1, 2, 5].includes(Number(v.toExponential().split("e")[0]))) : y.ticks(6);
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
      .call(d3.axisLeft(y).tickValues(ticks).tickFormat((v) => words(data.format, v)).tickSize(-(width - left - 16)));
    const every = Math.ceil(data.x.length / ((width - left) / 70));
    svg.append("g").attr("class", "axis x").attr("transform", `translate(0,${height - bottom})`)
      .call(d3.axisBottom(x).tickValues(data.x.filter((_, i) => i % every === 0)).tickFormat((v) => { const t = named(v); return t.length > 16 ? t.slice(0, 15) + "…" : t; }).tickSize(4));
    svg.append("text").attr("class", "axis-name").attr("x", (left + width) / 2).attr("y", height - 8)
      .text(data.xlabel + (log ? "; the axis of times is logarithmic" : ""));
    data.series.forEach((s, k) => {
      const points = data.x.map((v, i) => ({ x: x(v), v: s.values[i], low: s.low[i], high: s.high[i], label: v })).filter((p) => p.v !== null);
      const paint = `var(--${seriesColour(s.name, k)})`;
      svg.append("path").attr("d", d3.area().x((p) => p.x).y0((p) => y(p.low)).y1((p) => y(p.high))(points)).style("fill", paint).style("opacity", 0.2);
      svg.append("path").attr("d", d3.line().x((p) => p.x).y((p) => y(p.v))(points)).style("stroke", paint).style("fill", "none").style("stroke-width", 2);
      for (const p of points) {
        const dot = svg.append("circle").attr("class", "dot").attr("cx", p.x).attr("cy", y(p.v)).attr("r", 5).style("fill", paint);
        explain(dot.node(), [s.name, `${data.xlabel} ${named(p.label)}: ${words(data.format, p.v)}`,
          ...(p.low !== p.high ? [`from ${words(data.format, p.low)} to ${words(data.format, p.high)}`] : [])]);
      }
    });
  });
  return {
    node: el("div", {}, data.series.length > 1 ? legend(data.series.map((s) => s.name)) : null, node),
    columns: [data.xlabel, "", "median", "least", "most"],
    rows: data.series.flatMap((s) => data.x.map((v, i) => [v, s.name, s.values[i], s.low[i], s.high[i]])),
  };
};

// Loops and calls.  Rows with small shares are folded into one that says how many they are and what they hold.
CHARTS.nest = (data) => {
  let shape = data.shapes[0];
  const body = el("div", { class: "nest" });
  function line([depth, loop, text, share, volume, events, where]) {
    const bar = el("i");
    bar.style.width = 100 * (share || 0) + "%";
    const node = el("div", { class: loop ? "nest-row loop" : "nest-row" },
      el("span", { class: "nest-share" }, bar, el("em", {}, share === null ? "" : words("pct", 100 * share))),
      el("code", {}, text), el("small", {}, where));
    node.querySelector("code").style.paddingLeft = 1.1 * Math.min(depth, 8) + "em";
    if (volume !== null) node.title = `${Number(volume).toLocaleString("en-US")} ${data.unit || ""}, ${events.toLocaleString("en-US")} events`;
    return node;
  }
  function fold([first, number, share]) {
    const button = el("button", { type: "button", class: "fold" }, `… ${number} more lines, which hold ${words("pct", 100 * share)}`);
    const node = el("div", { class: "nest-row" }, el("span"), button);
    button.addEventListener("click", () => node.replaceWith(...shape.rows.slice(first, first + number).map(line)));
    return node;
  }
  function show() {
    const folded = new Map((shape.folds || []).map((f) => [f[0], f])), out = [];
    for (let i = 0; i < shape.rows.length; i++) {
      const f = folded.get(i);
      out.push(f ? fold(f) : line(shape.rows[i]));
      if (f) i += f[1] - 1;
    }
    body.replaceChildren(el("div", { class: "nest-row nest-head" }, el("small", {}, "share of volume"), el("small", {}, "loop or call"), el("small", {}, "where")), ...out);
  }
  const pick = choice(data.shapes.map((s) => s.label), (i) => { shape = data.shapes[i]; show(); }, "ranks");
  pick.pick(0);
  return {
    node: el("div", {}, pick.node, body), columns: ["ranks", "depth", "call", "share", "volume", "events", "where"],
    rows: data.shapes.flatMap((s) => s.rows.map(([d, , t, p, v, e, w]) => [s.label, d, t, p, v, e, w])),
  };
};

CHARTS.tree = (data) => {
  const known = new Set(data.nodes.map((n) => n.name));
  const root = d3.stratify().id((n) => n.name).parentId((n) => n.parent)([
    { name: data.root, parent: null, bytes: 0, seconds: 0 },
    ...data.nodes.filter((n) => n.name !== data.root).map((n) => ({ ...n, parent: known.has(n.parent) && n.parent !== n.name ? n.parent : data.root }))]);
  const most = Math.max(...data.nodes.map((n) => n.bytes), 1);
  const radius = (n) => 4 + 10 * Math.sqrt(n.data.bytes / most);
  const node = responsive((box, width) => {
    const step = data.nodes.length > 40 ? 18 : 30, leaves = root.leaves().length, height = Math.max(leaves * step + 20, 80);
    d3.tree().size([height - 20, width - 190])(root);
    const svg = svgIn(box, width, height).append("g").attr("transform", "translate(60,10)");
    for (const link of root.links()) {
      svg.append("path").attr("class", "edge").attr("d", d3.linkHorizontal().x((n) => n.y).y((n) => n.x)(link))
        .style("stroke-width", 1 + 5 * Math.sqrt(link.target.data.bytes / most));
    }
    for (const n of root.descendants()) {
      const g = svg.append("g").attr("transform", `translate(${n.y},${n.x})`);
      g.append("circle").attr("class", "dot").attr("r", radius(n));
      g.append("text").attr("class", "node-name").attr("x", n.children ? 0 : radius(n) + 5).attr("y", n.children ? -radius(n) - 5 : 4)
        .style("text-anchor", n.children ? "middle" : "start").text(n.data.name.slice(0, 18));
      explain(g.node(), [n.data.name, n.parent ? `through ${n.parent.data.name}` : "gathers", words("bytes", n.data.bytes, true), words("s", n.data.seconds)]);
    }
  });
  return { node, columns: ["node", "through", "bytes", "seconds"], rows: data.nodes.map((n) => [n.name, n.parent || data.root, n.bytes, n.seconds]) };
};

CHARTS.drawing = (data) => {
  const svg = d3.create("svg").attr("viewBox", data.box.join(" ")).attr("class", "drawing").attr("role", "img");
  (function add(to, shapes) {
    for (const [name, attributes, text, inner] of shapes) {
      const shape = to.append(name);
      for (const [key, value] of Object.entries(attributes)) if (key !== "load") shape.attr(key, value);
      if (attributes.load !== undefined) {
        shape.attr("stroke", attributes.load ? d3.interpolateYlOrRd(0.15 + 0.85 * attributes.load) : "#c3cad2").attr("stroke-opacity", 1).attr("stroke-width", 1 + 2 * attributes.load);
      }
      if (text) shape.text(text);
      add(shape, inner);
    }
  })(svg, data.shapes);
  const sheet = el("div", { class: "sheet scroll", tabindex: "0" }, svg.node());
  if (data.load === undefined) return { node: sheet };
  const bar = el("span", { class: "ramp" });
  bar.style.background = `linear-gradient(90deg, ${d3.range(0, 1.01, 0.1).map((v) => d3.interpolateYlOrRd(0.15 + 0.85 * v)).join(",")})`;
  return { node: el("div", {}, sheet, el("div", { class: "legend" }, "use of links: 0 %", bar, words("pct", data.load) + " of the time")) };
};
