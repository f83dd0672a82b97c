"""What every release rests on: column lengths, σ, and the noise.  THE TRUSTED CORE.

y comes in here and leaves as s = T u + σ z.  Nothing of another room may be imported, no number is
believed that can be checked, and the proof of each function lies beside it and is named on it.
"""
