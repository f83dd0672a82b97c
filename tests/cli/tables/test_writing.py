"""Tables as CSV: digits that people can read, and lines that end alike everywhere."""

import pandas as pd

from cloakgp.cli.tables import to_csv


def test_a_table_is_written_with_ten_digits_and_plain_line_ends():
    frame = pd.DataFrame({"age": [1, 2], "height, cm": [1 / 3, 1e-12]})
    assert to_csv(frame) == b'age,"height, cm"\n1,0.3333333333\n2,1e-12\n'
