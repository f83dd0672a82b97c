"""What every release rests on: column lengths, σ, and the noise.  THE TRUSTED CORE.

y comes in here and leaves as s = T u + σ z.  Nothing of another room may be imported, no number is
believed that can be checked, and the proof of each function lies beside it and is named on it.

Start with ``release``: the one function ``release(query, budget)``.  A query is a sketch T, checked
in its norm (``sensitivity``), of outputs (``outputs``: numbers, labels or counts become integers u)
of people one by one or in ``bins``, or of ``whole_rows`` on a public ``grid``.  A ``budget`` buys
Gaussian noise (σ from ``calibration``) or Laplace noise (``laplace``), which ``noise`` draws.
``contributions`` decides which rows of an owner count, and ``numbers`` is the door for numbers.
"""
