import pandas as pd

from cloakgp.columns import Category


def test_labels_are_compared_as_strings_whatever_type_they_have():
    column = Category([1, 2, 30])
    assert column.levels == ("1", "2", "30")
    assert column.codes(pd.Series([30, 1]), "X").tolist() == [2.0, 0.0]
    assert column.codes(pd.Series([30.0, 1.0]), "X").tolist() == [2.0, 0.0]
    assert column.codes(pd.Series(["30", "1"]), "X").tolist() == [2.0, 0.0]
