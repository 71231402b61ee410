"use strict";
// Enhances a page that is complete without it: columns sort, long tables filter, curves can be looked into.

const WIDTH = 2; // of the mean's line

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// What may stand before the number of a cell, the number, and in "(5.8 ± 1.0)e-04" the exponent behind the bracket.
const BEFORE = /(?:\(|~|at most |slower: below |faster: above |step )?/, NUMBER = /([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/, BEHIND = /(?:[^()]*\)(e[-+]?\d+))?/;
const CELL = new RegExp(`^${BEFORE.source}${NUMBER.source}${BEHIND.source}`, "i");

// The number that a cell is about, as people mean it; "never in 1500" and "-" have none.
function numberIn(text) {
  const found = text.trim().match(CELL);
  return found ? Number(found[1] + (found[2] ?? "")) : NaN;
}

// Sign is 1 upwards and -1 downwards; what is no number comes last either way.
function compare(a, b, sign) {
  const [x, y] = [numberIn(a), numberIn(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return sign * (x - y);
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return sign * a.localeCompare(b, "en", {numeric: true});
}

function sortBy(table, place, head) {
  const ascending = head.getAttribute("aria-sort") !== "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(a.cells[place].textContent, b.cells[place].textContent, ascending ? 1 : -1));
  table.tBodies[0].append(...rows);
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const button = make("button", {type: "button"}, ...head.childNodes);
    button.addEventListener("click", () => sortBy(table, place, head));
    head.append(button);
  });
}

function makeFilter(table) {
  if (table.tBodies[0].rows.length < 8) return;
  const input = make("input", {type: "search"});
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  table.parentElement.before(make("label", {className: "about"}, "Show rows with ", input));
}

// The mean at every step over the runs of one arm that are finite there, as in the figures: a run that diverged counts up
// to its last finite value, and a step that a run lacks which goes on behind it is left out. And the single runs.
function linesOf(data, metric, arm) {
  const runs = data.series.filter(([place, , , , values]) => place === arm && values[metric].length);
  const curves = runs.map(([, seed, steps, diverged, values]) => (
    {seed, diverged, at: new Map(data.steps[steps].map((step, i) => [step, values[metric][i]]).filter(([, value]) => value != null))}));
  const ends = curves.map((curve) => Math.max(...curve.at.keys()));
  const mean = new Map();
  for (const step of [...new Set(curves.flatMap((curve) => [...curve.at.keys()]))].sort((a, b) => a - b)) {
    const values = curves.filter((curve, i) => step <= ends[i]).map((curve) => curve.at.get(step));
    if (!values.includes(undefined)) mean.set(step, values.reduce((sum, value) => sum + value, 0) / values.length);
  }
  return {curves, mean};
}

// How many runs a mean is of, and how many of them it has lost on the way.
function countOf(curves) {
  const diverged = curves.filter((curve) => curve.diverged).length;
  return `mean of ${curves.length}${diverged ? `, ${diverged} diverged` : ""}`;
}

function draw(viewer, data, plot, state) {
  plot.replaceChildren();
  const chosen = data.arms.map((name, arm) => ({name, arm})).filter(({arm}) => state.arms.has(arm));
  const lines = chosen.flatMap(({name, arm}) => {
    const {curves, mean} = linesOf(data, state.metric, arm);
    const [colour, dashes] = data.styles[arm]; // as in the figures
    const dash = dashes.map((length) => WIDTH * length);
    const seeds = state.seeds ? curves.map((curve) => (
      {at: curve.at, label: `${name}, seed ${curve.seed}${curve.diverged ? ", diverged" : ""}`, colour, width: 0.7,
        dash: curve.diverged ? [2, 3] : dash, isCrowd: !curve.diverged})) : [];
    return [{at: mean, label: `${name} (${countOf(curves)})`, colour, width: WIDTH, dash}, ...seeds];
  });
  const steps = [...new Set(lines.flatMap((line) => [...line.at.keys()]))].filter((step) => !state.logSteps || step > 0)
    .sort((a, b) => a - b);
  const usable = (value) => (value == null || (state.log && value <= 0) ? null : value);
  const columns = lines.map((line) => steps.map((step) => usable(line.at.get(step))));
  const options = {
    width: Math.max(280, plot.clientWidth - 16), height: 340,
    scales: {x: {time: false, distr: state.logSteps ? 3 : 1}, y: {distr: state.log ? 3 : 1}},
    axes: [{label: "step"}, {label: data.metrics[state.metric], size: 70}],
    legend: {show: lines.filter((line) => !line.isCrowd).length <= 16},
    series: [{label: "step"}, ...lines.map((line) => (
      {label: line.label, stroke: line.colour, width: line.width, dash: line.dash, spanGaps: true, points: {show: steps.length < 3}}))],
  };
  new uPlot(options, [steps, ...columns], plot);
  const [, ...named] = plot.querySelectorAll(".u-legend .u-series"); // the first one is the step
  named.forEach((row, place) => { if (lines[place].isCrowd) row.remove(); });
  plot.setAttribute("aria-label", `Curves of ${data.metrics[state.metric]} for ${chosen.map(({name}) => name).join(", ")}; `
    + "the table and the figures have the same results");
}

function choice(text, checked, change) {
  const box = make("input", {type: "checkbox", checked});
  box.addEventListener("change", () => change(box.checked));
  return make("label", {}, box, " ", ...[text].flat());
}

function openViewer(viewer, data) {
  const state = {metric: 0, log: false, logSteps: false, seeds: false, arms: new Set(data.arms.slice(0, 6).keys())};
  const plot = make("div", {className: "plot"});
  plot.setAttribute("role", "img");
  const again = () => draw(viewer, data, plot, state);
  const metrics = make("select", {}, ...data.metrics.map((name, place) => make("option", {value: place}, name)));
  metrics.addEventListener("change", () => { state.metric = Number(metrics.value); again(); });
  const arms = make("fieldset", {}, make("legend", {}, "Arms"));
  data.arms.forEach((name, arm) => {
    const swatch = make("span", {className: "swatch"});
    swatch.style.background = data.styles[arm][0];
    arms.append(choice([swatch, name], state.arms.has(arm), (on) => { on ? state.arms.add(arm) : state.arms.delete(arm); again(); }));
  });
  const bar = make("div", {className: "bar"}, make("label", {}, "Metric ", metrics),
    choice("logarithmic", false, (on) => { state.log = on; again(); }),
    choice("logarithmic steps", false, (on) => { state.logSteps = on; again(); }),
    choice("single runs", false, (on) => { state.seeds = on; again(); }));
  const hint = make("p", {className: "about"}, "Drag across the curves to enlarge a part; a double click shows all again.",
    data.left_out ? ` Here are the first seeds of every arm, without ${data.left_out} further runs.` : "");
  viewer.append(bar, arms, plot, hint);
  again();
  addEventListener("resize", again);
}

function makeViewer(viewer) {
  const data = JSON.parse(viewer.querySelector("script").textContent);
  const button = make("button", {type: "button"}, "Look into the curves");
  button.addEventListener("click", () => { button.remove(); openViewer(viewer, data); viewer.querySelector("select").focus(); }, {once: true});
  viewer.append(button);
  viewer.hidden = false;
}

document.querySelectorAll("table.sortable").forEach((table) => { makeFilter(table); makeSortable(table); });
document.querySelectorAll(".viewer").forEach(makeViewer);
