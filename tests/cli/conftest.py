"""Tables, releases and ledgers that commands are run on."""

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
