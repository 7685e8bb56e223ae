/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands below the table of `ictus bench`. */
#ifndef ICTUS_TOOLS_BENCH_FOOTER_H
#define ICTUS_TOOLS_BENCH_FOOTER_H

#include "bench/bench_study.h"

/*
 * Print below a table what its rows do not show: the options that they were measured with, the
 * arrival pattern, and how many medians varied with the state of the machine. Rank 0 prints; the
 * other ranks, other formats than text, and tables without rows have no footer. rows: the options
 * of the command.
 */
void bench_footer_print(const struct bench_study *study, const struct option_row *rows);

#endif
