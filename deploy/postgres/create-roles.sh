#!/bin/sh
# Runs once, in the empty database of the primary: the role and the database of the register, and the role of the standby.
set -eu
psql --set ON_ERROR_STOP=1 --no-psqlrc --username postgres --dbname postgres <<'SQL'
\getenv register_password REGISTER_DATABASE_PASSWORD
\getenv replication_password REPLICATION_PASSWORD
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'replication_password';
CREATE ROLE register LOGIN PASSWORD :'register_password';
CREATE DATABASE register OWNER register ENCODING 'UTF8' TEMPLATE template0;
SQL
