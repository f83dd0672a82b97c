"""Tables on disk: CSV and Parquet files, of which only the columns asked for are read.

Large Parquet files, and folders of them, come in blocks.

The private column is opened only when it is named as an output.  Inputs and owners are public, so
their errors are described by column and count; of the private column no error says more than its
name and how its numbers are written.
"""

from cloakgp.cli.tables.reading import Columns, read_columns
from cloakgp.cli.tables.writing import to_csv

__all__ = ["Columns", "read_columns", "to_csv"]
