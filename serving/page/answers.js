/* Answers of classifiers, taggers and translators. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const MAX_SHOWN_TOKENS = 2000;
  const { element, note, percent, requestBlock, tokenRow } = page.elements;
  const learned = new Map(); // model -> index of the class -> name, as far as answers have named them

  function takesText(signatures, name) {
    return Boolean(signatures[name]) && Object.keys(signatures[name].inputs).join() === "text";
  }

  async function call(model, signature, text, signal) {
    const inputs = { text: [text] };
    const outputs = await page.rest.predict(model, signature, inputs, signal);
    const request = requestBlock(page.rest.curl(model.name, signature, inputs));
    return { answer: page.trace.firstRow(outputs), request };
  }

  async function classification(model, text, signal, body) {
    const signature = takesText(model.signatures, "explain") ? "explain" : "serving_default";
    const { answer, request } = await call(model, signature, text, signal);
    const labels = answer.labels ? answer.labels.filter((label) => label) : [answer.label];
    body.append(element("p", { class: "result" }, labels.join(", ") || "no label"));
    learnNames(model.name, answer);
    const nameOf = (i) => className(model, i, answer.probabilities.length);
    const classes = answer.probabilities.map((value, i) => ({ name: nameOf(i), value }));
    const description = `Probabilities: ${classes.map((cell) => `${cell.name} ${percent(cell.value)}`).join(", ")}`;
    const box = page.panels.figureBox(body, description);
    if (answer.pieces) addPieces(answer, labels, text, body);
    body.append(request);
    await page.figures.draw(box, "probabilities", description, { classes });
  }

  /** An answer names the class whose probability is its score. */
  function learnNames(model, answer) {
    if (!learned.has(model)) learned.set(model, new Map());
    const index = answer.score === undefined ? -1 : answer.probabilities.indexOf(answer.score);
    if (index >= 0) learned.get(model).set(index, answer.label);
  }

  /** The name in the model's card. A model without a card, or loaded after this page, has names in its answers only. */
  function className(model, index, numClasses) {
    const name = model.classNames.length === numClasses ? model.classNames[index] : learned.get(model.name).get(index);
    return name === undefined ? `class ${index + 1}` : page.trace.cut(name, 60);
  }

  function addPieces(answer, labels, text, body) {
    // Pieces of several labels have one weight for each class: that of the most probable one is shown.
    const best = page.trace.largest(answer.probabilities, 1)[0];
    const pieces = answer.pieces.filter((piece) => piece);
    const weightOf = (weight) => (Array.isArray(weight) ? weight[best] : weight);
    const weights = pieces.map((_, i) => weightOf(answer.weights[i]));
    const largest = Math.max(...weights.map(Math.abs), 1e-9);
    const axis = page.figures.makeAxis("text", page.trace.spans(pieces, text));
    const tokens = pieces.map((piece, i) => ({
      text: page.trace.tokenText(piece).replaceAll("\u2423", " "),
      strength: weights[i] / largest,
      detail: `${piece}: weight ${weights[i].toFixed(3)}, counts ${weights[i] < 0 ? "against" : "for"} the label`,
    }));
    const hint = `Blue counts for ${labels[0] || "the most probable class"}, orange against it.`;
    body.append(element("h3", {}, "Weights of the text\u2019s pieces"), element("p", { class: "hint" }, hint));
    body.append(tokenRow(tokens, axis, "Pieces of the text with their weights; the arrow keys move"));
  }

  async function tagging(model, text, signal, body) {
    const { answer, request } = await call(model, "serving_default", text, signal);
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

  /** A colour for a tag: B-PER and I-PER have the same one. */
  function hue(tag) {
    let number = 0;
    for (const character of tag.replace(/^[BIES]-/, "")) number = (number * 31 + character.codePointAt(0)) % 360;
    return (number * 47) % 360;
  }

  async function translation(model, text, signal, body) {
    const hasAlignment = takesText(model.signatures, "align");
    const { answer, request } = await call(model, hasAlignment ? "align" : "serving_default", text, signal);
    body.append(element("p", { class: "result text", dir: "auto" }, answer.translation || "(an empty translation)"));
    if (answer.score !== undefined) body.append(element("p", { class: "hint" }, `score ${answer.score.toFixed(3)}`));
    body.append(request);
    if (hasAlignment) await addAlignment(model, answer, text, body, request);
  }

  async function addAlignment(model, answer, text, body, request) {
    const source = answer.source_tokens.filter((token) => token);
    const target = answer.target_tokens.filter((token) => token);
    const heading = element("h3", {}, "Alignment");
    const explanation = "Each row is a token of the translation, and shows which tokens of the text it attends to.";
    const hint = element("p", { class: "hint" }, explanation);
    const controls = element("p", { class: "row controls" });
    const figures = element("div", { class: "figures" });
    request.before(heading, hint, controls, figures);
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
    { name: "JSON", fits: () => true, answer: (...all) => page.form.show(...all) },
  ];

  /** Whether the default signature takes a text alone, and has these outputs. */
  function answersText(signatures, ...outputs) {
    if (!takesText(signatures, "serving_default")) return false;
    return outputs.every((name) => name in signatures.serving_default.outputs);
  }

  function kindOf(signatures) {
    return KINDS.find((kind) => kind.fits(signatures));
  }

  page.answers = { kindOf };
})(window.livePage);
