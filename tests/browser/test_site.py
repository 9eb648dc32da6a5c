"""The site in a real browser."""

import contextlib
import functools
import http.server
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from fairlab.suite.site.rows import anchor

pytestmark = pytest.mark.browser

WIDTHS = (1400, 800, 390)
LARGEST_PAGE = 3_000_000
LARGEST_SITE = 60_000_000
LOOKED_AT = (
    "index.html",
    "scorecard.html",
    "papers/adf.html",
    "papers/individual_fairness.html",
    "notebooks/adf/versus_aequitas.html",
    "notebooks/start_here.html",
    "gallery/themis.html",
    "reference/fairlab.fliptest.html",
    "labs/index.html",
    "labs/berkeley.html",
    "guide/verdicts.html",
    "your_model.html",
    "architecture.html",
    "contributing.html",
    "search.html",
)
SERIOUS = ("serious", "critical")
IDS_AND_LINKS = """() => [
    [...document.querySelectorAll('[id], [name]')].flatMap(one => [one.id, one.getAttribute('name')]),
    [...document.querySelectorAll('a[href]')].map(link => link.href),
]"""


def shown_rows(page):
    """Return the anchors of the rows that are to be seen, in their order."""
    return page.eval_on_selector_all("#scorecard-table tbody tr", "rows => rows.filter(r => !r.hidden).map(r => r.id)")


def anchors(rows):
    return [anchor(row) for row in rows]


def open_page(page, site, name):
    page.goto(f"{site.as_uri()}/{name}")


def dead_links(pages):
    """Return the links of pages (ids and links by path) to what does not exist."""
    found = [(path, urlsplit(link)) for path, (_, links) in pages.items() for link in set(links)]
    targets = [(path, link, Path(unquote(link.path))) for path, link in found if link.scheme == "file"]
    return [
        f"{path}: {link.geturl()}"
        for path, link, target in targets
        if not target.exists() or (link.fragment and target in pages and unquote(link.fragment) not in pages[target][0])
    ]


def test_pages_have_no_errors_dead_links_external_requests_overflow_or_excess_size(page, site):
    faults, asked, pages = [], [], {}
    page.on("console", lambda message: message.type == "error" and faults.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
    page.on("requestfailed", lambda request: faults.append(f"{page.url}: {request.url} failed"))
    page.on("request", lambda request: asked.append(request.url))
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri())
        pages[file] = page.evaluate(IDS_AND_LINKS)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                faults.append(f"{file.relative_to(site)}: {wide} pixels wide at {width}")
        if file.stat().st_size >= LARGEST_PAGE:
            faults.append(f"{file.relative_to(site)}: {file.stat().st_size} bytes")
    assert not faults + dead_links(pages), "\n".join(faults + dead_links(pages))
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert sum(file.stat().st_size for file in site.rglob("*") if file.is_file()) < LARGEST_SITE


def test_it_works_below_any_path_of_a_server(page, site):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site.parent)
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, contextlib.ExitStack() as end:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        end.callback(server.shutdown)
        answers = []
        page.on("response", lambda response: answers.append((response.status, response.url)))
        page.goto(f"http://127.0.0.1:{server.server_port}/{site.name}/papers/adf.html")
        page.click(".fl-marks a >> nth=0")
        page.wait_for_url("**/scorecard.html#adf:*")
        assert not [answer for answer in answers if answer[0] >= 400]


@pytest.mark.parametrize(
    "choice",
    [
        {"paper": "adf"},
        {"data": "surrogate"},
        {"profile": "none"},
        {"paper": "fairtest", "artefact": "table-2", "verdict": "exact"},
    ],
    ids=str,
)
def test_filters_show_matching_rows(page, site, rows, choice):
    open_page(page, site, "scorecard.html")
    assert shown_rows(page) == anchors(rows)
    for name, value in choice.items():
        page.select_option(f"select[name={name}]", value)
    expected = [row for row in rows if all(str(getattr(row, name) or "none") == choice[name] for name in choice)]
    assert shown_rows(page) == anchors(expected)
    assert page.text_content(".fl-count") == f"{len(expected)} of {len(rows)} rows"
    if "paper" in choice:
        offered = page.eval_on_selector_all("select[name=artefact] option:not([disabled])", "o => o.map(o => o.value)")
        assert sorted(offered) == sorted({"", *(row.artefact for row in rows if row.paper == choice["paper"])})
    page.click("button[type=reset]")
    page.wait_for_function(f"document.querySelector('.fl-count').textContent.startsWith('{len(rows)} ')")


def test_rows_are_ordered_by_difference(page, site, rows):
    open_page(page, site, "scorecard.html?order=largest")
    sizes = {anchor(row): abs(row.relative_difference) for row in rows if row.relative_difference is not None}
    shown = [sizes.get(row, -1) for row in shown_rows(page)]
    assert len(shown) == len(rows)
    assert shown == pytest.approx(sorted(shown, reverse=True), rel=1e-5)
    page.select_option("select[name=order]", "smallest")
    least = [sizes[row] for row in shown_rows(page)[: len(sizes)]]
    assert least == pytest.approx(sorted(sizes.values()), rel=1e-5)


def test_search_finds_rows_by_their_words(page, site, rows):
    open_page(page, site, "scorecard.html")
    page.fill("input[name=search]", "credit.gender aequitas")
    found = shown_rows(page)
    expected = [row for row in rows if "credit.gender" in row.id and "aequitas" in row.id]
    assert set(anchors(expected)) <= set(found)
    assert len(found) < len(rows)
    page.fill("input[name=search]", "no such words")
    assert shown_rows(page) == []


def test_link_to_a_row_overrides_filters(page, site, rows):
    row = next(row for row in rows if row.verdict == "exact")
    open_page(page, site, f"scorecard.html?verdict=differs#{anchor(row)}")
    page.wait_for_function(f"!document.getElementById('{anchor(row)}').hidden")
    assert page.locator(f"[id='{anchor(row)}']").is_visible()


def test_the_legend_leads_to_its_rows(page, site, rows):
    open_page(page, site, "index.html")
    page.click(".fl-legend a >> text=differs")
    page.wait_for_url("**/scorecard.html?verdict=differs")
    assert shown_rows(page) == anchors(row for row in rows if row.verdict == "differs")


def test_without_scripts_the_scorecard_is_a_plain_table(browser, site, rows):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    open_page(page, site, "scorecard.html")
    assert page.locator("#scorecard-table tbody tr").count() == len(rows)
    assert page.locator("#scorecard-table tbody tr").first.is_visible()
    assert page.locator(".fl-controls").count() == 0
    context.close()


def test_landing_page_links_to_table_and_audit(page, site):
    open_page(page, site, "index.html")
    page.click(".fl-paper:has-text('ADF') a >> text='Table 4'")
    page.wait_for_url("**/papers/adf.html#table-4")
    text = page.text_content("article")
    assert "Differences and reasons." in text.split("Table 4: ADF against")[1].split("Table 5: ADF against")[0]
    open_page(page, site, "index.html")
    page.click(".sd-card:has-text('Audit your model')")
    page.wait_for_url("**/your_model.html")


def test_the_keyboard_reaches_everything(page, site):
    open_page(page, site, "index.html")
    focused = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        focused.add(page.evaluate("document.activeElement.getAttribute('href') || document.activeElement.tagName"))
    wanted = page.eval_on_selector_all(
        "article a:not([tabindex='-1']):not(.headerlink)", "all => all.map(a => a.getAttribute('href'))"
    )
    assert set(wanted) <= focused
    page.focus(".fl-artefact > a")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.closest('.fl-marks') !== null")
    open_page(page, site, "scorecard.html")
    page.focus("input[name=search]")
    for _ in range(3):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "verdict"
    page.keyboard.type("differs")
    assert page.eval_on_selector("select[name=verdict]", "select => select.value") == "differs"


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_is_readable_for_everybody(browser, site, name, colours):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme=colours)
    page = context.new_page()
    open_page(page, site, f"{name}?verdict=fails" if name == "scorecard.html" else name)
    found = axe.run(page).response["violations"]
    violations = [
        f"{one['id']} ({one['impact']}): {one['help']}: {node['html'][:200]}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"][:3]
    ]
    context.close()
    assert not violations, "\n".join(violations)
