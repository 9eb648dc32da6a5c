"""Fetch the data, as `fairlab data fetch` does: python data_scripts/fetch.py [NAME ...]."""

import sys

from fairlab.data import DataError, fetch

if __name__ == "__main__":
    try:
        fetch(sys.argv[1:] or None, report=print)
    except DataError as error:
        sys.exit(f"error: {error}")
