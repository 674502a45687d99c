"""What lies in a folder, for tests that compare two of them."""

import hashlib
from pathlib import Path


def listing(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def checksums(folder: Path) -> dict[str, str]:
    """Of every file that holds data: a manifest holds seconds, and the report shows them."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".json", ".html")]
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def times(folder: Path) -> dict[str, int]:
    """When each shard was written, to the nanosecond."""
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in folder.glob("*/part-*.parquet")}
