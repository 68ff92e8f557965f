/* Rows of the figures, from answers of the REST API. Pure functions: they touch neither the page nor the network. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const GATES = ["forget", "input", "output", "update", "reset"];
  const STATES = ["hidden", "cell", "candidate"];
  const QUANTITY = /^((?:layer|encoder|decoder)_\d+(?:_forward|_backward)?)_(?:(\w+)_gate|(hidden|cell|candidate))$/;
  const ATTENTION = /^((?:layer|encoder|decoder)_\d+)_(self_)?attention$/;
  const SPACE = /^[\s\u2581]*$/u;

  /** A token as a person reads it: spaces and line breaks are visible. */
  function tokenText(token) {
    const text = token.replaceAll("\u2581", "\u00b7").replaceAll(" ", "\u00b7").replaceAll("\n", "\u21b5");
    return text.replaceAll("\t", "\u21e5") || "\u2205";
  }

  /** "3 the": the name of a column. Figures show what follows the first space, so that equal tokens stay apart. */
  function columnName(token, position) {
    return `${position} ${tokenText(token)}`;
  }

  function columns(tokens) {
    return tokens.map((token, position) => ({ position, column: columnName(token, position) }));
  }

  /** Row 0 of each output of a batch of one text. */
  function firstRow(outputs) {
    return Object.fromEntries(Object.entries(outputs).map(([name, values]) => [name, values[0]]));
  }

  function readable(name) {
    return name.replaceAll("_", " ");
  }

  function mean(values) {
    return values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);
  }

  /** Layer 2 comes before layer 10, and forward before backward. */
  function namesInOrder(trace) {
    const key = (name) => name.replace("_forward", "_1").replace("_backward", "_2");
    return Object.keys(trace).sort((a, b) => key(a).localeCompare(key(b), "en", { numeric: true }));
  }

  /** Layers with gates or states: [{label, side, gates: {forget: [time][units]}, states: {...}}]. */
  function recurrentLayers(trace) {
    const layers = new Map();
    for (const name of namesInOrder(trace)) {
      const match = QUANTITY.exec(name);
      if (!match) continue;
      const [, layer, gate, state] = match;
      const side = layer.startsWith("decoder") ? "target" : "source";
      if (!layers.has(layer)) layers.set(layer, { label: readable(layer), side, gates: {}, states: {} });
      const group = gate ? layers.get(layer).gates : layers.get(layer).states;
      group[gate || state] = trace[name];
    }
    return [...layers.values()];
  }

  /** Cells of a heat map: one per token and quantity, the mean over the units (of the absolute values for states). */
  function quantityCells(quantities, order, tokens, isAbsolute) {
    const known = order.filter((name) => name in quantities);
    return known.flatMap((name) =>
      tokens.map((token, position) => {
        const units = quantities[name][position];
        const value = mean(isAbsolute ? units.map(Math.abs) : units);
        return { position, column: columnName(token, position), row: name, value };
      }),
    );
  }

  /** Adds the share of each row's largest value: the cell state is often far larger than what a layer returns. */
  function withShares(cells) {
    const largestOf = {};
    for (const { row, value } of cells) largestOf[row] = Math.max(largestOf[row] || 0, value);
    return cells.map((cell) => ({ ...cell, share: cell.value / (largestOf[cell.row] || 1) }));
  }

  function gateCells(layer, tokens) {
    return quantityCells(layer.gates, GATES, tokens, false);
  }

  function stateCells(layer, tokens) {
    return withShares(quantityCells(layer.states, STATES, tokens, true));
  }

  /** Attention of each layer: [{name, label, query, key, heads: [heads][queries][keys]}]. */
  function attentionLayers(trace) {
    const found = [];
    for (const name of namesInOrder(trace)) {
      const match = ATTENTION.exec(name);
      if (!match) continue;
      const isDecoder = name.startsWith("decoder");
      const sides = !isDecoder ? ["source", "source"] : match[2] ? ["target", "read"] : ["target", "source"];
      const what = isDecoder ? (match[2] ? ", to the translation" : ", to the text") : "";
      const label = readable(match[1]) + what;
      found.push({ name, label, query: sides[0], key: sides[1], heads: trace[name] });
    }
    return found;
  }

  /** Cells of a heat map of weights. head: a number from 0, or -1 for the mean of all heads. */
  function attentionCells(heads, head, queries, keys) {
    const chosen = head < 0 ? heads : [heads[head]];
    return queries.flatMap((query, row) =>
      keys.map((key, position) => ({
        position,
        column: columnName(key, position),
        row: columnName(query, row),
        row_position: row,
        value: mean(chosen.map((weights) => weights[row][position])),
      })),
    );
  }

  /** What may come next after each token: one cell per token and rank. */
  function nextCells(tokens, nextTokens, nextProbabilities, numRanks) {
    return tokens.flatMap((token, position) =>
      nextTokens[position].slice(0, numRanks).map((next, rank) => ({
        position,
        column: columnName(token, position),
        row: rank + 1,
        token: tokenText(next),
        value: nextProbabilities[position][rank],
      })),
    );
  }

  /** The characters as they are compared, and for each the place in the text from which it comes. */
  function comparable(text) {
    const characters = [];
    const places = [];
    let place = 0;
    for (const character of text) {
      for (const unit of character.normalize("NFKC").toLowerCase()) {
        characters.push(unit);
        places.push(place);
      }
      place += character.length;
    }
    return { characters, places };
  }

  /** Where each token stands in the text: [start, end] in UTF-16 units, or null for what is not found, as <start>. */
  function spans(tokens, text) {
    const { characters, places } = comparable(text);
    let cursor = 0;
    return tokens.map((token) => {
      const isSpace = SPACE.test(token);
      const wanted = isSpace ? [" "] : comparable(token.replaceAll("\u2581", " ").trim()).characters;
      const start = find(characters, wanted, cursor, isSpace ? cursor + 1 : cursor + 40);
      if (start < 0 || !token) return null;
      cursor = start + wanted.length;
      const end = cursor < places.length ? places[cursor] : text.length;
      return [places[start], end];
    });
  }

  function find(characters, wanted, first, last) {
    for (let start = first; start <= Math.min(last, characters.length - wanted.length); start += 1) {
      if (wanted.every((unit, i) => isSame(unit, characters[start + i]))) return start;
    }
    return -1;
  }

  /** A space in a token stands for any space of the text. */
  function isSame(unit, character) {
    return unit === character || (unit === " " && SPACE.test(character));
  }

  /** Positions whose places in the text overlap a place. */
  function overlapping(allSpans, span) {
    if (!span) return [];
    return allSpans.flatMap((each, i) => (each && each[0] < span[1] && span[0] < each[1] ? [i] : []));
  }

  /** The first `limit` characters (code points: no character is cut into two). */
  function cut(text, limit) {
    if (text.length <= limit) return text;
    return Array.from(text).slice(0, limit).join("");
  }

  /** Probabilities of logits. With temperature 0, the most likely one has all. */
  function softmax(logits, temperature = 1) {
    const largest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    const powers = logits.map((logit) =>
      temperature > 0 ? Math.exp((logit - largest) / temperature) : Number(logit === largest),
    );
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  /** Indices of the k largest values, the largest first. */
  function largest(values, k) {
    const best = [];
    values.forEach((value, i) => {
      if (best.length === k && value <= values[best[k - 1]]) return;
      let place = best.length;
      while (place > 0 && values[best[place - 1]] < value) place -= 1;
      best.splice(place, 0, i);
      if (best.length > k) best.pop();
    });
    return best;
  }

  /** An index drawn with these probabilities. random: from 0 to 1. */
  function draw(probabilities, random) {
    let rest = random;
    for (let i = 0; i < probabilities.length; i += 1) {
      rest -= probabilities[i];
      if (rest < 0) return i;
    }
    return largest(probabilities, 1)[0];
  }

  page.trace = {
    attentionCells, attentionLayers, columns, cut, draw, firstRow, gateCells, largest, nextCells, overlapping,
    recurrentLayers, softmax, spans, stateCells, tokenText,
  };
})(window.livePage);
