"""What is lost where people are gathered: how much f varies within places.

A sketch tells of sums at places, so whatever f does from one person to the next at the same place
is not seen.  Public maths, from the places and a kernel alone.
"""

from __future__ import annotations

import numpy as np

from cloakgp.gp.matrices import Kernel, evaluate
from cloakgp.gp.places import Places


def share_within(kernel: Kernel, places: Places) -> float:
    """Return the share of f's variation between people that is within places, from 0 to 1.

    With x and x' two people at random, at the same place and anywhere: (E k(x, x) − E k(x, x'))
    within, over the same among everybody.  People are where the nodes of places are.
    """
    each = places.nodes_each
    if each == 1:
        return 0.0
    K = evaluate(kernel, places.nodes)
    own = np.diag(K)
    shares = places.node_counts / places.node_counts.sum()  # (nodes,)
    # The mean of k over two nodes of a place, for each place.
    blocks = K.reshape(len(K) // each, each, len(K) // each, each)
    together = np.einsum("kakb->k", blocks) / each**2
    within = float(shares @ own - places.counts / places.counts.sum() @ together)
    everywhere = float(shares @ own - shares @ K @ shares)
    if not everywhere > 1e-12 * float(own.max(initial=0.0)):
        return 0.0  # everybody is at one point, or f is one number for all
    return float(np.clip(within / everywhere, 0.0, 1.0))
