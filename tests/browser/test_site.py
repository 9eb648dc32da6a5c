"""The site in a real browser."""

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

pytestmark = pytest.mark.browser

WIDTHS = (1400, 800, 390)
LARGEST_PAGE = 1_000_000  # bytes, of a page but the scorecard
LARGEST_SITE = 26_000_000
LOOKED_AT = (
    "index.html",
    "scorecard.html",
    "sample_report.html",
    "methods.html",
    "reproduce.html",
    "papers/index.html",
    "notebooks/index.html",
    "gallery/index.html",
    "reference/index.html",
    "guide/index.html",
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
# What no page may have at any width; a picture has 150 pixels an inch, and its text at least 7 points.
FAULTS = """() => {
    const all = selector => [...document.querySelectorAll(selector)], width = innerWidth, found = [];
    const wide = document.documentElement.scrollWidth;
    if (wide > width) found.push(`${wide} pixels wide`);
    for (const image of all('article img:not([width][height], [style*=height])'))
        found.push(`${image.src.slice(0, 80)} has no size`);
    for (const image of all("article img[src*='figures/']").filter(image => image.width))
        if (image.width / image.getAttribute('width') * 7 / 72 * 150 < 9)
            found.push(`${image.src.slice(-80)} has text below nine pixels`);
    for (const image of all("main p img[src$='.svg']").filter(image => image.width))
        if (image.width < image.naturalWidth - 1 || image.closest('p').scrollWidth < image.width)
            found.push(`${image.src.slice(-80)} is not as wide as drawn`);
    for (const label of all('.fl-bar i b')) {
        const own = label.getBoundingClientRect(), segment = label.parentElement.getBoundingClientRect();
        const hidden = own.top >= segment.bottom - 1;
        if (!hidden && (own.left < segment.left - 0.5 || own.right > segment.right + 0.5))
            found.push(`${label.textContent} in a bar is cut`);
    }
    for (const cell of all('main :is(td, th, dd, li, p)')) {
        const style = getComputedStyle(cell), words = cell.innerText.trim().split(/\\s+/);
        const room = cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        if (cell.clientHeight > 60 && room < 30 && words.some(word => word.length > 5))
            found.push(`${cell.innerText.slice(0, 40)} is a letter wide`);
    }
    return found.map(fault => `${fault} at ${width}`);
}"""
# Lines of code that their block does not show whole on a desk.
LONG_CODE = """() => {
    document.querySelectorAll('details:not(.fairlab *)').forEach(each => each.open = true);
    return [...document.querySelectorAll('article pre:not(.cell_output pre)')].filter(block =>
        block.scrollWidth > block.clientWidth + 1
    ).map(block => block.textContent.split('\\n').sort((a, b) => b.length - a.length)[0]);
}"""
IDS_AND_LINKS = """() => [
    [...document.querySelectorAll('[id], [name]')].flatMap(one => [one.id, one.getAttribute('name')]),
    [...document.querySelectorAll('a[href]')].map(link => new URL(link.getAttribute('href'), location).href),
]"""


def shown_rows(page):
    """Return the anchors of the rows that a search or filters show, in their order; of all that are folded if none."""
    while page.locator(".fl-more").is_visible():
        page.click(".fl-more")
    table = "#scorecard-found" if page.locator("#scorecard-found").is_visible() else "#scorecard-rows"
    return page.eval_on_selector_all(f"{table} tbody tr", "rows => rows.map(row => row.id)")


def anchors(rows):
    return [row.address for row in rows]


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


def test_pages_have_no_errors_dead_links_external_requests_or_faults_at_any_width(page, site):
    faults, asked, pages = [], [], {}
    page.on("console", lambda message: message.type == "error" and faults.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
    page.on("requestfailed", lambda request: faults.append(f"{page.url}: {request.url} failed"))
    page.on("request", lambda request: asked.append(request.url))
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri())
        pages[file] = page.evaluate(IDS_AND_LINKS)
        long = page.evaluate(LONG_CODE)
        for width in reversed(WIDTHS):  # the next page is opened on a desk again
            page.set_viewport_size({"width": width, "height": 900})
            faults += [f"{file.relative_to(site)}: {fault}" for fault in page.evaluate(FAULTS)]
        faults += [f"{file.relative_to(site)}: {line}" for line in long]
        if file.stat().st_size >= LARGEST_PAGE and file.name != "scorecard.html":
            faults.append(f"{file.relative_to(site)}: {file.stat().st_size} bytes")
    assert not faults + dead_links(pages), "\n".join(faults + dead_links(pages))
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    files = [file for file in site.rglob("*") if file.is_file() and "lite" not in file.parts]
    assert sum(file.stat().st_size for file in files) < LARGEST_SITE
    pictures = [file.read_bytes() for file in files if file.suffix == ".png"]
    assert len(set(pictures)) == len(pictures)


@pytest.mark.parametrize(
    "choice",
    [
        {"paper": "adf"},
        {"data": "surrogate"},
        {"profile": "none"},
        {"apart": "unsettled"},
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
    assert page.text_content(".fl-count") == f"{len(expected):,} of {len(rows):,} rows"
    assert dict(parse_qsl(urlsplit(page.url).query)) == choice
    page.reload()
    assert shown_rows(page) == anchors(expected)
    if "paper" in choice:
        offered = page.eval_on_selector_all("select[name=artefact] option:not([disabled])", "o => o.map(o => o.value)")
        assert sorted(offered) == sorted({"", *(row.artefact for row in rows if row.paper == choice["paper"])})
    page.click("button[type=reset]")
    page.wait_for_function(f"document.querySelector('.fl-count').textContent.startsWith('{len(rows):,} ')")
    assert shown_rows(page) == anchors(rows)
    assert urlsplit(page.url).query == ""


def test_headers_sort_and_stay(page, site, rows):
    open_page(page, site, "scorecard.html?search=adf")
    sizes = {row.address: abs(row.relative_difference) for row in rows if row.relative_difference is not None}
    page.click("#scorecard-found th >> text=difference")
    assert "sort=difference" in page.url
    largest = [sizes.get(row, -1) for row in shown_rows(page)]
    assert largest == pytest.approx(sorted(largest, reverse=True), rel=1e-5)
    page.click("#scorecard-found th >> text=difference")
    smallest = [sizes[row] for row in shown_rows(page) if row in sizes]
    assert smallest == pytest.approx(sorted(smallest), rel=1e-5)
    assert page.get_attribute("#scorecard-found th[data-key=difference]", "aria-sort") == "ascending"
    page.mouse.wheel(0, 3000)
    page.wait_for_function("scrollY > 1000")
    assert 0 < page.locator("#scorecard-found th").first.bounding_box()["y"] < 200


@pytest.mark.parametrize(
    ("paper", "name", "words"), [("adf", "table-4", "ADF table 4"), ("fairtest", "figure-10", "fairtest figure 10")]
)
def test_a_table_is_found_by_its_name(page, site, rows, paper, name, words):
    open_page(page, site, "scorecard.html")
    page.fill("input[name=search]", words)
    assert shown_rows(page) == anchors(row for row in rows if (row.paper, row.artefact) == (paper, name))
    page.fill("input[name=search]", "no such words")
    assert shown_rows(page) == []
    open_page(page, site, f"search.html?q={words}")
    page.locator("#search-results li a").first.click()
    page.wait_for_url(f"**/papers/{paper}.html**")
    top = page.evaluate("document.getElementById('" + name + "').getBoundingClientRect().top")
    assert -100 < top < 200


def test_link_to_a_row_overrides_filters(page, site, rows):
    row = next(row for row in rows if row.verdict == "exact")
    open_page(page, site, f"scorecard.html?verdict=differs#{row.address}")
    page.wait_for_function(f"!document.getElementById('{row.address}').hidden")
    assert page.locator(f"[id='{row.address}']").is_visible()


def test_the_plot_names_a_mark_and_its_legend_leads_to_the_rows(page, site, rows):
    open_page(page, site, "index.html")
    page.hover(".fl-plot a >> nth=-1")
    assert page.text_content(".fl-words") == page.text_content(".fl-plot a >> nth=-1 >> title")
    page.click(".fl-legend a >> text=differs")
    page.wait_for_url("**/scorecard.html?verdict=differs")
    assert shown_rows(page) == anchors(row for row in rows if row.verdict == "differs")


def test_without_scripts_the_scorecard_is_folded_tables(browser, site, rows):
    page = browser.new_page(java_script_enabled=False)
    open_page(page, site, "scorecard.html")
    assert page.locator("#scorecard-rows tbody tr").count() == len(rows)
    row = page.locator("[id='adf:table-4'] tbody tr").first
    assert not row.is_visible()
    page.click("[id='adf:table-4'] > summary")
    assert row.is_visible()
    assert page.locator(".fl-controls").count() == 0
    assert page.evaluate("document.documentElement.scrollHeight") < 20_000
    open_page(page, site, "index.html")
    assert page.locator(".fl-plot a").count() > 1000
    page.close()


def test_the_keyboard_reaches_everything(page, site):
    open_page(page, site, "index.html")
    focused = set()
    for _ in range(250):
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
    page = browser.new_page(viewport={"width": 1400, "height": 900}, color_scheme=colours)
    open_page(page, site, f"{name}?verdict=fails" if name == "scorecard.html" else name)
    found = axe.run(page).response["violations"]
    violations = [
        f"{one['id']} ({one['impact']}): {one['help']}: {node['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]
    page.close()
    assert not violations, "\n".join(violations)


# Who comes, where they begin, what they click on, and what must then stand in the first screen.
VISITORS = {
    "journalist": ("index.html", ["a >> text=FairTest"], "text=swaps latitude and longitude"),
    "engineer": ("index.html", ["article a >> text=Audit your model"], 'pre:has-text("import fairlab")'),
    "engineer, what comes out": ("index.html", ["article a >> text=Audit your model"], "text=See this sample report"),
    "lecturer": ("index.html", ["article >> text=Teach"], 'pre:has-text("fairlab labs build")'),
    "lecturer, plan": ("index.html", ["article >> text=Teach"], "article a >> text=three weeks"),
    "lecturer, grades": ("index.html", ["article >> text=Teach"], "article a >> text=gradebook"),
    "student": ("index.html", ["article >> text=Teach", ".fl-cards a >> nth=0"], "text=Download the notebook"),
    "student of ADF": (
        "papers/adf.html",
        ["a >> text=adf/versus_aequitas"],
        'pre:has-text("fairlab run adf/versus_aequitas -p")',
    ),
    "sceptic": ("papers/themis.html", ["a >> text=26 of 64"], "tr:target"),
    "committee": ("index.html", ["article >> text=sample report"], "main .verdict"),
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("who", VISITORS)
def test_a_visitor_has_the_answer_in_two_clicks_and_one_screen(page, site, who, width):
    page.set_viewport_size({"width": width, "height": 900})
    start, clicks, answer = VISITORS[who]
    open_page(page, site, start)
    for target in clicks:
        page.locator(target).first.click()
    found = page.locator(answer).first
    found.wait_for()
    box = found.bounding_box()
    assert 0 <= box["y"] < 900 and 0 <= box["x"] < width, (who, box)
