"""Data in blocks: tables of any size as small parts, each read where the work on it is done.

Arrays, Parquet files and Dask collections become the same two things: public inputs
(``BlockTable``) and a private column beside them (``BlockColumn``).  Nobody here looks at a
private value: an output part is read by ``privacy``.  Where Dask does not know how many rows a
partition has, it computes it, and only the count comes back.  Nothing is imported here, so that
workers load what they read with and no more.
"""
