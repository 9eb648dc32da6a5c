// Search, filters and order of the scorecard; words for the mark that is pointed at; names of toggles. Pages work without it.
"use strict";

const FILTERS = ["paper", "artefact", "verdict", "data", "profile", "apart"];
const SORTS = { "": "paper", row: "row", published: "published", ours: "our result", difference: "difference", verdict: "verdict" };
const PAGE = 100; // rows that are shown at once
const NUMBERED = /(?:table|figure|section|appendix|proposition)\s+[\w.]+|\S+/g;

function control(name, element, text) {
  const label = document.createElement("label");
  label.append(text, element);
  element.name = name;
  return label;
}

function choice(name, values, text) {
  const select = document.createElement("select");
  for (const [value, label] of values) select.add(new Option(label, value));
  return control(name, select, text);
}

function button(text, type = "button") {
  const made = document.createElement("button");
  made.type = type;
  made.textContent = text;
  return made;
}

const inText = (cell) => parseFloat(cell.textContent.trim().replaceAll(",", ""));
// What a row is sorted by; rows without a number come last.
const KEYS = {
  row: (row) => row.cells[0].textContent,
  published: (row) => inText(row.cells[1]),
  ours: (row) => inText(row.cells[2]),
  difference: (row) => parseFloat(row.dataset.size),
  verdict: (row) => row.cells[4].textContent.trim(),
};

function scorecard(folded) {
  const rows = Array.from(folded.querySelectorAll("tr[id]"));
  const homes = rows.map((row) => row.parentNode);
  const names = ["search", "sort", "order", ...FILTERS];
  const places = rows.map((row) => row.cells[0].textContent.replace(/\s+/g, " ").toLowerCase());
  const texts = rows.map((row) => `${row.textContent} ${row.id}`.replace(/\s+/g, " ").toLowerCase());
  const labels = JSON.parse(folded.dataset.labels);
  const label = (key) => labels[key] ?? key;

  const form = document.createElement("form");
  form.className = "fl-controls";
  form.setAttribute("aria-label", "Filter rows");
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "ADF table 4";
  form.append(control("search", search, "search"));
  for (const name of FILTERS) {
    const values = [...new Set(rows.map((row) => row.dataset[name]))];
    form.append(choice(name, [["", "all"], ...values.map((value) => [value, label(value)])], label(name)));
  }
  form.append(choice("sort", Object.entries(SORTS), "sort by"));
  form.append(choice("order", [["", "smallest first"], ["down", "largest first"]], "order"));
  const count = document.createElement("p");
  count.className = "fl-count";
  count.setAttribute("role", "status");
  form.append(button("reset filters", "reset"), count);

  const table = document.createElement("table");
  table.className = "fl-scorecard fl-sorted";
  table.id = "scorecard-found";
  const head = folded.querySelector("thead").cloneNode(true);
  const body = document.createElement("tbody");
  table.append(head, body);
  const more = button("show more rows");
  more.className = "fl-more";
  folded.before(form, table, more);

  const field = (name) => form.elements.namedItem(name);
  const asked = () => names.some((name) => field(name).value);
  let limit = PAGE;

  // Headers that sort: a second click turns the order around.
  for (const header of folded.parentNode.querySelectorAll(".fl-sorted thead")) {
    Object.keys(SORTS).filter(Boolean).forEach((key, i) => {
      const cell = header.rows[0].cells[i];
      const sorter = button(cell.textContent);
      sorter.addEventListener("click", () => {
        const first = sorter.closest("details")?.querySelector("tr[id]");
        if (first) for (const name of ["paper", "artefact"]) field(name).value = first.dataset[name];
        const again = field("sort").value === key;
        field("order").value = again && field("order").value === "" ? "down" : again ? "" : key === "difference" ? "down" : "";
        field("sort").value = key;
        changed();
        if (first) table.scrollIntoView();
      });
      cell.replaceChildren(sorter);
      cell.dataset.key = key;
    });
  }

  // Words of a search; "table 4" is one, and not table 4.2 or 40.
  function matching() {
    const words = search.value.toLowerCase().match(NUMBERED) ?? [];
    const tests = words.map((word) => {
      const numbered = /^(.+)\s+([\w.]+)$/.exec(word);
      const whole = numbered && new RegExp(`\\b${numbered[1]} ${numbered[2].replaceAll(".", "\\.")}(?![\\w.]*\\w)`);
      return (i) => (whole ? whole.test(places[i]) : texts[i].includes(word));
    });
    const isChosen = (row) => FILTERS.every((name) => !field(name).value || row.dataset[name] === field(name).value);
    return rows.filter((row, i) => isChosen(row) && tests.every((test) => test(i)));
  }

  function sorted(some) {
    const key = KEYS[field("sort").value];
    if (!key) return field("order").value ? some.toReversed() : some;
    const sign = field("order").value ? -1 : 1;
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b) * sign;
    const missing = (value) => Number.isNaN(value);
    return some
      .map((row) => [key(row), row])
      .sort(([a], [b]) => missing(a) - missing(b) || (missing(a) ? 0 : compare(a, b)))
      .map(([, row]) => row);
  }

  function show() {
    if (body.childElementCount) rows.forEach((row, i) => homes[i].append(row)); // all, so that their order is as before
    const found = sorted(matching());
    folded.hidden = asked();
    table.hidden = !asked();
    if (asked()) body.append(...found.slice(0, limit));
    more.hidden = !asked() || found.length <= limit;
    count.textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    for (const cell of head.rows[0].cells) {
      const own = cell.dataset.key && cell.dataset.key === field("sort").value;
      own ? cell.setAttribute("aria-sort", field("order").value ? "descending" : "ascending") : cell.removeAttribute("aria-sort");
    }
  }

  // Only tables and figures of the selected paper.
  function narrow() {
    const paper = field("paper").value;
    const own = new Set(rows.filter((row) => !paper || row.dataset.paper === paper).map((row) => row.dataset.artefact));
    for (const option of field("artefact").options) option.hidden = option.disabled = option.value !== "" && !own.has(option.value);
    if (field("artefact").selectedOptions[0]?.disabled) field("artefact").value = "";
  }

  // The address has the search, the filters and the order, so that a view can be sent.
  function changed() {
    limit = PAGE;
    narrow();
    show();
    const query = new URLSearchParams(names.filter((name) => field(name).value).map((name) => [name, field(name).value]));
    history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  }

  function read() {
    const query = new URLSearchParams(location.search);
    for (const name of names) field(name).value = query.get(name) ?? "";
    narrow();
    show();
    target();
  }

  // A linked row is shown whatever the filters are.
  function target() {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place || !folded.parentNode.contains(place)) return;
    if (!body.contains(place)) {
      if (asked()) {
        for (const name of names) field(name).value = "";
        show();
      }
      place.closest("details").open = true;
    }
    place.scrollIntoView();
  }

  more.addEventListener("click", () => {
    limit += PAGE;
    show();
  });
  form.addEventListener("input", changed);
  form.addEventListener("reset", () => setTimeout(changed));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", target);
  addEventListener("popstate", read);
  read();
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

// What a mark of the plot is, at once and below it.
function words(plot) {
  const line = document.createElement("p");
  line.className = "fl-words";
  line.textContent = "Point at a mark.";
  plot.after(line);
  plot.addEventListener("pointerover", (event) => {
    const title = event.target.closest("a")?.querySelector("title");
    if (title) line.textContent = title.textContent;
  });
}

// A result of the search within a page is named by its place: ADF, ADF table 4.
function places(results) {
  for (const link of results.querySelectorAll("a[href*='#']:not([data-named])")) {
    link.dataset.named = "";
    if (!link.textContent.includes(">")) link.append(`: ${decodeURIComponent(link.hash.slice(1)).replaceAll("-", " ")}`);
  }
}

const results = document.getElementById("search-results");
if (results) new MutationObserver(() => places(results)).observe(results, { childList: true, subtree: true });

// The theme's toggles have no name for a screen reader.
for (const toggle of document.querySelectorAll("nav summary")) toggle.setAttribute("aria-label", "pages of this section");

const folded = document.getElementById("scorecard-rows");
if (folded) scorecard(folded);
document.querySelector(".fl-picture")?.addEventListener("keydown", keys);
const plot = document.querySelector(".fl-plot");
if (plot) words(plot);
