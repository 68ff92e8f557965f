/* The classes of a classifier's answer: a bar for each, the most probable class first. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const NUM_TOP = 5;
  const MAX_MORE = 1000;
  const MAX_NAME = 200;
  const { element, note, percent } = page.elements;
  const learned = new Map(); // model -> index of the class -> name, as far as answers have named them

  function labelsOf(answer) {
    return (answer.labels || [answer.label]).filter((label) => label);
  }

  /** Lists the classes of {probabilities, label or labels}: the first ones, and the rest behind "n more". */
  function show(model, answer) {
    // Equal probabilities are in the order of the classes, as in `top_labels`.
    const { probabilities } = answer;
    const order = probabilities.map((_, i) => i).sort((a, b) => probabilities[b] - probabilities[a]);
    learnNames(model.name, answer, order);
    const labels = new Set(labelsOf(answer));
    const itemOf = (index) => item(className(model, index, order.length), probabilities[index], labels);
    const attributes = { class: "classes", "aria-label": "Classes, the most probable one first" };
    const top = element("ol", attributes, ...order.slice(0, NUM_TOP).map(itemOf));
    const rest = order.slice(NUM_TOP);
    return rest.length ? [top, more(rest, itemOf)] : [top];
  }

  /** The rest is made when it is opened: there may be very many classes. */
  function more(rest, itemOf) {
    const summary = element("summary", {}, `${rest.length.toLocaleString("en")} more`);
    const details = element("details", { class: "more" }, summary);
    details.addEventListener("toggle", () => {
      if (details.childElementCount > 1) return;
      const shown = rest.slice(0, MAX_MORE);
      details.append(element("ol", { class: "classes", start: NUM_TOP + 1 }, ...shown.map(itemOf)));
      if (rest.length > MAX_MORE) details.append(note(`The next ${MAX_MORE.toLocaleString("en")} classes are shown.`));
    });
    return details;
  }

  function item(name, probability, labels) {
    const isLabel = labels.has(name);
    const fill = element("span", { class: "fill" });
    fill.style.setProperty("width", `${Math.min(Math.max(100 * probability, 0), 100)}%`);
    const heard = element("span", { class: "only-heard" }, " the label");
    const mark = isLabel ? element("span", { class: "mark" }, " \u2713", heard) : null;
    return element("li", { class: isLabel ? "winner" : null },
      element("span", { class: "class-name" }, element("bdi", {}, page.trace.cut(name, MAX_NAME)), mark),
      element("span", { class: "value" }, percent(probability)),
      element("span", { class: "bar", "aria-hidden": "true" }, fill));
  }

  /** An answer names its most probable classes, or at least the one whose probability is its score. */
  function learnNames(model, answer, order) {
    if (!learned.has(model)) learned.set(model, new Map());
    const names = learned.get(model);
    (answer.top_labels || []).forEach((name, rank) => names.set(order[rank], name));
    const index = answer.score === undefined ? -1 : answer.probabilities.indexOf(answer.score);
    if (index >= 0 && answer.label) names.set(index, answer.label);
  }

  /** The name in the model's card. A model without a card, or loaded after this page, has names in its answers only. */
  function className(model, index, numClasses) {
    const name = model.classNames.length === numClasses ? model.classNames[index] : learned.get(model.name).get(index);
    return name === undefined ? `class ${index + 1}` : name;
  }

  page.classes = { labelsOf, show };
})(window.livePage);
