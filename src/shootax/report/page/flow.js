"use strict";
// Samples and particles moving through depth, in two or three chosen coordinates.
painters.push((net) => {
  const host = body("flow"), flow = net.flow;
  host.replaceChildren();
  if (!flow.axes.length) { note(host, "There is nothing to show, because no data were given and the net has no particles."); return null; }
  const axes = flow.axes.map((axis) => ({ name: axis.name, data: unpack(axis.data), q: unpack(axis.q), p: unpack(axis.p) }));
  const colours = flow.colours.map((entry) => ({ ...entry, values: entry.labels ? entry.values : unpack(entry.values).list() }));
  const chosen = { x: 0, y: Math.min(1, axes.length - 1), z: -1, colour: 0, particles: true, paths: false };
  const controls = element("div", { className: "controls" });
  host.append(controls);
  const names = axes.map((axis) => axis.name);
  const redraw = () => { box.dataset.kind = ""; Plotly.purge(box); move(shown.frame); };
  selector(controls, "flow-x", "across", names, chosen.x, (i) => { chosen.x = i; redraw(); });
  if (axes.length > 1) selector(controls, "flow-y", "up", names, chosen.y, (i) => { chosen.y = i; redraw(); });
  if (axes.length > 2) selector(controls, "flow-z", "third axis", ["none", ...names], 0, (i) => { chosen.z = i - 1; redraw(); });
  if (colours.length) selector(controls, "flow-colour", "colour by", colours.map((c) => c.name), 0, (i) => { chosen.colour = i; redraw(); });
  if (flow.particles) checkbox(controls, "flow-particles", "particles", true, (on) => { chosen.particles = on; redraw(); });
  if (flow.samples) checkbox(controls, "flow-paths", "paths so far", false, (on) => { chosen.paths = on; redraw(); });
  if (flow.note) note(host, flow.note);
  const box = plotBox(host, "flow-plot", "Samples and particles at the depth of the slider", "plot tall");

  const single = axes.length === 1;
  const used = () => [axes[chosen.x], single ? null : axes[chosen.y], chosen.z < 0 ? null : axes[chosen.z]];

  function markers() {
    const by = colours[chosen.colour];
    const base = { size: chosen.z < 0 ? 8 : 4, opacity: 0.85, line: { width: 0.5, color: "#fff" } };
    if (!by) return { ...base, color: PALETTE[0] };
    if (by.labels) {
      const three = chosen.z >= 0;
      return { ...base, color: by.values.map(colour), symbol: three ? "circle" : by.values.map(symbol) };
    }
    return { ...base, color: by.values, colorscale: "Cividis", showscale: true,
      colorbar: { title: { text: plain(by.name), side: "right" }, thickness: 12 } };
  }

  // One line for all samples, with gaps.
  function tails(parts, frame, t) {
    const out = parts.map(() => []);
    for (let row = 0; row < flow.samples; row++) {
      for (let f = 0; f <= frame; f++) parts.forEach((part, k) => out[k].push(part === null ? t[f] : part.data.data[f * flow.samples + row]));
      out.forEach((list) => list.push(null));
    }
    return out;
  }

  // The longest arrow of all depths is a seventh of the picture.
  function arrowScale(parts, ranges) {
    let scale = Infinity;
    parts.forEach((part, k) => {
      if (!part) return;
      const longest = part.p.data.reduce((a, v) => (Number.isFinite(v) ? Math.max(a, Math.abs(v)) : a), 0);
      if (longest > 0) scale = Math.min(scale, (ranges[k][1] - ranges[k][0]) / 7 / longest);
    });
    return Number.isFinite(scale) ? scale : 0;
  }

  function traces(frame) {
    const t = net.times, parts = used(), three = chosen.z >= 0;
    const kind = three ? "scatter3d" : "scatter";
    const keys = three ? ["x", "y", "z"] : ["x", "y"];
    // A single coordinate is drawn against depth.
    const shownParts = single ? [null, parts[0]] : parts.slice(0, keys.length);
    const ranges = shownParts.map((part) => (part === null ? [0, t[t.length - 1]] : extent([part.data, part.q])));
    const place = (name) => {
      const spots = {};
      shownParts.forEach((part, k) => {
        const count = name === "data" ? flow.samples : flow.particles;
        spots[keys[k]] = part === null ? new Array(count).fill(t[frame]) : part[name].at(frame).list();
      });
      return spots;
    };
    const out = [];
    const by = colours[chosen.colour];
    if (flow.samples) {
      out.push({ type: kind, mode: "markers", name: "samples", ...place("data"), marker: markers(), showlegend: !by?.labels });
      if (by?.labels) by.labels.forEach((label, i) => out.push({ type: kind, mode: "markers", name: plain(label), x: [null], y: [null],
        ...(three ? { z: [null] } : {}), marker: { color: colour(i), symbol: three ? "circle" : symbol(i), size: 8 } }));
      if (chosen.paths) {
        const lines = tails(shownParts, frame, t), spots = {};
        keys.forEach((key, k) => { spots[key] = lines[k]; });
        out.push({ type: kind, mode: "lines", name: "paths", ...spots, hoverinfo: "skip", line: { color: "rgba(90,90,90,0.35)", width: 1 } });
      }
    }
    if (flow.particles && chosen.particles) {
      const q = place("q"), p = place("p"), scale = arrowScale(shownParts, ranges), tips = {};
      shownParts.forEach((part, k) => {
        const key = keys[k];
        tips[key] = q[key].flatMap((value, i) => [value, value === null ? null : value + (part === null ? 0 : scale * p[key][i]), null]);
      });
      const count = flow.particles;
      out.push({ type: kind, mode: "markers", name: "particles", ...q, text: Array.from({ length: count }, (_, i) => `particle ${i + 1}`),
        marker: { symbol: "diamond", size: three ? 4 : 10, color: "#D55E00", line: { width: 1, color: "#222" } } });
      const arrow = { type: kind, mode: three ? "lines" : "lines+markers", name: "momenta", ...tips, hoverinfo: "skip", line: { color: "#222", width: three ? 3 : 1.5 } };
      if (!three) arrow.marker = { symbol: "arrow", angleref: "previous", color: "#222", opacity: 1, line: { width: 0 }, size: Array.from({ length: 3 * count }, (_, i) => (i % 3 === 1 ? 13 : 0)) };
      out.push(arrow);
    }
    return [out, ranges];
  }

  function move(frame) {
    const [data, ranges] = traces(frame), parts = used(), three = chosen.z >= 0;
    if (three) {
      const axis = (k) => ({ title: { text: plain(parts[k].name) }, range: ranges[k] });
      draw(box, data, { margin: { l: 0, r: 0, t: 30, b: 0 }, font: { size: 13 }, uirevision: "flow",
        legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, scene: { xaxis: axis(0), yaxis: axis(1), zaxis: axis(2) } });
    } else {
      const [across, up] = single ? ["depth t", parts[0].name] : [parts[0].name, parts[1].name];
      draw(box, data, layout(across, up, { xaxis: { range: ranges[0] }, yaxis: { range: ranges[1] }, uirevision: "flow" }));
    }
  }
  return move;
});
