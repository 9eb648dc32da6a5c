"""The first screen of an audit's report, as people see it: on a desk and on a phone."""

import other_tools
import planted
import pytest

pytestmark = pytest.mark.browser

SCREENS = {"desk": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def report():
    """An audit of a model in which women of one group need more, with many findings by two features."""
    [model] = [each for each in planted.biased() if each.name == "women of group B need more"]
    return other_tools.audited(model, budget=20_000)


@pytest.mark.parametrize("screen", SCREENS)
def test_the_first_screen_has_the_verdict_and_the_groups_and_nothing_is_beside_it(report, page, tmp_path, screen):
    width, height = SCREENS[screen]
    page.set_viewport_size({"width": width, "height": height})
    report.to_html(tmp_path / "audit.html")
    page.goto((tmp_path / "audit.html").as_uri())
    assert page.locator(".word").inner_text() == "Difference found"
    first = page.locator(".word, .summary, .bars")
    assert first.count() == 4, "verdict, sentence, a table of bars for each sensitive feature"
    for box in (first.nth(place).bounding_box() for place in range(first.count())):
        assert 0 <= box["x"] <= width - box["width"]
        assert box["y"] + box["height"] <= height
    ratios = page.locator(".bars .ratio").all_inner_texts()
    expected = [report.groups[name]["impact ratio"].sort_values() for name in ("sex", "race")]
    assert ratios == [f"{ratio:.2f}" for table in expected for ratio in table]
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.locator(".wide").evaluate_all("all => all.map(each => [each.scrollWidth, each.clientWidth])")
    assert len(sizes) > 5 and all(needed <= there for needed, there in sizes), sizes
    heights = page.locator(".bars th:first-child").evaluate_all("all => all.map(each => each.clientHeight)")
    assert max(heights) < 40, "a name has one line"
