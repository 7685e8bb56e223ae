/* SPDX-License-Identifier: BSD-3-Clause */
/* Collecting repetitions and their medians. */
#include "clocks/sync_summary.h"

#include "main/values.h"

#include <stdlib.h>
#include <string.h>

enum value { DURATION, EXCHANGES, ERROR, RMS, SIGMA, PATH, UNSEEN, COVERED, VALUES };

struct sync_summary {
    size_t cells;
    size_t repetitions;
    size_t *counts;  /* of each cell */
    double *numbers; /* [cell][value][repetition] */
    bool truth;
};

struct sync_summary *sync_summary_create(size_t cells, size_t repetitions)
{
    struct sync_summary *summary = calloc(1, sizeof(*summary));
    if (!summary) {
        return NULL;
    }
    summary->cells = cells;
    summary->repetitions = repetitions;
    summary->counts = calloc(cells, sizeof(*summary->counts));
    summary->numbers = calloc(cells * VALUES * repetitions, sizeof(*summary->numbers));
    if (!summary->counts || !summary->numbers) {
        sync_summary_free(summary);
        return NULL;
    }
    return summary;
}

void sync_summary_free(struct sync_summary *summary)
{
    if (summary) {
        free(summary->counts);
        free(summary->numbers);
        free(summary);
    }
}

static double *values_of(struct sync_summary *summary, size_t cell, enum value value)
{
    return summary->numbers + (cell * VALUES + (size_t)value) * summary->repetitions;
}

void sync_summary_add(struct sync_summary *summary, size_t cell, const struct sync_cost *cost,
                      const struct sync_quality *quality)
{
    const size_t i = summary->counts[cell]++;
    values_of(summary, cell, DURATION)[i] = cost->duration_s;
    values_of(summary, cell, EXCHANGES)[i] = (double)cost->exchanges;
    values_of(summary, cell, ERROR)[i] = quality->max_error_ns;
    values_of(summary, cell, RMS)[i] = quality->rms_error_ns;
    values_of(summary, cell, SIGMA)[i] = quality->max_sigma_ns;
    values_of(summary, cell, PATH)[i] = quality->max_path_ns;
    values_of(summary, cell, UNSEEN)[i] = quality->max_unseen_ns;
    values_of(summary, cell, COVERED)[i] = quality->covered;
    summary->truth = cost->truth;
}

/* Sorts the values in place. */
static double summary_median(struct sync_summary *summary, size_t cell, enum value value)
{
    const size_t n = summary->counts[cell];
    double *v = values_of(summary, cell, value);
    values_sort(v, n);
    return values_median(v, n);
}

static double summary_mean(struct sync_summary *summary, size_t cell, enum value value)
{
    const double *v = values_of(summary, cell, value);
    double sum = 0.0;
    for (size_t i = 0; i < summary->counts[cell]; i++) {
        sum += v[i];
    }
    return sum / (double)summary->counts[cell];
}

json_t *sync_summary_row(struct sync_summary *summary, size_t cell, const char *sync, int processes,
                         double wait_s)
{
    const size_t n = summary->counts[cell];
    if (n == 0) {
        return NULL;
    }
    const double error_ns = summary_median(summary, cell, ERROR);
    json_t *row = json_pack("{s:s, s:s, s:i, s:f, s:I, s:f, s:f}", "type", "summary", "sync", sync,
                            "processes", processes, "wait_s", wait_s, "n", (json_int_t)n,
                            "duration_s", summary_median(summary, cell, DURATION), "exchanges",
                            summary_median(summary, cell, EXCHANGES));
    json_object_set_new(row, "error_ns", ictus_result_real(error_ns));
    /* Sorted by the median above. */
    json_object_set_new(row, "worst_ns", ictus_result_real(values_of(summary, cell, ERROR)[n - 1]));
    json_object_set_new(row, "rms_ns", ictus_result_real(summary_median(summary, cell, RMS)));
    json_object_set_new(row, "sigma_ns", ictus_result_real(summary_median(summary, cell, SIGMA)));
    json_object_set_new(row, "path_ns", ictus_result_real(summary_median(summary, cell, PATH)));
    json_object_set_new(row, "unseen_ns", ictus_result_real(summary_median(summary, cell, UNSEEN)));
    if (summary->truth) {
        json_object_set_new(row, "covered",
                            ictus_result_real(100.0 * summary_mean(summary, cell, COVERED)));
    }
    return row;
}

void sync_summary_columns(const char *title, struct ictus_column *columns)
{
    const struct ictus_column all[SYNC_SUMMARY_COLUMNS] = {
        {"sync", title, ICTUS_COLUMN_TEXT},
        {"processes", "procs", ICTUS_COLUMN_COUNT},
        {"wait_s", "after s", ICTUS_COLUMN_NUMBER},
        {"duration_s", "took us", ICTUS_COLUMN_SECONDS},
        {"exchanges", "exchanges", ICTUS_COLUMN_COUNT},
        {"error_ns", "error us", ICTUS_COLUMN_NS},
        {"sigma_ns", "sigma us", ICTUS_COLUMN_NS},
        {"covered", "in 95% %", ICTUS_COLUMN_NUMBER},
        {NULL, NULL, ICTUS_COLUMN_TEXT}};
    memcpy(columns, all, sizeof(all));
}
