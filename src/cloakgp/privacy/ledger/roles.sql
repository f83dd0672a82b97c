-- Roles for the ledger in the schema {schema}: run by a superuser, in the same database, after the
-- tables were made.  It may be run again.
--
--   {schema}_owner     owns the schema and nobody logs in as it, so nobody is above the triggers
--                      but the superusers of the server
--   {schema}_spender   opens data sets and spends: reads, and appends by the functions; no INSERT,
--                      UPDATE, DELETE, TRUNCATE or DROP, and no trigger to switch off
--   {schema}_auditor   reads
--
-- Roles belong to the whole server: whoever may spend here may spend in every database of it that
-- has a ledger in a schema of this name.  Where that is not meant, give each schema a name of its
-- own.  Give the roles to people, for instance:
--
--   CREATE ROLE alice LOGIN PASSWORD '...' IN ROLE {schema}_spender;
--   GRANT {schema}_auditor TO bob;

DO $$
DECLARE
    part text;
BEGIN
    -- Rights on a schema are rights on all that is in it: what is not of the ledger is left alone.
    SELECT pg_describe_object(classid, objid, objsubid) INTO part FROM pg_catalog.pg_depend
    WHERE deptype = 'n' AND refclassid = 'pg_catalog.pg_namespace'::regclass
        AND refobjid = '{schema}'::regnamespace
        AND objid NOT IN ('{schema}.history'::regclass, '{schema}.head'::regclass,
            '{schema}.secret'::regclass, '{schema}.lock_head()'::regprocedure,
            '{schema}.append(bigint, text, text)'::regprocedure,
            '{schema}.begin(bytea, text[], text[])'::regprocedure,
            '{schema}.in_order()'::regprocedure, '{schema}.at_the_end()'::regprocedure,
            '{schema}.refuse()'::regprocedure);
    IF FOUND THEN
        RAISE EXCEPTION 'the schema {schema} holds a %, which is not of the ledger; move it to '
            'another schema first, or make the ledger in a schema of its own', part;
    END IF;
    FOREACH part IN ARRAY ARRAY['{schema}_owner', '{schema}_spender', '{schema}_auditor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = part) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', part);
        END IF;
    END LOOP;
END
$$;
ALTER ROLE {schema}_owner NOLOGIN;

ALTER SCHEMA {schema} OWNER TO {schema}_owner;
ALTER TABLE {schema}.history OWNER TO {schema}_owner;
ALTER TABLE {schema}.head OWNER TO {schema}_owner;
ALTER TABLE {schema}.secret OWNER TO {schema}_owner;
ALTER FUNCTION {schema}.lock_head() OWNER TO {schema}_owner;
ALTER FUNCTION {schema}.append(bigint, text, text) OWNER TO {schema}_owner;
ALTER FUNCTION {schema}.begin(bytea, text[], text[]) OWNER TO {schema}_owner;
ALTER FUNCTION {schema}.in_order() OWNER TO {schema}_owner;
ALTER FUNCTION {schema}.at_the_end() OWNER TO {schema}_owner;
ALTER FUNCTION {schema}.refuse() OWNER TO {schema}_owner;

REVOKE ALL ON SCHEMA {schema} FROM PUBLIC;
REVOKE ALL ON {schema}.history, {schema}.head, {schema}.secret
    FROM PUBLIC, {schema}_spender, {schema}_auditor;
REVOKE ALL ON FUNCTION {schema}.lock_head(), {schema}.append(bigint, text, text),
    {schema}.begin(bytea, text[], text[]), {schema}.in_order(), {schema}.at_the_end(),
    {schema}.refuse() FROM PUBLIC, {schema}_spender, {schema}_auditor;

GRANT USAGE ON SCHEMA {schema} TO {schema}_spender, {schema}_auditor;
GRANT SELECT ON {schema}.history, {schema}.head, {schema}.secret
    TO {schema}_spender, {schema}_auditor;
GRANT EXECUTE ON FUNCTION {schema}.lock_head(), {schema}.append(bigint, text, text),
    {schema}.begin(bytea, text[], text[]) TO {schema}_spender;
