/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options that several commands share: one name, one letter and one meaning each, whatever the
 * command. A command's table says where the value goes, what it is by default, and what it does
 * there. A letter that stands here means nothing else anywhere (tests/lint/vocabulary looks).
 */
#ifndef ICTUS_TOOLS_SHARED_ROWS_H
#define ICTUS_TOOLS_SHARED_ROWS_H

#include "main/options.h"
#include "main/progress.h"
#include "main/results.h"

#include <stddef.h>

/* clang-format off */

/* What is measured. */
#define ROW_OPS(member, fallback, help) \
    {"ops", 0, OPTION_TEXT, member, fallback, 0, 0, NULL, "LIST", help}
#define ROW_SIZES(member, fallback) \
    {"sizes", 's', OPTION_TEXT, member, fallback, 0, 0, NULL, "LIST", "block sizes in bytes: 8,1K or 8..64K*4"}
#define ROW_PROCESSES(member) \
    {"processes", 'p', OPTION_TEXT, member, NULL, 0, 0, NULL, "LIST", "numbers of processes to use, up to all: 2,4"}
#define ROW_PLACEMENT(member, choices) \
    {"placement", 0, OPTION_CHOICE, member, "packed", 0, 0, choices, "HOW", "which of them: packed, spread"}
#define ROW_ALGORITHM(member, fallback, help) \
    {"algorithm", 'a', OPTION_TEXT, member, fallback, 0, 0, NULL, "LIST", help}
#define ROW_SCHEME(member, fallback, argument, help) \
    {"scheme", 'm', OPTION_TEXT, member, fallback, 0, 0, NULL, argument, help}
#define ROW_ROOT(member) \
    {"root", 0, OPTION_INT, member, "0", 0, 1e9, NULL, "RANK", "root rank of rooted operations"}
#define ROW_DATATYPE(member) \
    {"datatype", 0, OPTION_TEXT, member, "char", 0, 0, NULL, "TYPE", "type of elements: int, float, double, ..."}
#define ROW_LAYOUT(member) \
    {"layout", 0, OPTION_TEXT, member, "contiguous", 0, 0, NULL, "SPEC", "gaps between elements: vector, ..."}
#define ROW_TOPOLOGY(member) \
    {"topology", 0, OPTION_TEXT, member, "ring", 0, 0, NULL, "SPEC", "neighbours: ring, cart, graph:degree=3"}
#define ROW_REDUCE(member) \
    {"op", 0, OPTION_TEXT, member, "sum", 0, 0, NULL, "OP", "reduction operator: sum, max, band, ..."}

/* How long and how often. */
#define ROW_REPETITIONS(member, fallback, most, help) \
    {"repetitions", 'n', OPTION_INT, member, fallback, 1, most, NULL, "N", help}
#define ROW_TIME(member, fallback, help) \
    {"time", 't', OPTION_SECONDS, member, fallback, 0, 1e6, NULL, "TIME", help}
#define ROW_WARMUP(member, fallback, most, help) \
    {"warmup", 0, OPTION_INT, member, fallback, 0, most, NULL, "N", help}
#define ROW_DURATION(member, fallback, least, help) \
    {"duration", 'd', OPTION_SECONDS, member, fallback, least, 1e9, NULL, "TIME", help}
#define ROW_EXCHANGES(member, fallback, least, most, help) \
    {"exchanges", 0, OPTION_INT, member, fallback, least, most, NULL, "N", help}
#define ROW_SEED(member, most, help) \
    {"seed", 0, OPTION_INT, member, "1", 0, most, NULL, "N", help}

/*
 * By how much launches are assumed to differ (standard deviation) where too few show it: in a time,
 * which moves with the state of the machine, and in the ratio of two times that one launch measured
 * in turns, in which that cancels. bench/verdicts shows both.
 */
#define SPREAD_OF_TIMES "18%"
#define SPREAD_OF_RATIOS "12%"
#define ROW_LAUNCH_SPREAD(member, fallback, help) \
    {"launch-spread", 0, OPTION_RATIO, member, fallback, 0, 10, NULL, "RATIO", help}

/* Clocks: where time is read, and which algorithm makes one clock of many. */
#define ROW_CLOCK(member) \
    {"clock", 'c', OPTION_TEXT, member, NULL, 0, 0, NULL, "SRC", "time source; see ictus clocks"}
#define ROW_SYNC(member) \
    {"sync", 0, OPTION_TEXT, member, NULL, 0, 0, NULL, "SPEC", "clock algorithm; see ictus sync"}

/* The network clock. */
#define ROW_NAME(member) \
    {"name", 0, OPTION_TEXT, member, NULL, 0, 0, NULL, "NAME", "name of the clock [default]"}
#define ROW_DIRECTORY(member) \
    {"directory", 0, OPTION_TEXT, member, NULL, 0, 0, NULL, "DIR", "directory of its shared page [/run/ictus for root]"}
#define ROW_KEYS(member) \
    {"keys", 0, OPTION_TEXT, member, NULL, 0, 0, NULL, "FILE", "file of AES-CMAC keys"}
#define ROW_USER(member) \
    {"user", 0, OPTION_TEXT, member, NULL, 0, 0, NULL, "NAME", "user to become when started as root [ictus]"}
#define ROW_PROMETHEUS(member) \
    {"prometheus", 0, OPTION_TEXT, member, NULL, 0, 0, NULL, "[ADDR:]PORT", "serve metrics to Prometheus at this address"}

/* What is written, and where. */
#define ROW_LIST(member, help) \
    {"list", 'l', OPTION_FLAG, member, NULL, 0, 0, NULL, NULL, help}
#define ROW_RAW(member, help) \
    {"raw", 0, OPTION_FLAG, member, NULL, 0, 0, NULL, NULL, help}
#define ROW_FORMAT(member, fallback, choices, help) \
    {"format", 'f', OPTION_CHOICE, member, fallback, 0, 0, choices, "FORMAT", help}
#define ROW_OUTPUT(member, argument, help) \
    {"output", 'o', OPTION_TEXT, member, NULL, 0, 0, NULL, argument, help}
#define ROW_FORCE(member) \
    {"force", 0, OPTION_FLAG, member, NULL, 0, 0, NULL, NULL, "replace an existing output"}
#define ROW_QUIET(member, help) \
    {"quiet", 'q', OPTION_FLAG, member, NULL, 0, 0, NULL, NULL, help}
#define ROW_FAIL_ABOVE(member, help) \
    {"fail-above", 0, OPTION_TEXT, member, NULL, 0, 0, NULL, "RATIO", help}

/* A struct results_options. */
#define ROWS_RESULTS(member) \
    ROW_FORMAT((member) + offsetof(struct results_options, format), "text", results_formats, "format of standard output: text, csv, json"), \
    ROW_OUTPUT((member) + offsetof(struct results_options, file), "FILE", "also write a result file (JSON lines)"), \
    ROW_FORCE((member) + offsetof(struct results_options, force))

/* A struct progress_options: of every command that may work longer than two seconds. */
#define ROWS_PROGRESS(member) \
    ROW_QUIET((member) + offsetof(struct progress_options, quiet), "print only results and errors"), \
    {"progress", 0, OPTION_FLAG, (member) + offsetof(struct progress_options, progress), NULL, 0, 0, NULL, NULL, "report progress even if stderr is not a terminal"}, \
    {"verbose", 'v', OPTION_FLAG, (member) + offsetof(struct progress_options, verbose), NULL, 0, 0, NULL, NULL, "report every step on a line of its own"}

#define ROW_END \
    {NULL, 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}

/* clang-format on */

#endif
