/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which model of the clocks the messages call for: the base (what is known already), one line per
 * clock, or a random walk of the frequency. A richer model is taken only if it predicts delays that
 * it was not fitted to.
 */
#ifndef ICTUS_CAUSALITY_CLOCK_CHOICE_H
#define ICTUS_CAUSALITY_CLOCK_CHOICE_H

#include "causality/clock_model.h"

enum clock_kind { CLOCKS_BASE, CLOCKS_LINES, CLOCKS_WALK };

struct clock_choice {
    enum clock_kind kind;
    struct model_walk walk;
    enum clock_kind refused; /* the richest model that was fitted but not taken, or CLOCKS_BASE */
    double moves, heals; /* of the refused one: the largest move and the largest violation, us */
};

/* The reader of the trace. */
struct clock_source {
    /* Apply the model's phi to all times and pass the delays to ictusi_clock_model_see(). */
    int (*observe)(struct clock_source *source, struct clock_model *model);
};

/*
 * Choose a model and fit it. The model is left with the chosen phi (zero for CLOCKS_BASE) and its
 * errors; the choice must be freed. Errors: ICTUS_ERR_NOMEM, and those of the source.
 */
int ictusi_clock_choice_run(struct clock_model *model, struct clock_source *source,
                            struct clock_choice *choice);

/* Return to the base, whose largest violation is `heals` us. What was chosen counts as refused. */
void ictusi_clock_choice_decline(struct clock_choice *choice, struct clock_model *model,
                                 double heals);
void ictusi_clock_choice_fini(struct clock_choice *choice);

#endif
