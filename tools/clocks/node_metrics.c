/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics of nodes in Prometheus's text format. They are written to a temporary file that is
 * renamed into place, except for pipes and devices, which a rename would replace.
 */
#include "clocks/node_metrics.h"

#include <ictus/text.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096 };

/* One family of metrics: its head, then a line a node. */
struct family {
    const char *name, *help;
    double (*value)(const struct ictus_node_check *node);
};

static double rtt_of(const struct ictus_node_check *n)
{
    return n->rtt_ns * 1e-9;
}

static double drift_of(const struct ictus_node_check *n)
{
    return n->drift;
}

static double step_of(const struct ictus_node_check *n)
{
    return n->step_ns * 1e-9;
}

static double fault_of(const struct ictus_node_check *n)
{
    return n->faults ? 1.0 : 0.0;
}

static const struct family families[] = {
    {"ictus_node_round_trip_seconds", "Round trip between two nodes like this one.", rtt_of},
    {"ictus_node_clock_drift_ratio", "Rate of the node's clock relative to the median rate.",
     drift_of},
    {"ictus_node_clock_step_seconds", "Change of the clock that its rate does not explain.",
     step_of},
    {"ictus_node_out_of_line", "Whether anything is wrong with the node.", fault_of},
};

/* A label's value: backslashes, quotes and line feeds are escaped. */
static void node_metrics_put_name(FILE *file, const char *name)
{
    for (; *name; name++) {
        if (*name == '\\' || *name == '"') {
            (void)fputc('\\', file);
        }
        (void)fputc(*name == '\n' ? ' ' : *name, file);
    }
}

static void node_metrics_put_all(FILE *file, const struct ictus_checkup *f, const char *names,
                                 size_t name_bytes)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        const struct family *family = &families[i];
        (void)fprintf(file, "# HELP %s %s\n# TYPE %s gauge\n", family->name, family->help,
                      family->name);
        for (int n = 0; n < f->node_count; n++) {
            (void)fprintf(file, "%s{node=\"", family->name);
            node_metrics_put_name(file, names + (size_t)n * name_bytes);
            (void)fprintf(file, "\",rank=\"%d\"} %.9g\n", n, family->value(&f->nodes[n]));
        }
    }
    (void)fprintf(file,
                  "# HELP ictus_bad_links Links that are slower than their two nodes "
                  "explain.\n"
                  "# TYPE ictus_bad_links gauge\n"
                  "ictus_bad_links %zu\n"
                  "# HELP ictus_checkup_duration_seconds How long the checkup took.\n"
                  "# TYPE ictus_checkup_duration_seconds gauge\n"
                  "ictus_checkup_duration_seconds %.9g\n",
                  f->link_count, f->duration_s);
}

int node_metrics_write(const char *path, const struct ictus_checkup *found, const char *names,
                       size_t name_bytes, struct ictus_why *why)
{
    struct stat old;
    char beside[PATH_BYTES];
    const bool in_place = stat(path, &old) == 0 && !S_ISREG(old.st_mode);
    const int length = snprintf(beside, sizeof(beside), in_place ? "%s" : "%s.part", path);
    FILE *file = length < (int)sizeof(beside) ? fopen(beside, "w") : NULL;
    if (!file) {
        return ictus_because(why, ICTUS_ERR_IO, "--metrics=%.200s: %s", path,
                             length < (int)sizeof(beside) ? strerror(errno) : "too long");
    }
    node_metrics_put_all(file, found, names, name_bytes);
    const int bad = ferror(file);
    if (fclose(file) || bad || (!in_place && rename(beside, path))) {
        const int reason = errno;
        if (!in_place) {
            (void)remove(beside);
        }
        return ictus_because(why, ICTUS_ERR_IO, "--metrics=%.200s: %s", path, strerror(reason));
    }
    return ICTUS_OK;
}
