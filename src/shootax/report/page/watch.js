"use strict";
// Request the progress from this machine every few seconds. All text is set as text, never as markup.
const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const find = (id) => document.getElementById(id);
const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false, plotlyServerURL: "" };
const chosen = { across: null, up: null, curve: "objective" };

function element(tag, text) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  return made;
}

function duration(seconds) {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

function layout(x, y, log) {
  return { margin: { l: 68, r: 15, t: 34, b: 48 }, font: { size: 13, color: "#222" }, showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
    xaxis: { title: { text: plain(x) } }, yaxis: { title: { text: plain(y) }, type: log ? "log" : "linear", exponentformat: "power" } };
}

function box(host, id, label) {
  let made = find(id);
  if (!made) {
    made = element("div");
    Object.assign(made, { id, className: "plot" });
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", label);
    find(host).replaceChildren(made);
  }
  return made;
}

function choice(id, label, names, key) {
  let select = find(id);
  if (!select) {
    select = element("select");
    select.id = id;
    select.addEventListener("change", () => { chosen[key] = select.value; update(); });
    const made = element("label", label);
    made.append(select);
    find("choices").append(made);
  }
  if (Array.from(select.options, (o) => o.value).join("\u0000") !== names.join("\u0000")) {
    select.replaceChildren(...names.map((name) => { const option = element("option", name); option.value = name; return option; }));
  }
  if (!names.includes(chosen[key])) chosen[key] = names[0] ?? null;
  if (chosen[key] !== null) select.value = chosen[key];
}

function state(data) {
  const words = [data.total === null ? `${data.finished} runs are finished` : `${data.finished} of ${data.total} runs are finished`];
  for (const [status, count] of Object.entries(data.statuses)) if (status !== "ok") words.push(`${count} ${status}`);
  if (data.left) words.push(`${data.left} are left`);
  if (data.left && data.seconds_left !== null) words.push(`about ${duration(data.seconds_left)} to go, until ${new Date(1000 * (data.now + data.seconds_left)).toLocaleString()}`);
  if (data.damaged.length) words.push(`cannot be read: ${data.damaged.join(", ")}`);
  const text = `${words.join("; ")}.`;
  if (find("state").textContent !== text) find("state").textContent = text;
}

function curves(data) {
  if (!data.curves.length) { find("curves-body").replaceChildren(element("p", "No training has a checkpoint at the moment.")); return; }
  const traces = data.curves.flatMap((curve, i) => ["objective", "validation"].filter((name) => curve.columns[name]?.some((pair) => pair[1] !== null)).map((name, k) => ({
    type: "scatter", mode: "lines+markers", name: plain(`${curve.name}, ${name}`), x: curve.columns[name].map((pair) => pair[0]), y: curve.columns[name].map((pair) => pair[1]),
    line: { color: PALETTE[i % PALETTE.length], dash: DASHES[k] }, marker: { size: 4 } })));
  const positive = traces.every((trace) => trace.y.every((v) => v === null || v > 0));
  Plotly.react(box("curves-body", "curves-plot", "Training curves"), traces, layout("epoch", "value", positive), CONFIG);
}

function finished(data) {
  if (!data.runs.length) { find("runs-body").replaceChildren(element("p", "No run is finished yet.")); find("runs").replaceChildren(); return; }
  const numeric = data.columns.filter((name) => data.runs.some((run) => typeof run[name] === "number"));
  const last = numeric.filter((name) => !["seed", "seconds", "processor_seconds"].includes(name));
  if (chosen.up === null) chosen.up = last.find((name) => /mse|loss|error|accuracy/.test(name)) ?? last[last.length - 1] ?? null;
  choice("across", "across", data.columns, "across");
  choice("up", "up", numeric, "up");
  const groups = new Map();
  for (const run of data.runs) groups.set(run.status, [...(groups.get(run.status) ?? []), run]);
  const traces = Array.from(groups, ([status, runs], i) => ({ type: "scatter", mode: "markers", name: plain(status), x: runs.map((run) => (typeof run[chosen.across] === "string" ? plain(run[chosen.across]) : run[chosen.across])),
    y: runs.map((run) => run[chosen.up] ?? null), marker: { size: 9, color: PALETTE[i % PALETTE.length], symbol: ["circle", "x", "square"][i % 3], opacity: 0.8 } }));
  Plotly.react(box("runs-body", "runs-plot", "Finished runs"), traces, layout(chosen.across, chosen.up, false), CONFIG);
  const head = element("tr");
  data.columns.forEach((name) => { const cell = element("th", name); cell.scope = "col"; head.append(cell); });
  const lines = data.runs.map((run) => {
    const line = element("tr");
    data.columns.forEach((name) => { const value = run[name]; line.append(element("td", value === null || value === undefined ? "–" : typeof value === "number" ? String(+value.toPrecision(5)) : String(value))); });
    return line;
  });
  find("runs").replaceChildren(head, ...lines.reverse());
}

function settings(data) {
  find("settings").replaceChildren(...Object.entries(data.settings).map(([name, value]) => {
    const line = element("tr"), cell = element("th", name);
    cell.scope = "row";
    line.append(cell, element("td", value));
    return line;
  }));
}

let latest = "";
let data = null;
function update() {
  state(data); curves(data); finished(data); settings(data);
  document.documentElement.dataset.ready = "true";
}

async function ask() {
  try {
    const answer = await fetch("/progress.json", { cache: "no-store" });
    const text = await answer.text();
    data = JSON.parse(text);
    const changed = JSON.stringify({ ...data, now: 0 });
    if (changed !== latest) { latest = changed; update(); }
  } catch {
    find("state").textContent = "The server no longer answers. This page shows the last data that it received.";
  }
  setTimeout(ask, 2000);
}
ask();
