/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits between two locations are sorted by pair. Meetings of all members (barriers, N x N
 * operations, the start of teams) are found by searching back from one of the calls.
 */
#include "waits/syncs.h"

#include "causality/crew.h"
#include "core/container.h"

#include <stdlib.h>
#include <string.h>

/* How many meetings are searched, going back, before a pair counts as having none. */
enum { MEETINGS_BACK = 64 };

/*
 * The calls of all locations are numbered consecutively, so the lower call belongs to the lower
 * location.
 */
static uint32_t pair_low(const struct sync_pair *p)
{
    return p->waiter < p->cause ? p->waiter : p->cause;
}

static uint32_t pair_high(const struct sync_pair *p)
{
    return p->waiter < p->cause ? p->cause : p->waiter;
}

/* Sort the pairs of one lower location. */
static int syncs_by_pair(const void *a, const void *b)
{
    const struct sync_pair *x = a;
    const struct sync_pair *y = b;
    if (x->higher != y->higher) {
        return x->higher < y->higher ? -1 : 1;
    }
    if (pair_low(x) != pair_low(y)) {
        return pair_low(x) < pair_low(y) ? -1 : 1;
    }
    return (x->waiter > y->waiter) - (x->waiter < y->waiter);
}

static uint32_t *sync_before(const struct syncs *s, uint32_t call)
{
    return (uint32_t *)s->before.area + call;
}

/*
 * For each wait of a pair, find the last wait that lies before both of its calls; the waits of one
 * pair are in order. A wait that lies before only one of the two calls crosses the other one. It is
 * not an instant at which both had synchronised, so it is skipped. The search is linear, but only
 * crossing waits are skipped, and they are few.
 */
static void pairs_link(struct syncs *s, const struct sync_pair *pairs, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct sync_pair *const own = &pairs[i];
        const struct sync_pair *p = own;
        while (p > pairs && p[-1].higher == own->higher &&
               (pair_low(p - 1) >= pair_low(own) || pair_high(p - 1) >= pair_high(own))) {
            p--;
        }
        if (p > pairs && p[-1].higher == own->higher) {
            *sync_before(s, own->waiter) = p[-1].waiter + 1;
        }
    }
}

/*
 * Put each wait with those of its lower location. place is where the next one goes, and finally
 * where that location's waits end.
 */
static int syncs_stretch(struct call_pass *pass, uint32_t location, uint64_t from, uint64_t to)
{
    struct syncs *s = container_of(pass, struct syncs, pass);
    for (uint64_t i = from; i < to; i++) {
        const struct partner *p = partner_at(&s->analysis->partners, i);
        if (analysis_waits(s->analysis, i)) {
            const bool lower = location < p->location;
            s->pairs[s->place[lower ? location : p->location]++] =
                (struct sync_pair){lower ? p->location : location, (uint32_t)i, p->call};
        }
    }
    return ICTUS_OK;
}

int ictusi_syncs_begin(struct syncs *s, const struct analysis *a, struct ictus_why *why)
{
    const uint64_t locations = a->session.trace->layout.location_count;
    const uint64_t calls = a->calls.calls.count;
    uint64_t sum = 0;
    *s = (struct syncs){.pass = {syncs_stretch}, .analysis = a};
    s->place = calloc(locations + 1, sizeof *s->place);
    for (uint64_t l = 0; l < locations && s->place; l++) {
        s->place[l] = sum;
        sum += a->partners.lower[l];
    }
    s->pairs = calloc(sum + 1, sizeof *s->pairs);
    int err = s->place && s->pairs ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err = err ? err
              : ictusi_store_init(&s->before, sizeof(uint32_t), calls,
                                  CALLS_IN_MEMORY * sizeof(uint32_t), why);
    return err ? err : ictusi_store_grow(&s->before, calls, why);
}

/* Whether the pairs are sorted. */
static bool pairs_ordered(const struct sync_pair *pairs, uint64_t count)
{
    uint64_t i = 1;
    while (i < count && syncs_by_pair(&pairs[i - 1], &pairs[i]) < 0) {
        i++;
    }
    return i >= count;
}

/*
 * Merge the waits within one pair of locations: those of the lower one come first and are in order.
 * Those of the higher one mostly are, as messages do not overtake each other.
 */
static void pairs_merge(struct sync_pair *to, struct sync_pair *from, uint64_t count)
{
    uint64_t low = 0;
    while (low < count && from[low].waiter < from[low].cause) {
        low++;
    }
    if (!pairs_ordered(from + low, count - low)) {
        qsort(from + low, count - low, sizeof *from, syncs_by_pair);
    }
    for (uint64_t i = 0, a = 0, b = low; i < count; i++) {
        const bool first = b == count || (a < low && pair_low(&from[a]) <= pair_low(&from[b]));
        to[i] = from[first ? a++ : b++];
    }
}

/*
 * Sort the pairs of one lower location, as syncs_by_pair() would. Those of one higher location are
 * brought together, which keeps their order, and merged. Returns false if there is no memory for
 * that.
 */
static bool pairs_sort(struct sync_pair *pairs, uint64_t count, uint64_t locations)
{
    struct sync_pair *sorted = malloc(count * sizeof *sorted);
    uint64_t *end =
        calloc(locations + 1, sizeof *end); /* by higher location; its beginning first */
    if (sorted && end) {
        for (uint64_t i = 0; i < count; i++) {
            end[pairs[i].higher + 1]++;
        }
        for (uint64_t l = 0; l < locations; l++) {
            end[l + 1] += end[l];
        }
        for (uint64_t i = 0; i < count; i++) {
            sorted[end[pairs[i].higher]++] = pairs[i];
        }
        for (uint64_t l = 0, from = 0; l < locations; from = end[l++]) {
            pairs_merge(pairs + from, sorted + from, end[l] - from);
        }
    }
    free(sorted);
    free(end);
    return sorted && end;
}

static void syncs_pairs_sort(void *self, uint32_t location)
{
    struct syncs *s = self;
    const uint64_t locations = s->analysis->session.trace->layout.location_count;
    const uint64_t from = location ? s->place[location - 1] : 0;
    const uint64_t count = s->place[location] - from;
    if (count < locations || !pairs_sort(s->pairs + from, count, locations)) {
        qsort(s->pairs + from, count, sizeof *s->pairs, syncs_by_pair);
    }
    pairs_link(s, s->pairs + from, count);
}

/* Whether all who leave through a node have met all others there. */
static bool syncs_is_meeting(const struct analysis *a, uint32_t node)
{
    const struct vnode *v = graph_vnode(&a->session.graph, node);
    const bool threads = v->class == POINT_THREAD;
    if (v->out_count < 2) {
        return false; /* a join, or a rooted operation */
    }
    for (uint32_t i = 0; i < v->in_count; i++) {
        if (analysis_ins(a, node)[i] & NODE_VIRTUAL) {
            return false; /* a scan */
        }
    }
    return threads || v->in_count > 1;
}

/* If a call completes several operations, one meeting is enough. */
static void meeting_add(struct syncs *s, uint64_t from, uint32_t call, uint32_t node)
{
    struct sync_meeting *list = s->meetings.area;
    struct sync_meeting *last = s->meetings.count > from ? &list[s->meetings.count - 1] : NULL;
    if (last && last->call == call) {
        last->node = node > last->node ? node : last->node;
    } else {
        list[s->meetings.count++] = (struct sync_meeting){call, node};
    }
}

int ictusi_syncs_meet(struct syncs *s, struct ictus_why *why)
{
    const struct analysis *a = s->analysis;
    const struct points *points = &a->session.history.points;
    const uint64_t *first = a->session.history.first;
    const uint64_t locations = a->session.trace->layout.location_count;
    const uint64_t nodes = a->session.graph.vnode_count;
    bool *meets = calloc(nodes + 1, sizeof *meets);
    uint64_t passed = 0;
    s->first = calloc(locations + 1, sizeof *s->first);
    int err = meets && s->first ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err = err ? err
              : ictusi_store_init(&s->meetings, sizeof(struct sync_meeting),
                                  a->session.graph.edge_count, STORE_IN_MEMORY, why);
    for (uint64_t n = 0; n < nodes && !err; n++) {
        meets[n] = syncs_is_meeting(a, NODE_VIRTUAL | (uint32_t)n);
    }
    for (uint64_t l = 0; l < locations && !err; l++) {
        s->first[l] = s->meetings.count;
        for (uint64_t i = first[l]; i < first[l + 1] && !err; i++) {
            const uint32_t link = points->link[i];
            analysis_pass(a, &passed, 1);
            if ((points->kind[i] & POINT_IN) && (link & NODE_TYPE) == NODE_VIRTUAL &&
                meets[link & NODE_INDEX]) {
                err = ictusi_store_grow(&s->meetings, 1, why);
                if (!err) {
                    meeting_add(s, s->first[l], call_of_point(&a->calls, i), link);
                }
            }
        }
        s->first[l + 1] = s->meetings.count;
    }
    free(meets);
    return err;
}

/* After this the pairs are no longer needed: one number per call remains. */
void ictusi_syncs_end(struct syncs *s)
{
    const struct session *session = &s->analysis->session;
    ictusi_crew_run(session->threads, (uint32_t)session->trace->layout.location_count,
                    syncs_pairs_sort, s);
    free(s->pairs);
    s->pairs = NULL;
    ictusi_syncs_relax(s);
}

void ictusi_syncs_free(struct syncs *s)
{
    ictusi_store_fini(&s->before);
    ictusi_store_fini(&s->meetings);
    free(s->pairs);
    free(s->place);
    free(s->first);
    *s = (struct syncs){.first = NULL};
}

void ictusi_syncs_relax(const struct syncs *s)
{
    ictusi_store_relax(&s->before);
    ictusi_store_relax(&s->meetings);
}

int ictusi_sync_search_init(struct sync_search *search, const struct syncs *s)
{
    const uint64_t locations = s->analysis->session.trace->layout.location_count;
    search->near = malloc((locations + 1) * sizeof *search->near);
    if (search->near) {
        memcpy(search->near, s->first, (locations + 1) * sizeof *search->near);
    }
    return search->near ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_sync_search_free(struct sync_search *search)
{
    free(search->near);
    search->near = NULL;
}

/* The last wait of the pair, as seen from this call. */
static struct sync_point pair_before(const struct syncs *s, uint32_t call)
{
    const struct analysis *a = s->analysis;
    const uint32_t known = *sync_before(s, call);
    if (known == 0) {
        return (struct sync_point){CALL_NONE, CALL_NONE};
    }
    const uint32_t cause = partner_at(&a->partners, known - 1)->call;
    return analysis_location(a, known - 1) == analysis_location(a, call)
               ? (struct sync_point){known - 1, cause}
               : (struct sync_point){cause, known - 1};
}

/* A location's call that left through a node, or CALL_NONE. */
static uint32_t member_call(const struct analysis *a, uint32_t node, uint32_t location)
{
    const uint64_t first = a->session.history.first[location];
    const uint64_t end = a->session.history.first[location + 1];
    const uint32_t *outs = analysis_outs(a, node);
    const uint32_t count = graph_vnode(&a->session.graph, node)->out_count;
    for (uint32_t i = 0; i < count; i++) {
        if (outs[i] >= first && outs[i] < end) {
            return call_of_point(&a->calls, outs[i]);
        }
    }
    return CALL_NONE;
}

/*
 * How many of all meetings precede a call, including those of earlier locations. The search
 * continues from the last one. If the calls of a location are looked up in order, or backwards,
 * each meeting is passed about once.
 */
static uint64_t meetings_before(const struct syncs *s, const struct sync_search *search,
                                uint32_t location, uint32_t call)
{
    const struct sync_meeting *meetings = s->meetings.area;
    uint64_t at = search->near[location];
    while (at < s->first[location + 1] && meetings[at].call < call) {
        at++;
    }
    while (at > s->first[location] && meetings[at - 1].call >= call) {
        at--;
    }
    search->near[location] = at;
    return at;
}

/*
 * The last instant at which waiter and cause were synchronised, from which on delays are compared:
 * the later one of their last wait for each other and the last meeting in which both took part. A
 * meeting that the cause left after its causing call does not count. No more than MEETINGS_BACK
 * meetings are searched, so that the time stays linear for programs with many communicators. Delays
 * are then compared over a longer time.
 */
struct sync_point ictusi_syncs_before(const struct syncs *s, const struct sync_search *search,
                                      uint32_t call)
{
    const struct analysis *a = s->analysis;
    const struct partner *p = partner_at(&a->partners, call);
    const struct sync_meeting *meetings = s->meetings.area;
    const struct sync_point best = pair_before(s, call);
    const uint32_t location = analysis_location(a, call);
    uint64_t at = meetings_before(s, search, location, call);
    for (int tried = 0; at > s->first[location] && tried < MEETINGS_BACK; tried++) {
        const struct sync_meeting *m = &meetings[--at];
        if (best.own != CALL_NONE && m->call <= best.own) {
            break;
        }
        const uint32_t met = member_call(a, m->node, p->location);
        if (met != CALL_NONE && met < p->call) {
            return (struct sync_point){m->call, met};
        }
    }
    return best;
}
