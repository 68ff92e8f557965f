/* The page: its form, its address, and one card for each chosen model. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const MAX_CHARACTERS_IN_ADDRESS = 8000;
  const EXAMPLE = "The old house by the sea is a wonderful place, and nobody wants to leave it.";
  const { element, errorLine } = page.elements;
  const get = (id) => document.getElementById(id);
  const words = new Map( // model -> what its card says
    JSON.parse(get("model-names").textContent).map(([name, classNames, example, exampleRow]) => [
      name,
      { classNames, example, exampleRow },
    ]),
  );
  const names = [...words.keys()];
  const opened = new Set(); // models that the person wants to look into
  let suggested = ""; // the text that this page has filled in
  const models = new Map(); // name -> promise of {name, signatures, kind, classNames}
  const kinds = new Map(); // name -> where the form shows the model's kind
  let running = null;

  /** The model with its signatures. After an error, the next call asks again. */
  function load(name) {
    if (!models.has(name)) {
      const describe = async (signatures) => {
        const columns = await page.columns.of({ name, signatures }, words.get(name).exampleRow);
        return { name, signatures, columns, kind: page.answers.kindOf(signatures), ...words.get(name) };
      };
      const loading = page.rest.signatures(name).then(describe);
      models.set(name, loading);
      const show = (text) => (kinds.get(name).textContent = text);
      loading.then(
        (model) => show(model.kind.name),
        () => {
          models.delete(name);
          show("not ready");
        },
      );
    }
    return models.get(name);
  }

  function boxes() {
    return [...get("models").querySelectorAll("input")];
  }

  function chosenNames() {
    return boxes().filter((box) => box.checked).map((box) => names[box.value]);
  }

  function addModel(name, index) {
    const change = () => (suggest(), showSettings());
    const box = element("input", { type: "checkbox", value: index, change });
    const kind = element("span", { class: "kind" });
    get("models").append(element("label", { class: "model" }, box, element("span", { dir: "auto" }, name), kind));
    kinds.set(name, kind);
    load(name).then(showSettings, () => {});
  }

  /** Fills in a text of the validation data of the first chosen model, where the person has not typed another one. */
  function suggest() {
    if (get("text").value !== suggested) return;
    const examples = chosenNames().map((name) => words.get(name).example);
    get("text").value = examples.find((example) => example) || EXAMPLE;
    suggested = get("text").value; // as the element has it, with its line ends
  }

  async function showSettings() {
    const all = await Promise.all(chosenNames().map((name) => load(name).catch(() => null)));
    const chosen = all.filter((model) => model);
    get("completion-settings").hidden = !chosen.some((model) => model.kind.name === "language model");
    get("text-field").hidden = page.columns.show(chosen);
  }

  function writeAddress(chosen, text) {
    const values = new URLSearchParams(chosen.map((name) => ["model", page.rest.wellFormed(name)]));
    const given = [["text", text], ...page.columns.toAddress()];
    const length = given.reduce((sum, [, value]) => sum + value.length, 0);
    const fits = length <= MAX_CHARACTERS_IN_ADDRESS;
    if (fits) given.forEach(([name, value]) => values.append(name, page.rest.wellFormed(value)));
    history.replaceState(null, "", `#${values}`);
    return fits;
  }

  /** Takes models and text from the address. Returns whether it has both. */
  function readAddress() {
    const values = new URLSearchParams(location.hash.slice(1));
    const chosen = new Set(values.getAll("model"));
    if (!chosen.size) return false;
    boxes().forEach((box) => (box.checked = chosen.has(page.rest.wellFormed(names[box.value]))));
    if (values.has("text")) get("text").value = values.get("text");
    else suggest();
    page.columns.fromAddress(values);
    showSettings();
    return values.has("text") && chosenNames().length > 0;
  }

  async function run() {
    stop();
    const [chosen, text] = [chosenNames(), page.rest.wellFormed(get("text").value)];
    if (!chosen.length) {
      get("status").textContent = "Choose a model.";
      return;
    }
    const controller = new AbortController();
    running = controller;
    const fits = writeAddress(chosen, text);
    page.figures.clear();
    get("stop").disabled = false;
    get("status").textContent = "Running\u2026";
    get("overview").open = false;
    const cards = chosen.map(addCard);
    get("answers").replaceChildren(...cards.map((card) => card.node));
    const results = await Promise.all(cards.map((card) => answer(card, text, controller.signal)));
    if (running !== controller) return; // a later run has replaced this one
    get("stop").disabled = true;
    const failed = results.filter((result) => result === "failed").length;
    const isStopped = results.includes("stopped");
    const state = isStopped ? "Stopped." : failed ? `Done, with ${failed} error${failed > 1 ? "s" : ""}.` : "Done.";
    get("status").textContent = fits ? state : `${state} The text is too long for the address of this page.`;
    get("announcement").textContent = cards.map(summary).join("\n");
  }

  /** The answer in short, for screen readers: the cards themselves would be read to their end. */
  function summary({ name, node }) {
    const answer = node.querySelector(".error, .result, .completion, .tokens, .json");
    if (!answer) return `${name}: no answer`;
    const isTokens = answer.classList.contains("tokens");
    const text = isTokens ? [...answer.children].map((token) => token.ariaLabel).join("; ") : answer.textContent;
    return `${name}: ${page.trace.cut(text, 200)}`;
  }

  function stop() {
    if (running) running.abort();
  }

  function addCard(name) {
    const kind = element("span", { class: "kind" });
    const body = element("div", { class: "card-body" });
    const head = element("h2", {}, element("span", { dir: "auto" }, name), " ", kind);
    const node = element("article", { class: "card", "aria-busy": "true", "aria-label": name }, head, body);
    return { name, node, body, kind };
  }

  /** Fills a card. Returns "done", "failed" or "stopped". */
  async function answer({ name, node, body, kind }, text, signal) {
    let result = "done";
    try {
      const model = await load(name);
      kind.textContent = model.kind.name;
      const answering = filled((container) => model.kind.answer(model, text, signal, container), body, signal);
      const looks = model.signatures.trace && !model.columns;
      const results = await Promise.all([answering, looks ? inside(model, text, signal, body) : "done"]);
      result = results.find((each) => each !== "done") || "done";
    } catch (error) {
      result = "failed";
      body.append(errorLine(error));
    }
    node.setAttribute("aria-busy", "false");
    return result;
  }

  /** What a model computes. It is asked for when the person opens it, and after that in each run. */
  function inside(model, text, signal, body) {
    const open = opened.has(model.name);
    const details = element("details", { class: "trace", open }, element("summary", {}, element("h3", {}, "Inside")));
    const show = async (container) => {
      details.setAttribute("aria-busy", "true");
      await page.panels.show(model, text, signal, container).finally(() => details.setAttribute("aria-busy", "false"));
    };
    let loading = null;
    const load = () => (loading = loading || filled(show, details, signal));
    details.addEventListener("toggle", () => {
      opened[details.open ? "add" : "delete"](model.name);
      if (details.open) load();
    });
    body.append(details);
    return open ? load() : "done";
  }

  /** One part of a card. Its error leaves the other parts as they are. */
  async function filled(part, body, signal) {
    const container = body.appendChild(element("div"));
    try {
      await part(container);
      return "done";
    } catch (error) {
      if (signal.aborted) return "stopped";
      container.append(errorLine(error));
      if (!(error instanceof page.rest.RestError)) console.error(error); // a mistake of this page
      return "failed";
    }
  }

  function start() {
    get("needs-javascript").remove();
    get("form").hidden = false;
    get("overview").open = false;
    names.forEach(addModel);
    if (!names.length) get("models").append(element("p", { class: "note" }, "This server has no models."));
    if (names.length) boxes()[0].checked = true;
    suggest();
    get("form").addEventListener("submit", (event) => {
      event.preventDefault();
      run();
    });
    get("stop").addEventListener("click", stop);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.target.closest(".model-form")) run();
    });
    addEventListener("hashchange", () => readAddress() && run());
    if (readAddress()) run();
  }

  start();
})(window.livePage);
