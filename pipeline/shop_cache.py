"""A shop that was made in memory, kept in the user's cache folder for the next process."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from shopwright.pipeline.files import find_cache_folder

HOME = Path(__file__).parents[1]
# Shops that stay: of other settings, or of other versions of this package.
KEPT = 4


def find_shop_folder(*settings: object) -> Path | None:
    """Where a shop of these settings is kept; another place where any file of this package differs. None where nothing can be written."""
    folder = find_cache_folder() / f"shop-{digest_package(repr(settings))}"
    try:
        folder.mkdir(exist_ok=True)
        os.utime(folder)
        for old in sorted(folder.parent.glob("shop-*"), key=os.path.getmtime)[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
    except OSError:
        return None
    return folder


def digest_package(salt: str) -> str:
    """Of every file that may decide a row: the code, its prompts and its reference data."""
    found = hashlib.sha256(salt.encode())
    for path in list_package():
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def list_package() -> Iterator[Path]:
    for top in ("pipeline", "schemas", "prompts", "data/reference"):
        for folder, inner, names in os.walk(HOME / top):
            inner.sort()
            yield from (Path(folder, name) for name in sorted(names) if not name.endswith(".pyc"))


def read_batches(path: Path) -> list[pa.RecordBatch] | None:
    """In place, so that processes share them; None where there are none, or they are damaged."""
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        return [reader.get_batch(place) for place in range(reader.num_record_batches)]
    except (OSError, pa.ArrowInvalid):
        return None


def keep_batches(path: Path, schema: pa.Schema, batches: list[pa.RecordBatch]) -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    keep(path, lambda new: new.write_bytes(sink.getvalue()))


def keep(path: Path, write: Callable[[Path], object]) -> None:
    """Whole or not there, though several processes write it at once; not there where nothing can be written."""
    with suppress(OSError), tempfile.TemporaryDirectory(dir=path.parent) as folder:
        new = Path(folder, path.name)
        write(new)
        os.replace(new, path)
