/* SPDX-License-Identifier: BSD-3-Clause */
/* A heap of the longest waits so far, with the shortest of them on top. */
#include "waits/instances.h"

#include "core/container.h"

#include <ictus/error.h>
#include <stdlib.h>

/*
 * Of two equally long waits, the one with the earlier call counts as longer. So the selection does
 * not depend on the order of arrival.
 */
static bool instance_longer(const struct wait_instance *a, const struct wait_instance *b)
{
    return a->ticks != b->ticks ? a->ticks > b->ticks : a->call < b->call;
}

static int instances_by_length(const void *a, const void *b)
{
    return instance_longer(a, b) ? -1 : instance_longer(b, a) ? 1 : 0;
}

/* Replace the shortest one, and let the new one sink to its place. */
static void instance_sink(struct wait_instances *w, struct wait_instance one)
{
    uint32_t at = 0;
    for (uint32_t child = 1; child < w->count; child = 2 * at + 1) {
        if (child + 1 < w->count && instance_longer(&w->list[child], &w->list[child + 1])) {
            child++;
        }
        if (!instance_longer(&one, &w->list[child])) {
            break;
        }
        w->list[at] = w->list[child];
        at = child;
    }
    w->list[at] = one;
}

/* Append one, and let it rise to its place. */
static void instance_rise(struct wait_instances *w, struct wait_instance one)
{
    uint32_t at = w->count++;
    while (at > 0) {
        const uint32_t parent = (at - 1) / 2;
        if (!instance_longer(&w->list[parent], &one)) {
            break;
        }
        w->list[at] = w->list[parent];
        at = parent;
    }
    w->list[at] = one;
}

static int instances_stretch(struct call_pass *pass, uint32_t location, uint64_t from, uint64_t to)
{
    struct wait_instances *w = container_of(pass, struct wait_instances, pass);
    (void)location;
    for (uint64_t i = from; i < to; i++) {
        if (!analysis_waits(w->analysis, i)) {
            continue;
        }
        const struct wait_instance one = {analysis_wait(w->analysis, i), (uint32_t)i};
        if (w->count < INSTANCES) {
            instance_rise(w, one);
        } else if (instance_longer(&one, &w->list[0])) {
            instance_sink(w, one);
        }
    }
    return ICTUS_OK;
}

void ictusi_instances_begin(struct wait_instances *w, const struct analysis *a)
{
    w->pass.stretch = instances_stretch;
    w->analysis = a;
    w->count = 0;
}

void ictusi_instances_end(struct wait_instances *w)
{
    qsort(w->list, w->count, sizeof *w->list, instances_by_length);
}
