from fairlab.papers.themis.instances import INSTANCES, instance_table, sensitive_sizes


def test_there_are_twenty_instances_of_eight_systems():
    table = instance_table()
    assert len(table) == len({instance.id for instance in INSTANCES}) == 20
    assert table["system"].nunique() == 8
    assert table["aware"].sum() == 12
    assert table["trained for"].value_counts().to_dict() == {"gender": 8, "unaware": 8, "race": 4}


def test_ids_and_input_spaces():
    by_id = {instance.id: instance for instance in INSTANCES}
    assert by_id["b.census.race"].tested == ("race", "gender")
    assert by_id["e.credit.unaware"].tested == ("gender",)
    assert len(by_id["b.census.race"].schema.names) == 13
    assert len(by_id["e.credit.unaware"].schema.names) == 20


def test_sets_are_named_as_in_figure_2():
    census, credit = (next(i for i in INSTANCES if i.data == data) for data in ("census", "credit"))
    assert credit.sets(1) == [f"{credit.id}.age", f"{credit.id}.gender"]
    assert credit.sets(2) == [f"{credit.id}.age_gender"]
    assert len(census.sets(2)) == 15
    assert f"{census.id}.country_race" in census.sets(2)


def test_sizes_of_sensitive_characteristics():
    sizes = sensitive_sizes()
    assert sizes["census"].to_dict() == {"age": 10, "country": 40, "gender": 2, "marital": 7, "race": 5, "relation": 6}
    assert sizes["credit"].dropna().to_dict() == {"age": 75, "gender": 2}
