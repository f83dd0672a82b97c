"""A column knows in which single way its odd cells are written, if there is one."""

from collections import Counter

import numpy as np
import pytest

from cloakgp.cli.tables.columns import NumberColumn


@pytest.mark.parametrize(
    ("kinds", "explains"),
    [
        ([], None),
        (["date", "date"], "date"),
        (["date", None], None),
        (["either", "decimal"], "decimal"),
        (["either", "thousands"], "thousands"),
        (["either"], "either"),
        (["decimal", "date"], None),
    ],
    ids=str,
)
def test_one_way_of_writing_explains_all_or_none_does(kinds, explains):
    column = NumberColumn(np.zeros(3), 0, Counter(kinds))
    assert column.wrong == len(kinds)
    assert column.format == explains
