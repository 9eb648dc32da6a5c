from fairlab.suite.site.reference import PACKAGES, described, package_page, public_names


def test_every_public_name_is_in_the_reference_once():
    places = [
        (id(described(package, name)), f"{package}.{name}") for package in PACKAGES for name in public_names(package)
    ]
    assert len({place for place, _ in places}) == len(places)
    assert {"fairlab.auditing.audit", "fairlab.Experiment"} < {name for _, name in places}
    assert "* ``fairlab.audit`` is :obj:`fairlab.auditing.audit`\n" in package_page("fairlab")


def test_a_page_has_a_section_for_each_name():
    page = package_page("fairlab.fliptest")
    assert ".. autofunction:: fairlab.fliptest.flipset\n" in page
    assert ".. autodata:: fairlab.fliptest.COSTS\n" in page
    assert ".. autoclass:: fairlab.fliptest.Flipset\n   :members:" in page
