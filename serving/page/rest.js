/* TF Serving's REST API. */
"use strict";

window.livePage = window.livePage || {};

(function (page) {
  const REASONS = {
    400: "The server cannot answer this request",
    403: "The server refuses requests from this page",
    404: "The server does not have this model, version or signature",
    413: "The text is too long for the server",
    429: "The server has too many requests: try again",
    503: "The model is not ready: try again in a moment",
    504: "The answer took too long",
  };

  const NOT_A_NUMBER = "\uD800NaN"; // in no text: `wellFormed` removes halves of surrogate pairs

  /** An error that is shown as one line. */
  class RestError extends Error {
    constructor(message, status) {
      super(message);
      this.status = status;
    }
  }

  function modelPath(name) {
    return `/v1/models/${encodeURIComponent(wellFormed(name))}`;
  }

  /** The text without halves of surrogate pairs, which UTF-8 cannot express. */
  function wellFormed(text) {
    return text.replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, "\uFFFD");
  }

  async function request(path, options) {
    let response;
    try {
      response = await fetch(path, options);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new RestError("The server does not answer: is it still running?", 0);
    }
    const text = await response.text();
    const answer = parsed(text);
    if (response.ok && answer !== undefined) return answer;
    const reason = REASONS[response.status] || "The server reports an error";
    const detail = answer && answer.error ? String(answer.error) : text;
    throw new RestError(`${reason} (${response.status}): ${detail.slice(0, 500)}`, response.status);
  }

  function parsed(text) {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }

  /** Signatures of a model: {name: {inputs: {name: {dtype, shape}}, outputs}}. */
  async function signatures(name) {
    const answer = await request(`${modelPath(name)}/metadata`, {});
    const definitions = answer.metadata.signature_def.signature_def;
    const usable = Object.entries(definitions).filter(([, each]) => each.method_name);
    return Object.fromEntries(
      usable.map(([key, each]) => [key, { inputs: tensors(each.inputs), outputs: tensors(each.outputs) }]),
    );
  }

  function tensors(infos) {
    const entries = Object.entries(infos || {}).map(([name, info]) => {
      const sizes = (info.tensor_shape && info.tensor_shape.dim) || [];
      const shape = sizes.map((size) => Number(size.size));
      return [name, { dtype: info.dtype.replace("DT_", "").toLowerCase(), shape }];
    });
    return Object.fromEntries(entries.sort());
  }

  /** Calls a signature of {name, signatures}. Returns its outputs, each with a batch axis. */
  async function predict(model, signature, inputs, signal) {
    const options = { method: "POST", body: body(signature, inputs), signal };
    const { outputs } = await request(`${modelPath(model.name)}:predict`, options);
    const names = Object.keys(model.signatures[signature].outputs);
    return names.length === 1 ? { [names[0]]: outputs } : outputs; // one output comes without its name
  }

  function body(signature, inputs) {
    const json = JSON.stringify(cleaned({ signature_name: signature, inputs }));
    return json.replaceAll(JSON.stringify(NOT_A_NUMBER), "NaN"); // as TF Serving reads it
  }

  function cleaned(value) {
    const clean = (key, each) => {
      if (Number.isNaN(each)) return NOT_A_NUMBER;
      return typeof each === "string" ? wellFormed(each) : each;
    };
    return JSON.parse(JSON.stringify(value, clean));
  }

  /** The request as commands: for a shell, and for Python without a package. */
  function commands(name, signature, inputs) {
    const address = `${location.origin}${modelPath(name)}:predict`;
    const request = body(signature, inputs);
    const python = [
      "import json",
      "import urllib.request",
      "",
      `request = ${pythonLiteral(cleaned({ signature_name: signature, inputs }))}`,
      `answer = urllib.request.urlopen(${pythonLiteral(address)}, json.dumps(request).encode())`,
      'print(json.load(answer)["outputs"])',
    ];
    return { curl: `curl -d ${quoted(visible(request))} ${quoted(address)}`, Python: python.join("\n") };
  }

  /** A value of JSON in Python. */
  function pythonLiteral(value) {
    if (value === null) return "None";
    if (value === NOT_A_NUMBER) return 'float("nan")';
    if (typeof value === "boolean") return value ? "True" : "False";
    if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
    if (typeof value !== "object") return visible(JSON.stringify(value)); // strings have the escapes of Python
    const entries = Object.entries(value).map((entry) => entry.map(pythonLiteral).join(": "));
    return `{${entries.join(", ")}}`;
  }

  /** JSON without characters that change the order of the others on the screen, or end a line there. */
  function visible(json) {
    const escape = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return json.replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, escape);
  }

  function quoted(text) {
    return `'${text.replaceAll("'", "'\\''")}'`;
  }

  page.rest = { RestError, commands, predict, signatures, wellFormed };
})(window.livePage);
