"use strict";
// Figures with many items: a canvas that zooms, with pointer, fingers and keyboard.

const PAD = { left: 64, right: 10, top: 8, bottom: 42 };

/*
 * A canvas.  `figure` has
 *   height(width)           of the canvas
 *   both                    whether both axes zoom
 *   draw(c)                 draw into c.ctx; c.x and c.y are scales after zoom; c.cursor or null
 *   domain()                {x: [from, to], y: [from, to]}
 *   at(x, y)                the item there (in units of the axes): {cursor, lines} or null
 *   move(cursor, dx, dy)    the item beside it; {cursor, x, y, lines}
 */
function zoomable(figure) {
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": figure.label });
  const c = { ctx: canvas.getContext("2d"), cursor: null, width: 0, height: 0 };
  const zoom = d3.zoom().scaleExtent([1, figure.most || 400]);
  const selection = d3.select(canvas);

  function scales() {
    const { x, y } = figure.domain(), t = d3.zoomTransform(canvas);
    const base = { x: d3.scaleLinear().domain(x).range([PAD.left, c.width - PAD.right]),
      y: d3.scaleLinear().domain(y).range([PAD.top, c.height - PAD.bottom]) };
    c.base = base;
    c.most = x[1]; // where ranks end
    c.x = t.rescaleX(base.x);
    c.y = figure.both ? t.rescaleY(base.y) : base.y;
  }
  function draw() {
    scales();
    const { ctx } = c;
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    ctx.clearRect(0, 0, c.width, c.height);
    ctx.font = "12px system-ui, sans-serif";
    ctx.save();
    ctx.beginPath();
    ctx.rect(PAD.left, PAD.top, c.width - PAD.left - PAD.right, c.height - PAD.top - PAD.bottom);
    ctx.clip();
    figure.draw(c);
    ctx.restore();
    figure.axes(c);
  }
  const node = responsive((box, width) => {
    if (!canvas.isConnected) box.append(canvas);
    c.width = width;
    c.height = figure.height(width);
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(c.height * devicePixelRatio);
    canvas.style.height = c.height + "px";
    const inside = [[PAD.left, PAD.top], [width - PAD.right, c.height - PAD.bottom]];
    zoom.extent(inside).translateExtent(inside);
    draw();
  });
  // The wheel zooms where the figure has the focus; elsewhere it scrolls the page.
  zoom.filter(function (first) {
    const e = (typeof d3.event !== "undefined" && d3.event) || first;
    if (e.type === "wheel") return document.activeElement === canvas || e.ctrlKey;
    if (e.type.startsWith("touch")) return e.touches.length > 1 || d3.zoomTransform(canvas).k > 1;
    return !e.button;
  });
  zoom.on("zoom", draw);
  selection.call(zoom);

  function point(x, y, clientX, clientY) {
    const found = figure.at(x, y);
    c.cursor = found ? found.cursor : null;
    if (found) tip.show(found.lines, clientX, clientY);
    else tip.hide();
    draw();
  }
  canvas.addEventListener("pointermove", (e) => {
    if (e.buttons || !c.x) return;
    if (e.offsetX < PAD.left || e.offsetY > c.height - PAD.bottom) return tip.hide();
    point(c.x.invert(e.offsetX), c.y.invert(e.offsetY), e.clientX, e.clientY);
  });
  const leave = () => { c.cursor = null; tip.hide(); draw(); };
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("blur", leave);
  canvas.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (step && e.shiftKey) selection.call(zoom.translateBy, -60 * step[0] / d3.zoomTransform(canvas).k, -60 * step[1] / d3.zoomTransform(canvas).k);
    else if (step) {
      const found = figure.move(c.cursor, step[0], step[1]);
      if (found) show(found);
    } else if (e.key === "+" || e.key === "=") scaleBy(2);
    else if (e.key === "-") scaleBy(0.5);
    else if (e.key === "0") selection.call(zoom.transform, d3.zoomIdentity);
    else if (e.key === "Escape") leave();
    else return;
    e.preventDefault();
  });
  function show(found) {
    c.cursor = found.cursor;
    const t = d3.zoomTransform(canvas), px = c.x(found.x), py = c.y(found.y);
    if (px < PAD.left || px > c.width - PAD.right || (figure.both && (py < PAD.top || py > c.height - PAD.bottom))) {
      selection.call(zoom.translateTo, c.base.x(found.x), figure.both ? c.base.y(found.y) : t.invertY(c.height / 2));
    } else draw();
    const box = canvas.getBoundingClientRect();
    tip.show(found.lines, box.left + c.x(found.x), box.top + c.y(found.y));
  }
  function scaleBy(factor) {
    const at = c.cursor && figure.move(c.cursor, 0, 0);
    selection.call(zoom.scaleBy, factor, at ? [c.x(at.x), c.y(at.y)] : undefined);
  }
  redraws.add(() => c.width && draw());
  const button = (text, label, act) => {
    const b = el("button", { type: "button", title: label, "aria-label": label }, text);
    b.addEventListener("click", act);
    return b;
  };
  const tools = el("div", { class: "zoom" }, button("+", "zoom in", () => scaleBy(2)), button("−", "zoom out", () => scaleBy(0.5)),
    button("↺", "show all", () => selection.call(zoom.transform, d3.zoomIdentity)));
  return { node: el("div", { class: "zoomable" }, tools, node), redraw: () => c.width && draw() };
}

// Axes of ranks and values, drawn on the canvas.
function axisBelow(c, name, format, integers) {
  const { ctx } = c, y = c.height - PAD.bottom;
  ctx.fillStyle = ctx.strokeStyle = colour("muted");
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  let ticks = c.x.ticks(Math.max(2, (c.width - PAD.left) / 90));
  if (integers) ticks = ticks.filter((t) => Number.isInteger(t) && t < c.most);
  for (const t of ticks) {
    ctx.fillRect(c.x(t + (integers ? 0.5 : 0)), y, 1, 4);
    ctx.fillText(format(t), c.x(t + (integers ? 0.5 : 0)), y + 6);
  }
  ctx.fillText(name, (PAD.left + c.width) / 2, y + 25);
}
function axisLeft(c, name, format, integers) {
  const { ctx } = c;
  ctx.fillStyle = colour("muted");
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  let ticks = c.y.ticks(Math.max(2, c.height / 60));
  if (integers) ticks = ticks.filter((t) => Number.isInteger(t) && t < c.most);
  for (const t of ticks) ctx.fillText(format(t), PAD.left - 6, c.y(t + (integers ? 0.5 : 0)));
  if (!name) return;
  ctx.save();
  ctx.translate(12, (PAD.top + c.height - PAD.bottom) / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.textAlign = "center";
  ctx.fillText(name, 0, 0);
  ctx.restore();
}
const rankWords = (v) => v.toLocaleString("en-US");

CHARTS.ranks = (data) => {
  const many = data.series, np = data.np, gap = data.x.length > 1 ? data.x[1] - data.x[0] : 1;
  let shown = data.stacked ? many : [many[0]];
  const sum = (i) => shown.reduce((a, s) => a + (s.values[i] || 0), 0);
  const lines = (i) => [`rank ${data.x[i]}`, ...many.map((s) => `${s.name}: ${words(s.format, s.values[i], true)}`)];
  let most = 1;
  const measure = () => { most = Math.max(...data.x.map((_, i) => sum(i))) || 1; };
  measure();
  const near = (x) => Math.max(0, Math.min(data.x.length - 1, Math.floor(x / gap)));
  const plot = zoomable({
    label: `${shown.map((s) => s.name).join(", ")} of ${data.x.length} ranks`,
    most: Math.max(2, np / 4),
    height: (width) => (width < 500 ? 230 : 280),
    domain: () => ({ x: [0, data.x[data.x.length - 1] + gap], y: [1.04 * most, 0] }),
    draw(c) {
      const { ctx } = c, paint = shown.map((s, i) => colour(seriesColour(s.name, i)));
      ctx.fillStyle = colour("grid");
      for (const t of c.y.ticks(5)) ctx.fillRect(PAD.left, Math.round(c.y(t)), c.width, 1);
      data.x.forEach((rank, i) => {
        // Whole pixels: a share of one would be a stripe.  Of ranks that share one, the highest is seen.
        const x = Math.floor(c.x(rank)), w = Math.max(1, Math.floor(c.x(rank + gap)) - x);
        let base = 0;
        shown.forEach((s, k) => {
          const v = s.values[i] || 0;
          ctx.fillStyle = paint[k];
          ctx.fillRect(x, c.y(base + v), w - (w > 4 ? 1 : 0), c.y(base) - c.y(base + v));
          base += v;
        });
      });
      if (c.cursor !== null) {
        ctx.fillStyle = colour("cursor");
        ctx.fillRect(c.x(data.x[c.cursor]), PAD.top, Math.max(2, c.x(gap) - c.x(0)), c.height - PAD.bottom - PAD.top);
      }
    },
    axes(c) {
      axisBelow(c, "rank", rankWords, true);
      axisLeft(c, "", (v) => words(shown[0].format, v));
    },
    at: (x) => (x < 0 || x > np ? null : { cursor: near(x), lines: lines(near(x)) }),
    move(cursor, dx) {
      const i = cursor === null ? 0 : Math.max(0, Math.min(data.x.length - 1, cursor + dx));
      return { cursor: i, x: data.x[i] + gap / 2, y: most / 2, lines: lines(i) };
    },
  });
  const pick = data.stacked ? null : choice(many.map((s) => s.name), (i) => { shown = [many[i]]; measure(); plot.redraw(); });
  if (pick) pick.pick(0);
  return {
    node: el("div", {}, pick ? pick.node : legend(many.map((s) => s.name)), plot.node),
    columns: ["rank", ...many.map((s) => s.name)], rows: data.x.map((r, i) => [r, ...many.map((s) => s.values[i])]),
  };
};

// The cells of a matrix: sparse and exact, or dense 16-bit logarithms.
function cellsOf(data) {
  const cells = new Map();
  if (data.dense) {
    const bytes = Uint8Array.from(atob(data.dense), (ch) => ch.charCodeAt(0)), scale = Math.log1p(data.most) / 65534;
    for (let i = 0; 2 * i < bytes.length; i++) {
      const v = bytes[2 * i] | (bytes[2 * i + 1] << 8);
      if (v) cells.set(i, [Math.expm1((v - 1) * scale)]);
    }
  } else {
    let at = 0;
    data.index.forEach((gap, i) => { at += gap; cells.set(at, [data.values[i], data.counts ? data.counts[i] : null]); });
  }
  return cells;
}

CHARTS.matrix = (data) => {
  const cells = cellsOf(data), n = data.n, g = data.group;
  const values = [...cells.values()].map((v) => v[0]).filter((v) => v > 0);
  const most = values.reduce((a, b) => Math.max(a, b), 0), smallest = values.reduce((a, b) => Math.min(a, b), Infinity);
  // A thousandth of the largest is light enough: a wider range would leave no colours for what is large.
  const log = most > 10 * smallest, least = Math.max(smallest, most / 1000);
  const share = (v) => (log ? Math.max(0, Math.log(v / least) / Math.log(most / least)) : v / most);
  const paint = (s) => (isDark() ? d3.interpolateInferno(0.25 + 0.75 * s) : d3.interpolateYlGnBu(0.2 + 0.8 * s));
  const label = (i) => (g === 1 ? `${i}` : `${i * g} to ${Math.min(data.np, (i + 1) * g) - 1}`);
  function lines(row, col) {
    const cell = cells.get(row * n + col);
    return [`${data.rows} ${label(row)}`, `${data.columns} ${label(col)}`,
      cell ? words(data.format, cell[0], !data.dense) : data.format === "s" ? "no waiting" : "nothing",
      ...(cell && cell[1] ? [`${cell[1].toLocaleString("en-US")} ${data.counted}`] : [])];
  }
  const plot = zoomable({
    label: `matrix of ${n} by ${n}, ${cells.size} cells with values`, both: true, most: Math.max(2, n / 4),
    height: (width) => Math.min(width - PAD.left - PAD.right, 560) + PAD.top + PAD.bottom,
    domain: () => ({ x: [0, n], y: [0, n] }),
    draw(c) {
      const { ctx } = c, ratio = devicePixelRatio;
      const w = Math.round(c.width * ratio), h = Math.round(c.height * ratio), image = ctx.createImageData(w, h);
      const best = new Float32Array(w * h), pixels = new Uint32Array(image.data.buffer), shades = [];
      for (let i = 0; i < 256; i++) {
        const { r, g: gr, b } = d3.rgb(paint(i / 255));
        shades.push((255 << 24) | (Math.round(b) << 16) | (Math.round(gr) << 8) | Math.round(r));
      }
      for (const [at, [value]] of cells) { // the greatest of the cells that share a pixel
        if (!(value > 0)) continue;
        const row = Math.floor(at / n), col = at % n, s = share(value);
        const x0 = Math.floor(c.x(col) * ratio), x1 = Math.max(x0 + 1, Math.floor(c.x(col + 1) * ratio));
        const y0 = Math.floor(c.y(row) * ratio), y1 = Math.max(y0 + 1, Math.floor(c.y(row + 1) * ratio));
        if (x1 < 0 || y1 < 0 || x0 >= w || y0 >= h) continue;
        for (let y = Math.max(0, y0); y < Math.min(h, y1); y++) {
          for (let x = Math.max(0, x0); x < Math.min(w, x1); x++) {
            if (s + 1 > best[y * w + x]) {
              best[y * w + x] = s + 1;
              pixels[y * w + x] = shades[Math.round(255 * s)];
            }
          }
        }
      }
      const layer = el("canvas", { width: w, height: h });
      layer.getContext("2d").putImageData(image, 0, 0);
      ctx.fillStyle = colour("sunken");
      ctx.fillRect(0, 0, c.width, c.height);
      ctx.drawImage(layer, 0, 0, c.width, c.height);
      if (c.cursor) {
        const [row, col] = c.cursor;
        ctx.fillStyle = colour("cursor");
        ctx.fillRect(0, c.y(row), c.width, Math.max(1, c.y(row + 1) - c.y(row)));
        ctx.fillRect(c.x(col), 0, Math.max(1, c.x(col + 1) - c.x(col)), c.height);
      }
    },
    axes(c) {
      axisBelow(c, data.columns, (v) => rankWords(v * g), true);
      axisLeft(c, data.rows, (v) => rankWords(v * g), true);
    },
    at(x, y) {
      const row = Math.floor(y), col = Math.floor(x);
      return row < 0 || col < 0 || row >= n || col >= n ? null : { cursor: [row, col], lines: lines(row, col) };
    },
    move(cursor, dx, dy) {
      const [r, k] = cursor || [0, -1], limit = (v) => Math.max(0, Math.min(n - 1, v));
      const row = limit(r + dy), col = limit(k + dx);
      return { cursor: [row, col], x: col + 0.5, y: row + 0.5, lines: lines(row, col) };
    },
  });
  const bar = el("span", { class: "ramp" });
  const colourBar = () => { bar.style.background = `linear-gradient(90deg, ${d3.range(0, 1.01, 0.1).map(paint).join(",")})`; };
  colourBar();
  redraws.add(colourBar);
  plot.node.classList.add("square");
  const order = [...cells].sort((a, b) => b[1][0] - a[1][0]);
  return {
    node: el("div", {}, plot.node, el("div", { class: "legend" }, log ? (smallest < least ? "up to " : "") + words(data.format, least) : words(data.format, 0), bar, words(data.format, most) + (log ? " (logarithmic)" : ""))),
    columns: [data.rows, data.columns, data.format, ...(data.counts ? [data.counted] : [])],
    rows: order.map(([at, v]) => [label(Math.floor(at / n)), label(at % n), v[0], ...(data.counts ? [v[1]] : [])]),
  };
};

CHARTS.timeline = (data) => {
  const TICKS = 1 << 24, end = data.end, rows = data.ranks.length, names = ["computing", "communicating", "waiting"];
  // For each rank: begins, ends and kinds of its pieces, in order.
  const pieces = data.pieces.map((flat) => {
    const out = { from: [], to: [], kind: [] };
    for (let i = 0, at = 0; i < flat.length; i += 3) {
      out.from.push(((at += flat[i]) / TICKS) * end);
      out.to.push(((at += flat[i + 1]) / TICKS) * end);
      out.kind.push(flat[i + 2]);
    }
    return out;
  });
  function piece(row, time) {
    const p = pieces[row], i = d3.bisectRight(p.from, time) - 1;
    return i >= 0 && time <= p.to[i] ? i : -1;
  }
  function found(row, i) {
    const p = pieces[row], kind = p.kind[i] & 3, call = data.names[p.kind[i] >> 2];
    return { cursor: [row, i], x: (p.from[i] + p.to[i]) / 2, y: row + 0.5,
      lines: [`rank ${data.ranks[row]}: ${names[kind]}${kind ? ` in ${call}` : ""}`, words("s", p.to[i] - p.from[i]),
        `from ${trimmed(p.from[i] * 1e3, 6)} ms on`] };
  }
  const plot = zoomable({
    label: `timeline of ${rows} ranks over ${words("s", end)}`, most: 4000,
    height: () => Math.max(150, Math.min(520, rows * 7)) + PAD.top + PAD.bottom,
    domain: () => ({ x: [0, end], y: [0, rows] }),
    draw(c) {
      const { ctx } = c, paint = [0, 1, 2].map((k) => colour("c" + k)), [from, to] = [c.x.invert(PAD.left), c.x.invert(c.width)];
      ctx.fillStyle = colour("sunken");
      ctx.fillRect(0, 0, c.width, c.height);
      pieces.forEach((p, row) => {
        const y = Math.floor(c.y(row)), h = Math.max(1, Math.floor(c.y(row + 1)) - y - (c.y(1) - c.y(0) > 9 ? 1 : 0));
        let pixel = -1, last = 0, time = [0, 0, 0];
        const flush = () => { // a pixel with several pieces has the colour of most of it
          if (pixel < 0) return;
          const k = time.indexOf(Math.max(...time));
          ctx.fillStyle = paint[k];
          ctx.fillRect(pixel, y, Math.max(1, Math.round(last) - pixel), h);
          pixel = -1;
          time = [0, 0, 0];
        };
        for (let i = Math.max(0, d3.bisectRight(p.to, from)); i < p.from.length && p.from[i] < to; i++) {
          const x0 = c.x(p.from[i]), x1 = c.x(p.to[i]), kind = p.kind[i] & 3;
          if (x1 - x0 >= 1) {
            flush();
            ctx.fillStyle = paint[kind];
            const a = Math.round(x0);
            ctx.fillRect(a, y, Math.max(1, Math.round(x1) - a), h);
          } else {
            if (Math.floor(x0) !== pixel) flush();
            pixel = Math.floor(x0);
            last = x1;
            time[kind] += x1 - x0;
          }
        }
        flush();
      });
      if (c.cursor) {
        const [row, i] = c.cursor, p = pieces[row];
        ctx.strokeStyle = colour("text");
        ctx.lineWidth = 1.5;
        ctx.strokeRect(c.x(p.from[i]), c.y(row), Math.max(2, c.x(p.to[i]) - c.x(p.from[i])), c.y(row + 1) - c.y(row));
      }
    },
    axes(c) {
      axisBelow(c, "time", (v) => words("s", Number(v.toPrecision(12))));
      const step = Math.max(1, Math.ceil(rows / 12)), { ctx } = c;
      ctx.textAlign = "right";
      ctx.textBaseline = "middle";
      for (let r = 0; r < rows; r += step) ctx.fillText(data.ranks[r], PAD.left - 6, c.y(r + 0.5));
    },
    at(x, y) {
      const row = Math.floor(y);
      if (row < 0 || row >= rows) return null;
      const i = piece(row, x);
      return i < 0 ? null : found(row, i);
    },
    move(cursor, dx, dy) {
      if (!cursor) return pieces[0].from.length ? found(0, 0) : null;
      const [row, i] = cursor;
      if (!dy) return found(row, Math.max(0, Math.min(pieces[row].from.length - 1, i + dx)));
      const next = Math.max(0, Math.min(rows - 1, row + dy)), time = (pieces[row].from[i] + pieces[row].to[i]) / 2;
      if (!pieces[next].from.length) return found(row, i);
      return found(next, Math.max(0, Math.min(pieces[next].from.length - 1, d3.bisectRight(pieces[next].from, time) - 1)));
    },
  });
  return { node: el("div", {}, legend(names), plot.node) };
};
