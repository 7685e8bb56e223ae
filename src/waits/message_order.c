/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A late sender's message is in the wrong order if a later one that was also waited for had been
 * sent earlier.
 */
#include "waits/message_order.h"

#include "causality/crew.h"
#include "waits/analysis.h"

#include <stdlib.h>

/* A block of locations for one thread. */
struct ordering {
    const struct analysis *analysis;
    const struct partners *partners;
    struct location_block block;
    uint64_t *lower; /* as in struct partners, for the block's waits */
};

/* Go back through a location's calls. */
static void order_location(const struct ordering *o, uint32_t location)
{
    const struct analysis *a = o->analysis;
    uint64_t passed = 0;
    int64_t least = INT64_MAX;
    for (uint64_t i = a->calls.first[location + 1]; i-- > a->calls.first[location];) {
        analysis_pass(a, &passed, 1);
        const struct partner *p = partner_at(o->partners, i);
        if (analysis_waits(a, i)) {
            o->lower[location < p->location ? location : p->location]++;
        }
        if (p->state != WAIT_LATE_SENDER) {
            continue;
        }
        const int64_t sent = call_at(&a->calls, i)->enter + p->late;
        if (least < sent) { /* only these are written */
            *partner_wrong_order(o->partners, i) = true;
        } else {
            least = sent;
        }
    }
}

static void order_block(void *self, uint32_t number)
{
    const struct ordering *o = (struct ordering *)self + number;
    for (uint32_t l = o->block.from; l < o->block.to; l++) {
        order_location(o, l);
    }
}

int ictusi_message_order_find(struct partners *partners, const struct analysis *a)
{
    const uint64_t locations = a->session.trace->layout.location_count;
    struct location_block blocks[BLOCKS_MOST];
    struct ordering orders[BLOCKS_MOST];
    const uint32_t count = ictusi_analysis_divide(a, blocks);
    int err = ICTUS_OK;
    for (uint32_t i = 0; i < count; i++) {
        orders[i] = (struct ordering){a, partners, blocks[i], NULL};
        orders[i].lower = calloc(locations + 1, sizeof *orders[i].lower);
        err = orders[i].lower ? err : ICTUS_ERR_NOMEM;
    }
    if (!err) {
        ictusi_crew_run((int)count, count, order_block, orders);
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint64_t l = 0; l < locations && !err; l++) {
            partners->lower[l] += orders[i].lower[l];
        }
        free(orders[i].lower);
    }
    return err;
}
