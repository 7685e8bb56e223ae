/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of four locations with points and nodes made by hand, among which partners are searched
 * for. */
#ifndef ICTUS_TESTS_PARTNER_SCENE_H
#define ICTUS_TESTS_PARTNER_SCENE_H

#include "wait_scene.h"

enum { POINTS = 32, NODES = 4, EDGES = 600, ROLES = 6, ASIDES = 8 };

/* Paths of calls, by what their regions are. */
enum { PLAIN, FENCE, FILES, SYNC, BUFFERED, BOTH };

struct aside {
    enum wait_state state;
    uint32_t call;
    int64_t ticks;
};

struct world {
    struct scene s;
    struct layout_process processes[LOCATIONS]; /* two on a node */
    int64_t time[POINTS];
    union point_note note[POINTS];
    uint32_t link[POINTS], peer[POINTS], call_of[POINTS], other[POINTS];
    uint8_t kind[POINTS];
    uint64_t firsts[LOCATIONS + 1];
    struct vnode nodes[NODES];
    uint32_t edges[EDGES];
    uint8_t traits[ROLES];
    struct path paths[ROLES];
    struct aside asides[ASIDES];
    int aside_count;
};

static inline struct world *world_open(void)
{
    static const uint8_t traits[ROLES] = {[FENCE] = TRAIT_FENCE,
                                          [FILES] = TRAIT_FILE,
                                          [SYNC] = TRAIT_SYNCHRONOUS,
                                          [BUFFERED] = TRAIT_BUFFERED,
                                          [BOTH] = TRAIT_SENDRECV};
    static struct world w;
    memset(&w, 0, sizeof w);
    scene_open(&w.s);
    struct session *session = &w.s.a.session;
    for (uint32_t i = 0; i < ROLES; i++) {
        w.paths[i].region = i;
        w.traits[i] = traits[i];
    }
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        w.s.locations[l].process = l;
        w.processes[l].node = l / 2;
    }
    w.s.trace.layout.processes = w.processes;
    w.s.trace.regions.count = ROLES;
    w.s.a.paths.list = w.paths;
    w.s.a.paths.traits = w.traits;
    session->history.points = (struct points){
        .time = w.time, .note = w.note, .link = w.link, .peer = w.peer, .kind = w.kind};
    session->history.first = w.firsts;
    session->graph.vnodes = w.nodes;
    session->graph.edges = w.edges;
    w.s.a.calls.call_of.area = w.call_of;
    w.s.a.calls.other.area = w.other;
    return &w;
}

static inline void world_close(struct world *w)
{
    free(w->s.a.partners.lower);
    scene_close(&w->s);
}

/* A location's calls and points come after those of the one before. */
static inline uint32_t call_add(struct world *w, uint32_t location, int64_t enter, int64_t leave,
                                uint32_t path)
{
    const uint32_t call = scene_call(&w->s, location, enter, leave, path);
    for (uint32_t l = location; l < LOCATIONS; l++) {
        w->s.first[l + 1] = call + 1UL;
    }
    return call;
}

static inline uint32_t point_add(struct world *w, uint32_t call, uint8_t kind, int64_t time)
{
    struct points *points = &w->s.a.session.history.points;
    const uint32_t point = (uint32_t)points->count++;
    REQUIRE(point < POINTS);
    w->time[point] = time;
    w->kind[point] = kind;
    w->link[point] = NODE_NONE;
    w->call_of[point] = w->other[point] = call;
    for (uint32_t l = analysis_location(&w->s.a, call); l < LOCATIONS; l++) {
        w->firsts[l + 1] = points->count;
    }
    w->s.a.session.to = time > w->s.a.session.to ? time : w->s.a.session.to;
    return point;
}

static inline uint32_t node_add(struct world *w, const uint32_t *in, uint32_t in_count,
                                const uint32_t *out, uint32_t out_count)
{
    struct graph *graph = &w->s.a.session.graph;
    const uint32_t node = NODE_VIRTUAL | (uint32_t)graph->vnode_count;
    w->nodes[graph->vnode_count++] = (struct vnode){
        .edges = (uint32_t)graph->edge_count, .in_count = in_count, .out_count = out_count};
    REQUIRE(graph->edge_count + in_count + out_count <= EDGES);
    for (uint32_t i = 0; i < in_count + out_count; i++) {
        const uint32_t end = i < in_count ? in[i] : out[i - in_count];
        w->edges[graph->edge_count++] = end;
        if (i >= in_count && !(end & NODE_VIRTUAL)) {
            w->link[end] = node;
        }
    }
    return node;
}

static inline void aside_note(void *self, enum wait_state state, uint32_t call, int64_t ticks)
{
    struct world *w = self;
    REQUIRE(w->aside_count < ASIDES);
    w->asides[w->aside_count++] = (struct aside){state, call, ticks};
}

static inline void partners_find(struct world *w)
{
    struct partners *p = &w->s.a.partners;
    ictusi_store_fini(&p->list);
    ictusi_store_fini(&p->wrong_order);
    p->aside = aside_note;
    p->self = w;
    REQUIRE(!ictusi_partners_find(p, &w->s.a, NULL));
}

static inline const struct partner *partner_of(const struct world *w, uint32_t call)
{
    return partner_at(&w->s.a.partners, call);
}

static inline bool aside_is(const struct world *w, int i, enum wait_state state, uint32_t call,
                            int64_t ticks)
{
    const struct aside *a = &w->asides[i];
    return a->state == state && a->call == call && a->ticks == ticks;
}

#endif
