# Keeps one PostgreSQL server: obeys orders from standard input, and answers each with a line. When the orders end, stops
# the server, and removes its folder unless that is to be kept.
folder=$1 programs=$2 options=$3 at_end=$4
# The configuration of a PgBouncer before the server, if there is one; PGBOUNCER is then its program.
pooler=$folder/pgbouncer.ini
# The test may be gone when a command is answered.
trap '' HUP INT PIPE TERM

obey() {
    case $1 in
    init)
        [ -d "$folder/data" ] ||
            "$programs/initdb" --no-sync --auth=trust --username=postgres --encoding=UTF8 --locale=C -D "$folder/data"
        ;;
    start)
        "$programs/pg_ctl" -D "$folder/data" -l "$folder/log" -o "$options" -t 300 -w start || return
        [ -e "$pooler" ] || return 0
        [ -e "$folder/pgbouncer.pid" ] || "$PGBOUNCER" -q -d "$pooler" || return
        for _ in $(seq 500); do [ -S "$folder/.s.PGSQL.6432" ] && return; sleep 0.02; done
        return 1
        ;;
    stop) "$programs/pg_ctl" -D "$folder/data" -m immediate -t 300 -w stop ;;
    esac >> "$folder/log" 2>&1 < /dev/null
}

while read -r order; do
    if obey "$order"; then echo "done"; else echo "failed"; fi
done
obey stop
[ ! -e "$folder/pgbouncer.pid" ] || kill "$(cat "$folder/pgbouncer.pid")"
[ "$at_end" = keep ] || { cd / && rm -rf "$folder"; }
