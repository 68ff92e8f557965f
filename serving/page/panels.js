/* Panels of the signature `trace`: gates and states, attention, and what may come next. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const MAX_TRACED_CHARACTERS = 2000;
  const { choice, element, note, percent, requestBlock, tokenRow } = page.elements;

  /** Calls `trace` and draws what it answers. */
  async function show(model, text, signal, body) {
    const sent = page.trace.cut(text, MAX_TRACED_CHARACTERS);
    const inputs = { text: [sent] };
    const section = body.appendChild(element("section", { "aria-label": `What ${model.name} computes` }));
    const trace = page.trace.firstRow(await page.rest.predict(model, "trace", inputs, signal));
    if (sent !== text) section.append(note(`The panels show the first ${count(sent)} of ${count(text)} characters.`));
    if (trace.cut) section.append(note("The text has more tokens than the model reads here: the rest is left out."));
    const sides = sidesOf(model, trace, sent);
    addRows(section, trace, sides);
    await addRecurrent(section, trace, sides);
    await addAttention(section, trace, sides);
    await addNext(section, trace, sides);
    if (model.signatures.intervene) await page.intervene.show(model, sent, sides.source.tokens, section, signal);
    section.append(requestBlock(page.rest.commands(model.name, "trace", inputs)));
  }

  function count(text) {
    return Array.from(text).length.toLocaleString("en");
  }

  /** Tokens and axis of each side: the source; of translators also what each step writes (target) and reads. */
  function sidesOf(model, trace, text) {
    const { makeAxis } = page.figures;
    const isTranslation = "source_tokens" in trace;
    const source = isTranslation
      ? trace.source_tokens.slice(0, trace.source_lengths)
      : trace.tokens.slice(0, trace.lengths);
    const sides = { source: { tokens: source, axis: makeAxis("text", page.trace.spans(source, text)) } };
    if (!isTranslation) return sides;
    const target = trace.target_tokens.slice(0, trace.target_lengths);
    const key = `written by ${model.name}`;
    // A step reads the token that the step before it has written.
    sides.target = { tokens: target, axis: makeAxis(key, target.map((_, i) => [i + 1, i + 2])) };
    sides.read = { tokens: ["<start>", ...target.slice(0, -1)], axis: makeAxis(key, target.map((_, i) => [i, i + 1])) };
    return sides;
  }

  function addRows(section, trace, sides) {
    const { source, target } = sides;
    if (target) {
      section.append(element("h4", {}, "Tokens of the text"), rowOf(source, trace.tags));
      section.append(element("h4", {}, "Tokens of the translation"), rowOf(target, null, trace.log_probabilities));
    } else {
      section.append(element("h4", {}, "Tokens"), rowOf(source, trace.tags, trace.log_probabilities));
    }
  }

  /** Tokens; the more probable one was after those before it, the darker it is. */
  function rowOf(side, tags, logProbabilities) {
    const tokens = side.tokens.map((token, i) => {
      const hasProbability = logProbabilities && token !== "<start>";
      const probability = hasProbability ? Math.exp(logProbabilities[i]) : null;
      const parts = [`${i + 1}: ${page.trace.tokenText(token)}`];
      if (tags) parts.push(tags[i]);
      if (hasProbability) parts.push(`probability ${percent(probability)} after the tokens before it`);
      const below = tags ? tags[i] : null;
      return { text: page.trace.tokenText(token), below, strength: probability, detail: parts.join(", ") };
    });
    return tokenRow(tokens, side.axis, "Tokens; the arrow keys move");
  }

  /** A panel with choices above its figures. draw: (figures) draws with what is chosen. */
  function panel(section, title, explanation) {
    const controls = element("p", { class: "row controls" });
    const figures = element("div", { class: "figures" });
    const heading = element("summary", {}, element("h4", {}, title));
    const hint = element("p", { class: "hint" }, explanation);
    section.append(element("details", { class: "panel", open: true }, heading, hint, controls, figures));
    return { controls, figures };
  }

  function figureBox(figures, label) {
    const box = element("div", { class: "figure", tabindex: "0", role: "group", "aria-label": label });
    const canvas = element("div");
    box.append(canvas);
    figures.append(box);
    return canvas;
  }

  async function addRecurrent(section, trace, sides) {
    const layers = page.trace.recurrentLayers(trace);
    if (!layers.length) return;
    const explanation = "Gates: 0 is closed, 1 is open; the mean over the units. Below: the length of the state.";
    const { controls, figures } = panel(section, "Gates and states", explanation);
    const redraw = async (index) => {
      const layer = layers[index];
      const { axis, tokens } = sides[layer.side];
      const shared = { tokens: page.trace.tokenRows(tokens) };
      const parameters = { layer: layer.name, tokens: tokens.map(page.trace.tokenText) };
      const means = page.trace.meanRows(layer, tokens);
      const found = { gates: { means }, norms: { norms: page.trace.normRows(layer, tokens) } };
      figures.replaceChildren();
      for (const [name, rows] of Object.entries(found)) {
        if (!Object.values(rows)[0].length) continue;
        const label = `${name === "gates" ? "gates" : "lengths of the states"} of ${layer.label}, for each token`;
        const box = figureBox(figures, label);
        await page.figures.draw(box, name, label, { ...rows, ...shared }, parameters, { marked: axis });
      }
    };
    controls.append(choice("Layer", layers.map((layer, i) => [i, layer.label]), redraw));
    await redraw(0);
  }

  async function addAttention(section, trace, sides) {
    const layers = page.trace.attentionLayers(trace);
    if (!layers.length) return;
    const explanation =
      "Each row is a token, and shows how much it takes from the tokens of the columns. A row adds up to 1.";
    const { controls, figures } = panel(section, "Attention", explanation);
    await attention(controls, figures, layers, sides);
  }

  /** A heat map of attention weights, with choices of layer and head. */
  async function attention(controls, figures, layers, sides) {
    const chosen = { layer: 0, head: -1 };
    const redraw = async () => {
      const layer = layers[chosen.layer];
      const [queries, keys] = [sides[layer.query], sides[layer.key]];
      const weights = chosen.head < 0 ? page.trace.meanOfHeads(layer.heads) : layer.heads[chosen.head];
      const rows = page.trace.weightRows(layer.name, [weights], queries.tokens.length, keys.tokens.length);
      const [shownQueries, shownKeys] = [queries, keys].map(({ tokens }) => tokens.map(page.trace.tokenText));
      const parameters = { layer: layer.name, head: 1, queries: shownQueries, keys: shownKeys };
      const label = `attention weights of ${layer.label}`;
      figures.replaceChildren();
      const axes = { marked: queries.axis, marked_keys: keys.axis };
      await page.figures.draw(figureBox(figures, label), "attention", label, { weights: rows }, parameters, axes);
    };
    const heads = choice("Head", headOptions(layers[0]), (value) => {
      chosen.head = Number(value);
      return redraw();
    });
    const layerChoice = choice("Layer", layers.map((layer, i) => [i, layer.label]), (value) => {
      chosen.layer = Number(value);
      chosen.head = Math.min(chosen.head, layers[chosen.layer].heads.length - 1);
      return redraw();
    });
    controls.append(layerChoice, heads);
    await redraw();
  }

  function headOptions(layer) {
    const heads = layer.heads.map((_, i) => [i, `head ${i + 1}`]);
    return heads.length > 1 ? [[-1, "mean of all heads"], ...heads] : [[-1, "head 1"]];
  }

  async function addNext(section, trace, sides) {
    if (!("next_tokens" in trace)) return;
    const side = sides.target || sides.source;
    const [title, explanation] = sides.target
      ? ["What each step could write", "The most probable tokens of the step under the pointer, else of the last one."]
      : ["What may come next", "The most probable tokens after the one under the pointer, else after the text."];
    const { figures } = panel(section, title, explanation);
    const next = page.trace.nextRows(side.tokens, trace.next_tokens, trace.next_probabilities);
    await page.figures.draw(figureBox(figures, title), "next", title, { next }, {}, { marked: side.axis });
  }

  page.panels = { attention, panel, show };
})(window.livePage);
