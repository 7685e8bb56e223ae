/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics are thinned while they are read, because the number of values is not known before the
 * end. Each series keeps every k-th value. When it is full, every other value is dropped and k
 * doubles. So between half and all of its places are filled, evenly over the run.
 */
#include "view/series.h"

#include <ictus/error.h>
#include <stdlib.h>

void ictusi_series_fini(struct series_list *series)
{
    for (uint64_t i = 0; i < series->count; i++) {
        free(series->list[i]);
    }
    ictusi_idmap_fini(&series->index);
}

/* A series takes about 6 KiB, so it is allocated only when its first value is read. */
static struct metric_series *series_make(struct series_list *series, uint32_t track,
                                         uint32_t member)
{
    struct metric_series *one = calloc(1, sizeof *one);
    if (!one || ictusi_idmap_put(&series->index, track, member, (int64_t)series->count)) {
        free(one);
        return NULL;
    }
    one->track = track;
    one->member = member;
    one->every = 1;
    series->list[series->count++] = one;
    return one;
}

/* every is a power of two, and values[i] is value number i * every of the series. */
int ictusi_series_add(struct series_list *series, uint32_t track, uint32_t member, int64_t time,
                      double value)
{
    const int64_t at = ictusi_idmap_get(&series->index, track, member);
    series->values++;
    /* The index also remembers the series that are only counted, so that each is counted once. */
    if (at == IDMAP_NONE && series->seen++ >= SERIES_MOST) {
        return ictusi_idmap_put(&series->index, track, member, SERIES_MOST) ? ICTUS_ERR_NOMEM
                                                                            : ICTUS_OK;
    }
    if (at == SERIES_MOST) {
        return ICTUS_OK; /* this series is only counted */
    }
    struct metric_series *one =
        at == IDMAP_NONE ? series_make(series, track, member) : series->list[at];
    if (!one) {
        return ICTUS_ERR_NOMEM;
    }
    if (one->seen++ % one->every != 0) {
        return ICTUS_OK;
    }
    if (one->count == SERIES_POINTS) { /* drop every other value */
        /*
         * Those that remain are the multiples of the new k: the first value has number 0, and every
         * other multiple of k is a multiple of 2 k.
         */
        for (size_t i = 0; 2 * i < SERIES_POINTS; i++) {
            one->time[i] = one->time[2 * i];
            one->value[i] = one->value[2 * i];
        }
        one->count = SERIES_POINTS / 2;
        one->every *= 2;
        /* This value was due with the old k, but may not be with the new one. */
        if ((one->seen - 1) % one->every != 0) {
            return ICTUS_OK;
        }
    }
    one->time[one->count] = time;
    one->value[one->count++] = value;
    return ICTUS_OK;
}
