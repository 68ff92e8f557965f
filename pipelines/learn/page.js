"use strict";
// Checks the answers on the page by the rules of pipelines/learn/questions.py.
(() => {
  const questions = document.getElementById("expected");
  if (!questions) return;
  const expected = JSON.parse(questions.textContent);
  const word = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}_\s]/gu, " ").trim().split(/\s+/).join(" ");

  // The numbers that an answer may mean: 0.25 of .25, 0,25, 25 % and 1/4, both of 1,234.
  const numbers = (given) => {
    let text = given.trim().replace("\u2212", "-");
    const isPercent = text.endsWith("%");
    if (isPercent) text = text.slice(0, -1).trim();
    const number = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
    const found = [];
    if (/^[-+]?\d{1,3}([,.'\u2019\u00a0\u202f ]\d{3})+$/.test(text)) found.push(Number(text.replace(/[^-+\d]/g, "")));
    const parts = text.split("/").map((part) => part.trim());
    if (parts.length === 2 && parts.every((part) => number.test(part))) found.push(Number(parts[0]) / Number(parts[1]));
    else if (number.test(text.replaceAll(",", "."))) found.push(Number(text.replaceAll(",", ".")));
    return isPercent ? [...found.map((each) => each / 100), ...found] : found;
  };

  const isRight = (each, given) =>
    each.words
      ? each.words.some((right) => word(right) === word(given))
      : numbers(given).some((number) => Math.abs(number - each.number) <= each.tolerance * (1 + 1e-9));

  document.querySelectorAll("#questions li").forEach((row, i) => {
    const input = row.querySelector("input");
    const check = () => {
      const isNumber = expected[i].words || numbers(input.value).length;
      row.querySelector("output").textContent = isRight(expected[i], input.value)
        ? `Right. ${expected[i].because}`
        : isNumber ? `Not yet. ${expected[i].because}` : "Write a number, such as 0.25 or 1/4.";
    };
    row.querySelector("button").addEventListener("click", check);
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") check(); });
  });
})();
