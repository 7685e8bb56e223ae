/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which model of the clocks the messages demand: none beyond what is known, a line a clock, or a
 * walk. What explains delays that it has not seen pays for its freedom; the rest does not.
 */
#ifndef ICTUS_CAUSALITY_CLOCK_CHOICE_H
#define ICTUS_CAUSALITY_CLOCK_CHOICE_H

#include "causality/clock_model.h"

enum clock_kind { CLOCKS_BASE, CLOCKS_LINES, CLOCKS_WALK };

struct clock_choice {
    enum clock_kind kind;
    struct model_walk walk;
    enum clock_kind refused; /* the richest model that was not taken for what it did; or BASE */
    double moves, heals; /* of the refused one: the largest move and the largest violation, us */
};

/* Who looks at the trace. */
struct clock_source {
    /* Apply the model's phi to all times, and have ictusi_clock_model_see() look at the delays. */
    int (*observe)(struct clock_source *source, struct clock_model *model);
};

/*
 * Choose and fit; the model is left with the chosen phi, zero for CLOCKS_BASE, and its errors, and
 * the choice is to be freed. Errors: ICTUS_ERR_NOMEM, and the source's.
 */
int ictusi_clock_choice_run(struct clock_model *model, struct clock_source *source,
                            struct clock_choice *choice);
void ictusi_clock_choice_fini(struct clock_choice *choice);

#endif
