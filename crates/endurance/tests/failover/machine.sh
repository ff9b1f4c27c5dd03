# Runs a test on a separate machine, and removes everything when the test ends. Standard input is a pipe from the parent
# process; the operating system closes it when the parent ends in any way.
kind=$1 folder=$2
shift 2

if [ "$kind" = namespaces ]; then
    # This shell is the first process in its namespaces: when it ends, the kernel kills all others, and with the last one
    # go the network and the files.
    mount -t tmpfs -o mode=755,size=4g tmpfs /run && mkdir -p /run/netns "$folder" && ip link set lo up || exit 1
fi

exec 3<&0
"$@" < /dev/null 3<&- &
test=$!
# Nothing is ever written into the pipe. What watches it must not hold the output open.
{ read -r _ <&3; kill -KILL "$test"; } > /dev/null 2>&1 &
watch=$!
wait "$test"
status=$?
kill "$watch"

if [ "$kind" = loopback ]; then
    # Every process of the test works in a folder below this one. The second time is for those that were just begun.
    for round in 1 2; do
        for process in /proc/[0-9]*; do
            case $(readlink "$process/cwd") in
            "$folder"/*) kill -KILL "${process#/proc/}" ;;
            esac
        done
    done 2> /dev/null
    cd / && rm -rf "$folder"
fi
exit "$status"
