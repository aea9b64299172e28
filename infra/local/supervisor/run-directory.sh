#!/bin/sh
# The half of run-directory.ts that has to outlive it.
#
#   run DIRECTORY COMMAND ARG…   registers itself as DIRECTORY/processes/PID, then becomes COMMAND
#   reap DIRECTORY               waits until stdin ends, then kills all that is registered and removes DIRECTORY
#
# An entry holds the start time of the process, so that a pid which has been given to somebody else is left alone.

start_time() {
  if [ -r /proc/self/stat ]; then
    read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
    # The command name may contain anything; the 20th word behind it is the start time (proc(5), field 22).
    set -- ${stat##*) }
    shift 19
    echo "$1"
  else
    ps -o lstart= -p "$1"
  fi
}

case $1 in
  run)
    entry=$2/processes/$$
    shift 2
    start_time $$ >"$entry" 2>/dev/null
    # Missing when the reaper has moved the directory away in this very moment: then nobody would end this process.
    [ -s "$entry" ] || exit 1
    exec "$@"
    ;;
  reap)
    while read -r _; do :; done
    doomed=$2.gone
    # Moved first: from here on nothing can register, so the list is complete.
    mv "$2" "$doomed" 2>/dev/null || exit 0
    for entry in "$doomed"/processes/*; do
      [ -s "$entry" ] || continue
      pid=${entry##*/}
      now=$(start_time "$pid")
      # A group may outlive its first process, and its number is not reused as long as it does.
      [ -z "$now" ] || [ "$now" = "$(cat "$entry")" ] || continue
      kill -s KILL -- "-$pid" 2>/dev/null
    done
    rm -rf "$doomed" "$2" || { sleep 1; rm -rf "$doomed" "$2"; }
    ;;
esac
