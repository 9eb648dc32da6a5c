import re
from html.parser import HTMLParser

import numpy as np
from audited import finding, people, report

from fairlab.auditing import page
from fairlab.cases import MethodResult

VOID = {"meta", "img"}


class Tags(HTMLParser):
    """Checks that tags are closed in the order in which they were opened."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_one_whole_file_without_addresses(tmp_path):
    text = report().to_html(tmp_path / "audit.html")
    assert (tmp_path / "audit.html").read_text(encoding="utf-8") == text
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    assert tags.seen.count("img") == 1
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    assert "http" not in text
    assert "script" not in tags.seen


def test_it_opens_with_the_paragraph_and_ends_with_how_to_read_it():
    text = report(warnings=("The model is slow.",)).to_html()
    parts = ["was tested on 400 people", "The model is slow.", "What was found", "Effects", "Rows that show it",
             "<h2>Not assessed", "How to read this"]  # fmt: skip
    assert sorted(parts, key=text.index) == parts


def test_names_and_values_are_text_never_markup():
    evil = "<script>alert('x')</script>"
    table = people().assign(job=evil)
    bad = finding(table, sensitive_features=evil, where=evil, effect=evil, method=evil)
    text = report(MethodResult(evil, (bad,), (evil,), 0, 0), table=table, warnings=(evil,)).to_html(rows="all")
    assert "<script" not in text
    assert text.count("&lt;script&gt;") > 5


def test_rows_follow_what_was_asked_for():
    table = people()
    none, binned, everything = (report().to_html(rows=rows) for rows in ("none", "binned", "all"))
    assert "Rows that show it" not in none
    assert ">p3<" not in binned
    assert "astronaut" not in binned
    assert all(f"<td>p{i}</td>" in everything for i in range(10))
    assert "6 of 10 people of the table" in binned
    made = table.head(2).reset_index(drop=True)
    made.attrs["generated"] = True
    examined = MethodResult("ADF", (finding(table, evidence=made, method="ADF"),), (), 0, 0)
    assert "2 of 2 generated inputs" in report(examined).to_html()


def test_a_finding_without_a_test_or_without_numbers_is_shown():
    odd = finding(people(), np.nan, np.nan, low=np.nan, high=np.nan)
    assert "no test" in report(MethodResult("FlipTest", (odd,), (), 0, 0)).to_html()


def test_a_fragment_has_no_frame():
    assert "<html" not in page.fragment(report(), "binned")
