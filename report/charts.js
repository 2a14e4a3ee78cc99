"use strict";
// Figures made of elements.  Each is a function of its data that returns {node, columns, rows}: what
// is shown, and the numbers behind it.

const CHARTS = {};

CHARTS.facts = (data) => ({
  node: el("dl", { class: "facts" }, data.rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
});

CHARTS.table = (data) => ({ node: numbers(data.columns, data.rows) });

CHARTS.bars = (data) => {
  const total = (row) => row.values.reduce((a, b) => a + (b || 0), 0);
  const most = Math.max(0, ...data.rows.map((r) => Math.max(total(r), r.high || 0)));
  const least = Math.min(...data.rows.map((r) => Math.min(total(r), r.low || Infinity)).filter((v) => v > 0));
  const log = data.scale === "log" && least < most;
  const floor = log ? Math.pow(10, Math.floor(Math.log10(least) - 0.2)) : 0;
  // The axis begins at 0, or at the least value if one is below 0.
  const low = Math.min(0, ...data.rows.map((r) => Math.min(total(r), r.low ?? 0)));
  const part = (v) => (log ? (v > floor ? Math.log(v / floor) / Math.log(most / floor) : 0) : (v - low) / (most - low || 1));
  const rows = data.rows.map((row) => {
    const track = el("span", { class: "track" });
    row.values.forEach((value, i) => {
      const bar = el("i");
      if (!i && low < 0) bar.style.marginLeft = 100 * part(Math.min(0, value)) + "%";
      bar.style.width = 100 * (log ? part(value || 0) : Math.abs(part(value || 0) - part(0))) + "%";
      bar.style.background = `var(--${seriesColour(data.series[i], i)})`;
      track.append(bar);
    });
    if (row.low !== null && row.low !== undefined && row.high !== null && row.high !== undefined) {
      const line = el("b");
      line.style.left = 100 * part(row.low) + "%";
      line.style.width = 100 * (part(row.high) - part(row.low)) + "%";
      track.append(line);
    }
    const node = el("div", { class: "bar" },
      el("span", { class: "label" }, row.label, row.note ? el("small", {}, row.note) : null),
      track, el("span", { class: "value" }, words(data.format, total(row))));
    explain(node, [row.label, ...row.values.map((v, i) => `${data.series[i]}: ${words(data.format, v, true)}`),
      ...(row.low != null && row.high != null ? [`from ${words(data.format, row.low)} to ${words(data.format, row.high)}`] : []),
      ...(row.note ? [row.note] : [])]);
    return node;
  });
  return {
    node: el("div", { class: "bars" }, data.series.length > 1 ? legend(data.series) : null, rows),
    columns: ["", ...data.series, "note"],
    rows: data.rows.map((r) => [r.label, ...r.values, r.note || ""]),
  };
};

CHARTS.steps = (data) => {
  const end = Math.max(...data.rows.map((r) => r.start + r.seconds)) || 1;
  return {
    node: el("div", { class: "bars" }, data.rows.map((row, i) => {
      const track = el("span", { class: "track" }), bar = el("i");
      bar.style.marginLeft = (100 * row.start) / end + "%";
      bar.style.width = Math.max((100 * row.seconds) / end, 0.4) + "%";
      bar.style.background = `var(--c${[0, 3, 4, 5, 6, 7][i % 6]})`;
      track.append(bar);
      const node = el("div", { class: "bar" },
        el("span", { class: "label" }, row.label, row.note ? el("small", {}, row.note) : null), track,
        el("span", { class: "value" }, words("s", row.seconds)));
      explain(node, [row.label, `${words("s", row.seconds)}, from ${words("s", row.start)} on`, row.note]);
      return node;
    })),
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
      .call(d3.axisBottom(x).tickValues(data.x.filter((_, i) => i % every === 0)).tickFormat((v) => (v.length > 16 ? v.slice(0, 15) + "…" : v)).tickSize(4));
    svg.append("text").attr("class", "axis-name").attr("x", (left + width) / 2).attr("y", height - 8)
      .text(data.xlabel + (log ? "; the axis of times is logarithmic" : ""));
    data.series.forEach((s, k) => {
      const points = data.x.map((v, i) => ({ x: x(v), v: s.values[i], low: s.low[i], high: s.high[i], label: v })).filter((p) => p.v !== null);
      const paint = `var(--${seriesColour(s.name, k)})`;
      svg.append("path").attr("d", d3.area().x((p) => p.x).y0((p) => y(p.low)).y1((p) => y(p.high))(points)).style("fill", paint).style("opacity", 0.2);
      svg.append("path").attr("d", d3.line().x((p) => p.x).y((p) => y(p.v))(points)).style("stroke", paint).style("fill", "none").style("stroke-width", 2);
      for (const p of points) {
        const dot = svg.append("circle").attr("class", "dot").attr("cx", p.x).attr("cy", y(p.v)).attr("r", 5).style("fill", paint);
        explain(dot.node(), [s.name, `${data.xlabel} ${p.label}: ${words(data.format, p.v)}`,
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

CHARTS.nest = (data) => {
  let shape = data.shapes[0];
  const body = el("div", { class: "nest scroll", tabindex: "0" });
  function show() {
    body.replaceChildren(...shape.rows.map(([depth, loop, text, share, volume, events, where]) => {
      const bar = el("i");
      bar.style.width = 100 * (share || 0) + "%";
      const line = el("div", { class: loop ? "nest-row loop" : "nest-row" },
        el("span", { class: "nest-share" }, bar, el("em", {}, share === null ? "" : words("pct", 100 * share))),
        el("code", {}, text), el("small", {}, where));
      line.querySelector("code").style.paddingLeft = 1.1 * Math.min(depth, 8) + "em";
      if (volume !== null) {
        line.title = `${Number(volume).toLocaleString("en-US")} ${data.unit || ""}, ${events.toLocaleString("en-US")} events`;
      }
      return line;
    }));
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
