#!/bin/sh
# Starts one node of PostgreSQL. The node whose name is POSTGRES_PRIMARY creates the database; any other node clones that one
# and follows it as a standby. A former primary does not start: two primaries would accept different writes.
#
# POSTGRES_NODE        the name of this node
# POSTGRES_PRIMARY     the name of the node that is the primary, or is about to be promoted
# POSTGRES_DOMAIN      what follows a node's name in its host name; empty in compose
# REPLICATION_PASSWORD the password of the role "replicator"
set -eu
: "${POSTGRES_NODE:?}" "${POSTGRES_PRIMARY:?}" "${REPLICATION_PASSWORD:?}" "${PGDATA:?}"
configuration=${POSTGRES_CONFIGURATION:-/etc/register-postgres}
certificates=${POSTGRES_CERTIFICATES:-/etc/register-postgres-tls}

if [ "$POSTGRES_NODE" != "$POSTGRES_PRIMARY" ]; then
    if [ ! -s "$PGDATA/PG_VERSION" ]; then
        passwords=$(dirname "$PGDATA")/replication.pgpass
        (umask 077 && echo "*:*:*:replicator:$REPLICATION_PASSWORD" > "$passwords")
        # A clone that was interrupted is begun again.
        until
            rm -rf "$PGDATA.new"
            pg_basebackup --pgdata "$PGDATA.new" --write-recovery-conf --no-password --dbname "host=$POSTGRES_PRIMARY${POSTGRES_DOMAIN:-} user=replicator application_name=$POSTGRES_NODE sslmode=verify-full sslrootcert=$certificates/ca.crt passfile=$passwords"
        do
            sleep 2
        done
        mv "$PGDATA.new" "$PGDATA"
    elif [ ! -e "$PGDATA/standby.signal" ]; then
        echo "$POSTGRES_NODE has been the primary, and $POSTGRES_PRIMARY is now: remove the volume of $POSTGRES_NODE" >&2
        exit 1
    fi
fi
# The entry point of the image initialises an empty directory, with create-roles.sh, and becomes the server.
exec docker-entrypoint.sh postgres -c "config_file=$configuration/postgresql.conf" -c "hba_file=$configuration/pg_hba.conf" \
    -c "ssl_cert_file=$certificates/tls.crt" -c "ssl_key_file=$certificates/tls.key" "$@"
