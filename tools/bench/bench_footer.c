/* SPDX-License-Identifier: BSD-3-Clause */
/* The footer of the table of `ictus bench`. */
#include "bench/bench_footer.h"

#include "main/text_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FOOTER_BYTES = 1024 };

/* How the footer speaks of an option: its value stands between two texts, or is left out. */
static const struct condition {
    const char *option, *before, *after;
    bool bare;
} conditions[] = {
    {"group", "groups of ", " processes at once", false},
    {"placement", "placement ", "", false},
    {"rotate-root", "roots rotated", "", true},
    {"root", "root ", "", false},
    {"topology", "topology ", "", false},
    {"threads", "", " threads", false},
    {"window", "window ", "", false},
    {"datatype", "datatype ", "", false},
    {"op", "op ", "", false},
    {"layout", "layout ", "", false},
    {"in-place", "in place", "", true},
    {"cold", "caches cold", "", true},
    {"buffers", "", " sets of buffers in turn", false},
    {"messages", "", " messages at once", false},
    {"partitions", "", " partitions", false},
};

/* Add to a text of FOOTER_BYTES; what does not fit is left out. */
static void footer_add(char *text, const char *before, const char *value, const char *after)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, FOOTER_BYTES - used, "%s%s%s%s", used > 0 ? ", " : "", before,
                   value, after);
}

/* The name of the only reduction, if it is not the usual one: several have a column each. */
static const char *footer_reduction(const struct bench_study *study)
{
    int count = 0;
    int last = ICTUS_REDUCE_MAX;
    for (int r = 0; r < ICTUS_REDUCTIONS; r++) {
        count += study->wanted[r];
        last = study->wanted[r] ? r : last;
    }
    return count == 1 && last != ICTUS_REDUCE_MAX ? ictus_reduction_names[last] : NULL;
}

/*
 * A table does not look different for what an operation was measured with; the file has it all. An
 * option that concerns none of the operations was refused, so that all that is set concerns some
 * row.
 */
static void footer_tell_conditions(const struct bench_study *study, const struct option_row *rows)
{
    const struct bench_options *o = study->options;
    const char *reduction = footer_reduction(study);
    char text[FOOTER_BYTES] = "";
    if (options_is_set(options_row(rows, "scheme"), o)) {
        footer_add(text, "scheme ", o->scheme, "");
    }
    if (reduction) {
        footer_add(text, "reduction ", reduction, "");
    }
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        const struct condition *c = &conditions[i];
        const struct option_row *row = options_row(rows, c->option);
        char number[32];
        if (options_is_set(row, o)) {
            const char *value = options_value(row, o, number, sizeof number);
            footer_add(text, c->before, c->bare ? "" : value, c->after);
        }
    }
    if (text[0]) {
        remark_print(stdout, "measured with: %s", text);
    }
}

/* Times under different arrivals look alike, and so do those of other processes than recorded. */
static void footer_tell_arrival(const struct bench_study *study)
{
    const char *arrival = study->options->arrival;
    if (strcmp(arrival, "together") == 0) {
        return;
    }
    if (study->arrival_ranks > 0) {
        remark_print(stdout, "arrival %s, a pattern of %d ranks", arrival, study->arrival_ranks);
    } else {
        remark_print(stdout, "arrival %s", arrival);
    }
    for (int i = 0; i < study->group_count; i++) {
        if (study->groups[i].footprint > 0) {
            remark_print(stdout,
                         "before they arrive, processes go through %.4g KiB of memory, which was "
                         "fitted to the time that the recorded calls took",
                         (double)study->groups[i].footprint / 1024);
        }
    }
    if (study->replayed > 0) {
        remark_print(stdout,
                     "%s of %" PRIu64
                     " bytes took %.3f us (median) in the application, %.2f of that "
                     "here; other times under these arrivals may be as far from the application's",
                     study->traced.operation, study->traced.bytes, 1e6 * study->traced.duration_s,
                     study->replayed);
    }
}

/* How far the digits can be trusted. */
static void footer_tell_drift(const struct bench_study *study)
{
    if (study->drifting > 0) {
        remark_print(stdout,
                     "%d of %d medians vary with the state of the machine; their intervals allow "
                     "for that, and a longer --span narrows them",
                     study->drifting, study->written);
    }
}

void bench_footer_print(const struct bench_study *study, const struct option_row *rows)
{
    if (command_rank() == 0 && study->options->results.format == ICTUS_FORMAT_TEXT &&
        study->written > 0) {
        footer_tell_conditions(study, rows);
        footer_tell_arrival(study);
        footer_tell_drift(study);
    }
}
