-- Makes the service's role and its database. The role is no superuser and owns nothing but that database: `touchstone
-- migrate`, `serve` and all other commands need no more.
--
--   TOUCHSTONE_PASSWORD_FILE=FILE psql --dbname postgres --file deploy/postgresql-role.sql
--
-- as a role that may make roles and databases. Other names: --set role=NAME --set database=NAME.
\set ON_ERROR_STOP on
\if :{?role}
\else
  \set role touchstone
\endif
\if :{?database}
\else
  \set database touchstone
\endif
-- From a file, because other users can read arguments.
\set password `cat "$TOUCHSTONE_PASSWORD_FILE"`
SELECT :'password' = '' AS has_no_password \gset
\if :has_no_password
  DO $$ BEGIN RAISE EXCEPTION 'TOUCHSTONE_PASSWORD_FILE is not set, cannot be read or is empty'; END $$;
\endif
CREATE ROLE :"role" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
-- In a statement of its own: if the role exists, the server logs the failing statement before, which holds no password.
ALTER ROLE :"role" PASSWORD :'password';
CREATE DATABASE :"database" OWNER :"role";
-- No other role may connect to it.
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
