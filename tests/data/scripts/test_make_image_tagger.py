import pytest
from sklearn.model_selection import train_test_split

from fairlab.data import DataError, load
from fairlab.data.tables import load_script
from fairlab.paths import project

DATA_SCRIPTS = project().data_scripts

MAKE = load_script(DATA_SCRIPTS / "make_image_tagger.py")
SIZES = {"caffe": (1372, 1243, 200), "overfeat": (1404, 1243, 745)}


def files(tmp_path, text):
    paths = {name: tmp_path / f"{tagger}.txt" for tagger, name in MAKE.FILES.items()}
    for path in paths.values():
        path.write_text(text)
    return paths


def test_make_by_hand(tmp_path):
    text = "Race\tLabels\nBlack\t['hat', \"jack-o'-lantern\", 'NA', 'tie', 'tie']\n"
    table = MAKE.make(files(tmp_path, text))
    assert table.to_numpy().tolist() == [
        ["caffe", "Black", "hat|jack-o'-lantern|NA|tie|tie"],
        ["overfeat", "Black", "hat|jack-o'-lantern|NA|tie|tie"],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("race\tLabels\n", r"caffe\.txt: columns are race, Labels; expected Race, Labels"),
        ("Race\tLabels\nWhite\t['a', 'b', 'c', 'd', 'e']\nBlack\t['hat']\n", "row 1 has 1 labels, expected 5"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        MAKE.make(files(tmp_path, text))


@pytest.mark.parametrize("tagger", SIZES)
def test_real_labels(mirror, drawn_once, tagger):
    dataset = load("image-tagger", labels=tagger)
    assert dataset.provenance.source == "real"
    lines = (mirror / MAKE.FILES[tagger]).read_text().splitlines()[1:]
    assert dataset.target.tolist() == [line.split("\t")[0] for line in lines]
    some = [0, 1000, len(lines) - 1]
    for row in some:
        labels = set(MAKE.literal_eval(lines[row].split("\t")[1]))
        assert set(dataset.features.columns[dataset.features.loc[row] == 1]) == labels
    surrogate = load("image-tagger", labels=tagger, surrogate=True)
    counts = [d.features.groupby(d.target, observed=True).sum() for d in (dataset, surrogate)]
    assert counts[0].equals(counts[1])


def test_shares_of_labels_in_the_held_out_half(mirror):
    # Figure 9 of the paper, in percent, with the split of its code.
    published = {"cart": (4, 0), "drum": (4, 0), "helmet": (8, 3), "face powder": (1, 10), "maillot": (4, 15)}
    dataset = load("image-tagger")
    half = train_test_split(dataset.features, train_size=0.5, random_state=0)[1]
    shares = half.groupby(dataset.target.loc[half.index], observed=True).mean()
    assert len(half) == 1308
    for label, percent in published.items():
        assert tuple((100 * shares[label]).round()) == percent
