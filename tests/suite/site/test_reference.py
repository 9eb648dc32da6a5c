from fairlab.suite.site.reference import PACKAGES, described, package_page, public_names


def test_every_public_name_is_in_the_reference_once():
    places = [
        (id(described(package, name)), f"{package}.{name}") for package in PACKAGES for name in public_names(package)
    ]
    assert len({place for place, _ in places}) == len(places)
    assert {"fairlab.auditing.audit", "fairlab.Experiment"} < {name for _, name in places}
    assert "* ``fairlab.audit`` is :obj:`fairlab.auditing.audit`\n" in package_page("fairlab")
