"""Tables, releases and ledgers that commands are run on."""

from table_fixtures import book, cases, data, saved, soon_settled, undrawn  # noqa: F401
