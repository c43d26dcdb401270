"use strict";
// Function, weights, energy and particles of one net.
painters.push((net) => {
  const host = body("function"), made = net.function;
  host.replaceChildren();
  if (made.why) { note(host, made.why); return null; }
  const axes = made.axes.map((axis) => unpack(axis).list());
  const values = unpack(made.values ?? made.regions);
  const points = unpack(made.points.x).rows();
  const truth = made.points.y ? unpack(made.points.y).rows() : null;
  if (made.outputs && made.outputs.length < made.all) note(host, `The first ${made.outputs.length} of ${made.all} outputs are shown.`);
  let output = 0;
  if (made.inputs === 2 && made.outputs && made.outputs.length > 1) {
    const controls = element("div", { className: "controls" });
    host.append(controls);
    selector(controls, "function-output", "output", made.outputs, 0, (i) => { output = i; move(shown.frame); });
  }
  const box = plotBox(host, "function-plot", "The function at the depth of the slider", "plot tall");
  const range = made.regions ? null : extent([values, ...(made.points.y ? [unpack(made.points.y)] : [])]);

  function line(frame) {
    const traces = made.outputs.map((name, i) => ({ type: "scatter", mode: "lines", name: plain(name), x: axes[0], y: values.at(frame).at(i).list(),
      line: { color: colour(i), width: 2.5, dash: ["solid", "dash", "dot", "dashdot"][i % 4] } }));
    if (truth) truth.forEach((y, i) => traces.push({ type: "scatter", mode: "markers", name: i ? `data ${i + 1}` : "data", x: points[0], y,
      marker: { size: 6, color: colour(i), opacity: 0.6, symbol: symbol(i) } }));
    return draw(box, traces, layout(made.names[0] ?? "input", made.outputs.length > 1 ? "outputs" : made.outputs[0], { yaxis: { range } }));
  }

  function picture(frame) {
    const side = axes[0].length, flat = (made.regions ? values.at(frame) : values.at(frame).at(output)).list();
    const z = axes[1].map((_, row) => flat.slice(row * side, (row + 1) * side));
    const traces = [];
    if (made.regions) {
      const count = Math.max(made.classes.length, 2), scale = [];
      for (let i = 0; i < count; i++) scale.push([i / count, colour(i)], [(i + 1) / count, colour(i)]);
      traces.push({ type: "heatmap", x: axes[0], y: axes[1], z, zmin: -0.5, zmax: count - 0.5, colorscale: scale, showscale: false, opacity: 0.45, hoverinfo: "skip" });
    } else {
      const all = extent([view(values.data, values.shape)], 0);
      traces.push({ type: "heatmap", x: axes[0], y: axes[1], z, zmin: all[0], zmax: all[1], colorscale: "Cividis", colorbar: { thickness: 12 } });
    }
    const groups = made.points.class;
    if (groups) made.classes.forEach((label, i) => {
      const rows = groups.flatMap((g, row) => (g === i ? [row] : []));
      traces.push({ type: "scatter", mode: "markers", name: plain(label), x: rows.map((r) => points[0][r]), y: rows.map((r) => points[1][r]),
        marker: { color: colour(i), symbol: symbol(i), size: 8, line: { width: 1, color: "#222" } } });
    });
    else traces.push({ type: "scatter", mode: "markers", name: "data", x: points[0], y: points[1],
      marker: { size: 7, color: truth ? truth[output] : "#fff", colorscale: "Cividis", line: { width: 1, color: "#fff" } } });
    return draw(box, traces, layout(made.names[0] ?? "input 1", made.names[1] ?? "input 2"));
  }
  const move = (frame) => (made.inputs === 1 ? line(frame) : picture(frame));
  return move;
});

painters.push((net) => {
  const host = body("weights"), parts = net.weights.parts;
  host.replaceChildren();
  if (!parts.length) { note(host, "The field has no weights."); return null; }
  const norms = plotBox(host, "weights-norms", "Norms of the weights over depth");
  draw(norms, parts.map((part, i) => ({ type: "scatter", mode: "lines+markers", name: plain(part.name), x: net.times, y: unpack(part.norm).list(),
    line: { color: colour(i), width: 2 }, marker: { symbol: symbol(i), size: 6 } })), layout("depth t", "norm ‖θₖ‖", { yaxis: { rangemode: "tozero" }, showlegend: true }));
  const drawn = parts.filter((part) => part.matrix);
  let matrix = null, values = null, chosen = null;
  if (drawn.length) {
    const controls = element("div", { className: "controls" });
    // The matrix with the most singular values shows best that its rank is bounded.
    const ranks = drawn.map((part) => part.singular?.shape[1] ?? 0), first = ranks.indexOf(Math.max(...ranks));
    selector(controls, "weights-part", "matrix", drawn.map((part) => `${part.name}, ${part.shape.join(" × ")}`), first, (i) => { pick(i); move(shown.frame, net.times[shown.frame]); });
    const cut = element("p", { className: "note", id: "weights-note" });
    const pair = element("div", { className: "pair" });
    host.append(controls, cut, pair);
    matrix = plotBox(pair, "weights-matrix", "The chosen matrix at the depth of the slider");
    values = plotBox(pair, "weights-values", "Its singular values at the depth of the slider");
    const pick = (i) => {
      const part = drawn[i];
      chosen = { ...part, matrix: unpack(part.matrix), singular: unpack(part.singular) };
      cut.textContent = [part.cut ? `Only a corner of this matrix with ${chosen.matrix.shape.slice(1).join(" × ")} entries is drawn.` : "",
        part.frames.length < net.times.length ? `It is kept at ${part.frames.length} depths. The nearest of them is drawn.` : ""].join(" ").trim();
    };
    pick(first);
  }
  function move(frame, t) {
    Plotly.relayout(norms, { shapes: cursor(t) });
    if (!chosen) return;
    let nearest = 0;
    chosen.frames.forEach((f, i) => { if (Math.abs(f - frame) < Math.abs(chosen.frames[nearest] - frame)) nearest = i; });
    const limit = chosen.largest || 1;
    const [rows, columns] = chosen.matrix.shape.slice(1), count = (n) => Array.from({ length: n }, (_, i) => i + 1);
    const ticks = (n) => (n <= 10 ? { dtick: 1 } : {});
    draw(matrix, [{ type: "heatmap", x: count(columns), y: count(rows), z: chosen.matrix.at(nearest).rows(), zmin: -limit, zmax: limit, colorbar: { thickness: 12 },
      colorscale: [[0, "#D55E00"], [0.5, "#ffffff"], [1, "#0072B2"]] }],
      layout("column", "row", { xaxis: ticks(columns), yaxis: { autorange: "reversed", ...ticks(rows) }, title: { text: plain(`${chosen.name} at t = ${figures(net.times[chosen.frames[nearest]])}`), font: { size: 14 } } }));
    const K = net.weights.particles;
    const list = chosen.singular ? chosen.singular.at(nearest).list() : [];
    const most = chosen.singular ? Math.max(...chosen.singular.data) || 1 : 1;
    const marks = K && K < list.length ? [{ type: "line", x0: K + 0.5, x1: K + 0.5, yref: "paper", y0: 0, y1: 1, line: { dash: "dash", color: "#D55E00" } }] : [];
    draw(values, [{ type: "scatter", mode: "markers", x: list.map((_, i) => i + 1), y: list.map((v) => Math.max(v, most * 1e-12)), marker: { color: PALETTE[0], size: 8 } }],
      layout("number", "singular value", { yaxis: { type: "log", range: [Math.log10(most) - 12.3, Math.log10(most) + 0.4], exponentformat: "power" }, shapes: marks,
        title: { text: list.length ? (K ? `singular values, K = ${K}` : "singular values") : "no singular values for this part", font: { size: 14 } } }));
  }
  return move;
});

painters.push((net) => {
  const host = body("energy"), energy = net.energy;
  host.replaceChildren();
  const words = [];
  if (energy.penalty !== undefined) words.push(`Penalty ∫R dt = ${figures(energy.penalty)}.`);
  if (energy.drift !== undefined) words.push(`The Hamiltonian drifts by at most ${figures(energy.drift)} of its value.`);
  else words.push("This net has no moving particles, so there is no Hamiltonian.");
  note(host, words.join(" "));
  energy.notes.forEach((text) => note(host, text));
  const pair = element("div", { className: "pair" });
  host.append(pair);
  const left = [], boxes = [];
  if (energy.hamiltonian) left.push({ type: "scatter", mode: "lines+markers", name: "Hamiltonian", x: unpack(energy.hamiltonian.times).list(),
    y: unpack(energy.hamiltonian.values).list(), line: { color: PALETTE[0] } });
  if (energy.rate) left.push({ type: "scatter", mode: "lines", name: "penalty R(θ(t))", x: net.times, y: unpack(energy.rate).list(), line: { color: PALETTE[1], dash: "dash", width: 2.5 } });
  if (left.length) { const box = plotBox(pair, "energy-plot", "Hamiltonian and penalty over depth"); draw(box, left, layout("depth t", "energy", { showlegend: true, yaxis: { rangemode: "tozero" } })); boxes.push(box); }
  const complexity = unpack(energy.complexity);
  if (complexity.data.length) {
    const box = plotBox(pair, "energy-complexity", "Complexity over depth");
    draw(box, [{ type: "scatter", mode: "lines", name: "complexity", x: net.times, y: complexity.list(), line: { color: PALETTE[2] } }], layout("depth t", "log₂ Σ‖θₖ‖²"));
    boxes.push(box);
  }
  return (_, t) => boxes.forEach((box) => Plotly.relayout(box, { shapes: cursor(t) }));
});

painters.push((net) => {
  const host = body("particles"), made = net.energy.particles;
  host.replaceChildren();
  if (!made) { note(host, "This net has no particles. Its weights are parameters."); return null; }
  const pair = element("div", { className: "pair" });
  host.append(pair);
  const bars = (id, values, label, title, tint) => draw(plotBox(pair, id, title), [{ type: "bar", x: made.numbers, y: values, marker: { color: tint } }],
    layout("particle taken out", label, { title: { text: plain(title), font: { size: 14 } }, xaxis: { type: "category" }, yaxis: { zeroline: true } }));
  if (made.loss) bars("particles-loss", made.loss, `change of ${made.measure}`, made.before === null ? "Loss" : `Loss (now ${figures(made.before)})`, PALETTE[0]);
  bars("particles-penalty", made.penalty, "change of ∫R dt", "Penalty", PALETTE[1]);
  return null;
});
