#!/bin/sh
# Brings Temporal's two databases to the schema of this release of the tool. Reads the server's own variables (see
# server.env) and POSTGRES_PWD. Safe to run again; to be run before a newer server is started.
set -eu

SQL_PASSWORD=${POSTGRES_PWD:?}
export SQL_PASSWORD

set_up() {
  sql_tool() {
    temporal-sql-tool --plugin "$DB" --endpoint "$POSTGRES_SEEDS" --port "$DB_PORT" \
      --user "$POSTGRES_USER" --database "$1" "$2" "$3" "$4"
  }
  sql_tool "$1" setup-schema --version 0.0
  sql_tool "$1" update-schema --schema-name "postgresql/v12/$2"
}

set_up "$DBNAME" temporal
set_up "$VISIBILITY_DBNAME" visibility
