"""Tables as bytes of an Arrow stream, compressed where that pays."""

import pyarrow as pa

# Fewer bytes than these are not compressed.
_MANY_BYTES = 1 << 12


def to_bytes(table: pa.Table) -> bytes:
    """Returns rows as an Arrow stream, compressed if they are many."""
    sink = pa.BufferOutputStream()
    # Keys and starts repeat: LZ4 leaves less than half of them in the time of a copy.
    codec = "lz4" if table.nbytes > _MANY_BYTES else None
    options = pa.ipc.IpcWriteOptions(compression=codec, use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(data: bytes) -> pa.Table:
    """Returns the rows of an Arrow stream."""
    options = pa.ipc.IpcReadOptions(use_threads=False)
    return pa.ipc.open_stream(pa.py_buffer(data), options=options).read_all()
