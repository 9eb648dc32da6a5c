// Filters, search and order of the scorecard; keyboard control of the overview of verdicts. Pages work without it.
"use strict";

const FILTERS = ["paper", "artefact", "verdict", "data", "profile", "reading"];
const ORDERS = { paper: "order of the papers", largest: "largest difference first", smallest: "smallest difference first" };

function control(name, element, text = name) {
  const label = document.createElement("label");
  label.append(text, element);
  element.name = name;
  return label;
}

function choice(name, values, text = name) {
  const select = document.createElement("select");
  for (const [value, text] of values) select.add(new Option(text, value));
  return control(name, select, text);
}

function scorecard(table) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const form = document.createElement("form");
  form.className = "fl-controls";
  form.setAttribute("aria-label", "Filter rows");
  const search = document.createElement("input");
  search.type = "search";
  form.append(control("search", search));
  const labels = JSON.parse(table.dataset.labels);
  const label = (key) => labels[key] ?? key;
  for (const name of FILTERS) {
    const values = [...new Set(rows.map((row) => row.dataset[name]))];
    form.append(choice(name, [["", "all"], ...values.map((value) => [value, label(value)])], label(name)));
  }
  form.append(choice("order", Object.entries(ORDERS), "sort by"));
  const reset = document.createElement("button");
  reset.type = "reset";
  reset.textContent = "reset filters";
  const count = document.createElement("p");
  count.className = "fl-count";
  count.setAttribute("role", "status");
  form.append(reset, count);
  table.before(form);

  const field = (name) => form.elements.namedItem(name);
  const asked = new URLSearchParams(location.search);
  for (const name of ["search", "order", ...FILTERS]) if (asked.has(name)) field(name).value = asked.get(name);

  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      const fits = FILTERS.every((name) => !field(name).value || row.dataset[name] === field(name).value);
      row.hidden = !(fits && words.every((word) => texts[i].includes(word)));
      shown += !row.hidden;
    });
    count.textContent = `${shown} of ${rows.length} rows`;
  }

  function order() {
    const size = (row) => (row.dataset.size === "" ? -1 : Number(row.dataset.size));
    const sorted = [...rows];
    if (field("order").value === "largest") sorted.sort((a, b) => size(b) - size(a));
    if (field("order").value === "smallest") sorted.sort((a, b) => (size(a) < 0) - (size(b) < 0) || size(a) - size(b));
    body.append(...sorted);
  }

  // Only tables and figures of the selected paper.
  function narrow() {
    const paper = field("paper").value;
    const own = new Set(rows.filter((row) => !paper || row.dataset.paper === paper).map((row) => row.dataset.artefact));
    for (const option of field("artefact").options) option.hidden = option.disabled = option.value !== "" && !own.has(option.value);
    if (field("artefact").selectedOptions[0]?.disabled) field("artefact").value = "";
  }

  // A linked row is shown whatever the filters are.
  function target() {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (row && row.hidden) {
      form.reset();
      update();
    }
    if (row) row.scrollIntoView();
  }

  function update() {
    narrow();
    order();
    show();
  }

  form.addEventListener("input", update);
  form.addEventListener("reset", () => setTimeout(update));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", target);
  update();
  if (location.hash) target();
}

// Arrow keys move from the name of a table or figure to its marks and from mark to mark.
function keys(event) {
  const group = event.target.closest(".fl-artefact");
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!group || !step) return;
  const links = Array.from(group.querySelectorAll("a"));
  const next = links[links.indexOf(event.target) + step];
  if (next) {
    next.focus();
    event.preventDefault();
  }
}

const table = document.getElementById("scorecard-table");
if (table) scorecard(table);
document.querySelector(".fl-picture")?.addEventListener("keydown", keys);
