"""What disks do to files. Each writes another file in its place, because the tests link files that they share."""


def rewrite(path, content):
    path.unlink()
    path.write_bytes(content)


def flipped(path, chance):
    """One bit of it is another."""
    content = bytearray(path.read_bytes())
    bit = chance.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    rewrite(path, content)


def cut(path, chance):
    """The end of it is missing."""
    content = path.read_bytes()
    rewrite(path, content[: chance.randrange(len(content))])


def longer(path, chance):
    """Something follows that does not belong there."""
    rewrite(path, path.read_bytes() + chance.randbytes(chance.randrange(1, 5_000)))


def zeros(path, chance):
    """A block of it holds zeros, as after a power cut."""
    content = bytearray(path.read_bytes())
    first = chance.randrange(len(content))
    length = min(4_096, len(content) - first)
    content[first : first + length] = bytes(length) if any(content[first : first + length]) else b"\1" * length
    rewrite(path, content)


def swapped(path, chance):
    """Another sound Parquet file stands in its place."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.unlink()
    pq.write_table(pa.table({"id": [f"{chance.random()}"]}), path)


def gone(path, chance):
    """It is not there."""
    path.unlink()


ALL = (flipped, cut, longer, zeros, swapped, gone)
