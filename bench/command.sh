# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# The command line of the shell programs here: source this file, and judge all words before any work.
#   command_line MOST "$@"               no option and at most so many words, or any; -h and --help print the comment at the
#                                        program's head, in which lines that begin with its name are its usage
#   command_whole NAME VALUE             a whole number
#   command_choice NAME VALUE CHOICE...  one of them
#   command_build BUILD PATH...          a build directory that has these programs
# What is wrong gets one line on stderr and exit code 2. command.py does the same for Python.
command_name=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
command_name=bench/${command_name##*/bench/}
command_help=$(awk 'NR > 2 { if (!/^#/) { exit } sub(/^# ?/, ""); print }' "$0")

command_wrong() {
    printf '%s: %s; usage:%s\n' "$command_name" "$1" "$(printf '%s\n' "$command_help" | awk -v name="$command_name" '
        $1 == name { sub(/^ */, ""); sub(/   .*/, ""); printf "%s %s", (n++ ? " or" : ""), $0 }')" >&2
    exit 2
}

command_line() {
    command_most=$1
    shift
    for command_word; do
        case $command_word in
        -h | --help) printf '%s\n' "$command_help"; exit 0 ;;
        -*) command_wrong "not understood: $command_word" ;;
        esac
    done
    [ "$command_most" = any ] || [ $# -le "$command_most" ] || { shift "$command_most"; command_wrong "not understood: $1"; }
}

command_whole() {
    case $2 in
    '' | *[!0-9]*) command_wrong "$1: '$2' is not a whole number" ;;
    esac
}

command_choice() {
    command_given="$1: '$2'" command_word=$2
    shift 2
    for command_one; do
        [ "$command_word" = "$command_one" ] && return
    done
    command_wrong "$command_given is none of $*"
}

command_build() {
    [ -d "$1" ] || command_wrong "BUILD: there is no directory '$1'"
    [ -e "$1/CMakeCache.txt" ] && [ -e "$1/launch" ] || command_wrong "BUILD: '$1' is no build directory of ictus"
    command_given=$1
    shift
    for command_one; do
        [ -e "$command_given/$command_one" ] || command_wrong \
            "BUILD: '$command_given' has no $command_one, which 'cmake --build $command_given --target all bench' makes"
    done
}
