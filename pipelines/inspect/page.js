"use strict";
// Draws the figures of the page and keeps what is chosen in its address.
(async () => {
  // Browsers from before 2023 cannot decompress: they show what is for browsers without JavaScript.
  if (!("DecompressionStream" in window)) {
    for (const each of document.querySelectorAll("noscript")) each.insertAdjacentHTML("afterend", each.textContent);
    return;
  }

  const decompressed = (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (each) => each.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };

  const library = document.createElement("script");
  library.textContent = await decompressed("library");
  document.head.append(library);
  const figures = JSON.parse(await decompressed("figures"));
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const KEPT = /^(layer|quantity|unit|head|model|pinned|checkpoint|scale)$/; // signals that the address keeps
  const views = [];
  window.views = views; // for tests
  const chosen = new URLSearchParams(location.hash.slice(1));

  // {column: values} -> rows
  const rowsOf = (columns) => {
    const names = Object.keys(columns);
    const length = names.length ? columns[names[0]].length : 0;
    return Array.from({ length }, (_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  };

  const hasSignal = (view, name) => name in view.getState({ signals: () => true, data: () => false }).signals;

  const keep = (figure, name, value) => {
    chosen.set(`${figure}.${name}`, JSON.stringify(value));
    history.replaceState(null, "", `#${chosen}`);
  };

  // Marks a position in every figure of the page.
  let marked = -1;
  window.marked = () => marked; // for tests
  const mark = (position) => {
    if (position === marked) return;
    marked = position;
    for (const { view } of views) {
      if (hasSignal(view, "marked")) view.signal("marked", [position]).runAsync();
    }
  };

  const draw = async (figure) => {
    const element = document.querySelector(`#${figure.name} .chart`);
    const datasets = Object.fromEntries(Object.entries(figure.data).map(([name, columns]) => [name, rowsOf(columns)]));
    const { view } = await vegaEmbed(element, { ...figure.specification, datasets }, {
      actions: { export: true, source: false, compiled: false, editor: false },
      theme: isDark.matches ? "dark" : undefined,
      config: { background: "transparent", text: { fill: isDark.matches ? "#eeeeee" : "#222222" } },
      renderer: "canvas",
      downloadFileName: figure.name,
    });
    views.push({ figure: figure.name, view });
    const { signals } = view.getState({ signals: () => true, data: () => false });
    for (const name of Object.keys(signals)) {
      if (!KEPT.test(name)) continue;
      const key = `${figure.name}.${name}`;
      if (chosen.has(key)) view.signal(name, JSON.parse(chosen.get(key)));
      view.addSignalListener(name, (_, value) => keep(figure.name, name, value));
    }
    await view.runAsync();
    view.addEventListener("mousemove", (_, item) => {
      const position = item?.datum?.position;
      if (Number.isInteger(position)) mark(position);
    });
    view.addEventListener("click", (_, item) => {
      const { position, unit } = item?.datum ?? {};
      if (Number.isInteger(position) && hasSignal(view, "pinned")) view.signal("pinned", position);
      if (Number.isInteger(unit) && hasSignal(view, "unit")) view.signal("unit", unit);
      view.runAsync();
    });
    element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || event.target !== element || !hasSignal(view, "marked")) return;
      event.preventDefault();
      mark(Math.max(0, marked + step));
    });
  };

  const drawAll = async () => {
    for (const { view } of views.splice(0)) view.finalize();
    for (const figure of figures) await draw(figure);
    document.body.dataset.drawn = String(figures.length); // for tests: all figures are drawn
  };

  isDark.addEventListener("change", drawAll);
  drawAll();
})();
