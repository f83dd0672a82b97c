"""What spends cost together: fixed in advance (``totals``) or chosen later (``filter``).

Nothing here sees data, and whatever is returned lies on the private side.
"""
