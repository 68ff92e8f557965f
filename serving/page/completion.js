/* Language models: the page asks `start` and then `step` for the logits of each next token, and draws it itself. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const NUM_ALTERNATIVES = 8;
  const SPECIAL = [0, 1, 2]; // ids of padding, unknown and start, in the exports of this project: never drawn
  const END = 3; // drawn only of a model that has seen where texts end
  const NUM_CONTEXT_IDS = 8; // enough for the spaces around a token, and for a character of several tokens
  const { element, percent, requestBlock } = page.elements;

  function settings() {
    const read = (id, fallback) => {
      const field = document.getElementById(id);
      return field.value !== "" && field.checkValidity() ? Number(field.value) : fallback;
    };
    return { temperature: read("temperature", 0.8), numTokens: read("num-tokens", 40) };
  }

  async function show(model, text, signal, body) {
    const { temperature, numTokens } = settings();
    const output = element("p", { class: "completion", dir: "auto" }, element("span", { class: "prompt" }, text));
    const tokens = element("span", { role: "list", "aria-label": "New tokens; the arrow keys move" });
    output.append(tokens);
    const detail = element("p", { class: "detail" }, "\u00a0");
    const explanation = "Hover a new token, or move with the arrow keys, to see its probability and its alternatives.";
    const hint = element("p", { class: "hint" }, explanation);
    body.append(output, detail, hint);
    watch(tokens, detail);
    const inputs = { text: [text] };
    const signature = model.signatures.serving_default ? "serving_default" : "start";
    const request = requestBlock(page.rest.commands(model.name, signature, inputs));
    const how = "The page draws token by token: the signature start takes the text, step each drawn token with its state.";
    request.append(element("p", { class: "hint" }, how));
    body.append(request);
    const start = performance.now();
    let count = 0;
    for await (const token of complete(model, text, temperature, numTokens, signal)) {
      tokens.append(tokenNode(token, tokens.childElementCount));
      count += 1;
    }
    const seconds = (performance.now() - start) / 1000;
    hint.append(` ${count} tokens, ${(count / seconds).toFixed(0)} per second.`);
  }

  /** The tokens of a completion, one after the other: {text, probability, alternatives: [{text, probability}]}. */
  async function* complete(model, text, temperature, numTokens, signal) {
    let outputs = await page.rest.predict(model, "start", { text: [text] }, signal);
    let context = await promptIds(model, text, signal);
    const never = (await knowsEnds(model, signal)) ? SPECIAL : [...SPECIAL, END];
    for (let i = 0; i < numTokens; i += 1) {
      const { logits, ...state } = outputs;
      const drawn = drawToken(logits[0], temperature, never);
      if (drawn.id === END) return;
      const isLast = i + 1 === numTokens;
      const following = isLast ? null : page.rest.predict(model, "step", { ids: [drawn.id], ...state }, signal);
      if (following) following.catch(() => {}); // if the request below fails first, this one has nobody who waits
      const texts = await readable(model, context, [drawn.id, ...drawn.alternatives.map((each) => each.id)], signal);
      const alternatives = drawn.alternatives.map((each, j) => ({ ...each, text: texts[j + 1] }));
      yield { text: texts[0], probability: drawn.probability, alternatives };
      context = [...context, drawn.id].slice(-NUM_CONTEXT_IDS);
      if (following) outputs = await following;
    }
  }

  /** Draws with the temperature; the probabilities that are shown are those of the model. */
  function drawToken(logits, temperature, never) {
    const allowed = logits.map((logit, id) => (never.includes(id) ? -Infinity : logit));
    const probabilities = page.trace.softmax(allowed);
    const id = page.trace.draw(page.trace.softmax(allowed, temperature), Math.random());
    const best = page.trace.largest(probabilities, NUM_ALTERNATIVES);
    const alternatives = best.map((each) => ({ id: each, probability: probabilities[each] }));
    return { id, probability: probabilities[id], alternatives };
  }

  /** Whether the model knows the ends of texts: an empty text then has one token. */
  async function knowsEnds(model, signal) {
    if (!("score" in model.signatures)) return true;
    const { tokens } = await page.rest.predict(model, "score", { text: [""] }, signal);
    return tokens[0] === 1;
  }

  async function promptIds(model, text, signal) {
    if (!("encode" in model.signatures)) return [];
    const { ids } = await page.rest.predict(model, "encode", { text: [page.trace.cut(text, 2000)] }, signal);
    return ids[0].slice(-NUM_CONTEXT_IDS);
  }

  /** The text that each id adds after the context: a token alone would lose the space before it. */
  async function readable(model, context, ids, signal) {
    // Rows have one length; padding in front writes nothing.
    const rows = [[0, ...context], ...ids.map((id) => [...context, id])];
    const { text } = await page.rest.predict(model, "decode", { ids: rows }, signal);
    const [before, ...after] = text;
    return after.map((each) => (each.startsWith(before) ? each.slice(before.length) : each));
  }

  function tokenNode(token, position) {
    const others = token.alternatives.map((each) => `${page.trace.tokenText(each.text)} ${percent(each.probability)}`);
    const own = `${page.trace.tokenText(token.text)}: ${percent(token.probability)}`;
    const detail = `${own}. Most probable: ${others.join(", ")}`;
    const tabindex = position ? "-1" : "0"; // the arrow keys move to the others
    const attributes = { class: "new-token for", role: "listitem", tabindex, "aria-label": detail };
    const node = element("span", attributes, token.text);
    node.style.setProperty("--strength", token.probability.toFixed(3));
    return node;
  }

  function watch(tokens, detail) {
    const show = (event) => {
      const node = event.target.closest(".new-token");
      if (node) detail.textContent = node.getAttribute("aria-label");
    };
    tokens.addEventListener("mouseover", show);
    tokens.addEventListener("focusin", show);
    tokens.addEventListener("keydown", (event) => page.elements.moveFocus(event, [...tokens.children]));
  }

  page.completion = { show };
})(window.livePage);
