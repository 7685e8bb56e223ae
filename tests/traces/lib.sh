# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the tests of archives: $ICTUS is the program, $LAUNCH N starts N processes.
set -u
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failures=0
# Each MPI's tests take a number of processes and half of the seeds: seeds N prints those up to N.
first=1 team=3
if [ "${FLAVOUR:-}" = mpich ]; then first=2 team=2; fi
seeds() {
    seq $first 2 "$1"
}
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# FILE KEY: a member of the report in a JSON-lines file
member() {
    jq -r "select(.type == \"check\" or .type == \"correct\") | .$2" "$1"
}
# Events without their times: what must stay the same in every rewriting.
untimed() {
    otf2-print "$1/traces.otf2" | awk '$3 ~ /^[0-9]+$/ { $3 = ""; print | "sort -s -k2,2" }'
}
# As printed, location by location, so that the order of equal times does not matter.
by_location() {
    otf2-print "$1/traces.otf2" | awk '$3 ~ /^[0-9]+$/' | sort -s -k2,2n
}
