// Draws the charts of a linefill report, in the colours of the theme in force.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const coarse = matchMedia("(pointer: coarse)");

const css = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A copy of a description with every colour name (`--series-1`) replaced by its value.
function coloured(node, colour = false) {
  if (typeof node === "string") {
    return colour && node.startsWith("--") ? css(node) : node;
  }
  if (Array.isArray(node)) return node.map((part) => coloured(part, colour));
  if (node === null || typeof node !== "object") return node;
  const copy = {};
  for (const [key, value] of Object.entries(node)) {
    copy[key] = coloured(value, key.toLowerCase().includes("color"));
  }
  return copy;
}

// What every chart of the page has in common.
function themed(layout) {
  const font = { color: css("--ink-2"), family: css("--sans"), size: 12 };
  const axis = (own) => ({
    gridcolor: css("--grid"),
    linecolor: css("--axis"),
    tickcolor: css("--axis"),
    zerolinecolor: css("--axis"),
    showline: true,
    ...own,
  });
  const whole = {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font,
    hoverlabel: {
      bgcolor: css("--raised"),
      bordercolor: css("--axis"),
      font: { ...font, color: css("--ink") },
      align: "left",
    },
    modebar: {
      bgcolor: "rgba(0,0,0,0)",
      color: css("--ink-2"),
      activecolor: css("--ink"),
    },
    dragmode: coarse.matches ? false : "zoom",
    uirevision: "kept",
    ...layout,
  };
  if (layout.scene) {
    const wall = { backgroundcolor: "rgba(0,0,0,0)", showspikes: false };
    const three = (own) => axis({ ...wall, ...own });
    whole.scene = {
      ...layout.scene,
      dragmode: "turntable",
      xaxis: three(layout.scene.xaxis),
      yaxis: three(layout.scene.yaxis),
      zaxis: three(layout.scene.zaxis),
    };
  } else {
    whole.xaxis = axis({ showgrid: false, ...layout.xaxis });
    whole.yaxis = axis(layout.yaxis);
  }
  return whole;
}

const config = {
  responsive: true,
  displaylogo: false,
  scrollZoom: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "resetCameraLastSave3d"],
};

class Chart {
  constructor(box) {
    this.box = box;
    this.plot = box.querySelector(".plot");
    this.spec = JSON.parse(box.querySelector(".spec").textContent);
    this.hidden = new Set();
    this.drawn = false;
    for (const button of box.querySelectorAll("[data-trace]")) {
      button.addEventListener("click", () => this.toggle(button));
    }
  }

  draw() {
    const spec = coloured(this.spec);
    spec.data.forEach((trace, index) => (trace.visible = !this.hidden.has(index)));
    const first = !this.drawn;
    const scene = spec.layout.scene;
    if (scene && !first) scene.camera = this.camera();
    this.drawn = true;
    Plotly.react(this.plot, spec.data, themed(spec.layout), config);
    if (scene && first) linkCamera(this);
  }

  camera() {
    return structuredClone(this.plot.layout.scene.camera);
  }

  toggle(button) {
    const shown = button.getAttribute("aria-pressed") !== "true";
    const trace = Number(button.dataset.trace);
    button.setAttribute("aria-pressed", String(shown));
    if (shown) this.hidden.delete(trace);
    else this.hidden.add(trace);
    if (this.drawn) this.draw();
  }
}

const charts = [...document.querySelectorAll(".chart")].map((box) => new Chart(box));

// Surfaces side by side turn together.
const beside = (chart) =>
  charts.filter((other) => other !== chart && other.box.parentElement === chart.box.parentElement);

function turn(chart, camera) {
  if (chart.drawn) Plotly.relayout(chart.plot, { "scene.camera": camera });
}

const same = (a, b) =>
  Boolean(a && b) && ["x", "y", "z"].every((axis) => Math.abs(a.eye[axis] - b.eye[axis]) < 1e-9);

function linkCamera(chart) {
  // Plotly keeps the wheel to itself over a surface even where it does not zoom.
  const passOn = { capture: true, passive: true };
  chart.plot.addEventListener("wheel", (event) => event.stopPropagation(), passOn);
  chart.plot.on("plotly_relayout", (event) => {
    const camera = event["scene.camera"];
    // The echo of a turn that came from beside goes no further.
    if (!camera || same(camera, chart.given)) return;
    chart.given = null;
    for (const other of beside(chart)) {
      other.given = camera;
      turn(other, camera);
    }
  });
}

function turned(eye, by) {
  const [cos, sin] = [Math.cos(by), Math.sin(by)];
  return { x: eye.x * cos - eye.y * sin, y: eye.x * sin + eye.y * cos, z: eye.z };
}

for (const button of document.querySelectorAll("[data-turn]")) {
  button.addEventListener("click", () => {
    const figure = button.closest("figure");
    const chart = charts.find((one) => figure.contains(one.box));
    if (!chart.drawn) return;
    const home = chart.spec.layout.scene.camera;
    const camera = chart.camera();
    const turns = {
      left: () => ({ ...camera, eye: turned(camera.eye, -Math.PI / 8) }),
      right: () => ({ ...camera, eye: turned(camera.eye, Math.PI / 8) }),
      above: () => ({ ...home, center: { x: 0, y: 0, z: 0 }, eye: { x: 0, y: -0.1, z: 2.7 } }),
      home: () => home,
    };
    turn(chart, turns[button.dataset.turn]());
  });
}

// A chart is drawn when it is nearly in sight: a page of forty opens at once.
const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      charts.find((chart) => chart.box === entry.target).draw();
    }
  },
  { rootMargin: "800px" },
);
charts.forEach((chart) => near.observe(chart.box));

dark.addEventListener("change", () => {
  charts.filter((chart) => chart.drawn).forEach((chart) => chart.draw());
});
addEventListener("beforeprint", () => {
  charts.filter((chart) => !chart.drawn).forEach((chart) => chart.draw());
});
