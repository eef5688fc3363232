"use strict";
// The live page: asks for new lines of the run once a second and shows them.
(() => {
  const kMostPoints = 600;
  const { make, show, charts, draw, figure, table, number } = sheaf;
  const mebibytes = (bytes) => bytes / 1048576;
  const phases = ["forward", "backward", "optimizer", "exposed_communication", "data_wait", "idle"];
  const state = { run: -1, next: 0, start: null, steps: [], end: null };

  const line = (title, y, names, more = {}) => ({
    kind: "chart", type: "line", title, x: { title: "step", whole: true }, y: { title: y }, ...more,
    series: names.map((name) => ({ name, points: [], plain: true, fill: more.stacked })),
  });
  const blocks = {
    loss: line("Loss", "loss", ["loss"], { y: { title: "loss", free: true }, digits: 4 }),
    speed: line("Speed", "per second", ["this step", "mean"], { digits: 0 }),
    memory: line("Memory of rank 0", "MiB", ["tensors", "peak of tensors"]),
    time: line("Time of a step, rank 0", "ms", phases.map((name) => name.replace("_", " ")), { stacked: true, digits: 2 }),
  };

  const title = make("h1", {}, "Waiting for a run");
  const lead = make("p", { class: "lead" }, "");
  const cards = make("div", { class: "cards" });
  const ranks = make("div", { class: "block" });
  document.title = "sheaf watch";
  document.body.append(
    make("header", { class: "top" }, make("div", { class: "inner" }, title, lead, cards)),
    make("main", {}, make("div", { class: "inner" }, make("section", {},
      make("div", { class: "pair" }, show(blocks.loss), show(blocks.speed), show(blocks.memory), show(blocks.time)), ranks))));
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  // No more points than a chart can show.
  function thinned(steps) {
    const every = Math.ceil(steps.length / kMostPoints);
    return steps.filter((_, index) => index % every === 0 || index === steps.length - 1);
  }

  function setPoints(block, values, shown = state.steps) {
    const steps = thinned(shown);
    block.series.forEach((series, index) => {
      series.points = steps.map((step) => ({ x: step.step, y: values(step)[index] ?? null }));
    });
    const entry = charts.find((each) => each.block === block);
    entry.drawn.data.datasets.forEach((dataset, index) => {
      dataset.data = block.series[index].points;
    });
    entry.drawn.update("none");
  }

  function duration(seconds) {
    if (seconds >= 5400) return [seconds / 3600, "h", 1];
    return seconds >= 90 ? [seconds / 60, "min", 1] : [seconds, "s", 0];
  }

  function showCards() {
    const last = state.steps[state.steps.length - 1];
    if (!last) return;
    const [time, unit, digits] = duration(state.end ? state.end.elapsed_seconds : last.remaining_seconds);
    const all = [
      { label: "step", value: last.step, unit: `of ${number(state.start?.steps ?? 0, 0)}` },
      { label: "loss", value: last.loss ?? "not finite", digits: 4 },
      { label: state.start ? `${state.start.items} per second` : "speed", value: last.mean_items_per_second },
      { label: "MFU", value: last.mean_mfu === null ? null : 100 * last.mean_mfu, unit: "%", digits: 1 },
      { label: "peak of tensors, rank 0", value: mebibytes(last.memory.peak_allocated), unit: "MiB", digits: 1 },
      { label: state.end ? "took" : "left", value: time, unit, digits },
    ];
    cards.replaceChildren(...all.map(figure));
  }

  function showHead() {
    const start = state.start;
    if (!start) return;
    title.textContent = `${start.model}: ${start.strategy} on ${start.ranks} ${start.ranks === 1 ? "rank" : "ranks"}`;
    const now = state.end ? (state.end.interrupted ?? "ended") : "training";
    lead.textContent = `${now} · ${start.device} · ${start.precision} · ${start.data} · ${start.batch}`;
  }

  function showRanks(rows) {
    const ms = (seconds) => 1000 * seconds;
    const columns = ["rank", "step"].map((name) => ({ name }))
      .concat(["step", ...phases].map((name) => ({ name: name.replace("_", " "), unit: "ms", digits: 2 })))
      .concat(["tensors", "peak", "process"].map((name) => ({ name, unit: "MiB", digits: 1 })));
    const cells = rows.map((row) => [row.rank, row.step, ms(row.seconds), ...phases.map((name) => ms(row[name])),
      mebibytes(row.allocated), mebibytes(row.peak_allocated), mebibytes(row.resident)]);
    ranks.replaceChildren(make("h3", {}, "Ranks, each in its latest step"), table({ columns, rows: cells }));
  }

  function take(answer) {
    if (answer.run !== state.run || answer.from !== state.next) {
      Object.assign(state, { run: answer.run, start: null, steps: [], end: null });
    }
    for (const entry of answer.lines) {
      if (entry.event === "start") {
        // A run that goes on where another stopped keeps what came before.
        state.steps = state.steps.filter((step) => step.step <= entry.first_step);
        Object.assign(state, { start: entry, end: null });
      } else if (entry.event === "step") {
        while (state.steps.length > 0 && state.steps[state.steps.length - 1].step >= entry.step) state.steps.pop();
        state.steps.push(entry);
      } else if (entry.event === "end") {
        state.end = entry;
      }
    }
    state.next = answer.next;
    showHead();
    showCards();
    // A run of more ranks may have left files there.
    showRanks(answer.ranks.filter((row) => !state.start || row.rank < state.start.ranks));
    if (answer.lines.length === 0) return;
    setPoints(blocks.loss, (step) => [step.loss]);
    setPoints(blocks.speed, (step) => [step.items_per_second, step.mean_items_per_second]);
    setPoints(blocks.memory, (step) => [mebibytes(step.memory.allocated), mebibytes(step.memory.peak_allocated)]);
    // The first steps take so much longer that nothing else would be seen beside them.
    const settled = state.steps.length > 20 ? state.steps.slice(5) : state.steps;
    setPoints(blocks.time, (step) => phases.map((name) => (step.phases ? 1000 * step.phases[name] : null)), settled);
  }

  async function poll() {
    let pause = 1000;
    try {
      const answer = await (await fetch(`/metrics?since=${state.next}&run=${state.run}`)).json();
      const more = answer.lines.length > 0;
      take(answer);
      if (more && answer.lines.length >= 2000) pause = 0;
    } catch (error) {
      lead.textContent = "sheaf watch has ended";
      pause = 5000;
    }
    setTimeout(poll, pause);
  }
  poll();
})();
