/* SPDX-License-Identifier: BSD-3-Clause */
/* One analysis of one archive: what its parts share. */
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
 * Open an archive, bring its times onto one clock as ictus correct would take them before it moves
 * any event by itself, and read its calls; a is zeroed before. To be closed after errors too.
 */
int ictusi_analysis_open(struct analysis *a, const char *in, struct ictus_why *why);
void ictusi_analysis_close(struct analysis *a);

/*
 * Show all points to a function, stretch of time by stretch of time and in each of them location by
 * location, so that those that belong together are near in memory. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_analysis_visit(const struct analysis *a, void (*visit)(void *self, uint32_t point),
                          void *self);

/* Let go of the memory behind all that is kept by point or by call; the contents stay. */
void ictusi_analysis_relax(const struct analysis *a);

/* With one call that is far from the others as much memory is held as with so many neighbours. */
enum { CALLS_APART = 32 };

/*
 * Who goes through all points or calls holds the memory of so many of them at most; more: of those
 * that were passed since the last time.
 */
static inline void analysis_pass(const struct analysis *a, uint64_t *passed, uint64_t more)
{
    enum { HELD = 1 << 18 };
    *passed += more;
    if (*passed >= HELD) {
        *passed = 0;
        ictusi_analysis_relax(a);
    }
}

/* What is made of all calls, in their order; its pass is told of a stretch of a location's calls.
 */
struct call_pass {
    int (*stretch)(struct call_pass *pass, uint32_t location, uint64_t from, uint64_t to);
};

/*
 * Go through all calls once for several of these: a stretch is in the processor's cache for all of
 * them. Errors: those of the passes.
 */
int ictusi_analysis_walk(const struct analysis *a, struct call_pass *const *passes, size_t count);

static inline uint32_t analysis_location(const struct analysis *a, uint64_t call)
{
    return call_at(&a->calls, call)->location;
}

/* The nodes that a virtual node listens to, and those that listen to it. */
static inline const uint32_t *analysis_ins(const struct analysis *a, uint32_t node)
{
    return a->session.graph.edges + graph_vnode(&a->session.graph, node)->edges;
}

static inline const uint32_t *analysis_outs(const struct analysis *a, uint32_t node)
{
    return analysis_ins(a, node) + graph_vnode(&a->session.graph, node)->in_count;
}

/* Ticks that a call waits for its partner, within the call. */
static inline int64_t analysis_wait(const struct analysis *a, uint64_t call)
{
    return partner_at(&a->partners, call)->wait;
}

#endif
