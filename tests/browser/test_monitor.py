"""The pages of a monitor in a real browser, which gives the token as a password."""

import threading
import time

import pytest

pytestmark = pytest.mark.browser
pytest.importorskip("fastapi", reason="FastAPI is not installed; it comes with fairlab[monitor]")
uvicorn = pytest.importorskip("uvicorn")
from monitoring.streams import Monitor, decisions  # noqa: E402

PAGES = ("/", "/pages/investigations/1", "/pages/investigations/1/looks/3", "/pages/investigations/2")
EVIL = "<img src=x onerror=alert(1)> and a name that is long enough to need more than one line of a small screen"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a monitor with three looks, and the token of a reader."""
    monitor = Monitor(f"sqlite:///{tmp_path_factory.mktemp('monitor')}/m.db")
    number = monitor.register(name=EVIL)
    for part, effect in enumerate((0, 0.5, 0)):
        for start in range(4):
            monitor.send(number, decisions(500, seed=10 * part + start, effect=effect))
            time.sleep(0.002)
        monitor.look(number)
    monitor.register(name="empty")
    server = uvicorn.Server(uvicorn.Config(monitor.app, port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", monitor.tokens["reader"]
    server.should_exit = True
    thread.join()


def opened(browser, address, **settings):
    context = browser.new_context(http_credentials={"username": "anybody", "password": address[1]}, **settings)
    context.set_default_timeout(120_000)
    return context.new_page()


@pytest.mark.parametrize("width", [1400, 390])
def test_pages_fit_work_without_scripts_and_ask_no_other_host(browser, address, width):
    page = opened(browser, address, viewport={"width": width, "height": 900}, java_script_enabled=False)
    asked, faults = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: message.type == "error" and faults.append(f"{page.url}: {message.text}"))
    for name in PAGES:
        assert page.goto(address[0] + name).status == 200
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    page.goto(address[0])
    page.get_by_role("link", name=EVIL).click()
    assert page.locator("svg polyline").count() == 1
    page.get_by_text("Values").click()
    assert page.locator("details td").first.is_visible()
    page.get_by_label("from").fill("2000-01-01T00:00")
    page.get_by_role("button", name="Show").click()
    assert "start=2000-01-01T00" in page.url and page.locator("svg polyline").count() == 1
    page.get_by_role("link", name="Report of look 3").click()
    assert page.get_by_role("heading", level=1).inner_text() == f"Look 3 of {EVIL}"
    assert not faults and all(url.startswith((address[0], "data:")) for url in asked)
    page.context.close()


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_readable_for_everybody(browser, address, name, colours):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(browser, address, viewport={"width": 1400, "height": 900}, color_scheme=colours, bypass_csp=True)
    page.goto(address[0] + name)
    found = axe.run(page).response["violations"]
    page.context.close()
    assert not found, [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
