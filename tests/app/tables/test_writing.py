"""Tables as CSV: digits that people can read, and lines that end alike everywhere."""

import csv
import io

import numpy as np
import pandas as pd

from cloakgp.app.tables.columns import read_columns
from cloakgp.app.tables.files import to_csv
from cloakgp.data.columns import Category


def test_a_table_is_written_with_ten_digits_and_plain_line_ends():
    frame = pd.DataFrame({"age": [1, 2], "height, cm": [1 / 3, 1e-12]})
    assert to_csv(frame) == b'age,"height, cm"\n1,0.3333333333\n2,1e-12\n'


def test_text_is_no_formula_in_any_kind_of_column_and_in_the_header():
    formula = '=HYPERLINK("http://x";"y")'
    frame = pd.DataFrame(
        {
            "=name": [formula, "plain"],
            "words": pd.Series([formula, None], dtype="string"),
            "kinds": pd.Categorical(["-x", "@y"]),
            "mixed": pd.Series(["+1+1", -3.5], dtype=object),
            "number": [-3.5, np.nan],
            "whole": [-3, 4],
            "truth": [True, False],
        }
    )
    header, first, second = csv.reader(io.StringIO(to_csv(frame).decode()))
    assert header == ["'=name", "words", "kinds", "mixed", "number", "whole", "truth"]
    assert first == [f"'{formula}", f"'{formula}", "'-x", "'+1+1", "-3.5", "-3", "True"]
    assert second == ["plain", "", "'@y", "-3.5", "", "4", "False"]


def test_levels_and_names_that_were_written_so_are_read_again(tmp_path):
    levels = ["-x", "=y", "'=z", "plain", "-3", "'60s"]
    path = tmp_path / "points.csv"
    path.write_bytes(to_csv(pd.DataFrame({"-group": levels, "age": range(6)})))
    kinds = {"-group": Category(levels)}
    read = read_columns(path, ["-group", "age"], stated=kinds).inputs
    assert list(read["-group"]) == levels
    path.write_text("-group,age\n-x,1\n'-x,2\n")
    kinds = {"-group": Category(["-x", "'-x"])}  # both are known, so cells are read as they are
    read = read_columns(path, ["-group"], stated=kinds).inputs
    assert list(read["-group"]) == ["-x", "'-x"]
