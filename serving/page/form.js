/* Models of any other kind: the inputs of a signature as a form, and the answer as JSON. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const MAX_SHOWN_CHARACTERS = 20000;
  const { choice, element, errorLine, note, requestBlock } = page.elements;
  let numFields = 0;

  async function show(model, text, signal, body) {
    const names = Object.keys(model.signatures).filter((name) => name !== "trace");
    if (!names.length) {
      body.append(note("The model has no signatures."));
      return;
    }
    names.sort((a, b) => (b === "serving_default") - (a === "serving_default"));
    const fields = element("div", { class: "inputs" });
    const answer = element("div", { "aria-live": "polite" });
    let signature = names[0];
    const fill = (name) => {
      signature = name;
      fields.replaceChildren(...inputFields(model.signatures[name].inputs, text));
      answer.replaceChildren();
    };
    const send = async (event) => {
      if (event) event.preventDefault();
      await ask(model, signature, fields, answer, event ? undefined : signal);
    };
    const form = element("form", { class: "model-form", submit: send },
      choice("Signature", names.map((name) => [name, name]), fill), fields,
      element("button", { type: "submit", class: "small" }, "Send"));
    body.append(form, answer);
    fill(signature);
    await send(null);
  }

  /** A field for each input. Every value is JSON, but a text may stand without quotes. */
  function inputFields(inputs, text) {
    return Object.entries(inputs).map(([name, { dtype, shape }]) => {
      numFields += 1;
      const id = `input-${numFields}`;
      const sizes = shape.map((size) => (size < 0 ? "?" : size)).join(", ");
      const field = element("textarea", { id, rows: 1, dir: "auto", spellcheck: "false" });
      Object.assign(field.dataset, { name, dtype, rank: shape.length });
      field.value = example(dtype, shape, text);
      return element("p", { class: "field" }, element("label", { for: id }, `${name}: ${dtype} [${sizes}]`), field);
    });
  }

  function example(dtype, shape, text) {
    if (dtype === "string" && shape.length === 1) return text;
    const value = { string: text, bool: true }[dtype] ?? 1;
    const sizes = shape.slice(1).map((size) => (size < 0 ? 1 : size));
    return JSON.stringify(sizes.reduceRight((inner, size) => Array(size).fill(inner), value));
  }

  /** The value of a field as the one row of a batch; of an input without a batch, the value. */
  function rowOf({ value, dataset }) {
    if (dataset.dtype === "string" && dataset.rank === "1") return [value];
    try {
      return dataset.rank === "0" ? JSON.parse(value) : [JSON.parse(value)];
    } catch {
      throw new page.rest.RestError(`${dataset.name} is not JSON: write numbers as 1.5 and lists as [1, 2]`, 0);
    }
  }

  async function ask(model, signature, fields, answer, signal) {
    answer.replaceChildren();
    try {
      const filled = [...fields.querySelectorAll("textarea")].map((field) => [field.dataset.name, rowOf(field)]);
      const inputs = Object.fromEntries(filled);
      const outputs = await page.rest.predict(model, signature, inputs, signal);
      if (outputs.probabilities) answer.append(...page.classes.show(model, page.trace.firstRow(outputs)));
      answer.append(...shown(outputs), requestBlock(page.rest.commands(model.name, signature, inputs)));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      answer.append(errorLine(error));
    }
  }

  function shown(outputs) {
    const json = JSON.stringify(outputs, null, 1).replace(/\n\s+(?=[-\d\]])/g, " ");
    const attributes = { class: "json", tabindex: "0", "aria-label": "Answer as JSON" };
    const pre = element("pre", attributes, json.slice(0, MAX_SHOWN_CHARACTERS));
    if (json.length <= MAX_SHOWN_CHARACTERS) return [pre];
    const [shownCount, all] = [MAX_SHOWN_CHARACTERS, json.length].map((number) => number.toLocaleString("en"));
    return [pre, note(`The first ${shownCount} of ${all} characters are shown.`)];
  }

  page.form = { show };
})(window.livePage);
