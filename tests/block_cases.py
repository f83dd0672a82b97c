"""One table in blocks of every kind, and ways to put blocks together again."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cloakgp.data.blocks.arrays import cut_array, cut_outputs
from cloakgp.data.blocks.dask import blocks_of, output_blocks_of
from cloakgp.data.blocks.parquet import scan

N = 1000
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(0, 90, N),
        "weight": RNG.uniform(20, 120, N),
        "height": RNG.uniform(40, 200, N),
        "ill": RNG.choice(["no", "yes"], N),
    }
)
INPUTS = ["age", "weight"]


def whole(blocks):
    """Return all rows of blocks."""
    return np.concatenate([part.read() for part in blocks.parts])


def write(folder, frame=PEOPLE, cuts=(0, 300, 301, 1000), group=70):
    """Write a table as several files of several row groups, and return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, (start, stop) in enumerate(pairwise(cuts)):
        rows = pa.Table.from_pandas(frame[start:stop], preserve_index=False)
        pq.write_table(rows, folder / f"part-{place}.parquet", row_group_size=group)
    return folder


def damage(folder, name):
    """Overwrite all bytes of a column in the files of a folder."""
    for path in folder.iterdir():
        raw = bytearray(path.read_bytes())
        metadata = pq.ParquetFile(path).metadata
        for group, place in product(range(metadata.num_row_groups), range(metadata.num_columns)):
            chunk = metadata.row_group(group).column(place)
            if chunk.path_in_schema == name:
                first = chunk.dictionary_page_offset or chunk.data_page_offset
                size = chunk.total_compressed_size
                raw[first : first + size] = b"\xff" * size
        path.write_bytes(raw)


def of_arrays(output, folder):
    X = cut_array(PEOPLE[INPUTS].to_numpy(), rows=300)
    return X, cut_outputs(PEOPLE[output].to_numpy(), rows=300)


def of_frames(output, folder):
    return cut_array(PEOPLE[INPUTS], rows=128), cut_outputs(PEOPLE[output], rows=128)


def of_parquet(output, folder):
    return scan(write(folder / "people"), inputs=INPUTS, output=output)


def of_dask_arrays(output, folder):
    import dask.array as da

    values = da.from_array(PEOPLE[INPUTS].to_numpy(), chunks=(300, 1))
    column = da.from_array(PEOPLE[output].to_numpy(dtype=object, copy=True), chunks=300)
    return blocks_of(values), output_blocks_of(column)


def of_dask_frames(output, folder):
    import dask.dataframe as dd

    frame = dd.from_pandas(PEOPLE, npartitions=4)
    return blocks_of(frame[INPUTS]), output_blocks_of(frame[output])


def of_dask_parquet(output, folder):
    import dask.dataframe as dd

    frame = dd.read_parquet(write(folder / "people"))
    return blocks_of(frame[INPUTS]), output_blocks_of(frame[output])


SOURCES = {
    "arrays": of_arrays,
    "frames": of_frames,
    "parquet": of_parquet,
    "dask arrays": of_dask_arrays,
    "dask frames": of_dask_frames,
    "dask over parquet": of_dask_parquet,
}
