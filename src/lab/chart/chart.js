// Makes charts interactive: point at a number, single out a series, change unit and scale. Charts are
// readable without this script. Places come from the marks. Numbers come from the tables of the figure, or
// from the marks if there are no tables.
"use strict";
{
  const PLACE = /([ML])(-?[\d.]+) (-?[\d.]+)|([VH])(-?[\d.]+)/g;
  const short = (value) => String(Math.round(value * 10) / 10);

  // Formats a number with about three digits, as in the tables.
  function number(value) {
    const size = Math.abs(value);
    if (size === 0) return "0";
    const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : size >= 0.001 ? 4 : null;
    return digits === null ? value.toExponential(1) : value.toFixed(digits);
  }

  // Creates an element with these children.
  function make(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // Creates a toggle button with this content.
  function button(title, pressed, parts, click) {
    const made = make("button", { type: "button", title, "aria-pressed": String(pressed) }, ...parts);
    made.addEventListener("click", () => click(made));
    return made;
  }

  // The marks of one owner under one label.
  class Series {
    constructor(group, figure) {
      this.group = group;
      this.figure = figure;
      this.owner = group.dataset.o;
      this.label = group.dataset.l;
      this.paths = [...group.querySelectorAll("path")].map((path) => ({ path, home: path.getAttribute("d") }));
      const skipped = new Set((group.dataset.skip ?? "").split(" ").filter(Boolean).map(Number));
      // Places of the points on the original scale.
      this.spots = this.places();
      const drawn = this.spots.length + skipped.size;
      this.indices = [...Array(drawn).keys()].filter((index) => !skipped.has(index));
    }

    get shown() {
      return !this.group.classList.contains("off");
    }

    // Places of the points: corners of the line, markers, or middles of cells.
    places() {
      const marks = this.group.querySelector(".l") ?? this.group.querySelector(".m");
      if (marks) return [...marks.getAttribute("d").matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map((m) => [+m[1], +m[2]]);
      const [left, right, count] = (this.group.ownerSVGElement.dataset.grid ?? "0 0 0").split(" ").map(Number);
      const at = this.group.querySelector("[data-at]")?.dataset.at.split(" ").filter(Boolean).map(Number);
      const [, y, high] = this.paths[0]?.home.match(/M\S+ ([\d.]+)h.*?v([\d.]+)/).map(Number) ?? [];
      return (at ?? [...Array(count).keys()]).map((column) => [left + ((right - left) * (column + 0.5)) / count, y + high / 2]);
    }

    // Label and place of the k-th mark, and its numbers: value and ends of the interval.
    told(k) {
      const index = this.indices[k];
      if (this.group.dataset.p) {
        const [place, ...numbers] = this.group.dataset.p.split(";")[index].split("|");
        return [this.group.dataset.n, place, numbers.map(Number)];
      }
      const [table, column] = this.group.dataset.c.split(" ").map(Number);
      const { tHead, tBodies } = this.figure.querySelectorAll("details.numbers table")[table];
      const rows = [...tBodies[0].rows];
      const row = tHead ? rows.filter((row) => row.cells[column + 1].textContent)[index] : rows[column];
      const cell = row.cells[tHead ? column + 1 : 1];
      const numbers = cell.textContent.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
      if (!tHead) return [row.cells[0].textContent, "", numbers];
      const names = tHead.rows[0].cells;
      return [names[column + 1].textContent, `${names[0].textContent} ${row.cells[0].textContent}`, numbers];
    }
  }

  // A scale in the drawing's format: `log lo hi from to`.
  class Scale {
    constructor(log, lo, hi, from, to) {
      Object.assign(this, { log, lo, hi, from, to });
    }
    static of(told) {
      const [kind, ...numbers] = told.split(" ");
      return new Scale(kind === "log", ...numbers.map(Number));
    }
    place(value) {
      const { log, lo, hi, from, to } = this;
      const share = log ? Math.log(value / lo) / Math.log(hi / lo) : (value - lo) / (hi - lo);
      return from + Math.min(Math.max(share, 0), 1) * (to - from);
    }
    value(place) {
      const share = (place - this.from) / (this.to - this.from);
      return this.log ? this.lo * (this.hi / this.lo) ** share : this.lo + share * (this.hi - this.lo);
    }
    // Round numbers, each `factor` times the value at its place.
    ticks(factor) {
      const [lo, hi] = [this.lo * factor, this.hi * factor];
      const rounds = [];
      if (this.log && hi / lo > 6) {
        const digits = hi / lo > 3000 ? [1] : [1, 2, 5];
        for (let power = Math.floor(Math.log10(lo)); power <= Math.log10(hi); power++)
          rounds.push(...digits.map((digit) => Number(`${digit}e${power}`)));
      } else {
        const raw = (hi - lo) / 6;
        const ten = 10 ** Math.floor(Math.log10(raw));
        const step = [1, 2, 5, 10].find((digit) => digit * ten >= raw) * ten;
        for (let count = Math.ceil(lo / step); count * step <= hi; count++) rounds.push(count * step);
      }
      const within = rounds.filter((value) => value >= lo && value <= hi);
      return within.map((value) => [this.place(value / factor), String(Number(value.toPrecision(6)))]);
    }
  }

  // One drawing. Its `sheet` is the chart, which may have several drawings.
  class Plot {
    constructor(svg, sheet) {
      this.svg = svg;
      this.sheet = sheet;
      this.series = [...svg.querySelectorAll("g.s")].map((group) => new Series(group, sheet.figure));
      this.names = [...svg.querySelectorAll("text.name")];
      this.home = svg.dataset.s && Scale.of(svg.dataset.s);
      this.ticks = svg.querySelector(".ticks");
      this.title = svg.querySelector(".title");
      this.homeTicks = this.ticks?.innerHTML;
      this.homeTitle = this.title?.textContent;
      this.list = svg.parentElement.querySelector(":scope > ul.labels");
      this.only = null;
      for (const item of this.list?.children ?? []) {
        const pick = () => {
          this.only = this.only === item.dataset.l ? null : item.dataset.l;
          this.show();
        };
        item.append(button("Show this series alone", false, item.childNodes, pick));
      }
      svg.tabIndex = 0;
      for (const name of ["pointermove", "pointerdown"]) svg.addEventListener(name, (event) => this.point(event));
      for (const name of ["pointerleave", "blur"]) svg.addEventListener(name, () => sheet.hide());
      svg.addEventListener("keydown", (event) => this.step(event));
    }

    // Hides series that are not singled out, and owners that are switched off.
    show() {
      const { without, converted } = this.sheet;
      for (const { group, owner, label } of this.series) {
        const other = this.only !== null && this.only !== label;
        // The document's machine had another clock rate.
        const foreign = converted && group.classList.contains("then");
        group.classList.toggle("off", other || foreign || without.has(owner));
      }
      // Names at the ends of curves do not move, so they fit the original scale only.
      for (const name of this.names)
        name.classList.toggle("off", this.sheet.swapped || (this.only !== null && this.only !== name.dataset.l));
      for (const item of this.list?.children ?? [])
        item.firstChild.setAttribute("aria-pressed", String(this.only === item.dataset.l));
    }

    // Redraws marks and ticks on the scale and in the unit of the sheet.
    redraw() {
      const { swapped, converted } = this.sheet;
      const { home, svg } = this;
      if (!home) return;
      const upright = svg.dataset.v === "y";
      const scale = swapped ? this.other() : home;
      // Marks at the start of the scale, such as bars, stay there.
      const move = (place) => short(place === home.from ? home.from : scale.place(home.value(place)));
      for (const { path, home: d } of this.series.flatMap((series) => series.paths)) {
        const moved = (whole, letter, x, y, line, end) => {
          if (letter) return upright ? `${letter}${x} ${move(+y)}` : `${letter}${move(+x)} ${y}`;
          return (line === "V") === upright ? `${line}${move(+end)}` : whole;
        };
        path.setAttribute("d", swapped ? d.replace(PLACE, moved) : d);
      }
      this.title.textContent = this.homeTitle.replace(svg.dataset.u, this.unit());
      this.ticks.innerHTML = this.homeTicks;
      if (!swapped && !converted) return;
      const text = this.ticks.querySelector("text");
      const grid = this.ticks.querySelector("path");
      const [, x, y, line, end] = grid.getAttribute("d").match(/M(\S+) ([\d.]+)([HV])([\d.]+)/);
      this.ticks.replaceChildren(grid);
      const lines = scale.ticks(this.factor()).map(([place, name]) => {
        const tick = text.cloneNode();
        tick.textContent = name;
        tick.setAttribute(upright ? "y" : "x", short(place + (upright ? 4 : 0)));
        this.ticks.append(tick);
        return upright ? `M${x} ${short(place)}${line}${end}` : `M${short(place)} ${y}${line}${end}`;
      });
      grid.setAttribute("d", lines.join(""));
    }

    // The scale of the other kind for the same marks.
    other() {
      const axis = this.svg.dataset.v === "y" ? 1 : 0;
      const shown = this.series.filter(({ group }) => !this.sheet.converted || !group.classList.contains("then"));
      const values = shown.flatMap(({ spots }) => spots.map((spot) => this.home.value(spot[axis])));
      const [lo, hi] = [Math.min(...values.filter((value) => value > 0)), Math.max(...values)];
      const { log, from, to } = this.home;
      return log
        ? new Scale(false, Math.min(0, ...values), hi * 1.04, from, to)
        : new Scale(true, lo / 1.1, Math.max(hi, lo) * 1.1, from, to);
    }

    factor() {
      const { u, ns } = this.svg.dataset;
      if (!this.sheet.converted || !ns) return 1;
      return u.startsWith("ns") ? 1 / ns : +ns;
    }

    unit() {
      const { u } = this.svg.dataset;
      if (this.factor() === 1) return u;
      return u.startsWith("ns") ? u.replace("ns", "cycles") : u.replace("cycles", "ns");
    }

    point(event) {
      const matrix = this.svg.getScreenCTM().inverse();
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
      let best = { distance: 45 };
      for (const series of this.series.filter((one) => one.shown)) {
        series.places().forEach(([x, y], index) => {
          const distance = Math.hypot(x - at.x, y - at.y);
          if (distance < best.distance) best = { distance, series, index };
        });
      }
      if (best.series) this.tell(best.series, best.index);
      else this.sheet.hide();
    }

    // Arrow keys move between points and between series.
    step(event) {
      const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
      const over = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0;
      if (event.key === "Escape") this.sheet.hide();
      const shown = this.series.filter((series) => series.shown && series.places().length);
      if ((!along && !over) || !shown.length) return;
      event.preventDefault();
      const now = Math.max(shown.indexOf(this.told), 0);
      const series = shown[(now + over + shown.length) % shown.length];
      const last = series.places().length - 1;
      this.index = Math.min(Math.max((this.index ?? -along) + along, 0), last);
      this.tell(series, this.index);
    }

    tell(series, index) {
      [this.told, this.index] = [series, index];
      const owner = this.sheet.owner(series.owner);
      const [label, place, numbers] = series.told(index);
      const [mid, lo, hi] = numbers.map((value) => number(value * this.factor()));
      const name = [owner, `${this.svg.dataset.depth ?? ""} ${label}`.trim(), place].filter(Boolean).join(", ");
      const passes = lo === undefined ? "" : `passes: ${lo} to ${hi}`;
      this.sheet.show(this.svg, series.places()[index], [name, `${mid} ${this.unit()}`.trim(), passes]);
    }
  }

  // A chart with its drawings, legend and switches.
  class Sheet {
    constructor(box) {
      this.box = box;
      this.figure = box.closest("figure");
      this.without = new Set();
      [this.swapped, this.converted] = [false, false];
      this.tip = make("div", { class: "tip", role: "status" }, ...["span", "b", "span"].map((name) => make(name, {})));
      this.hide();
      box.append(this.tip);
      this.plots = [...box.querySelectorAll("svg[data-u]")].map((svg) => new Plot(svg, this));
      for (const item of box.querySelectorAll("ul.owners > li")) {
        const { o } = item.dataset;
        const pick = (made) => {
          if (!this.without.delete(o)) this.without.add(o);
          made.setAttribute("aria-pressed", String(!this.without.has(o)));
          this.plots.forEach((plot) => plot.show());
        };
        item.append(button("Show or hide", true, item.childNodes, pick));
      }
      const scaled = this.plots.find((plot) => plot.home);
      if (!scaled) return;
      const { u, ns } = scaled.svg.dataset;
      const switches = make("div", { class: "switches" });
      const add = (text, what) => {
        const pick = (made) => {
          this[what] = !this[what];
          made.setAttribute("aria-pressed", String(this[what]));
          this.hide();
          this.plots.forEach((plot) => (plot.redraw(), plot.show()));
        };
        switches.append(button(`Show ${text}`, false, [text], pick));
      };
      if (ns) add(u.startsWith("ns") ? "in cycles" : "in ns", "converted");
      // A logarithmic scale has no place for values below zero.
      const positive = this.plots.every(({ home }) => !home || home.lo >= 0);
      if (scaled.home.log || positive) add(scaled.home.log ? "linear" : "logarithmic", "swapped");
      box.prepend(switches);
    }

    // Shows the numbers of a point.
    show(svg, [x, y], texts) {
      const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
      const { left, top, width } = this.box.getBoundingClientRect();
      texts.forEach((text, line) => (this.tip.children[line].textContent = text));
      this.tip.hidden = false;
      const { offsetWidth, offsetHeight, style } = this.tip;
      style.left = `${Math.max(0, Math.min(at.x - left + 12, width - offsetWidth))}px`;
      style.top = `${at.y - top - offsetHeight - 12}px`;
    }

    hide() {
      this.tip.hidden = true;
    }

    owner(index) {
      const items = [...this.box.querySelectorAll("ul.owners > li")];
      return items.find((item) => item.dataset.o === index)?.textContent;
    }
  }

  // Charts are initialized when they are nearly visible, so that a page of a hundred opens at once.
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        new Sheet(target);
      }
    },
    { rootMargin: "400px" },
  );
  document.querySelectorAll(".chart").forEach((box) => near.observe(box));
}
