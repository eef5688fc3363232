"use strict";
// Makes a page of a report: every number that is shown stands in the report as it is. Texts are only ever set as
// text, so nothing in a report can become part of the page itself.
const sheaf = (() => {
  const charts = [];

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value) element.setAttribute(name, value);
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };

  const number = (value, digits) =>
    value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay: "negative" });

  const shown = (value, digits) => {
    if (value === null || value === undefined) return "–";
    if (value === true) return "yes";
    if (value === false) return "NO";
    return typeof value === "number" ? number(value, digits ?? 0) : value;
  };

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colorOf = (index) => color(`--c${index % 8}`);

  function cell(value, column, first) {
    const classes = [column.words ? "words" : "", first ? "strong" : ""];
    if (typeof value === "string" && value.length > 40) classes.push("long");
    if (value === true) classes.push("yes");
    if (value === false) classes.push("no");
    return make("td", { class: classes.join(" ").trim() }, shown(value, column.digits));
  }

  function table(block) {
    const head = make("tr", {}, ...block.columns.map((column) =>
      make("th", { class: column.words ? "words" : "" }, column.name, column.unit ? make("small", {}, column.unit) : null)));
    const rows = block.rows.map((row, index) =>
      make("tr", { class: (block.marked ?? []).includes(index) ? "marked" : "" },
        ...row.map((value, i) => cell(value, block.columns[i], i === 0 && block.columns[0].words))));
    return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  }

  function dataset(series, index, block) {
    const own = colorOf(series.color ?? index);
    const line = block.type !== "bar";
    return {
      label: series.name,
      data: series.points ?? series.values,
      type: series.type ?? (line ? "line" : "bar"),
      stack: series.stack,
      unlisted: series.unlisted,
      borderColor: own,
      backgroundColor: line && !series.fill ? own : own + (series.faint ? "66" : series.fill ? "bb" : ""),
      borderDash: series.dashed ? [6, 4] : [],
      borderWidth: line ? 2 : 0,
      borderRadius: line ? 0 : 3,
      fill: series.fill ? (index === 0 ? "origin" : "-1") : false,
      stepped: series.stepped ? "before" : false,
      tension: 0,
      showLine: block.type !== "scatter",
      pointRadius: series.plain || series.fill || (series.points && series.points.length > 60) ? 0 : block.type === "scatter" ? 6 : 3,
      maxBarThickness: 46,
    };
  }

  const axis = (own, stacked) => ({
    stacked: stacked,
    type: own.type,
    min: own.min,
    max: own.max,
    beginAtZero: own.type !== "logarithmic" && !own.free,
    title: { display: Boolean(own.title), text: own.title, color: color("--soft") },
    grid: { color: color("--line") },
    border: { color: color("--line") },
    ticks: { color: color("--soft"), maxRotation: 60, autoSkip: own.type !== "category", autoSkipPadding: 8, precision: own.whole ? 0 : undefined },
  });

  // Long names of bars on several lines, so that there is room for the bars.
  const wrapped = (label) => label.length <= 18 ? label : label.split(" ").reduce((lines, word) => {
    const last = lines.length - 1;
    return `${lines[last]} ${word}`.length <= 18 ? [...lines.slice(0, last), `${lines[last]} ${word}`.trim()] : [...lines, word];
  }, [""]).filter((line) => line !== "");

  function configuration(block) {
    const flat = block.horizontal === true;
    const xy = Boolean(block.series.some((series) => series.points));
    const steps = { type: xy ? "linear" : "category", free: xy && block.type !== "scatter" };
    const amounts = { type: "linear" };
    const scales = {
      x: axis({ ...(flat ? amounts : steps), ...(block.x ?? {}) }, block.stacked),
      y: axis({ ...(flat ? steps : amounts), ...(block.y ?? {}) }, block.stacked),
    };
    return {
      type: block.type === "bar" ? "bar" : block.type === "scatter" ? "scatter" : "line",
      data: { labels: block.labels?.map(wrapped), datasets: block.series.map((series, i) => dataset(series, i, block)) },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        indexAxis: flat ? "y" : "x",
        scales,
        interaction: { mode: block.type === "scatter" ? "nearest" : "index", intersect: false, axis: flat ? "y" : "x" },
        plugins: {
          legend: { display: block.series.length > 1, position: "bottom", labels: {
            color: color("--ink"), boxWidth: 12, boxHeight: 12, filter: (item, data) => !data.datasets[item.datasetIndex].unlisted,
          } },
          tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${number(flat ? item.parsed.x : item.parsed.y, block.digits ?? 1)}` } },
        },
      },
    };
  }

  function chart(block) {
    const canvas = make("canvas", { role: "img", "aria-label": block.title });
    const entry = { block, canvas, drawn: null };
    charts.push(entry);
    return make("div", { class: block.tall ? "canvas tall" : "canvas" }, canvas);
  }

  function draw() {
    for (const entry of charts) {
      if (entry.drawn) entry.drawn.destroy();
      entry.drawn = new Chart(entry.canvas, configuration(entry.block));
    }
  }

  const checks = (block) =>
    make("ul", { class: "checks" }, ...block.items.map((item) =>
      make("li", { class: item.ok === true ? "yes" : item.ok === false ? "no" : "" }, item.text)));

  function show(block) {
    if (block.kind === "pair") return make("div", { class: "pair" }, ...block.blocks.map(show));
    const body = { table, chart, checks, code: (own) => make("pre", {}, own.lines.join("\n")) }[block.kind](block);
    return make("div", { class: "block" },
      block.title ? make("h3", {}, block.title) : null, body, block.note ? make("p", { class: "note" }, block.note) : null);
  }

  function section(own) {
    return make("section", { id: own.id }, make("h2", {}, own.title),
      ...(own.text ?? []).map((text) => make("p", {}, text)), ...own.blocks.map(show));
  }

  const figure = (own) =>
    make("div", { class: "figure" },
      make("b", {}, shown(own.value, own.digits), own.unit ? make("small", {}, own.unit) : null), make("span", {}, own.label));

  function page(report) {
    document.title = report.title;
    document.body.append(
      make("header", { class: "top" }, make("div", { class: "inner" }, make("h1", {}, report.title),
        make("p", { class: "lead" }, report.lead), report.verdict ? make("p", { class: "verdict" }, report.verdict) : null,
        make("div", { class: "cards" }, ...report.figures.map(figure)))),
      make("nav", {}, make("div", { class: "inner" }, ...report.sections.map((own) => make("a", { href: `#${own.id}` }, own.short ?? own.title)))),
      make("main", {}, make("div", { class: "inner" }, ...report.sections.map(section))),
      make("footer", {}, make("div", { class: "inner" }, report.footer)));
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    addEventListener("beforeprint", draw);
    addEventListener("afterprint", draw);
  }

  return { page, make, table, chart, draw, charts, figure, show, number };
})();
