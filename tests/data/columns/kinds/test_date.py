import numpy as np
import pandas as pd

from cloakgp.columns import Date


def test_times_with_a_zone_are_counted_in_utc():
    column = Date("2020-01-01", utc=True)
    berlin = pd.Series(pd.to_datetime(["2020-01-02 01:00"])).dt.tz_localize("Europe/Berlin")
    assert column.codes(berlin, "X").tolist() == [1.0]
    assert column.codes(pd.Series(["2020-01-02T02:00+02:00"]), "X").tolist() == [1.0]
    assert column.codes(pd.Series(["2020-01-02"]), "X").tolist() == [1.0]
    assert str(column.raw(np.array([1.0])).dt.tz) == "UTC"


def test_microseconds_survive():
    column = Date("1970-01-01")
    moments = pd.Series(
        pd.to_datetime(["2024-05-01 12:34:56.789012", "1901-01-01 00:00:00.000001"])
    )
    assert column.raw(column.codes(moments, "X")).tolist() == moments.tolist()
