"""Public inputs as people have them: how the values of each column become numbers, and back.

A ``Columns`` says it for a whole table.  It is a public fact of a release and lies in its file, so
that a release is asked in categories, dates and units, not in codes.  All of it is about inputs,
which are public: errors may name values.
"""

from cloakgp.inputs.columns.kinds import Boolean, Category, Column, Date, Number
from cloakgp.inputs.columns.recognition import recognise
from cloakgp.inputs.columns.scalers import columns_of_scaler
from cloakgp.inputs.columns.table import Columns, Spreads

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
