"""Count Themis' stored test suites anew: python data_scripts/count_themis_suites.py [--fetch] [--write].

The suites behind figures 1 and 2 may be used for academic work only; they are no part of the project and are fetched
when asked for, never by default. ``themis_suites.csv`` beside this file has the counts that determine each score. This
script counts the files again, each checked by its hash, and reports the suites whose counts differ.

--fetch   first fetch the files that are not here; doing so, you accept their terms
--write   write the table with the new counts of the files that are here; the others keep theirs
"""

import sys

import pandas as pd
import pooch

from fairlab.data import DataError
from fairlab.data.files import fetch_file, find_fault, local_copy
from fairlab.papers.themis.suites import TABLE, as_table, stored_suites


def main(options: list[str]) -> int:
    """Return 1 if counts differ from the table's, or a file is not available, else 0."""
    counted, hashes, refused = {}, {}, []
    for suite in stored_suites():
        try:
            copy = fetch_file(suite.file) if "--fetch" in options else local_copy(suite.file)
        except DataError as error:
            refused.append(str(error))
            continue
        if copy is None:
            continue
        if fault := find_fault(suite.file, copy):
            refused.append(f"{suite.path}: {fault}")
            continue
        counted[suite.path], hashes[suite.path] = suite.count(copy), pooch.file_hash(str(copy))
    table, found = pd.read_csv(TABLE, dtype={"stretches": "Int64"}), as_table(counted, hashes)
    known = table[table["path"].isin(counted)]
    unequal = [path for path in counted if not rows_of(found, path).equals(rows_of(known, path))]
    print(*refused, *(f"{path}: counts are not those of the table" for path in unequal), sep="\n")
    print(f"{len(counted)} of {len(stored_suites())} suites are here, {len(unequal)} are not as in {TABLE.name}")
    if "--write" in options:
        rest = table[~table["path"].isin(counted)]
        order = [suite.path for suite in stored_suites()]
        pd.concat([rest, found]).sort_values("path", key=lambda paths: paths.map(order.index), kind="stable").to_csv(
            TABLE, index=False
        )
    return int(bool(refused or unequal))


def rows_of(table: pd.DataFrame, path: str) -> pd.DataFrame:
    """Return the rows of one suite."""
    return table[table["path"] == path].reset_index(drop=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
