#!/bin/sh
# Creates the database at the first start (POSTGRES_USER, POSTGRES_DB, POSTGRES_PASSWORD_FILE), then runs the server.
set -eu
as() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  install -d -o postgres -g postgres -m 0700 "$PGDATA"
  # initdb reads the password as the user postgres, which may not open the original file.
  password=$(mktemp) && cat "$POSTGRES_PASSWORD_FILE" >"$password" && chown postgres "$password"
  as initdb --username "$POSTGRES_USER" --pwfile "$password" --auth scram-sha-256 --encoding UTF8 --locale C.UTF-8 >/dev/null
  rm "$password"
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  echo "create database \"$POSTGRES_DB\"" | as postgres --single -D "$PGDATA" postgres >/dev/null
fi
exec setpriv --reuid postgres --regid postgres --clear-groups postgres -c listen_addresses='*' -c unix_socket_directories=/tmp
