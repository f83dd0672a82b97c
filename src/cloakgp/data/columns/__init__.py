"""Public inputs as people have them: how the values of each column become numbers, and back.

A ``Columns`` says it for a whole table.  It is a public fact of a release and lies in its file, so
that a release is asked in categories, dates and units, not in codes.  All of it is about inputs,
which are public: errors may name values.
"""

from cloakgp.data.columns.kinds import Boolean, Category, Column, Date, Number
from cloakgp.data.columns.recognition import recognise
from cloakgp.data.columns.table import Columns, Spreads, columns_of_scaler

__all__ = [
    "Boolean",
    "Category",
    "Column",
    "Columns",
    "Date",
    "Number",
    "Spreads",
    "columns_of_scaler",
    "recognise",
]
