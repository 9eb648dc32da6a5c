"""Tables of codes and numbers, in memory or in an engine, from which only counts are taken.

An `EngineTable` holds a table of pandas, Polars, Arrow, DuckDB, PySpark or Spark Connect; if the engine fails, an
`EngineError` names the columns. `engine_table` accepts any of these. A `Table` counts people by keys: the `Code` of a
category, the `Cut` of a number at thresholds (see `find_thresholds`), and the `Split` into parts, such as the nodes
of a tree. The cut of a `Hash` divides people pseudo-randomly.

Examples
--------
>>> from fairlab.cases.tables import Code, Column, Cut, Hash, InMemory, Split, Table, find_thresholds
>>> people = {"id": Column("id", np.arange(1000)), "sex": Column("sex", np.arange(1000) % 2, ("f", "m"))}
>>> table = InMemory(people)
>>> isinstance(table, Table), find_thresholds(people["id"].values, max_bins=1).tolist()
(True, [499.5])
>>> half = Cut(Hash.keyed("id", random_state=0), (2**30,))
>>> counts, of_women = table.tabulate([(half, Code("sex", 2)), (Split(None, ((Code("sex", 2), (0, -1)),), 1), half)])
>>> int(counts.sum()), bool((counts[:, 0] == of_women[0]).all()), bool((counts > 200).all())
(1000, True, True)

The same counts of a table that pandas, or any other engine, holds:

>>> from fairlab.cases.tables import EngineError, EngineTable, engine_table
>>> other = engine_table(pd.DataFrame({"id": np.arange(1000), "sex": ["f", "m"] * 500}), "table")
>>> other.add(Column("sex", None, ("f", "m")), {"f": 0, "m": 1})
>>> bool((other.tabulate([(half, Code("sex", 2))])[0] == counts).all()), issubclass(EngineError, ValueError)
(True, True)

And of files, which are read once:

>>> from tempfile import TemporaryDirectory
>>> from fairlab.cases.tables import FilesError, Folder, encode
>>> with TemporaryDirectory() as place:
...     pd.DataFrame({"id": np.arange(1000), "sex": ["f", "m"] * 500}).to_csv(f"{place}/people.csv", index=False)
...     codes = Folder(encode(f"{place}/*.csv", f"{place}/codes", key="id"))
...     codes.add(Column("sex", None, ("f", "m")), {"f": 0, "m": 1})
...     print(bool((codes.tabulate([(half, Code("sex", 2))])[0] == counts).all()), issubclass(FilesError, ValueError))
True True
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
