/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, writing and closing a study. */
#include "main/study_base.h"

#include "main/command.h"

#include <stdio.h>

void study_base_init(struct study_base *base, const char *command,
                     const struct results_options *results, const struct progress_options *talk)
{
    base->command = command;
    base->results = results;
    base->talk = talk;
}

void study_base_clock(struct study_base *base, const char *sync, const char *clock)
{
    base->clock = clock_spec_join(&base->clock_text, sync, clock);
}

int study_base_open(struct study_base *base, const struct header_facts *facts,
                    const struct ictus_column *columns, struct ictus_why *why)
{
    return results_open(base->results, columns, header_create(facts), &base->out, why);
}

void study_base_begin(struct study_base *base, const char *what, double total)
{
    progress_start(&base->progress, base->talk, what, total);
}

void study_base_step(struct study_base *base, const char *label)
{
    progress_step(&base->progress, base->done++, label);
}

int study_base_put(struct study_base *base, json_t *object)
{
    progress_hide(&base->progress);
    return object ? ictus_output_put(base->out, object) : ICTUS_ERR_NOMEM;
}

void study_base_omit(struct study_base *base, struct ictus_why *why)
{
    if (command_rank() == 0) {
        progress_hide(&base->progress);
        (void)fprintf(stderr, "ictus %s: left out: %s\n", base->command, why->text);
    }
    why->text[0] = '\0';
}

int study_base_close(struct study_base *base, int err, struct ictus_why *why)
{
    progress_hide(&base->progress);
    return results_close(base->out, base->results->file, err, why);
}
