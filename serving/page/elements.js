/* Parts of the page. Texts go in as text only, never as HTML. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const MAX_COMMAND = 4000; // characters that are shown

  /** An element. Attributes that are false or null are left out; children are elements or texts. */
  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") node.addEventListener(name, value);
      else if (value !== false && value !== null && value !== undefined) {
        node.setAttribute(name, value === true ? "" : value);
      }
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  function percent(probability) {
    const value = 100 * probability;
    const isWhole = value >= 99.95 || value === 0;
    const digits = isWhole ? value.toFixed(0) : value < 0.01 ? "below 0.01" : value.toPrecision(value < 1 ? 1 : 3);
    return `${digits.replace(/\.0+$/, "")}\u00a0%`;
  }

  let numFields = 0;

  /** A list to choose from, with its label. options: [[value, text]]. */
  function choice(label, options, onChange) {
    numFields += 1;
    const id = `choice-${numFields}`;
    const select = element("select", { id });
    select.append(...options.map(([value, text]) => element("option", { value }, text)));
    select.addEventListener("change", () => onChange(select.value));
    const isUseful = options.length > 1;
    return element("span", { class: "choice", hidden: !isUseful }, element("label", { for: id }, label), " ", select);
  }

  function errorLine(error) {
    return element("p", { class: "error", role: "alert" }, error.message);
  }

  function note(text) {
    return element("p", { class: "note" }, text);
  }

  /** A request as commands, {name: text}, each with a button that copies it. */
  function requestBlock(commands) {
    const blocks = Object.entries(commands).map(([name, command]) => commandBlock(name, command));
    return element("div", { class: "request" }, ...blocks);
  }

  function commandBlock(name, command) {
    const shown = command.slice(0, MAX_COMMAND);
    const code = element("pre", { tabindex: "0", "aria-label": `Request with ${name}` }, element("code", {}, shown));
    const button = element("button", { type: "button", class: "small" }, `Copy ${name}`);
    button.addEventListener("click", async () => {
      const isCopied = await copied(command, code);
      button.textContent = isCopied ? "Copied" : "Press Ctrl+C";
      setTimeout(() => (button.textContent = `Copy ${name}`), 2000);
    });
    const head = element("p", { class: "row" }, element("span", { class: "hint" }, `The request with ${name}`), button);
    const isCut = shown.length < command.length;
    return element("div", {}, head, code, isCut ? note("The request is cut here; the button copies all of it.") : null);
  }

  async function copied(text, code) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Browsers offer the clipboard only over https and on this machine. Else the person copies what is selected.
      getSelection().selectAllChildren(code);
      return false;
    }
  }

  /**
   * Tokens in a row. Hovering one, or moving to it with the arrow keys, highlights it in all panels.
   *
   * tokens: [{text, below, strength: -1..1 or null, hue, detail}]; axis: from page.highlight.axis.
   */
  function tokenRow(tokens, axis, label) {
    const detail = element("p", { class: "detail" }, "\u00a0");
    const row = element("div", { class: "tokens", role: "list", "aria-label": label, dir: "auto" });
    const nodes = tokens.map((token, position) => tokenNode(token, position));
    row.append(...nodes);
    if (nodes.length) nodes[0].tabIndex = 0;
    const show = (position) => {
      detail.textContent = position === null ? "\u00a0" : tokens[position].detail;
      if (axis) axis.hover(position);
    };
    row.addEventListener("mouseover", (event) => show(positionOf(event.target)));
    row.addEventListener("mouseleave", () => show(null));
    row.addEventListener("focusin", (event) => show(positionOf(event.target)));
    row.addEventListener("focusout", () => show(null));
    row.addEventListener("keydown", (event) => moveFocus(event, nodes));
    const mark = (positions) => nodes.forEach((node, i) => node.classList.toggle("hovered", positions.has(i)));
    if (axis) axis.onHighlight(mark);
    return element("div", { class: "token-row" }, row, detail);
  }

  function tokenNode(token, position) {
    const node = element("span", { class: "token", role: "listitem", tabindex: "-1", "data-position": position });
    node.append(element("span", { class: "token-text", dir: "auto" }, token.text));
    if (token.below) node.append(element("span", { class: "token-below" }, token.below));
    if (token.strength !== null && token.strength !== undefined) {
      node.style.setProperty("--strength", Math.abs(token.strength).toFixed(3));
      node.classList.add(token.strength < 0 ? "against" : "for");
    }
    if (token.hue !== undefined) {
      node.style.setProperty("--hue", token.hue);
      node.classList.add("tagged");
    }
    node.setAttribute("aria-label", token.detail);
    return node;
  }

  function positionOf(target) {
    const node = target.closest("[data-position]");
    return node ? Number(node.dataset.position) : null;
  }

  function moveFocus(event, nodes) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -nodes.length, End: nodes.length };
    if (!(event.key in steps)) return;
    const current = nodes.indexOf(document.activeElement);
    const next = Math.min(Math.max(current + steps[event.key], 0), nodes.length - 1);
    event.preventDefault();
    nodes[current].tabIndex = -1;
    nodes[next].tabIndex = 0;
    nodes[next].focus();
  }

  page.elements = { choice, element, errorLine, moveFocus, note, percent, requestBlock, tokenRow };
})(window.livePage);
