-- A ledger of cloakgp in a schema of PostgreSQL 12 or later: tables, triggers, functions.
--
-- Everybody spends through the functions, which run with the rights of their owner; nobody else
-- needs to be able to change a table.  The triggers hold for the owner, too, and whatever
-- session_replication_role says.

CREATE SCHEMA IF NOT EXISTS {schema};

-- Rights on a schema are rights on all that is in it, so a ledger shares its schema with nobody.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_depend WHERE deptype = 'n'
        AND refclassid = 'pg_catalog.pg_namespace'::regclass
        AND refobjid = '{schema}'::regnamespace) THEN
        RAISE EXCEPTION 'the schema {schema} is not empty; name a schema of its own for the ledger';
    END IF;
END
$$;

-- The entries, each with a hash that covers all before it.
CREATE TABLE {schema}.history (
    sequence bigint PRIMARY KEY,
    entry text NOT NULL,
    hash text NOT NULL
);

-- The last entry once more, so that entries missing at the end are noticed.  This row is the lock.
CREATE TABLE {schema}.head (
    one integer PRIMARY KEY CHECK (one = 1),
    sequence bigint NOT NULL,
    hash text NOT NULL
);

-- The key of the fingerprints of inputs.
CREATE TABLE {schema}.secret (
    one integer PRIMARY KEY CHECK (one = 1),
    key bytea NOT NULL
);

-- Nobody else can write from here until the end of the transaction.
CREATE FUNCTION {schema}.lock_head() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM 1 FROM {schema}.head FOR UPDATE;
END
$$;

-- Write an entry and make it the head.
CREATE FUNCTION {schema}.append(place bigint, words text, link text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO {schema}.history VALUES (place, words, link);
    UPDATE {schema}.head SET sequence = place, hash = link;
END
$$;

-- Write the first entries of a ledger that has none: one if it is new, all if it was moved here.
CREATE FUNCTION {schema}.begin(secret_key bytea, words text[], links text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO {schema}.secret VALUES (1, secret_key);
    INSERT INTO {schema}.head VALUES (1, 0, repeat('0', 64));
    FOR place IN 1 .. cardinality(words) LOOP
        INSERT INTO {schema}.history VALUES (place, words[place], links[place]);
    END LOOP;
    UPDATE {schema}.head SET sequence = cardinality(words), hash = links[cardinality(words)];
END
$$;

-- No gap, no second entry in one place, no hash that does not fit; one writer at a time.
CREATE FUNCTION {schema}.in_order() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before text := repeat('0', 64);
BEGIN
    PERFORM 1 FROM {schema}.head FOR UPDATE;
    IF NEW.sequence IS DISTINCT FROM 1 THEN
        SELECT hash INTO before FROM {schema}.history WHERE sequence = NEW.sequence - 1;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'there would be a gap, and the history is append-only';
        END IF;
    END IF;
    IF NEW.hash IS DISTINCT FROM encode(sha256(convert_to(
        NEW.sequence || E'\n' || before || E'\n' || NEW.entry, 'UTF8')), 'hex') THEN
        RAISE EXCEPTION 'the hash does not fit, and the history is append-only';
    END IF;
    RETURN NEW;
END
$$;

-- The head begins at nothing, goes forward, and is the last entry.
CREATE FUNCTION {schema}.at_the_end() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last record;
BEGIN
    SELECT sequence, hash INTO last FROM {schema}.history ORDER BY sequence DESC LIMIT 1;
    IF TG_OP = 'INSERT' AND last IS NULL AND NEW.sequence = 0 AND NEW.hash = repeat('0', 64) THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.sequence > OLD.sequence
        AND (NEW.sequence, NEW.hash) = (last.sequence, last.hash) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'this is not the last entry, and the history is append-only';
END
$$;

CREATE FUNCTION {schema}.refuse() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'the history is append-only';
END
$$;

CREATE TRIGGER in_order BEFORE INSERT ON {schema}.history
    FOR EACH ROW EXECUTE FUNCTION {schema}.in_order();
CREATE TRIGGER no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {schema}.history
    FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse();
CREATE TRIGGER at_the_end BEFORE INSERT OR UPDATE ON {schema}.head
    FOR EACH ROW EXECUTE FUNCTION {schema}.at_the_end();
CREATE TRIGGER no_change BEFORE DELETE OR TRUNCATE ON {schema}.head
    FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse();
CREATE TRIGGER no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {schema}.secret
    FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse();

ALTER TABLE {schema}.history ENABLE ALWAYS TRIGGER in_order;
ALTER TABLE {schema}.history ENABLE ALWAYS TRIGGER no_change;
ALTER TABLE {schema}.head ENABLE ALWAYS TRIGGER at_the_end;
ALTER TABLE {schema}.head ENABLE ALWAYS TRIGGER no_change;
ALTER TABLE {schema}.secret ENABLE ALWAYS TRIGGER no_change;

-- Whoever may call a function may append; by default PostgreSQL lets everybody.
REVOKE ALL ON FUNCTION {schema}.lock_head(), {schema}.append(bigint, text, text),
    {schema}.begin(bytea, text[], text[]), {schema}.in_order(), {schema}.at_the_end(),
    {schema}.refuse() FROM PUBLIC;
