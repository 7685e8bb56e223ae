/* SPDX-License-Identifier: BSD-3-Clause */
#include "archive/restamps.h"

#include "archive/restamp.h"
#include "causality/crew.h"

#include <errno.h>
#include <ictus/text.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The result for one location, from the thread that tried it until it is settled. The walk stays
 * open until then, because only one thread at a time may close walks (copy_callbacks.h). Indexed by
 * location - from, and each written by a single thread, so no lock is needed.
 */
struct restamps_try {
    void *walk; /* NULL: it was not opened */
    int err;
    int number; /* errno */
};

int ictusi_restamps_init(struct restamps *restamps, const struct copy_job *job, const char *target,
                         uint64_t chunk)
{
    *restamps = (struct restamps){.job = job, .chunk = chunk};
    restamps->in = strdup(job->trace->path);
    restamps->out = strdup(target);
    restamps->tries = calloc(RESTAMPS_TOGETHER, sizeof *restamps->tries);
    if (!restamps->in || !restamps->out || !restamps->tries) {
        return ICTUS_ERR_NOMEM;
    }
    *strrchr(restamps->in, '.') = '\0'; /* the anchor's name ends in .otf2 */
    return ICTUS_OK;
}

void ictusi_restamps_fini(struct restamps *restamps)
{
    free(restamps->in);
    free(restamps->out);
    free(restamps->tries);
    *restamps = (struct restamps){.job = NULL};
}

/* Returns "DIR/traces/LOCATION.evt" for "DIR/traces". NULL: no memory. */
static char *event_path(const char *stem, uint64_t location)
{
    char *path = NULL;
    return asprintf(&path, "%s/%" PRIu64 ".evt", stem, location) < 0 ? NULL : path;
}

/*
 * errno is preserved across the frees, because another thread uses it later for the caller's
 * message.
 */
static int location_restamp(const struct restamps *restamps, uint32_t index, void *walk)
{
    const struct layout_location *location = &restamps->job->trace->layout.locations[index];
    char *in = event_path(restamps->in, location->ref);
    char *out = event_path(restamps->out, location->ref);
    const struct restamp job = {in,  out, restamps->chunk, location->events, &restamps->job->clock,
                                walk};
    const int err = in && out ? ictusi_restamp_run(&job) : ICTUS_ERR_NOMEM;
    const int number = errno;
    free(in);
    free(out);
    errno = number;
    return err;
}

/*
 * Run by a thread. Messages are left to the caller's thread. Locations of other ranks, and those
 * without events, remain ICTUS_ERR_UNSUPPORTED, so that the OTF2 library handles them.
 */
static void restamps_try(void *self, uint32_t number)
{
    const struct restamps *restamps = self;
    const struct copy_job *job = restamps->job;
    const uint32_t index = restamps->from + number;
    struct restamps_try *its = &restamps->tries[number];
    *its = (struct restamps_try){.err = ICTUS_ERR_UNSUPPORTED};
    if ((job->mine && !job->mine[index]) || job->trace->layout.locations[index].events == 0) {
        return;
    }
    its->walk = job->clock.open(job->clock.self, index);
    its->err = its->walk ? location_restamp(restamps, index, its->walk) : ICTUS_ERR_NOMEM;
    its->number = errno;
}

/* Try the locations [from, to), at most RESTAMPS_TOGETHER of them. */
void ictusi_restamps_run(struct restamps *restamps, uint32_t from, uint32_t to)
{
    restamps->from = from;
    ictusi_crew_run(restamps->job->threads, to - from, restamps_try, restamps);
}

/*
 * A walk that was opened is always closed. It counts only if its events were written. Otherwise the
 * OTF2 library opens another walk for the same location, and both would count.
 */
int ictusi_restamps_settle(struct restamps *restamps, uint32_t location, bool dropped,
                           struct ictus_why *why)
{
    const struct copy_job *job = restamps->job;
    const struct restamps_try *its = &restamps->tries[location - restamps->from];
    const bool copied = !its->err && !dropped;
    if (its->walk && !job->clock.close(job->clock.self, its->walk, copied) && copied) {
        return ictusi_archive_beyond(job->trace, location);
    }
    return its->err != ICTUS_ERR_IO || dropped
               ? its->err
               : ictus_because(why, its->err, "%s/%" PRIu64 ".evt: %s", restamps->out,
                               job->trace->layout.locations[location].ref, strerror(its->number));
}
