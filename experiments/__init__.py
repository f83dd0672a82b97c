"""Every table and figure of the paper, made again, and what people would use instead.

One module in ``items/`` is one item.  To add one, put a module there that defines ``ITEM``:

    from experiments.item import Item, Result, Run

    def compute(run: Run) -> Result: ...  # tables, figures, and sentences made from their numbers

    ITEM = Item("figure-9", title="…", place="figure 9", compute=compute)

It is found by itself.  ``python -m experiments`` runs what has changed, keeps what has not, and
writes the page ``docs/results/README.md`` from all that is stored.
"""

import os

# One thread for each process: several share the machine, and sums come out the same every time.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
