/* SPDX-License-Identifier: BSD-3-Clause */
/* What the repetitions of ictus sync say together: medians for the table that a person reads. */
#ifndef ICTUS_TOOLS_SYNC_SUMMARY_H
#define ICTUS_TOOLS_SYNC_SUMMARY_H

#include "clocks/sync_experiment.h"

#include <ictus/result.h>

struct sync_summary;

/* Room for every cell: processes x algorithms x waits, each of so many repetitions. */
struct sync_summary *sync_summary_create(size_t cells, size_t repetitions);

void sync_summary_add(struct sync_summary *summary, size_t cell, const struct sync_cost *cost,
                      const struct sync_quality *quality);

/* One row of a cell, NULL where nothing was measured. */
json_t *sync_summary_row(struct sync_summary *summary, size_t cell, const char *sync, int processes,
                         double wait_s);

void sync_summary_free(struct sync_summary *summary);

/* The columns of the row; title is that of the first one, as wide as the longest name. */
void sync_summary_columns(const char *title, struct ictus_column *columns);
enum { SYNC_SUMMARY_COLUMNS = 9 };

#endif
