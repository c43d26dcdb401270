"use strict";
// Training curves and predictions. They belong to the whole model and are drawn once.
document.addEventListener("DOMContentLoaded", () => {
  const host = body("training"), columns = payload.training;
  const curves = Object.entries(columns).filter(([name, list]) => name !== "learning_rate" && list.some((v) => v !== null));
  if (!curves.length) { note(host, "No history was given. Give report.write the history of a fit to see it here."); return; }
  const pair = element("div", { className: "pair" });
  host.append(pair);
  const epochs = (list) => list.map((_, i) => i + 1);
  const positive = curves.every(([, list]) => list.every((v) => v === null || v > 0));
  draw(plotBox(pair, "training-plot", "Training curves"), curves.map(([name, list], i) => ({ type: "scatter", mode: list.length > 1 ? "lines" : "markers", name: plain(name), x: epochs(list), y: list,
    line: { color: colour(i), width: 2, dash: ["solid", "dash", "dot", "dashdot"][i % 4] } })), layout("epoch", "value", { yaxis: { type: positive ? "log" : "linear", exponentformat: "power" }, showlegend: true }));
  const rate = columns.learning_rate;
  if (rate && rate.some((v) => v !== null)) draw(plotBox(pair, "training-rate", "Learning rate"), [{ type: "scatter", mode: rate.length > 1 ? "lines" : "markers", x: epochs(rate), y: rate, line: { color: PALETTE[0] } }],
    layout("epoch", "learning rate", { yaxis: { rangemode: "tozero" } }));
});

document.addEventListener("DOMContentLoaded", () => {
  const host = body("results"), results = payload.results;
  if (results.why) { note(host, results.why); return; }
  if (results.kind === "classes") confusion(host, results);
  else if (results.kind === "numbers") scatter(host, results);
  else sequences(host, results);
});

document.addEventListener("DOMContentLoaded", settle);

function confusion(host, results) {
  note(host, `${(100 * results.accuracy).toFixed(1)} % of ${results.samples} samples are classified correctly. Rows are true classes, columns predicted ones.`);
  const box = plotBox(host, "results-plot", "Confusion matrix", "plot tall");
  const short = (text) => (text.length > 14 ? `${text.slice(0, 13)}…` : text);
  const labels = results.labels.map((label) => plain(short(label))), places = labels.map((_, i) => i);
  const ticks = { tickvals: places, ticktext: labels };
  draw(box, [{ type: "heatmap", x: places, y: places, z: results.table, text: results.table, texttemplate: "%{text}", colorscale: [[0, "#ffffff"], [1, "#56B4E9"]], xgap: 1, ygap: 1, textfont: { color: "#222", size: 15 }, showscale: false,
    hoverinfo: "z" }], layout("predicted", "true", { margin: { l: 110, r: 15, t: 34, b: 80 }, xaxis: { ...ticks, showgrid: false }, yaxis: { ...ticks, autorange: "reversed", showgrid: false } }));
}

function scatter(host, results) {
  const predicted = unpack(results.predicted).rows(), truth = unpack(results.true).rows();
  const words = results.names.map((name, i) => `${name}: mean squared error ${figures(results.error[i])}` + (results.explained[i] === null ? "" : `, R² ${figures(results.explained[i])}`));
  note(host, `${results.samples} samples. ${words.join("; ")}.` + (results.names.length < results.all ? ` The first ${results.names.length} of ${results.all} outputs are shown.` : ""));
  const box = plotBox(host, "results-plot", "Predicted against actual", "plot tall");
  const range = extent([unpack(results.predicted), unpack(results.true)]);
  const traces = truth.map((x, i) => ({ type: "scatter", mode: "markers", name: plain(results.names[i]), x, y: predicted[i], marker: { color: colour(i), symbol: symbol(i), size: 7, opacity: 0.7 } }));
  traces.push({ type: "scatter", mode: "lines", name: "perfect", x: range, y: range, line: { color: "#222", dash: "dot", width: 1 }, hoverinfo: "skip" });
  draw(box, traces, layout(`actual ${results.names.length > 1 ? "" : results.names[0]}`, "predicted", { xaxis: { range }, yaxis: { range }, showlegend: true }));
}

function sequences(host, results) {
  const times = unpack(results.times).list(), predicted = unpack(results.predicted), truth = unpack(results.true);
  note(host, (results.error === null ? "No targets were given, so only predictions are shown." : `Mean squared error ${figures(results.error)}.`)
    + (results.shown < results.sequences ? ` ${results.shown} of ${results.sequences} sequences can be chosen.` : ""));
  const controls = element("div", { className: "controls" });
  host.append(controls);
  const state = { row: 0, time: 0 };
  selector(controls, "results-sequence", "sequence", Array.from({ length: results.shown }, (_, i) => String(i + 1)), 0, (i) => { state.row = i; show(); });
  const range = element("input", { type: "range", id: "results-time", min: "0", max: String(times.length - 1), step: "1", value: "0" });
  const where = element("output", { id: "results-where" });
  range.addEventListener("input", () => { state.time = Number(range.value); show(); });
  controls.append(element("label", {}, "time", range), where);
  const image = results.kind === "images";
  const pair = element("div", { className: image ? "pair" : "" });
  host.append(pair);
  const left = plotBox(pair, image ? "results-true" : "results-plot", image ? "True frame" : "True and predicted sequence");
  const right = image ? plotBox(pair, "results-plot", "Predicted frame") : null;
  if (image && !truth) left.remove();
  const limits = extent([predicted, truth], 0);

  function frame(box, source, title) {
    draw(box, [{ type: "heatmap", z: source.at(state.row).at(state.time).rows(), zmin: limits[0], zmax: limits[1], colorscale: "Cividis", colorbar: { thickness: 12 } }],
      layout("", "", { title: { text: title, font: { size: 14 } }, yaxis: { autorange: "reversed", scaleanchor: "x", constrain: "domain", visible: false }, xaxis: { visible: false, constrain: "domain" } }));
  }

  function lines() {
    const count = predicted.shape[2], traces = [];
    const column = (source, k) => times.map((_, i) => { const v = source.at(state.row).at(i).data[k]; return Number.isFinite(v) ? v : null; });
    for (let k = 0; k < count; k++) {
      const name = plain(results.names[k] ?? `feature ${k + 1}`);
      if (truth) traces.push({ type: "scatter", mode: "markers", name: `${name}, true`, x: times, y: column(truth, k), marker: { color: colour(k), symbol: symbol(k), size: 7 } });
      const y = column(predicted, k);
      traces.push({ type: "scatter", mode: "lines", name: `${name}, predicted`, x: times, y, line: { color: colour(k), width: 2 } });
      traces.push({ type: "scatter", mode: "markers", showlegend: false, hoverinfo: "skip", x: [times[state.time]], y: [y[state.time]], marker: { color: colour(k), size: 12, line: { width: 1, color: "#222" } } });
    }
    draw(left, traces, layout("time t", "value", { yaxis: { range: extent([predicted, truth]) }, shapes: cursor(times[state.time]), showlegend: true }));
  }

  function show() {
    const text = `t = ${figures(times[state.time])}`;
    where.textContent = text;
    range.setAttribute("aria-valuetext", `time ${text}`);
    if (!image) lines();
    else { if (truth) frame(left, truth, `true, ${text}`); frame(right, predicted, `predicted, ${text}`); }
  }
  show();
}
