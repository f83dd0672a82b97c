"""What a fit is given: inputs, owners and workload points, checked before anything is done.

Inputs are public and may be looked at.  Of y only public facts may be asked here: its shape, its
names, its index and where it lies in memory, never a value.  Outputs in blocks are read by
``privacy`` alone; of those of Dask, rows are counted before.

Start with ``table``: what a fit is given becomes one ``Table``, step by step.  ``checks`` refuses,
``columns`` and ``rows`` turn inputs into numbers, ``partition`` gathers very many people in bins,
``blocks`` reads what does not fit into memory, and ``box`` is for inputs that are private.
"""
