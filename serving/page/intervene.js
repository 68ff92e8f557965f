/* What if: sliders that set gates, states and heads inside a model, and what its answer becomes. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const ALL = -1;
  const NO_EDIT = { layer: "", kind: "", unit: ALL, step: ALL, key: ALL, value: 0 };
  const MAX_ANSWERS = 8;
  const FACTORS = ["head", "attention_output", "attention_residual", "feed_forward_output", "feed_forward_residual"];
  const { choice, element, percent } = page.elements;

  /** Shows the sliders of a model with the signature `intervene`, which also answers the states of transformers. */
  async function show(model, text, tokens, section, signal) {
    const nothing = inputsOf(text, [NO_EDIT]);
    const unchanged = page.trace.firstRow(await page.rest.predict(model, "intervene", nothing, signal));
    const layers = layersOf(unchanged);
    if (!layers.length) return;
    const explanation = "Set something inside, and see what the answer becomes. A factor of 0 takes a part out.";
    const { controls, figures } = page.panels.panel(section, "What if", explanation);
    const before = answerOf(model, unchanged, tokens);
    const rows = new Set();
    const change = latest(async () => {
      const given = [...rows].map((row) => row.edit()).filter((edit) => edit);
      if (!given.length) return figures.replaceChildren(changes(before, before));
      const inputs = inputsOf(text, given);
      const after = page.trace.firstRow(await page.rest.predict(model, "intervene", inputs, signal));
      const request = page.elements.requestBlock(page.rest.commands(model.name, "intervene", inputs));
      figures.replaceChildren(changes(before, answerOf(model, after, tokens)), request);
    }, figures);
    const add = () => {
      const row = sliderRow(layers, tokens, change, () => {
        rows.delete(row);
        row.node.remove();
        change();
      });
      rows.add(row);
      button.before(row.node);
    };
    const button = element("button", { type: "button", class: "small", click: add }, "Add a slider");
    controls.append(button);
    add();
    change();
  }

  /** The inputs of `intervene` for one text: each name with a row of what the edits set. */
  function inputsOf(text, edits) {
    const rows = Object.keys(NO_EDIT).map((name) => [name, [edits.map((edit) => edit[name])]]);
    return { text: [text], ...Object.fromEntries(rows) };
  }

  /** Layers with what can be set in them: [{name, label, kinds: {name: size}, heads, quantities}]. */
  function layersOf(trace) {
    const blocks = new Map(page.trace.attentionLayers(trace).map((layer) => [layer.name, layer.heads.length]));
    return page.trace.recurrentLayers(trace).map((layer) => {
      const heads = blocks.get(layer.name) || 0;
      return { ...layer, heads, kinds: [...Object.keys(layer.quantities), ...(heads ? FACTORS : [])] };
    });
  }

  /** A row of choices with a slider. edit: () => what it sets, or null before it is moved. */
  function sliderRow(layers, tokens, change, remove) {
    const chosen = { layer: 0, kind: layers[0].kinds[0], unit: ALL, step: ALL };
    const value = element("output", {}, "not set");
    const slider = element("input", { type: "range", step: "0.01", "aria-label": "Value" });
    const fields = element("span", { class: "row" });
    let isSet = false;
    const move = () => {
      isSet = true;
      value.textContent = Number(slider.value).toFixed(2);
      change();
    };
    slider.addEventListener("input", move);
    const choose = (name, convert) => (given) => {
      chosen[name] = convert(given);
      if (name === "layer") chosen.kind = layers[chosen.layer].kinds[0];
      if (name === "layer" || name === "kind") [chosen.unit, chosen.step] = [ALL, ALL];
      const wasSet = isSet;
      if (name !== "unit" && name !== "step") isSet = false;
      fill();
      if (wasSet) change();
    };
    const fill = () => {
      const layer = layers[chosen.layer];
      const [low, high] = rangeOf(layer, chosen.kind);
      const size = chosen.kind === "head" ? layer.heads : unitsOf(layer, chosen.kind);
      const name = chosen.kind === "head" ? "head" : "unit";
      const numbers = Array.from({ length: size }, (_, i) => [i, `${name} ${i}`]);
      const steps = tokens.map((token, i) => [i, `${i} ${page.trace.tokenText(token)}`]);
      const all = [
        choice("Layer", layers.map((each, i) => [i, each.label]), choose("layer", Number)),
        choice("Part", layer.kinds.map((kind) => [kind, kind.replaceAll("_", " ")]), choose("kind", String)),
        choice(name === "head" ? "Head" : "Unit", [[ALL, `all ${name}s`], ...numbers], choose("unit", Number)),
        choice("Token", [[ALL, "all tokens"], ...steps], choose("step", Number)),
      ];
      ["layer", "kind", "unit", "step"].forEach((key, i) => (all[i].querySelector("select").value = chosen[key]));
      fields.replaceChildren(...all);
      [slider.min, slider.max] = [low, high];
      if (!isSet) {
        slider.value = FACTORS.includes(chosen.kind) ? 1 : (low + high) / 2;
        value.textContent = "not set";
      }
    };
    fill();
    const button = element("button", { type: "button", class: "small", click: remove }, "Remove");
    const node = element("span", { class: "row slider" }, fields, slider, value, button);
    const edit = () => {
      if (!isSet) return null;
      const { layer, ...place } = chosen;
      return { layer: layers[layer].name, ...place, key: ALL, value: Number(slider.value) };
    };
    return { node, edit };
  }

  function rangeOf(layer, kind) {
    if (kind.endsWith("_gate")) return [0, 1];
    if (FACTORS.includes(kind)) return [0, 2];
    return kind === "cell" || layer.heads ? [-5, 5] : [-1, 1];
  }

  /** A factor of a sublayer is one number for all units. */
  function unitsOf(layer, kind) {
    return FACTORS.includes(kind) ? 0 : layer.quantities[kind][0].length;
  }

  /** Calls `act` again after it has ended if it was asked for meanwhile: only the last position of a slider counts. */
  function latest(act, container) {
    let [running, again] = [false, false];
    return async function call() {
      again = true;
      if (running) return;
      running = true;
      while (again) {
        again = false;
        await act().catch((error) => {
          if (error.name !== "AbortError") container.replaceChildren(page.elements.errorLine(error));
        });
      }
      running = false;
    };
  }

  /** The answer as numbers, [[name, probability]]: of each class, of each tag, or of the tokens that may come next. */
  function answerOf(model, outputs, tokens) {
    const { probabilities, tags, scores, next_tokens: next, next_probabilities: shares } = outputs;
    if (probabilities) return probabilities.map((share, i) => [model.classNames[i] || `class ${i + 1}`, share]);
    if (tags) return tokens.map((token, i) => [`${i} ${page.trace.tokenText(token)}: ${tags[i]}`, scores[i]]);
    const last = tokens.length - 1;
    return next[last].map((token, i) => [page.trace.tokenText(token), shares[last][i]]);
  }

  /** Before and after, the largest change first. */
  function changes(before, after) {
    const [old, now] = [new Map(before), new Map(after)];
    const rows = [...new Set([...old.keys(), ...now.keys()])].map((name) => {
      return { name, before: old.get(name) || 0, after: now.get(name) || 0 };
    });
    rows.sort((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before));
    const items = rows.slice(0, MAX_ANSWERS).map(({ name, before: first, after: second }) => {
      const fill = element("span", { class: "fill" });
      fill.style.setProperty("width", `${100 * Math.min(second, 1)}%`);
      const mark = element("span", { class: "was" });
      mark.style.setProperty("left", `${100 * Math.min(first, 1)}%`);
      return element("li", { class: Math.abs(second - first) >= 0.005 ? "winner" : null },
        element("span", { class: "class-name" }, element("bdi", {}, page.trace.cut(name, 60))),
        element("span", { class: "value" }, `${percent(first)} \u2192 ${percent(second)}`),
        element("span", { class: "bar", "aria-hidden": "true" }, fill, mark));
    });
    const label = "The answer, before and after, the largest change first";
    return element("ol", { class: "classes changes", "aria-label": label }, ...items);
  }

  page.intervene = { show };
})(window.livePage);
