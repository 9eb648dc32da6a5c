"""The paper's subjects: twenty instances of eight systems (section 5.1), and the inputs that they are tested on.

The input spaces are those of the published suites, wider than the data that the systems learned from. Values are the
codes of the encoded data, from 0 on. Age 0, countries without people and capital gains that never occur are among them;
the code 100 for a missing value is not.
"""

from dataclasses import dataclass
from itertools import combinations

from fairlab.cases.schema import Schema


def _codes(**sizes: int) -> Schema:
    return Schema.from_dict({name.replace("__", "-"): range(size) for name, size in sizes.items()})


CENSUS = _codes(
    age=10, workclass=8, fnlwgt=70, education=16, marital__status=7, occupation=14, relationship=6, race=5, sex=2,
    capital__gain=100, capital__loss=40, hours__per__week=100, native__country=40,
)  # fmt: skip
CREDIT = _codes(
    status=4, duration=80, history=5, purpose=11, amount=200, savings=5, employment=5, installment_rate=4, sex=2,
    debtors=3, residence=4, property=4, age=75, other_plans=3, housing=3, credits=4, job=4, liable=3, telephone=2,
    foreign=2,
)  # fmt: skip
INPUT_SPACES = {"census": CENSUS, "credit": CREDIT}
# Characteristics that the paper calls sensitive, by its word for them. The credit data has age and gender only.
SENSITIVE = {
    "age": "age",
    "country": "native-country",
    "gender": "sex",
    "marital": "marital-status",
    "race": "race",
    "relation": "relationship",
}
AWARE, UNAWARE = "abcd", "efgh"


@dataclass(frozen=True)
class Instance:
    """A system trained on a data set.

    Attributes
    ----------
    system : str
        A letter from a to h.
    data : {"census", "credit"}
    trained_for : {"gender", "race", "unaware"}
        Characteristic that it was trained not to discriminate by, if any.
    """

    system: str
    data: str
    trained_for: str

    @property
    def id(self) -> str:
        """Prefix of the ids of its published values."""
        return f"{self.system}.{self.data}.{self.trained_for}"

    @property
    def schema(self) -> Schema:
        """The inputs that it is tested on."""
        return INPUT_SPACES[self.data]

    @property
    def tested(self) -> tuple[str, ...]:
        """Characteristics that figure 1 tests, by the paper's words for them."""
        return ("race", "gender") if self.data == "census" else ("gender",)

    def sets(self, size: int) -> list[str]:
        """Return the ids of all sets of `size` of its sensitive characteristics, named as in figure 2."""
        return [f"{self.id}.{'_'.join(words)}" for words in combinations(self.sensitive_features, size)]

    @property
    def sensitive_features(self) -> dict[str, str]:
        """Its sensitive characteristics, by the paper's word."""
        return {word: name for word, name in SENSITIVE.items() if name in self.schema.names}


def _instances_of(system: str) -> list[Instance]:
    if system in UNAWARE:
        return [Instance(system, data, "unaware") for data in ("credit", "census")]
    return [Instance(system, *case) for case in (("credit", "gender"), ("census", "gender"), ("census", "race"))]


INSTANCES = tuple(
    instance for system in AWARE + UNAWARE for instance in _instances_of(system)
)  # as figure 1 lists them
