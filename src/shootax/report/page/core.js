"use strict";
// Numbers out of the page, the slider of depth, and small helpers to draw.
const payload = JSON.parse(document.getElementById("payload").textContent);
// The palette of Okabe and Ito; classes differ in their symbols as well.
const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"];
const SYMBOLS = ["circle", "square", "triangle-up", "cross", "star", "triangle-down", "hexagon", "pentagon"];
const colour = (i) => PALETTE[i % PALETTE.length];
const symbol = (i) => SYMBOLS[i % SYMBOLS.length];

// {f32 or u8, shape} to {data, shape, at(i)}: the part with first index i.
function unpack(packed) {
  if (!packed) return null;
  const text = atob(packed.f32 ?? packed.u8);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const data = "f32" in packed ? new Float32Array(bytes.buffer) : bytes;
  return view(data, packed.shape);
}

function view(data, shape) {
  const size = shape.slice(1).reduce((a, b) => a * b, 1);
  return {
    data, shape,
    at: (i) => view(data.subarray(i * size, (i + 1) * size), shape.slice(1)),
    list: () => Array.from(data, (v) => (Number.isFinite(v) ? v : null)),
    rows: () => Array.from({ length: shape[0] }, (_, i) => view(data, shape).at(i).list()),
  };
}

// Plotly reads tags and entities in labels, so text from outside is escaped.
const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function note(body, text) {
  body.append(element("p", { className: "note", textContent: text }));
}

function plotBox(body, id, label, className = "plot") {
  const box = element("div", { id, className });
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", label);
  body.append(box);
  return box;
}

function selector(body, id, label, options, chosen, changed) {
  const select = element("select", { id });
  options.forEach((text, i) => select.append(element("option", { value: String(i), textContent: text })));
  select.value = String(chosen);
  select.addEventListener("change", () => changed(Number(select.value)));
  body.append(element("label", {}, label, select));
  return select;
}

function checkbox(body, id, label, checked, changed) {
  const box = element("input", { type: "checkbox", id, checked });
  box.addEventListener("change", () => changed(box.checked));
  body.append(element("label", {}, box, label));
}

const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false, plotlyServerURL: "" };

function layout(x, y, more = {}) {
  const axis = (text) => ({ title: { text: plain(text) }, zeroline: false,
    gridcolor: "#e6e6e6", linecolor: "#888" });
  const { xaxis = {}, yaxis = {}, ...rest } = more;
  return {
    margin: { l: 68, r: 15, t: 34, b: 48 }, font: { size: 13, color: "#222" }, hovermode: "closest",
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
    xaxis: { ...axis(x), ...xaxis }, yaxis: { ...axis(y), ...yaxis }, ...rest,
  };
}

function draw(box, traces, shape) {
  return Plotly.react(box, traces, shape, CONFIG);
}

// Boxes side by side only have their final width once all of them exist.
function settle() {
  for (const box of document.querySelectorAll(".pair > .plot")) if (box.data) Plotly.Plots.resize(box);
}

// A dashed line at the depth of the slider.
const cursor = (t) => [{ type: "line", x0: t, x1: t, yref: "paper", y0: 0, y1: 1,
  line: { color: "#222", width: 1.5, dash: "dot" } }];

function extent(arrays, margin = 0.06) {
  let low = Infinity, high = -Infinity;
  for (const array of arrays) if (array) for (const v of array.data) {
    if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
  }
  if (low > high) return [-1, 1];
  const pad = (high - low) * margin || Math.abs(high) * margin || 1;
  return [low - pad, high + pad];
}

const figures = (value) => (value === null || value === undefined || !Number.isFinite(value) ? "not finite"
  : Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(3) : String(+value.toPrecision(4)));

// What is shown: a net, and a depth by its index. A painter draws one section for the net, and returns a
// function that is called whenever the depth changes.
const shown = { net: 0, frame: 0 };
const painters = [];
let movers = [];
const now = () => payload.nets[shown.net];
const body = (name) => document.getElementById(`${name}-body`);

function setDepth(frame) {
  const times = now().times;
  shown.frame = Math.max(0, Math.min(times.length - 1, frame));
  const range = document.getElementById("depth");
  const text = `t = ${figures(times[shown.frame])}`;
  range.value = String(shown.frame);
  range.setAttribute("aria-valuetext", `depth ${text}`);
  document.getElementById("where").textContent = text;
  for (const move of movers) move(shown.frame, times[shown.frame]);
}

function setNet(number) {
  shown.net = number;
  document.getElementById("depth").max = String(now().times.length - 1);
  movers = painters.map((paint) => paint(now())).filter(Boolean);
  setDepth(Math.min(shown.frame, now().times.length - 1));
  settle();
}

let timer = null;
function play(wanted) {
  const button = document.getElementById("play");
  clearInterval(timer);
  timer = wanted ? setInterval(() => {
    const last = now().times.length - 1;
    if (shown.frame >= last) play(false); else setDepth(shown.frame + 1);
  }, 130) : null;
  if (wanted && shown.frame >= now().times.length - 1) setDepth(0);
  button.textContent = wanted ? "Pause" : "Play";
  button.setAttribute("aria-pressed", String(Boolean(wanted)));
}

function start() {
  const range = document.getElementById("depth");
  range.addEventListener("input", () => { play(false); setDepth(Number(range.value)); });
  document.getElementById("play").addEventListener("click", () => play(timer === null));
  if (payload.nets.length > 1) {
    const select = document.getElementById("net");
    payload.nets.forEach((net, i) => select.append(element("option", { value: String(i), textContent: net.name })));
    select.addEventListener("change", () => setNet(Number(select.value)));
    document.getElementById("choose-net").hidden = false;
  }
  setNet(0);
  document.documentElement.dataset.ready = "true";
}
document.addEventListener("DOMContentLoaded", start);
