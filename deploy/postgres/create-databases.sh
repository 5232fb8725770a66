#!/bin/sh
# Makes the five databases and their four owners, each of which can reach its own only. The postgres image runs it at
# the first start of an empty volume; elsewhere run it as a superuser, with PGHOST and PGPASSWORD. Safe to run again.
set -eu

: "${ORDERS_DB_PASSWORD:?}" "${PAYMENT_DB_PASSWORD:?}" "${INVENTORY_DB_PASSWORD:?}" "${TEMPORAL_DB_PASSWORD:?}"

as_superuser() {
  psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" \
    --dbname postgres "$@"
}

# The password goes through the environment: arguments can be read by everybody on the machine.
create_role() {
  ROLE_PASSWORD=$2 as_superuser --set role="$1" <<'SQL'
\getenv password ROLE_PASSWORD
select format('create role %I login', :'role')
 where not exists (select from pg_roles where rolname = :'role') \gexec
alter role :"role" password :'password';
SQL
}

create_database() {
  as_superuser --set database="$1" --set owner="$2" <<'SQL'
select format('create database %I owner %I', :'database', :'owner')
 where not exists (select from pg_database where datname = :'database') \gexec
revoke connect on database :"database" from public;
SQL
}

create_role orders "$ORDERS_DB_PASSWORD"
create_role payment "$PAYMENT_DB_PASSWORD"
create_role inventory "$INVENTORY_DB_PASSWORD"
create_role temporal "$TEMPORAL_DB_PASSWORD"
for database in orders payment inventory temporal; do
  create_database "$database" "$database"
done
create_database temporal_visibility temporal
