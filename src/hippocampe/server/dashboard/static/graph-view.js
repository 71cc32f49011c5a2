// Draws the graph on a canvas: zoom, pan, hover, choice. While it moves, fewer edges are drawn.
const MOVING_EDGES = 1500;
const STILL_EDGES = 40000;
const STILL_MS = 160;
const LABELS = 60;
const MANY_LINES = 1500;
const LARGE = 6;
const REDUCED_MS = 2000;
const DOT = 2.6;
const MARGIN = 20;
// The width of the buttons at the right edge: a dot below them cannot be seen.
const TOOLS = 40;

export class View {
  constructor(canvas, tip, { data, many, subject, choose }) {
    Object.assign(this, { canvas, tip, data, many, subject, choose });
    this.count = data.ids.length;
    this.places = null;
    this.visible = new Uint8Array(this.count).fill(1);
    this.lines = data.source.length;
    this.around = new Set();
    this.marked = -1;
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.fitted = true;
    this.frames = 0;
    this.movedAt = 0;
    this.arrived = 0;
    this.glide = null;
    this.reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.context = canvas.getContext("2d", { alpha: false });
    this.radius = Float32Array.from(many, (links, n) => (data.type[n] === subject ? 2.5 + Math.min(7, Math.sqrt(links)) : DOT));
    const plain = new Set(["self", "goal", "summary"]);
    this.square = Uint8Array.from(data.type, (_, n) => Number(plain.has(data.collection?.[n])));
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.again());
    this.listen();
    this.resize();
  }

  // Where things are

  resize() {
    const ratio = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.ratio = ratio;
    if (this.fitted) this.fit();
    else this.again();
  }

  // The worker is slower than the screen: between two of its steps, nodes glide.
  move(places, done) {
    const now = performance.now();
    // Who wants little motion sees a new picture now and then, and the last one.
    if (this.reduced && !done && this.places && now - this.arrived < REDUCED_MS) return;
    this.glide = this.places && !done && !this.reduced ? { from: this.places.slice(), to: places, at: now, ms: Math.min(400, Math.max(16, now - this.arrived)) } : null;
    this.arrived = now;
    // The last picture is drawn whole at once, with its labels.
    if (done) this.movedAt = 0;
    if (!this.glide) this.places = places;
    if (this.fitted) this.frame();
    this.again(!done);
  }

  slide() {
    const { from, to, at, ms } = this.glide;
    const share = Math.min(1, (performance.now() - at) / ms);
    const places = this.places;
    for (let n = 0; n < to.length; n += 1) places[n] = from[n] + (to[n] - from[n]) * share;
    if (this.fitted) this.frame();
    if (share < 1) this.again(true);
    else this.glide = null;
  }

  frame() {
    if (!this.places) return;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let n = 0; n < this.count; n += 1) {
      if (!this.visible[n]) continue;
      const [x, y] = [this.places[2 * n], this.places[2 * n + 1]];
      left = Math.min(left, x); right = Math.max(right, x);
      top = Math.min(top, y); bottom = Math.max(bottom, y);
    }
    if (left > right) return;
    const free = this.width - TOOLS;
    const fits = Math.min(4, (free - 2 * MARGIN) / Math.max(1, right - left), (this.height - 2 * MARGIN) / Math.max(1, bottom - top));
    // A canvas without a size, as on a page that is being left, has a scale too.
    this.scale = Math.max(0.02, fits);
    this.x = free / 2 - ((left + right) / 2) * this.scale;
    this.y = this.height / 2 - ((top + bottom) / 2) * this.scale;
  }

  fit() { this.fitted = true; this.frame(); this.again(); }

  show(visible) {
    const { source, target } = this.data;
    this.visible = visible;
    this.lines = source.reduce((sum, from, n) => sum + (visible[from] & visible[target[n]]), 0);
    if (this.fitted) this.frame();
    this.again();
  }

  mark(node, around) { this.marked = node; this.around = new Set(around); this.again(); }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.max(0.02, Math.min(12, this.scale * factor));
    this.x = x - (x - this.x) * (scale / this.scale);
    this.y = y - (y - this.y) * (scale / this.scale);
    this.scale = scale;
    this.fitted = false;
    this.again(true);
  }

  pan(dx, dy) { this.x += dx; this.y += dy; this.fitted = false; this.again(true); }

  centre(node) {
    if (!this.places) return;
    this.scale = Math.max(this.scale, 1.6);
    this.x = this.width / 2 - this.places[2 * node] * this.scale;
    this.y = this.height / 2 - this.places[2 * node + 1] * this.scale;
    this.fitted = false;
    this.again();
  }

  at(x, y) {
    if (!this.places) return -1;
    let best = -1;
    let nearest = 12 * 12;
    for (let n = 0; n < this.count; n += 1) {
      if (!this.visible[n]) continue;
      const dx = this.places[2 * n] * this.scale + this.x - x;
      const dy = this.places[2 * n + 1] * this.scale + this.y - y;
      const distance = dx * dx + dy * dy;
      if (distance < nearest) { nearest = distance; best = n; }
    }
    return best;
  }

  // Drawing

  again(moving = false) {
    if (moving) this.movedAt = performance.now();
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.draw(); });
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => {
      this.probe ??= document.createElement("span");
      if (!this.probe.isConnected) { this.probe.hidden = true; this.canvas.after(this.probe); }
      this.probe.className = `c-${name}`;
      return getComputedStyle(this.probe).color;
    };
    const theme = style.colorScheme + document.documentElement.dataset.theme + matchMedia("(prefers-color-scheme: dark)").matches;
    if (this.theme !== theme) {
      this.theme = theme;
      this.ink = Object.fromEntries(["surface", "ink", "muted", "line", "accent", "attention", "edge"].map((name) => [name, read(name)]));
    }
    return this.ink;
  }

  draw() {
    this.frames += 1;
    const { context: c, places, ratio } = this;
    const ink = this.colours();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = ink.surface;
    c.fillRect(0, 0, this.width, this.height);
    if (!places) return;
    if (this.glide) this.slide();
    const moving = performance.now() - this.movedAt < STILL_MS;
    this.edges(c, ink, moving);
    this.nodes(c, ink);
    if (this.marked >= 0) this.highlight(c, ink);
    if (!moving) this.labels(c, ink);
    if (moving) {
      clearTimeout(this.settling);
      this.settling = setTimeout(() => this.again(), STILL_MS + 20);
    }
  }

  // A line has a contrast of 3 to the paper however many are drawn; many lines are thin instead of pale.
  edges(c, ink, moving) {
    const { source, target } = this.data;
    const step = Math.max(1, Math.ceil(source.length / (moving ? MOVING_EDGES : STILL_EDGES)));
    c.strokeStyle = ink.edge;
    c.lineWidth = this.lines > MANY_LINES && this.scale < 1 ? 1 : 1.4;
    c.beginPath();
    for (let n = 0; n < source.length; n += step) this.edge(c, source[n], target[n]);
    c.stroke();
  }

  edge(c, from, to) {
    if (!this.visible[from] || !this.visible[to]) return;
    const { places, scale, x, y, width, height } = this;
    const [x1, y1] = [places[2 * from] * scale + x, places[2 * from + 1] * scale + y];
    const [x2, y2] = [places[2 * to] * scale + x, places[2 * to + 1] * scale + y];
    if ((x1 < 0 && x2 < 0) || (y1 < 0 && y2 < 0) || (x1 > width && x2 > width) || (y1 > height && y2 > height)) return;
    c.moveTo(x1, y1);
    c.lineTo(x2, y2);
  }

  // A round memory, drawn once and copied: thousands of arcs are too slow while the picture moves.
  dot(colour, radius) {
    const key = `${colour} ${radius.toFixed(2)} ${this.ratio}`;
    if (this.drawnDot?.key === key) return this.drawnDot;
    const half = Math.ceil(radius + 1);
    const made = new OffscreenCanvas(2 * half * this.ratio, 2 * half * this.ratio);
    const c = made.getContext("2d");
    c.scale(this.ratio, this.ratio);
    c.fillStyle = colour;
    c.arc(half, half, radius, 0, 7);
    c.fill();
    this.drawnDot = Object.assign(made, { key, half });
    return made;
  }

  nodes(c, ink) {
    const { places, scale, x, y, width, height, data, subject } = this;
    const size = Math.max(0.45, Math.min(2.2, Math.sqrt(scale)));
    const dot = this.dot(ink.accent, DOT * size);
    const squares = new Path2D();
    const rings = new Path2D();
    for (let n = 0; n < this.count; n += 1) {
      if (!this.visible[n]) continue;
      const px = places[2 * n] * scale + x;
      const py = places[2 * n + 1] * scale + y;
      if (px < -20 || py < -20 || px > width + 20 || py > height + 20) continue;
      const r = this.radius[n] * size;
      if (data.type[n] === subject) { rings.moveTo(px + r, py); rings.arc(px, py, r, 0, 7); }
      else if (this.square[n]) squares.rect(px - r, py - r, 2 * r, 2 * r);
      else c.drawImage(dot, px - dot.half, py - dot.half, 2 * dot.half, 2 * dot.half);
    }
    c.fillStyle = ink.ink;
    c.fill(squares);
    c.fillStyle = ink.surface;
    c.fill(rings);
    c.strokeStyle = ink.attention;
    c.lineWidth = 1.6;
    c.stroke(rings);
  }

  highlight(c, ink) {
    const { places, scale, x, y } = this;
    c.strokeStyle = ink.accent;
    c.lineWidth = 1.4;
    c.beginPath();
    for (const other of this.around) this.edge(c, this.marked, other);
    c.stroke();
    c.strokeStyle = ink.ink;
    c.lineWidth = 2;
    c.beginPath();
    c.arc(places[2 * this.marked] * scale + x, places[2 * this.marked + 1] * scale + y, 9, 0, 7);
    c.stroke();
  }

  labels(c, ink) {
    const { places, scale, x, y, width, height, data, subject, many } = this;
    const place = (n) => [places[2 * n] * scale + x, places[2 * n + 1] * scale + y];
    const inside = (n) => {
      const [px, py] = place(n);
      return px > 0 && py > 0 && px < width && py < height;
    };
    const named = [];
    for (let n = 0; n < this.count; n += 1) {
      if (this.visible[n] && inside(n) && (data.type[n] === subject || scale > 2.2)) named.push(n);
    }
    named.sort((a, b) => (data.type[b] === subject) - (data.type[a] === subject) || many[b] - many[a]);
    const font = getComputedStyle(document.body).fontFamily;
    // No label covers a large subject.
    const drawn = (n) => this.radius[n] * Math.max(0.45, Math.min(2.2, Math.sqrt(scale)));
    const large = named.filter((n) => data.type[n] === subject && drawn(n) >= LARGE).slice(0, LABELS);
    const taken = large.map((n) => [place(n)[0], place(n)[1] + 4, drawn(n)]);
    let shown = 0;
    c.textAlign = "center";
    c.lineWidth = 3;
    c.strokeStyle = ink.surface;
    for (const n of named.slice(0, 4 * LABELS)) {
      if (shown >= LABELS) break;
      const text = data.labels[n].length > 36 ? `${data.labels[n].slice(0, 35)}…` : data.labels[n];
      c.font = `${data.type[n] === subject ? 600 : 400} 12px ${font}`;
      const half = c.measureText(text).width / 2;
      const [at, above] = place(n);
      const px = Math.max(half + 4, Math.min(at, width - half - 4));
      const py = above - drawn(n) - 5;
      if (taken.some(([a, b, h]) => Math.abs(a - px) < half + h + 4 && Math.abs(b - py) < 15)) continue;
      taken.push([px, py, half]);
      shown += 1;
      c.strokeText(text, px, py);
      c.fillStyle = data.type[n] === subject ? ink.ink : ink.muted;
      c.fillText(text, px, py);
    }
  }

  // The pointer and the keyboard

  listen() {
    const { canvas } = this;
    const pointers = new Map();
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return this.hover(event.offsetX, event.offsetY);
      const here = [event.offsetX, event.offsetY];
      if (pointers.size === 2) {
        const other = [...pointers.entries()].find(([id]) => id !== event.pointerId)[1];
        const length = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]);
        this.zoom(length(here) / Math.max(1, length(before)), (here[0] + other[0]) / 2, (here[1] + other[1]) / 2);
      } else {
        this.pan(here[0] - before[0], here[1] - before[1]);
      }
      moved += Math.abs(here[0] - before[0]) + Math.abs(here[1] - before[1]);
      pointers.set(event.pointerId, here);
    });
    const up = (event) => {
      if (pointers.delete(event.pointerId) && moved < 5 && event.type === "pointerup") this.choose(this.at(event.offsetX, event.offsetY));
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const pan = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
      if (pan) this.pan(...pan);
      else if (event.key === "+" || event.key === "=") this.zoom(1.3);
      else if (event.key === "-") this.zoom(1 / 1.3);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
    });
  }

  hover(x, y) {
    const node = this.at(x, y);
    this.canvas.classList.toggle("over", node >= 0);
    this.tip.hidden = node < 0;
    if (node < 0) return;
    this.tip.textContent = this.data.labels[node];
    // Styles cannot be written into the page; the place of the tip is set on the element itself.
    this.tip.style.left = `${Math.min(x + 12, this.width - 240)}px`;
    this.tip.style.top = `${y + 16}px`;
  }
}
