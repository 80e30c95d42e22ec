"""`mill://` against a real server, read by the libraries people use."""

from __future__ import annotations

import io
import multiprocessing
import pickle
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.data_server import DataServer, data_server

fsspec = pytest.importorskip("fsspec")

BIG = random.Random(4).randbytes(5_000_000)
ROWS = 5_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataServer]:
    root = tmp_path_factory.mktemp("filesystem")
    folder = root / "tables"
    (folder / "parts/deep").mkdir(parents=True)
    for number in range(20):
        (folder / f"parts/{number:02}.txt").write_text(f"part {number}")
    (folder / "parts/deep/x.txt").write_text("deep")
    (folder / "big.bin").write_bytes(BIG)
    (folder / "link.txt").symlink_to("parts/03.txt")
    (folder / "links").mkdir()
    (folder / "links/deep").symlink_to("../parts/deep")
    (folder / "links/nowhere").symlink_to("absent")
    (folder / "links/outside").symlink_to("/etc/passwd")
    (folder / "table.csv").write_text("n,square\n" + "".join(f"{n},{n * n}\n" for n in range(ROWS)))
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    numbers = pyarrow.table({"n": range(ROWS), "square": [n * n for n in range(ROWS)]})
    parquet.write_table(numbers, folder / "table.parquet", row_group_size=500)
    parquet.write_to_dataset(numbers.slice(0, 100), folder / "many", partition_cols=None)
    with data_server(root) as running:
        running.commit(folder, "tables")
        running.commit(folder, "tables", branch="feature/x")
        yield running


@pytest.fixture
def files(server: DataServer) -> Iterator[object]:
    yield fsspec.filesystem("mill", skip_instance_cache=True)


ROOT = "default/tables@main"


def test_lists_projects_datasets_and_directories(files) -> None:  # type: ignore[no-untyped-def]
    assert "default" in files.ls("mill://", detail=False)
    assert "default/tables" in files.ls("mill://default", detail=False)
    found = {info["name"]: info for info in files.ls(f"mill://{ROOT}")}
    assert found[f"{ROOT}/parts"]["type"] == "directory"
    assert found[f"{ROOT}/big.bin"]["size"] == len(BIG)
    assert files.ls(f"{ROOT}/big.bin", detail=False) == [f"{ROOT}/big.bin"]
    assert files.info("mill://default/tables")["type"] == "directory"


def test_finds_and_globs(files) -> None:  # type: ignore[no-untyped-def]
    assert len(files.find(f"{ROOT}/parts")) == 21
    assert files.find(f"{ROOT}/parts/deep", detail=True)[f"{ROOT}/parts/deep/x.txt"]["size"] == 4
    assert files.find(f"{ROOT}/big.bin") == [f"{ROOT}/big.bin"]
    assert files.glob(f"mill://{ROOT}/parts/0*.txt") == [f"{ROOT}/parts/{n:02}.txt" for n in range(10)]
    assert files.glob(f"{ROOT}/**/x.txt") == [f"{ROOT}/parts/deep/x.txt"]
    assert [d for d, _, _ in files.walk(f"{ROOT}/parts")] == [f"{ROOT}/parts", f"{ROOT}/parts/deep"]
    assert files.du(f"{ROOT}/parts/deep") == 4


def test_tells_what_is_there(files) -> None:  # type: ignore[no-untyped-def]
    assert files.exists(f"{ROOT}/parts") and files.isdir(f"{ROOT}/parts")
    assert files.isfile(f"{ROOT}/big.bin") and files.size(f"{ROOT}/big.bin") == len(BIG)
    assert not files.exists(f"{ROOT}/absent")
    assert not files.exists("default/nowhere@main/x")
    assert files.info(f"{ROOT}/link.txt")["size"] == len("part 3")
    assert files.ukey(f"{ROOT}/link.txt") == files.ukey(f"{ROOT}/parts/03.txt")
    assert files.exists("default/tables@feature%2Fx/big.bin")
    with pytest.raises(FileNotFoundError):
        files.info(f"{ROOT}/absent")
    with pytest.raises(FileNotFoundError):
        files.ls(f"{ROOT}/absent")
    with pytest.raises(IsADirectoryError):
        files.cat_file(f"{ROOT}/parts")


def test_what_is_listed_is_there_also_links(files) -> None:  # type: ignore[no-untyped-def]
    """A link to a directory is one; a link that leads nowhere, or out of the commit, is itself and holds nothing."""
    links = f"{ROOT}/links"
    assert files.isdir(f"{links}/deep")
    assert files.ls(f"{links}/deep", detail=False) == [f"{links}/deep/x.txt"]
    assert files.find(f"{links}/deep") == [f"{links}/deep/x.txt"]
    assert files.cat_file(f"{links}/deep/x.txt") == b"deep"
    for name in ("nowhere", "outside"):
        info = files.info(f"{links}/{name}")
        assert (info["islink"], info["size"]) == (True, 0)
        with pytest.raises(FileNotFoundError):
            files.cat_file(f"{links}/{name}")
    assert all(files.exists(name) for name in files.ls(links, detail=False))
    assert files.du(links) == 0


def test_reads_whole_files_and_ranges(files) -> None:  # type: ignore[no-untyped-def]
    assert files.cat_file(f"{ROOT}/big.bin", 10, 20) == BIG[10:20]
    assert files.cat_file(f"{ROOT}/big.bin", -20, -5) == BIG[-20:-5]
    assert files.cat_file(f"{ROOT}/big.bin", 4_999_990) == BIG[-10:]
    assert files.cat(f"{ROOT}/parts/1*.txt")[f"{ROOT}/parts/17.txt"] == b"part 17"
    assert files.head(f"{ROOT}/big.bin", 5) == BIG[:5]
    assert files.read_text(f"{ROOT}/parts/05.txt") == "part 5"
    paths = [f"{ROOT}/parts/{n:02}.txt" for n in range(20)]
    assert files.cat_ranges(paths, 0, 4) == [b"part"] * 20
    mixed = files.cat_ranges([paths[0], f"{ROOT}/absent"], 0, 4)
    assert mixed[0] == b"part"
    assert isinstance(mixed[1], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        files.cat_ranges([f"{ROOT}/absent"], 0, 4, on_error="raise")


def test_open_files_seek_and_copy(files, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    with fsspec.open(f"mill://{ROOT}/big.bin") as file:
        file.seek(-5, io.SEEK_END)
        assert file.read() == BIG[-5:]
    with fsspec.open(f"mill://{ROOT}/parts/01.txt", "r") as text:
        assert text.read() == "part 1"
    files.get(f"{ROOT}/parts", str(tmp_path / "copy"), recursive=True)
    assert (tmp_path / "copy/deep/x.txt").read_text() == "deep"


@pytest.mark.parametrize(
    "write",
    [
        lambda fs: fs.open(f"{ROOT}/new", "wb"),
        lambda fs: fs.rm(f"{ROOT}/big.bin"),
        lambda fs: fs.mkdir(f"{ROOT}/new"),
        lambda fs: fs.makedirs(f"{ROOT}/new"),
        lambda fs: fs.touch(f"{ROOT}/new"),
        lambda fs: fs.pipe_file(f"{ROOT}/new", b"x"),
        lambda fs: fs.cp_file(f"{ROOT}/big.bin", f"{ROOT}/new"),
        lambda fs: fs.mv(f"{ROOT}/big.bin", f"{ROOT}/new"),
        lambda fs: fs.put_file(__file__, f"{ROOT}/new"),
    ],
)
def test_writing_is_refused_in_words(files, write) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(io.UnsupportedOperation, match="mill data sync"):
        write(files)


def test_a_branch_that_moved_is_seen_and_a_commit_stays(server: DataServer, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    first = server.commit(tmp_path, "moved")
    files = fsspec.filesystem("mill", skip_instance_cache=True)
    assert files.cat_file("default/moved/f") == b"one"
    (tmp_path / "f").write_text("second")
    server.commit(tmp_path, "moved")
    assert files.cat_file("default/moved/f") == b"one", "whoever reads on stays at one commit"
    files.invalidate_cache()
    assert files.cat_file("default/moved/f") == b"second"
    assert files.cat_file(f"default/moved@{first.id[:12]}/f") == b"one"


def _read_part(task: tuple[object, int]) -> bytes:
    files, number = task
    return files.cat_file(f"{ROOT}/parts/{number:02}.txt")  # type: ignore[attr-defined,no-any-return]


@pytest.mark.long
def test_is_read_by_worker_processes(files) -> None:  # type: ignore[no-untyped-def]
    """As a DataLoader does: the file system is pickled to each worker."""
    assert pickle.loads(pickle.dumps(files)).cat_file(f"{ROOT}/parts/00.txt") == b"part 0"
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(_read_part, [(files, number) for number in range(20)])
    assert found == [f"part {number}".encode() for number in range(20)]


def test_pandas_reads_tables(server: DataServer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what other libraries warn of is not ours
        import pandas  # noqa: PLC0415 - it takes a second, and only this test needs it

        assert pandas.read_csv(f"mill://{ROOT}/table.csv")["square"].sum() == sum(n * n for n in range(ROWS))
        frame = pandas.read_parquet(f"mill://{ROOT}/table.parquet", columns=["n"])
    assert list(frame["n"]) == list(range(ROWS))


def test_pyarrow_reads_tables(files) -> None:  # type: ignore[no-untyped-def]
    dataset = pytest.importorskip("pyarrow.dataset")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(f"{ROOT}/table.parquet", filesystem=files, columns=["square"])
    assert table.num_rows == ROWS
    many = dataset.dataset(f"{ROOT}/many", filesystem=files, format="parquet")
    assert many.count_rows() == 100
    assert many.to_table(filter=dataset.field("n") == 7)["square"].to_pylist() == [49]


def test_polars_reads_tables(server: DataServer) -> None:
    polars = pytest.importorskip("polars")
    with fsspec.open(f"mill://{ROOT}/table.csv") as file:
        assert polars.read_csv(file)["n"].sum() == sum(range(ROWS))
    with fsspec.open(f"mill://{ROOT}/table.parquet") as file:
        assert polars.read_parquet(file)["square"].max() == (ROWS - 1) ** 2
