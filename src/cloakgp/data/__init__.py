"""What a fit is given: inputs, owners and workload points, checked before anything is done.

Inputs are public and may be looked at.  Of y only public facts may be asked here: its shape, its
names, its index and where it lies in memory, never a value.  Outputs in blocks are read by
``privacy`` alone; of those of Dask, rows are counted before.
"""
