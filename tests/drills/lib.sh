# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Fault drills: source this. What is promised is in docs/reliability.md. A drill runs in a directory of its own.
set -u
drill_job=
export ICTUS_PROGRESS=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ictus-drill.XXXXXX") || exit 1

drill_failures=0
drill_partly=0
# shellcheck disable=SC2317 # called by a trap
drill_end() {
    local code=$?
    if [ -n "$drill_job" ]; then kill -KILL -- "-$drill_job" 2>/dev/null; fi
    if mountpoint -q "$scratch/small" 2>/dev/null; then umount "$scratch/small"; fi
    rm -rf "$scratch"
    if [ "$drill_failures" != 0 ] && [ $code = 0 ]; then code=1; fi
    if [ "$drill_partly" != 0 ] && [ $code = 0 ]; then code=77; fi
    exit $code
}
trap drill_end EXIT
trap 'exit 143' INT TERM
cd "$scratch" || exit 1
: "${FLAVOUR:=${FLAVOUR-}}"
# A fault must not turn into a hang: every job has a bound, and the launcher's own comes last.
export ICTUS_LAUNCH_TIMEOUT=100

need() { # TOOL...: or skip
    local tool
    for tool; do
        command -v "$tool" >/dev/null || { echo "skipped: needs $tool"; exit 77; }
    done
}
# A part cannot be tried here: the drill goes on, and counts as skipped at its end.
partly() { # WHAT
    echo "left out: $*"
    drill_partly=1
}
fail() {
    echo "FAILED: $*"
    drill_failures=$((drill_failures + 1))
}
check() { # WHAT COMMAND...: an assertion
    local what=$1
    shift
    if "$@"; then echo "ok: $what"; else fail "$what"; fi
}
refuted() { ! "$@"; }
# job COMMAND...: in the background, in a process group of its own that signals reach; its output in out and err.
job() {
    if [ "$(type -t "$1")" = function ]; then
        # shellcheck disable=SC2016 # for the inner shell
        set -- bash -c "$(declare -f "$1")"'; "$@"' job "$@"
    fi
    setsid env --default-signal=HUP,INT,PIPE,QUIT,TERM "$@" >out 2>err </dev/null &
    drill_job=$!
}
# ended SECONDS: the job is over by then; its exit code in $code. A hang is a failure and ends here.
ended() {
    local end=$((SECONDS + $1))
    while kill -0 "$drill_job" 2>/dev/null; do
        if [ $SECONDS -ge $end ]; then
            fail "still running after $1 s"
            tail -n 5 err
            exit 1
        fi
        sleep 0.1
    done
    wait "$drill_job"
    code=$?
    drill_job=
    echo "ok: ended within $1 s, exit code $code"
}
# The process of a rank of the job, by the directory that it runs in.
rank_pid() { # RANK
    local pid
    for pid in $(pgrep -x ictus); do
        [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" = "$scratch" ] || continue
        tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qxE "(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1" && echo "$pid" && return
    done
    return 1
}
wait_for() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}
# Measurements in a result file.
count() {
    local n
    n=$(grep -c '"type":"measurement"' "$1" 2>/dev/null)
    echo "${n:-0}"
}
has() { [ "$(count "$1")" -ge "$2" ]; } # FILE N
# All lines whole, a header first, and at least so many measurements, each with numbers that can be.
whole() { # FILE [LEAST]
    jq -es --argjson least "${2:-1}" '.[0].type == "header" and ([.[] | select(.type == "measurement")] |
        length >= $least and all(.[]; .n > 0 and .median_s > 0 and .ci95_low_s <= .median_s and .median_s <= .ci95_high_s))' "$1" >/dev/null
}
lines() { [ "$(wc -l <"$1")" = "$2" ]; } # FILE N
