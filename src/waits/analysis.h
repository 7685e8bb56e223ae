/* SPDX-License-Identifier: BSD-3-Clause */
/* One analysis of one archive: the data that its parts share. */
#ifndef ICTUS_WAITS_ANALYSIS_H
#define ICTUS_WAITS_ANALYSIS_H

#include "waits/partners.h"

struct analysis {
    struct session session;
    struct paths paths;
    struct waiting_calls calls;
    struct histories histories;
    struct partners partners;
};

/*
 * Open an archive, presynchronise its times as ictus correct would before it moves any single
 * event, and read its calls. a must be zeroed. Call ictusi_analysis_close() even after an error.
 */
int ictusi_analysis_open(struct analysis *a, const char *in, struct ictus_why *why);
void ictusi_analysis_close(struct analysis *a);

/* The locations from `from` up to, but not including, `to`. */
struct location_block {
    uint32_t from, to;
};

/*
 * Call visit for all points of a block of locations: interval by interval of time, and location by
 * location within an interval, so that points that belong together are close in memory. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_analysis_visit(const struct analysis *a, struct location_block block,
                          void (*visit)(void *self, uint32_t point), void *self);

enum { BLOCKS_MOST = 8 };

/* Memory of this size moves between processors as a whole. */
enum { CACHE_LINE = 64 };

/*
 * Divide the locations into blocks with about the same number of points, one for each of the
 * session's threads. Returns how many there are, from 1 to BLOCKS_MOST.
 */
uint32_t ictusi_analysis_divide(const struct analysis *a,
                                struct location_block blocks[BLOCKS_MOST]);

/*
 * Release the memory behind everything that is kept per point or per call; the contents stay in the
 * files.
 */
void ictusi_analysis_relax(const struct analysis *a);

/* A call far from the others holds as much memory as this many neighbouring ones. */
enum { CALLS_APART = 32 };

/*
 * Whoever goes through all points or calls uses this to bound the memory that is held to HELD of
 * them. Several threads may do so at the same time. more: the number passed since the last call.
 */
static inline void analysis_pass(const struct analysis *a, uint64_t *passed, uint64_t more)
{
    enum { HELD = 1 << 18 };
    const int threads = a->session.threads;
    *passed += more;
    if (*passed * (uint64_t)(threads > 1 ? threads : 1) >= HELD) {
        *passed = 0;
        ictusi_analysis_relax(a);
    }
}

/*
 * Something that is computed from all calls in order. stretch receives a range of a location's
 * calls.
 */
struct call_pass {
    int (*stretch)(struct call_pass *pass, uint32_t location, uint64_t from, uint64_t to);
};

/*
 * Go through all calls once for several passes, so that each range is in the processor's cache for
 * all of them. Errors: those of the passes.
 */
int ictusi_analysis_walk(const struct analysis *a, struct call_pass *const *passes, size_t count);

static inline uint32_t analysis_location(const struct analysis *a, uint64_t call)
{
    return call_at(&a->calls, call)->location;
}

/* The nodes that a virtual node depends on, and those that depend on it. */
static inline const uint32_t *analysis_ins(const struct analysis *a, uint32_t node)
{
    return a->session.graph.edges + graph_vnode(&a->session.graph, node)->edges;
}

static inline const uint32_t *analysis_outs(const struct analysis *a, uint32_t node)
{
    return analysis_ins(a, node) + graph_vnode(&a->session.graph, node)->in_count;
}

/* How long a call waits for its partner, in ticks and within the call. */
static inline int64_t analysis_wait(const struct analysis *a, uint64_t call)
{
    const struct partner *p = partner_at(&a->partners, call);
    const struct waiting_call *c = call_at(&a->calls, call);
    return p->until == WAIT_NOT ? 0 : p->until == WAIT_UNTIL_CAUSE ? p->late : c->leave - c->enter;
}

/* Whether it waits at all, without a look at the call. */
static inline bool analysis_waits(const struct analysis *a, uint64_t call)
{
    return partner_at(&a->partners, call)->until != WAIT_NOT;
}

#endif
