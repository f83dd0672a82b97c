"""Tables, releases and ledgers that commands are run on, here for what they share."""

from table_fixtures import book, cases, data, saved, soon_settled, undrawn  # noqa: F401
