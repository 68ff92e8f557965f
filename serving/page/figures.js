/* Figures: Vega-Lite specifications from figures/, drawn with vegaEmbed; and the token that all panels highlight. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const specifications = new Map();
  const axes = new Set();
  const drawn = new Set();
  let vega = null;

  /** Loads the library once. Charts are few and large, so the page does not wait for them. */
  function loadVega() {
    vega = vega || new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = "/page/vega.js";
      script.addEventListener("load", () => resolve(window.vegaEmbed));
      script.addEventListener("error", () => {
        vega = null;
        reject(new page.rest.RestError("The figures cannot be drawn: the server does not have /page/vega.js", 0));
      });
      document.head.append(script);
    });
    return vega;
  }

  async function specification(name) {
    if (!specifications.has(name)) {
      const loading = fetch(`/page/figures/${name}.json`).then((response) => response.json());
      specifications.set(name, loading);
      loading.catch(() => specifications.delete(name));
    }
    return specifications.get(name);
  }

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function config() {
    const text = color("--text");
    const font = color("--font");
    return {
      background: "transparent",
      font,
      axis: { labelColor: text, titleColor: text, domain: false, ticks: false, grid: false, labelFontSize: 12 },
      axisLeft: { minExtent: 70 }, // figures below each other have their tokens in the same columns
      legend: { labelColor: text, titleColor: text, orient: "top", gradientLength: 120, gradientThickness: 8 },
      text: { color: text, font },
      view: { stroke: null },
      bar: { color: color("--high") },
    };
  }

  /**
   * Draws a figure.
   *
   * datasets: its named data; parameters: {name: value}; axes: {marked: axis of the tokens at `position`, marked_keys}.
   */
  async function draw(container, name, description, datasets, parameters = {}, axes = {}) {
    const [embed, original] = await Promise.all([loadVega(), specification(name)]);
    const figure = { container, name, description, datasets, parameters, axes, stops: [] };
    finish(container);
    const spec = structuredClone(original); // Vega-Lite writes into what it gets
    for (const each of spec.params || []) if (each.name in parameters) each.value = parameters[each.name];
    figure.result = await embed(
      container,
      { ...spec, description, datasets, config: config() },
      {
        mode: "vega-lite", renderer: "canvas", actions: false, defaultStyle: false, tooltip: showTooltip,
        ast: true, // expressions are interpreted: the page's policy forbids `eval`
        patch: letPointerThrough,
      },
    );
    drawn.add(figure);
    Object.entries(axes).forEach(([signal, axis]) => connect(figure, axis, signal));
    return figure.result;
  }

  /** Only the cells, in layer 0, answer the pointer: texts and highlights lie over them. Vega-Lite cannot say so. */
  function letPointerThrough(spec) {
    spec.marks.filter((mark) => /^layer_[1-9]_/.test(mark.name)).forEach((mark) => (mark.interactive = false));
    return spec;
  }

  function connect(figure, axis, signal) {
    const { view } = figure.result;
    figure.stops.push(axis.onHighlight((positions) => view.signal(signal, [...positions]).runAsync()));
    if (signal !== "marked") return;
    view.addEventListener("mousemove", (event, item) => {
      const datum = item && item.datum;
      axis.hover(datum && datum.position !== undefined ? datum.position : null);
    });
    view.addEventListener("mouseout", () => axis.hover(null));
  }

  function finish(container) {
    for (const figure of drawn) {
      if (figure.container !== container && figure.container.isConnected) continue;
      figure.stops.forEach((stop) => stop());
      figure.result.finalize();
      drawn.delete(figure);
    }
  }

  /** Vega's own tooltip writes HTML, and needs an inline style. */
  function showTooltip(handler, event, item, value) {
    const box = document.getElementById("tooltip") || document.body.appendChild(
      page.elements.element("div", { id: "tooltip", "aria-hidden": "true" }),
    );
    box.hidden = value === null || value === undefined || value === "";
    if (box.hidden) return;
    box.textContent = Object.entries(value).map(([key, each]) => `${key}: ${each}`).join("\n");
    const left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 4);
    box.style.left = `${Math.max(left, 4)}px`;
    box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 4)}px`;
  }

  /**
   * The tokens of an answer, which several panels show.
   *
   * key: axes with the same key have the same text, so a token highlights the tokens at its place in the others.
   * spans: place of each token in this text, or null.
   */
  function makeAxis(key, spans) {
    const listeners = new Set();
    let last = "";
    const axis = {
      key,
      spans,
      hover: (position) => highlight(axis, position),
      show: (positions) => {
        const now = positions.join();
        if (now === last) return;
        last = now;
        listeners.forEach((listener) => listener(new Set(positions)));
      },
      onHighlight: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    axes.add(axis);
    return axis;
  }

  function highlight(source, position) {
    for (const axis of axes) {
      if (position === null) axis.show([]);
      else if (axis === source) axis.show([position]);
      else if (axis.key !== source.key) axis.show([]);
      else axis.show(page.trace.overlapping(axis.spans, source.spans[position]));
    }
  }

  /** Forgets the tokens and figures of earlier answers. */
  function clear() {
    axes.clear();
    for (const figure of drawn) figure.container.replaceChildren();
    finish(null);
  }

  // The colours stand in the drawn figures.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const { container, name, description, datasets, parameters, axes: marks } of [...drawn]) {
      draw(container, name, description, datasets, parameters, marks);
    }
  });

  page.figures = { clear, draw, drawn, makeAxis };
})(window.livePage);
