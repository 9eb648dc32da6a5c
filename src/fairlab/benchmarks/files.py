"""FairTest on Parquet files: a hundred million decisions, encoded once and counted in place."""

import resource
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fairlab.benchmarks import GB, Measurement, benchmark, in_fresh_process, missing, processes, timed
from fairlab.checks import required

N_ROWS, ROWS_OF_FILE = 100_000_000, 10_000_000
SIZES = {10**6: "million", 10**7: "ten_million", 10**8: "hundred_million"}
CONTEXT = {"race": 5, "region": 20, "education": 6, "job": 40, "remote": 2, "level": 10}  # and age, income
PLANTED = "region = 7 and sex = 'f' and age > 50"  # people who are hired less often
PEER_SIZES, PEER_SECONDS, PEER_GB = (10**5, 10**6, 10**7), 120, 8


@benchmark
def fairtest_hundred_million(*, quick: bool, rows: int = N_ROWS) -> Iterator[Measurement]:
    """Encode and test 100 million decisions in Parquet files, a tenth and a hundredth; what peers reach."""
    rows, found = min(rows, 3 * 10**5) if quick else rows, {}
    with TemporaryDirectory() as folder:
        for n in (rows // 100, rows // 10, rows):
            files, codes = make_files(Path(folder, str(n)), n), Path(folder, f"codes of {n}")
            found[n] = [in_fresh_process(work, files, codes) for work in (encode_files, test_codes)]
            yield from _rows(n, *found[n])
        yield from (_law(name, found, place) for place, name in enumerate(("encoding", "fairtest")))
        for module in ("sliceline", "divexplorer"):
            yield from against(module, files, [n for n in PEER_SIZES if n <= rows])


def _rows(n, encoding, testing) -> list[Measurement]:
    name, size = f"fairtest_{SIZES.get(n, f'{n}_rows')}", f"{n:,} rows of 10 columns and a key"
    rows = []
    for what, ((wall, cpu, about), peak) in (("_encoding", encoding), ("", testing)):
        note = f"{size}, {about}; {cpu:.0f} CPU seconds"
        rows.append(Measurement(f"{name}{what}_seconds", wall, "s", note=note))
        rows.append(Measurement(f"{name}{what}_peak_gb", peak / GB, "GB", note=f"{size}: the whole process"))
    return rows


def _law(name, found, place) -> Measurement:
    """Return the CPU seconds of each additional million rows, by least squares; the note has the fixed seconds."""
    sizes = np.array([*found]) / 1e6
    seconds = np.array([each[place][0][1] for each in found.values()])
    slope, once = np.polyfit(sizes, seconds, 1, w=1 / np.maximum(seconds, 1))
    peaks = ", ".join(f"{each[place][1] / GB:.2f}" for each in found.values())
    note = f"CPU seconds: {once:.1f} and {slope:.3f} for each million, from {', '.join(f'{n:,}' for n in found)} rows"
    return Measurement(f"{name}_cpu_seconds_a_million", slope, "s", note=f"{note}; peaks of {peaks} GB")


def make_files(folder: Path, n: int) -> str:
    """Write decisions with a planted subgroup as Parquet; return the pattern of the files."""
    folder.mkdir()

    def uniform(salt):
        return f"(hash(id, {salt}) % 1000003 / 1000003.0)"

    columns = ["id", f"case when {uniform(0)} < 0.5 then 'f' else 'm' end as sex"]
    columns += [
        f"18 + floor(60 * {uniform(1)})::int as age",
        f"round(2e4 + 8e4 * {uniform(2)} * {uniform(3)}) as income",
    ]
    codes = {name: f"floor({k} * {uniform(4 + i)})::int" for i, (name, k) in enumerate(CONTEXT.items())}
    columns += [f"{code} as {name}" for name, code in codes.items()]
    texts = ", ".join(f"'{name} ' || {name} as {name}" for name in ("race", "region", "education", "job"))
    hired = f"case when {uniform(99)} < 0.3 - 0.1 * ({PLANTED})::int then 'yes' else 'no' end as hired"
    with required("duckdb").connect(config={"memory_limit": "1GB", "temp_directory": ""}) as connection:
        connection.execute("set enable_progress_bar = false")
        for start in range(0, n, ROWS_OF_FILE):
            rows = f"select {', '.join(columns)} from range({start}, {min(start + ROWS_OF_FILE, n)}) as numbers(id)"
            query = f"select * replace ({texts}, remote = 1 as remote), {hired} from ({rows})"
            file = folder / f"part-{start // ROWS_OF_FILE:03}.parquet"
            connection.execute(f"copy ({query}) to '{file}' (format parquet)")
    return str(folder / "*.parquet")


def encode_files(files: str, codes: Path) -> tuple[float, float, str]:
    """Encode files; return wall and CPU seconds, and what was done."""
    from fairlab.cases.tables import encode

    wall, cpu = time.perf_counter(), time.process_time()
    encode(files, codes, key="id")
    return time.perf_counter() - wall, time.process_time() - cpu, "from Parquet to codes, the key checked"


def test_codes(files: str, codes: Path) -> tuple[float, float, str]:
    """Run all of FairTest on codes; return wall and CPU seconds, and what was found."""
    from fairlab.cases.tables import Folder
    from fairlab.fairtest import DataSource, Investigation

    wall, cpu = time.perf_counter(), time.process_time()
    source = DataSource(Folder(codes), split="hash", key="id")
    investigation = Investigation("sex", "hired", max_depth=5, min_leaf_size=1_000).fit(source)
    report = investigation.test()
    strongest = report.to_frame().sort_values("low")["context"].iloc[-1]
    about = (
        f"a tree of depth 5 over 8 columns, {report.counts()['tested'].sum()} contexts tested, strongest: {strongest}"
    )
    return time.perf_counter() - wall, time.process_time() - cpu, about


test_codes.__test__ = False  # not a pytest test


def against(module: str, files: str, sizes: list[int]) -> list[Measurement]:
    """Return the seconds of a peer on more and more rows, until it exceeds its time or memory."""
    rows = []
    for n in sizes:
        name = f"{module}_{n}_rows_seconds"
        pool = processes(1)
        asked = pool.submit(_peer, module, files, n)
        try:
            seconds, peak, about = asked.result(timeout=PEER_SECONDS)
            rows.append(Measurement(name, seconds, "s", note=f"{n:,} rows, peak {peak:.1f} GB, {about}"))
            pool.shutdown()
            continue
        except TimeoutError:
            why = f"not done after {PEER_SECONDS} s"
        except ImportError as error:
            why = f"not installed ({error}): pip install 'fairlab[peers]'"
        except Exception as error:  # MemoryError, and whatever a library makes of it; a killed process
            why = f"{type(error).__name__} within {PEER_GB} GB"
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(cancel_futures=True)
        return [*rows, missing(name, "s", f"{n:,} rows: {why}")]
    return rows


def _peer(module, files, n) -> tuple[float, float, str]:
    from importlib import import_module

    from fairlab.benchmarks.peers import PEERS, in_parts
    from fairlab.suite.run import peak_memory_gb

    import_module(module)
    resource.setrlimit(resource.RLIMIT_AS, (PEER_GB * 10**9,) * 2)
    data = required("duckdb").sql(f"select * exclude id from '{files}' limit {n}").df()
    table, hits = in_parts(data.drop(columns="hired")), (data["hired"] == "yes").to_numpy().astype(int)
    search, gives = PEERS[module]
    seconds, found = timed(lambda: search(table, hits))
    return seconds, peak_memory_gb(), f"{found:,} {gives}"
