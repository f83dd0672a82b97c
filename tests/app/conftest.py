"""Tables, releases and ledgers that commands are run on, here for what they share."""

from table_fixtures import (  # noqa: F401
    book,
    cases,
    data,
    drawn,
    plain,
    saved,
    seldom_drawn,
    soon_settled,
    undrawn,
)
