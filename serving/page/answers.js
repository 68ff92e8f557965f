/* Answers of classifiers, taggers and translators. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const MAX_SHOWN_TOKENS = 2000;
  const MAX_ALIGNED_TOKENS = 200;
  const MAX_SHOWN_CHARACTERS = 20000;
  const [FIRST_HUE, GOLDEN_ANGLE] = [210, 137.5]; // degrees
  const seenLabels = new Map(); // of taggers, in the order in which they were shown -> their number
  const { element, note, percent, requestBlock, tokenRow } = page.elements;

  function count({ length }) {
    return length.toLocaleString("en");
  }

  function takesText(signatures, name) {
    return Boolean(signatures[name]) && Object.keys(signatures[name].inputs).join() === "text";
  }

  async function call(model, signature, inputs, signal) {
    const outputs = await page.rest.predict(model, signature, inputs, signal);
    const request = requestBlock(page.rest.commands(model.name, signature, inputs));
    return { answer: page.trace.firstRow(outputs), request };
  }

  async function classification(model, text, signal, body) {
    const { answer, request } = await call(model, "serving_default", inputsOf(model, text), signal);
    const labels = page.classes.labelsOf(answer);
    body.append(result(labels.join(", ") || "no label"), ...page.classes.show(model, answer), request);
    if (!takesText(model.signatures, "explain")) return;
    const sent = model.columns ? answer.composed : text;
    const explained = await call(model, "explain", { text: [sent] }, signal);
    if (explained.answer.pieces) addPieces(explained.answer, labels, text, request);
  }

  function inputsOf(model, text) {
    return model.columns ? page.columns.inputs(model) : { text: [text] };
  }

  async function measuredNumber(model, text, signal, body) {
    const { answer, request } = await call(model, "serving_default", inputsOf(model, text), signal);
    body.append(result(String(Number(answer.value.toPrecision(6)))), request);
  }

  /** The answer in large letters. A page with megabytes of them would not move. */
  function result(text, attributes = { class: "result" }) {
    const shown = page.trace.cut(text, MAX_SHOWN_CHARACTERS);
    const line = element("p", { dir: "auto", ...attributes }, shown);
    if (shown === text) return line;
    return element("div", {}, line, note(`The answer is cut: it has ${count(text)} characters.`));
  }

  function addPieces(answer, labels, text, request) {
    // Pieces of several labels have one weight for each class: that of the most probable one is shown.
    const best = page.trace.largest(answer.probabilities, 1)[0];
    const all = answer.pieces.filter((piece) => piece);
    const pieces = all.slice(0, MAX_SHOWN_TOKENS);
    const weightOf = (weight) => (Array.isArray(weight) ? weight[best] : weight);
    const weights = pieces.map((_, i) => weightOf(answer.weights[i]));
    const largest = Math.max(...weights.map(Math.abs), 1e-9);
    const axis = answer.fields ? null : page.figures.makeAxis("text", page.trace.spans(pieces, text));
    // A number names its field: "price >= 2".
    const fieldOf = (i) => (answer.fields && !pieces[i].startsWith(`${answer.fields[i]} `) ? answer.fields[i] : null);
    const tokens = pieces.map((piece, i) => ({
      text: page.trace.tokenText(piece).replaceAll("\u2423", " "),
      below: fieldOf(i),
      strength: weights[i] / largest,
      detail: `${piece}: weight ${weights[i].toFixed(3)}, counts ${weights[i] < 0 ? "against" : "for"} the label`,
    }));
    const hint = `Blue counts for ${labels[0] || "the most probable class"}, orange against it.`;
    request.before(element("h3", {}, "Weights of the text\u2019s pieces"), element("p", { class: "hint" }, hint));
    const isCut = pieces.length < all.length;
    if (isCut) request.before(note(`The first ${count(pieces)} of ${count(all)} pieces are shown.`));
    request.before(tokenRow(tokens, axis, "Pieces of the text with their weights; the arrow keys move"));
  }

  async function tagging(model, text, signal, body) {
    // No answer has both: that of `entities` has no tags, and which tags make an entity is a rule of the exported graph,
    // which this page would have to repeat. So the calls go out at the same time.
    const findsEntities = takesText(model.signatures, "entities");
    const names = findsEntities ? ["entities", "serving_default"] : ["serving_default"];
    const calls = await Promise.all(names.map((name) => call(model, name, { text: [text] }, signal)));
    const { answer, request } = calls.pop();
    for (const found of calls) body.append(entityText(found.answer, text), found.request, element("h3", {}, "Tokens"));
    const number = answer.num_tokens === undefined ? answer.tokens.length : answer.num_tokens;
    const shown = answer.tokens.slice(0, Math.min(number, MAX_SHOWN_TOKENS));
    if (number > shown.length) body.append(note(`The first ${shown.length} of ${number} tokens are shown.`));
    if (!number) body.append(note("The text has no tokens."));
    const axis = page.figures.makeAxis("text", page.trace.spans(shown, text));
    const tokens = shown.map((token, i) => ({
      text: page.trace.tokenText(token),
      below: answer.tags[i],
      hue: answer.tags[i] === "O" ? undefined : hue(answer.tags[i]),
      detail: `${token}: ${answer.tags[i]}${answer.scores ? `, probability ${percent(answer.scores[i])}` : ""}`,
    }));
    body.append(tokenRow(tokens, axis, "Tokens with their tags; the arrow keys move"), request);
  }

  /** The text with its entities marked. Their positions count units of UTF-16, as those of strings in JavaScript do. */
  function entityText(answer, text) {
    const parts = [];
    let end = 0;
    for (let i = 0; i < answer.num_entities; i += 1) {
      const label = answer.labels[i];
      const [start, stop] = [answer.start_utf16[i], answer.end_utf16[i]];
      const name = element("span", { class: "entity-label", dir: "auto" }, `\u00a0${label}`);
      const title = `${label}, score ${percent(answer.scores[i])}`;
      const node = element("mark", { class: "entity", title }, text.slice(start, stop), name);
      node.style.setProperty("--hue", hue(`B-${label}`));
      parts.push(text.slice(end, start), node);
      end = stop;
    }
    const marked = element("p", { class: "result text entities", dir: "auto" }, ...parts, text.slice(end));
    const hint = "The score of an entity, shown when the pointer is on it, is the lowest probability of its tokens\u2019 tags.";
    return element("div", {}, marked, element("p", { class: "hint" }, parts.length ? hint : "No entities were found."));
  }

  /** A colour for a tag: B-PER and I-PER have the same one. The golden angle sets the first labels of a page apart. */
  function hue(tag) {
    const label = tag.replace(/^[BIES]-/, "");
    if (!seenLabels.has(label)) seenLabels.set(label, seenLabels.size);
    return Math.round(FIRST_HUE + seenLabels.get(label) * GOLDEN_ANGLE) % 360;
  }

  async function translation(model, text, signal, body) {
    const hasAlignment = takesText(model.signatures, "align");
    const { answer, request } = await call(model, hasAlignment ? "align" : "serving_default", { text: [text] }, signal);
    body.append(result(answer.translation || "(an empty translation)", { class: "result text" }));
    if (answer.score !== undefined) body.append(element("p", { class: "hint" }, `score ${answer.score.toFixed(3)}`));
    body.append(request);
    if (hasAlignment) await addAlignment(model, answer, text, body, request);
  }

  async function addAlignment(model, answer, text, body, request) {
    const all = [answer.source_tokens, answer.target_tokens].map((tokens) => tokens.filter((token) => token));
    const [source, target] = all.map((tokens) => tokens.slice(0, MAX_ALIGNED_TOKENS));
    const heading = element("h3", {}, "Alignment");
    const explanation = "Each row is a token of the translation, and shows which tokens of the text it attends to.";
    const hint = element("p", { class: "hint" }, explanation);
    const controls = element("p", { class: "row controls" });
    const figures = element("div", { class: "figures" });
    request.before(heading, hint, controls, figures);
    if (all.some((tokens) => tokens.length > MAX_ALIGNED_TOKENS)) {
      hint.append(` Only the first ${MAX_ALIGNED_TOKENS} tokens of each are shown.`);
    }
    const { makeAxis } = page.figures;
    const steps = target.map((_, i) => [i + 1, i + 2]); // as in the panels of `trace`
    const sides = {
      source: { tokens: source, axis: makeAxis("text", page.trace.spans(source, text)) },
      target: { tokens: target, axis: makeAxis(`written by ${model.name}`, steps) },
    };
    const heads = typeof answer.weights[0][0] === "number" ? [answer.weights] : answer.weights;
    const layers = [{ name: "alignment", label: "the alignment", query: "target", key: "source", heads }];
    await page.panels.attention(controls, figures, layers, sides);
  }

  /** The first kind that fits answers. Each `fits` gets the signatures of a model. */
  const KINDS = [
    {
      name: "language model",
      fits: (all) => ["start", "step", "decode"].every((name) => name in all),
      answer: (...all) => page.completion.show(...all),
    },
    { name: "translation", fits: (all) => answersText(all, "translation"), answer: translation },
    { name: "tagging", fits: (all) => answersText(all, "tags", "tokens"), answer: tagging },
    {
      name: "classification",
      fits: (all) => answersText(all, "probabilities", "label") || answersText(all, "probabilities", "labels"),
      answer: classification,
    },
    { name: "number", fits: (all) => answersText(all, "value"), answer: measuredNumber },
    { name: "JSON", fits: () => true, answer: (...all) => page.form.show(...all) },
  ];

  /** Whether the default signature takes a text alone, or columns, and has these outputs. */
  function answersText(signatures, ...outputs) {
    if (!takesText(signatures, "serving_default") && !("columns" in signatures)) return false;
    return outputs.every((name) => name in signatures.serving_default.outputs);
  }

  function kindOf(signatures) {
    return KINDS.find((kind) => kind.fits(signatures));
  }

  page.answers = { kindOf };
})(window.livePage);
