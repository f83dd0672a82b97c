"""Pictures of plans and releases, made of public facts and published numbers.

y may never be drawn, and no picture may show more than the release says.
"""
