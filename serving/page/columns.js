/* Models of several columns: a labelled field for each column, which all chosen models share. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const PREFIX = "column."; // in the address
  const { element } = page.elements;
  const values = new Map(); // name of a column -> what stands in its field, also while the field is not shown
  let shownKeys = "";
  let isGiven = false; // whether the address says what to send

  /** The columns of a model in the order of its training: [{name, input, isNumber, example}], with the cells of an
      example row; null for a model of one text. */
  async function of(model, exampleRow) {
    if (!("columns" in model.signatures)) return null;
    const { names, inputs, is_number: isNumber } = await page.rest.predict(model, "columns", { text: [""] });
    const example = (name) => (Object.hasOwn(exampleRow, name) ? String(exampleRow[name]) : "");
    return names[0].map((name, i) => ({
      name,
      input: inputs[0][i],
      isNumber: isNumber[0][i],
      example: example(name),
    }));
  }

  /** Shows the fields of the models that have columns. Returns whether all of the models have them. */
  function show(models) {
    const columns = models.flatMap((model) => model.columns || []);
    const distinct = new Map(columns.map((column) => [`${column.isNumber} ${column.name}`, column]));
    const keys = JSON.stringify([...distinct.keys()]);
    if (keys !== shownKeys) {
      shownKeys = keys; // fields that stay keep the focus
      document.getElementById("columns").replaceChildren(...[...distinct.values()].map(fieldOf));
    }
    return models.length > 0 && models.every((model) => model.columns);
  }

  function fieldOf({ name, isNumber, example }, index) {
    const id = `column-${index}`;
    const attributes = isNumber
      ? { type: "number", step: "any" }
      : { rows: 1, dir: "auto", spellcheck: "false", autocomplete: "off" };
    const field = element(isNumber ? "input" : "textarea", { ...attributes, id });
    if (!values.has(name) && !isGiven) values.set(name, example);
    field.value = values.get(name) || "";
    field.addEventListener("input", () => values.set(name, field.value));
    return element("p", { class: "field" }, element("label", { for: id, dir: "auto" }, name), field);
  }

  /** What the default signature of a model takes; an empty number is missing. */
  function inputs(model) {
    const entries = model.columns.map(({ name, input, isNumber }) => {
      const value = values.get(name) || "";
      return [input, [isNumber ? Number.parseFloat(value) : value]];
    });
    return Object.fromEntries(entries);
  }

  /** What was typed, for the address: [[name, value]]. */
  function toAddress() {
    return [...values].filter(([, value]) => value).map(([name, value]) => [`${PREFIX}${name}`, value]);
  }

  function fromAddress(given) {
    const found = [...given].filter(([name]) => name.startsWith(PREFIX));
    isGiven = given.has("text") || found.length > 0;
    found.forEach(([name, value]) => values.set(name.slice(PREFIX.length), value));
    shownKeys = ""; // draw the fields again
  }

  page.columns = { fromAddress, inputs, of, show, toAddress };
})(window.livePage);
