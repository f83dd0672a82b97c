"""The tables on a server: made by the SQL that administrators read, and recognised again."""

import pytest

from cloakgp.privacy.ledger import LedgerError, tables
from cloakgp.privacy.ledger.tables import INSPECTION, PARTS, expected, sql


@pytest.mark.parametrize("part", PARTS)
def test_the_sql_is_the_file_with_the_schema_filled_in(part):
    text = sql(part, "some_where")
    assert "{" not in text
    assert "some_where." in text
    assert text.replace("some_where", "other") == sql(part, "other")


def test_files_that_do_not_belong_to_this_version_are_not_run(monkeypatch):
    sql.cache_clear()
    monkeypatch.setitem(tables.DIGESTS, "tables", "0" * 64)
    with pytest.raises(LedgerError, match=r"the file tables\.sql of this installation"):
        sql("tables", "cloakgp")
    sql.cache_clear()


def test_everything_that_is_made_is_expected():
    text = sql("tables", "s")
    kinds = [kind for kind, *_ in expected("s")]
    for kind in ("table", "trigger", "function"):
        assert kinds.count(kind) == text.count(f"CREATE {kind.upper()} ")
    assert text.count("ENABLE ALWAYS TRIGGER") == text.count("CREATE TRIGGER")
    assert text.count("SET search_path = pg_catalog, pg_temp") == text.count("CREATE FUNCTION")


def test_roles_own_every_table_and_function(postgres):
    text = sql("roles", "s")
    made = [name for kind, name, *_ in expected("s") if kind in ("table", "function")]
    for name in made:
        assert f"s.{name} OWNER TO s_owner" in text


def test_a_server_tells_of_new_tables_what_is_expected(postgres):
    postgres.execute(sql("tables", "told"))
    postgres.execute(sql("tables", "told_too"))
    for schema in ("told", "told_too", "nowhere"):
        lines = postgres.execute(INSPECTION.replace("%(schema)s", f"'{schema}'"))
        assert {line[:4] for line in lines} == (expected(schema) if schema != "nowhere" else set())


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE s.history DISABLE TRIGGER no_change",
        "ALTER TABLE s.history ENABLE TRIGGER no_change",
        "ALTER TABLE s.head ENABLE REPLICA TRIGGER at_the_end",
        "DROP TRIGGER no_change ON s.secret",
        "CREATE TRIGGER extra BEFORE INSERT ON s.history FOR EACH ROW EXECUTE FUNCTION s.refuse()",
        "ALTER TABLE s.secret SET UNLOGGED",
        "ALTER TABLE s.history ENABLE ROW LEVEL SECURITY",
        "CREATE RULE silent AS ON INSERT TO s.history DO INSTEAD NOTHING",
        "ALTER TABLE s.head ALTER sequence DROP NOT NULL",
        "ALTER TABLE s.history ADD note text",
        "ALTER FUNCTION s.append SECURITY INVOKER",
        "ALTER FUNCTION s.append SET search_path = public",
        "CREATE FUNCTION s.more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "DROP TABLE s.secret",
        "CREATE OR REPLACE FUNCTION s.refuse() RETURNS trigger LANGUAGE plpgsql "
        "SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NEW; END'",
    ],
)
def test_any_change_of_tables_triggers_or_functions_is_told(postgres, change):
    made = ["BEGIN", sql("tables", "s")]
    look = INSPECTION.replace("%(schema)s", "'s'")
    lines = postgres.execute(*made, change, look)
    assert {line[:4] for line in lines} != expected("s")


def test_a_trigger_that_was_away_for_a_while_leaves_a_trace(postgres):
    look = INSPECTION.replace("%(schema)s", "'away'")
    postgres.execute(sql("tables", "away"))
    before = postgres.execute(look)
    postgres.execute("ANALYZE away.history", "VACUUM away.history")
    assert postgres.execute(look) == before
    postgres.execute(
        "ALTER TABLE away.history DISABLE TRIGGER no_change",
        "ALTER TABLE away.history ENABLE ALWAYS TRIGGER no_change",
    )
    after = postgres.execute(look)
    assert [line[:4] for line in after] == [line[:4] for line in before]
    assert [line[4] for line in after] != [line[4] for line in before]
