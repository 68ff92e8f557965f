/* Rows of the figures, from answers of the REST API. Pure functions: they touch neither the page nor the network. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const GATES = ["forget_gate", "input_gate", "output_gate", "update_gate", "reset_gate"];
  const STATES = ["hidden", "cell"];
  const QUANTITY = /^((?:layer|encoder|decoder)_\d+(?:_forward|_backward)?)_(\w+_gate|hidden|cell|candidate)$/;
  const ATTENTION = /^((?:layer|encoder|decoder)_\d+)_(self_)?attention$/;
  const SHOWN = { "\n": "\u23ce", " ": "\u2423", "\t": "\u21e5" };
  const SPACE = /^[\s\u2581]*$/u;
  const INVISIBLE = /^[\u00ad\u200b\u2060\ufeff]$/u; // normalizers leave them out: pipelines/text/invisible.py

  /** A token as a person reads it: spaces and line breaks are visible. */
  function tokenText(token) {
    return token.replace(/[\n\t ]/g, (character) => SHOWN[character]) || "\u2205";
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

  /** Layers with gates or states: [{name, label, side, quantities: {forget_gate: [time][units]}}]. */
  function recurrentLayers(trace) {
    const layers = new Map();
    for (const key of namesInOrder(trace)) {
      const match = QUANTITY.exec(key);
      if (!match) continue;
      const [, name, quantity] = match;
      const side = name.startsWith("decoder") ? "target" : "source";
      if (!layers.has(name)) layers.set(name, { name, label: readable(name), side, quantities: {} });
      layers.get(name).quantities[quantity] = trace[key];
    }
    return [...layers.values()];
  }

  // The rows of the figures. pipelines/inspect has the same functions: a test compares them.

  function tokenRows(tokens) {
    return tokens.map((token, position) => ({ position, token: tokenText(token) }));
  }

  /** Rows of a layer for each of `names` that it has: what `columns` returns for the units of each token. */
  function layerRows({ name: layer, quantities }, names, tokens, columns) {
    return names.filter((name) => name in quantities).flatMap((name) =>
      tokens.map((token, position) => ({ layer, position, ...columns(name, quantities[name][position], token) })),
    );
  }

  function meanRows(layer, tokens) {
    return layerRows(layer, GATES, tokens, (name, units, token) => {
      const middle = mean(units);
      const deviation = Math.sqrt(mean(units.map((value) => (value - middle) ** 2)));
      return { gate: readable(name), token: tokenText(token), mean: middle, deviation };
    });
  }

  function normRows(layer, tokens) {
    return layerRows(layer, STATES, tokens, (name, units) => ({ state: name, norm: Math.hypot(...units) }));
  }

  /** Attention of each layer: [{name, label, query, key, heads: [heads][queries][keys]}]. */
  function attentionLayers(trace) {
    const found = [];
    for (const output of namesInOrder(trace)) {
      const match = ATTENTION.exec(output);
      if (!match) continue;
      const isDecoder = output.startsWith("decoder");
      // A decoder reads its own tokens one step after it has written them.
      const sides = !isDecoder ? ["source", "source"] : match[2] ? ["read", "read"] : ["target", "source"];
      const what = isDecoder ? (match[2] ? ", to the translation" : ", to the text") : "";
      const name = match[1] + (isDecoder && match[2] ? " (self)" : "");
      found.push({ name, label: readable(match[1]) + what, query: sides[0], key: sides[1], heads: trace[output] });
    }
    return found;
  }

  /** heads: [heads][queries][keys], of which the first numQueries and numKeys have tokens. */
  function weightRows(layer, heads, numQueries, numKeys) {
    return heads.flatMap((weights, i) =>
      weights.slice(0, numQueries).flatMap((row, query) =>
        row.slice(0, numKeys).map((weight, key) => ({ layer, head: i + 1, query, key, weight })),
      ),
    );
  }

  /** The mean of the heads: [queries][keys]. */
  function meanOfHeads(heads) {
    return heads[0].map((row, i) => row.map((_, j) => mean(heads.map((weights) => weights[i][j]))));
  }

  /** What may come next after each token: one row per token and rank. */
  function nextRows(tokens, nextTokens, nextProbabilities) {
    return tokens.flatMap((_, position) =>
      nextTokens[position].map((next, i) => {
        return { position, rank: i + 1, token: tokenText(next), probability: nextProbabilities[position][i] };
      }),
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
      const found = token ? find(characters, wanted, cursor, isSpace ? cursor + 1 : cursor + 40) : null;
      if (!found) return null;
      cursor = found[1];
      const end = cursor < places.length ? places[cursor] : text.length;
      return [places[found[0]], end];
    });
  }

  /** The first place of `wanted`, [first, last + 1]; null if it is not there. */
  function find(characters, wanted, first, last) {
    for (let start = first; start <= Math.min(last, characters.length - wanted.length); start += 1) {
      const end = endOfMatch(characters, wanted, start);
      if (end >= 0) return [start, end];
    }
    return null;
  }

  /** Where the text goes on after `wanted`, which may lack invisible characters of the text; -1 if it is not there. */
  function endOfMatch(characters, wanted, start) {
    let position = start;
    for (const [i, unit] of wanted.entries()) {
      while (i > 0 && unit !== characters[position] && INVISIBLE.test(characters[position])) position += 1;
      if (!isSame(unit, characters[position])) return -1;
      position += 1;
    }
    return position;
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
    return Array.from(text.slice(0, 2 * limit)).slice(0, limit).join("");
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
    attentionLayers, cut, draw, firstRow, largest, meanOfHeads, meanRows, nextRows, normRows, overlapping,
    recurrentLayers, softmax, spans, tokenRows, tokenText, weightRows,
  };
})(window.livePage);
