/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When processes arrived at collectives. The calls of each member on a communicator are numbered in
 * order, which MPI makes the same for all members. The parts with one number form an instance. A
 * process arrives at a nonblocking collective when it starts it. Instances with the same call site,
 * communicator, operation and size form a pattern.
 */
#include "arrival/limits.h"
#include "arrival/pattern.h"
#include "core/operands.h"
#include "waits/analysis.h"

#include <ictus/text.h>
#include <ictus/waits.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double two_sided = 1.96; /* standard deviations of 95 % */

/* One member's part in an instance. */
struct part {
    const struct meeting *meeting;
    int64_t enter;
    int64_t gap;     /* since it left the operation before; for the first, since its first event */
    int64_t silence; /* since it left MPI, likewise */
    uint32_t rank, number;
};

/* An instance: its parts sorted by rank, and its pattern. */
struct occasion {
    const struct part *parts;
    uint32_t pattern;
};

/* What the instances of a pattern have in common, and their sums. */
struct subject {
    char site[ICTUS_ARRIVALS_TEXT];
    uint32_t path, comm, root;
    uint8_t op;
    bool pending; /* nonblocking, or persistent */
    uint64_t bytes;
    uint32_t operands; /* what all instances have in common */
    int64_t instances;
    uint64_t first; /* index of its first occasion */
    double spread;  /* sum over the instances, ticks */
};

struct extraction {
    struct analysis analysis;
    struct part *parts;
    uint64_t part_count;
    struct occasion *occasions;
    uint64_t occasion_count;
    struct subject *subjects;
    uint64_t subject_count;
    int64_t most; /* the largest number of instances listed for a pattern, the last ones; 0: all */
    struct ictus_arrivals_left left;
};

static const struct layout_comm *part_comm(const struct extraction *x, const struct part *part)
{
    return &x->analysis.session.trace->layout.comms[part->meeting->comm];
}

static int arrivals_by_member(const void *a, const void *b)
{
    const struct part *p = a;
    const struct part *q = b;
    if (p->meeting->comm != q->meeting->comm) {
        return p->meeting->comm < q->meeting->comm ? -1 : 1;
    }
    if (p->rank != q->rank) {
        return p->rank < q->rank ? -1 : 1;
    }
    if (p->enter != q->enter) {
        return p->enter < q->enter ? -1 : 1;
    }
    if (p->meeting->begin != q->meeting->begin) { /* several in one MPI_Startall */
        return p->meeting->begin < q->meeting->begin ? -1 : 1;
    }
    return (p->meeting > q->meeting) - (p->meeting < q->meeting);
}

static int arrivals_by_number(const void *a, const void *b)
{
    const struct part *p = a;
    const struct part *q = b;
    if (p->meeting->comm != q->meeting->comm) {
        return p->meeting->comm < q->meeting->comm ? -1 : 1;
    }
    if (p->number != q->number) {
        return p->number < q->number ? -1 : 1;
    }
    return (p->rank > q->rank) - (p->rank < q->rank);
}

/*
 * Ticks since the member left the same operation before. For that long it has run other code, and
 * the code and data of the operation have left the caches; a replay runs other code for as long.
 * Other operations in between share some of both, which is not counted. Meetings are in order
 * within each location.
 */
static int64_t meeting_gap(const struct waiting_calls *calls, uint64_t i)
{
    const struct meeting *m = meeting_at(calls, i);
    int64_t left = calls->begin[m->location];
    for (uint64_t k = i; k-- > 0 && meeting_at(calls, k)->location == m->location;) {
        if (meeting_at(calls, k)->op == m->op) {
            left = call_at(calls, meeting_at(calls, k)->end_call)->leave;
            break;
        }
    }
    const int64_t gap = call_at(calls, m->call)->enter - left;
    return gap > 0 ? gap : 0;
}

/* Whether a call is one of MPI: barriers of threads are calls, too. */
static bool meeting_follows_mpi(const struct analysis *a, const struct waiting_call *call)
{
    const char *name = ictusi_paths_leaf(&a->paths, call->path);
    return (call->flags & CALL_BARE) || strncmp(name, "MPI_", 4) == 0 ||
           strncmp(name, "PMPI_", 5) == 0;
}

/*
 * Ticks since the member left its last call of MPI that communicated. Until then MPI received what
 * came, and a replay calls MPI just as long before.
 */
static int64_t meeting_silence(const struct analysis *a, const struct meeting *m)
{
    int64_t left = a->calls.begin[m->location];
    for (uint64_t k = m->call; k-- > a->calls.first[m->location];) {
        if (meeting_follows_mpi(a, call_at(&a->calls, k))) {
            left = call_at(&a->calls, k)->leave;
            break;
        }
    }
    const int64_t silence = call_at(&a->calls, m->call)->enter - left;
    return silence > 0 ? silence : 0;
}

/*
 * Make all parts, grouped by instance: sort them by member and time, number them, then sort by
 * number. If events of a member were lost in the middle, its numbers would be shifted.
 * occasion_is_whole() then finds different operations, and muted calls are known by their flag.
 */
static int parts_make(struct extraction *x)
{
    const struct layout *layout = &x->analysis.session.trace->layout;
    const uint64_t n = x->analysis.calls.meetings.count;
    x->parts = calloc(n + 1, sizeof *x->parts);
    if (!x->parts) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < n; i++) {
        const struct meeting *m = meeting_at(&x->analysis.calls, i);
        if (m->comm == LAYOUT_NONE || layout->comms[m->comm].inter) {
            x->left.inter++;
            continue;
        }
        const uint32_t rank = ictusi_layout_rank(layout, m->comm, m->location);
        if (rank != LAYOUT_NONE) {
            x->parts[x->part_count++] =
                (struct part){.meeting = m,
                              .enter = call_at(&x->analysis.calls, m->call)->enter,
                              .gap = meeting_gap(&x->analysis.calls, i),
                              .silence = meeting_silence(&x->analysis, m),
                              .rank = rank};
        }
    }
    qsort(x->parts, x->part_count, sizeof *x->parts, arrivals_by_member);
    for (uint64_t i = 1; i < x->part_count; i++) {
        struct part *p = &x->parts[i];
        const bool same = p->meeting->comm == p[-1].meeting->comm && p->rank == p[-1].rank;
        p->number = same ? p[-1].number + 1 : 0;
    }
    qsort(x->parts, x->part_count, sizeof *x->parts, arrivals_by_number);
    return ICTUS_OK;
}

/*
 * The size of a block in bytes, from what all members moved: a single member, such as a root, may
 * have moved nothing.
 */
static uint64_t occasion_bytes(const struct part *parts, uint32_t n)
{
    struct traffic_sums sums = {0};
    for (uint32_t i = 0; i < n; i++) {
        ictusi_pattern_traffic_add(&sums, parts[i].meeting->sent, parts[i].meeting->received);
    }
    return ictusi_pattern_bytes(parts[0].meeting->op, &sums, n);
}

static uint32_t occasion_operands(const struct part *parts, uint32_t n)
{
    uint32_t operands = parts[0].meeting->operands;
    for (uint32_t i = 1; i < n; i++) {
        operands = ictusi_operands_join(operands, parts[i].meeting->operands);
    }
    return operands;
}

/* Sort by pattern, and within a pattern by time. */
static int arrivals_by_pattern(const void *a, const void *b)
{
    const struct occasion *p = a;
    const struct occasion *q = b;
    if (p->pattern != q->pattern) {
        return p->pattern < q->pattern ? -1 : 1;
    }
    return (p->parts > q->parts) - (p->parts < q->parts);
}

/* The place in the source if it is known, else the path of the caller, else the call itself. */
static void subject_place(const struct extraction *x, uint32_t path, char *text, size_t size)
{
    const struct paths *paths = &x->analysis.paths;
    ictusi_paths_place(paths, path, text, size);
    const uint32_t parent = paths->list[path].parent;
    if (!*text && parent != PATH_NONE && parent > PATH_MUTED) {
        ictusi_paths_text(paths, parent, text, size);
    }
    if (!*text) {
        (void)snprintf(text, size, "%s", ictusi_paths_leaf(paths, path));
    }
}

static bool subject_matches(const struct subject *s, const struct subject *other)
{
    return s->comm == other->comm && s->op == other->op && s->pending == other->pending &&
           (s->bytes == other->bytes || ictusi_pattern_varies(s->op)) &&
           strcmp(s->site, other->site) == 0;
}

/* The index of a subject's pattern, which is made if it is new; UINT32_MAX: no memory. */
static uint32_t subject_at(struct extraction *x, const struct subject *wanted)
{
    /* The latest first, because programs return to the same few places. */
    for (uint64_t i = x->subject_count; i-- > 0;) {
        if (subject_matches(&x->subjects[i], wanted)) {
            return (uint32_t)i;
        }
    }
    struct subject *grown = realloc(x->subjects, (x->subject_count + 1) * sizeof *grown);
    if (!grown) {
        return UINT32_MAX;
    }
    x->subjects = grown;
    grown[x->subject_count] = *wanted;
    return (uint32_t)x->subject_count++;
}

static bool meeting_is_pending(const struct meeting *m)
{
    return m->call != m->end_call;
}

/* Whether all members made the same call and returned from it. */
static bool occasion_is_whole(struct extraction *x, const struct part *parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct part *p = &parts[i];
        const uint32_t flags = call_at(&x->analysis.calls, p->meeting->call)->flags |
                               call_at(&x->analysis.calls, p->meeting->end_call)->flags;
        if (flags & (CALL_CUT | CALL_MUTED)) {
            x->left.muted++;
            return false;
        }
        if (p->rank != i || p->meeting->op != parts[0].meeting->op) {
            x->left.incomplete++;
            return false;
        }
    }
    return true;
}

static double ticks_ns(const struct extraction *x, double ticks)
{
    return ticks * 1e9 / (double)x->analysis.session.trace->layout.resolution;
}

/* No longer than what a pattern may hold. */
static int64_t ticks_limited_ns(const struct extraction *x, int64_t ticks)
{
    return llround(fmin((double)ARRIVAL_OFFSET_MAX_NS, ticks_ns(x, (double)ticks)));
}

/* Ticks from the first arrival to the last. */
static int64_t occasion_spread(const struct part *parts, uint32_t n)
{
    int64_t first = parts[0].enter;
    int64_t last = first;
    for (uint32_t i = 1; i < n; i++) {
        first = parts[i].enter < first ? parts[i].enter : first;
        last = parts[i].enter > last ? parts[i].enter : last;
    }
    return last - first;
}

static int occasion_add(struct extraction *x, const struct part *parts, uint32_t n)
{
    if (n != layout_members(part_comm(x, parts))) {
        x->left.incomplete++;
        return ICTUS_OK;
    }
    if (parts[0].meeting->op >= COLLECTIVE_CREATE_HANDLE || !occasion_is_whole(x, parts, n)) {
        return ICTUS_OK;
    }
    const int64_t spread = occasion_spread(parts, n);
    /* a pattern cannot represent it */
    if (ticks_ns(x, (double)spread) > (double)ARRIVAL_OFFSET_MAX_NS) {
        x->left.incomplete++;
        return ICTUS_OK;
    }
    struct subject s = {.path = call_at(&x->analysis.calls, parts[0].meeting->call)->path,
                        .comm = parts[0].meeting->comm,
                        .root = parts[0].meeting->root,
                        .op = parts[0].meeting->op,
                        .pending = meeting_is_pending(parts[0].meeting),
                        .bytes = occasion_bytes(parts, n),
                        .operands = occasion_operands(parts, n)};
    subject_place(x, s.path, s.site, sizeof s.site - 16);
    const uint32_t pattern = subject_at(x, &s);
    if (pattern == UINT32_MAX) {
        return ICTUS_ERR_NOMEM;
    }
    struct subject *subject = &x->subjects[pattern];
    subject->root = subject->root == s.root ? s.root : COLLECTIVE_ROOT_NONE;
    subject->operands = ictusi_operands_common(subject->operands, s.operands);
    subject->spread += (double)spread;
    subject->instances++;
    x->occasions[x->occasion_count++] = (struct occasion){parts, pattern};
    return ICTUS_OK;
}

static int occasions_find(struct extraction *x)
{
    int err = ICTUS_OK;
    x->occasions = calloc(x->part_count + 1, sizeof *x->occasions);
    if (!x->occasions) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0, end = 0; i < x->part_count && !err; i = end) {
        const struct part *p = &x->parts[i];
        for (end = i + 1; end < x->part_count && x->parts[end].number == p->number &&
                          x->parts[end].meeting->comm == p->meeting->comm;) {
            end++;
        }
        err = occasion_add(x, p, (uint32_t)(end - i));
    }
    qsort(x->occasions, x->occasion_count, sizeof *x->occasions, arrivals_by_pattern);
    for (uint64_t i = x->occasion_count; i-- > 0;) {
        x->subjects[x->occasions[i].pattern].first = i;
    }
    return err;
}

/*
 * Half the 95 % interval of the worst member's offset from the first one, and at least a tick. On
 * one clock the only error is rounding. Between clocks it is the error of their difference at these
 * instants. NaN if the archive does not state the accuracy of its clock.
 */
static double occasion_error_ns(const struct extraction *x, const struct part *parts, uint32_t n,
                                const struct part *first)
{
    const struct histories *h = &x->analysis.histories;
    double worst = 0;
    if (h->source == SIGMA_UNKNOWN) {
        return NAN;
    }
    for (uint32_t i = 0; i < n && h->source != SIGMA_ONE_CLOCK; i++) {
        worst = fmax(worst, ictusi_histories_sigma(h, parts[i].meeting->location, parts[i].enter,
                                                   first->meeting->location, first->enter));
    }
    return ticks_ns(x, fmax(1, two_sided * worst));
}

/*
 * The row of one instance. A blocking instance lasts from the last arrival to the last exit. A
 * nonblocking one lasts from when all members have both arrived and entered the call that completes
 * it, since nobody waits for it before that:
 *
 *     duration = max(leave) - max(max(enter), max(enter of the completing call))
 *
 * Errors of the clocks may make this negative, so it is clamped at 0.
 */
static void occasion_row(const struct extraction *x, const struct part *parts,
                         struct ictus_arrivals *a, int64_t row)
{
    const struct part *first = parts;
    const struct part *last = parts;
    int64_t leave = INT64_MIN;
    int64_t ready = INT64_MIN;
    for (int r = 0; r < a->ranks; r++) {
        const struct waiting_call *end = call_at(&x->analysis.calls, parts[r].meeting->end_call);
        first = parts[r].enter < first->enter ? &parts[r] : first;
        last = parts[r].enter > last->enter ? &parts[r] : last;
        leave = end->leave > leave ? end->leave : leave;
        ready = end->enter > ready ? end->enter : ready;
    }
    for (int r = 0; r < a->ranks; r++) {
        a->offsets_ns[row * a->ranks + r] =
            llround(ticks_ns(x, (double)(parts[r].enter - first->enter)));
        a->gaps_ns[row * a->ranks + r] = ticks_limited_ns(x, parts[r].gap);
        a->silences_ns[row * a->ranks + r] = ticks_limited_ns(x, parts[r].silence);
    }
    ready = last->enter > ready ? last->enter : ready;
    a->errors_ns[row] = occasion_error_ns(x, parts, (uint32_t)a->ranks, first);
    a->durations_s[row] = fmax(0, 1e-9 * ticks_ns(x, (double)(leave - ready)));
}

static void pattern_describe(const struct extraction *x, const struct subject *s,
                             struct ictus_arrivals *a)
{
    const struct trace *trace = x->analysis.session.trace;
    const struct layout_comm *comm = &trace->layout.comms[s->comm];
    const char *call = ictusi_paths_leaf(&x->analysis.paths, s->path);
    const char *name = ictusi_archive_name(trace, &trace->comms, comm->ref);
    ictusi_pattern_describe(a, s->site, call, s->op, name);
    a->bytes = s->bytes;
    a->root = collective_is_rooted(s->op) && s->root < (uint32_t)a->ranks ? (int)s->root : -1;
    a->instances = s->instances;
    ictusi_pattern_operands(a, s->operands);
}

/*
 * Put the instances of one subject into a table. If not all of them are to be kept, keep the last
 * ones, because the first calls of a program often differ from the rest.
 */
static int arrivals_pattern_make(const void *self, size_t at, struct ictus_arrivals *a)
{
    const struct extraction *x = self;
    const struct subject *s = &x->subjects[at];
    const struct layout_comm *comm = &x->analysis.session.trace->layout.comms[s->comm];
    const int64_t rows = x->most > 0 && s->instances > x->most ? x->most : s->instances;
    const int err = ictus_arrivals_init(a, (int)layout_members(comm), rows);
    if (err) {
        return err;
    }
    a->gaps_ns = calloc((size_t)a->ranks * (size_t)rows, sizeof *a->gaps_ns);
    a->silences_ns = calloc((size_t)a->ranks * (size_t)rows, sizeof *a->silences_ns);
    if (!a->gaps_ns || !a->silences_ns) {
        return ICTUS_ERR_NOMEM;
    }
    pattern_describe(x, s, a);
    const struct occasion *kept = x->occasions + s->first + (s->instances - rows);
    for (int64_t row = 0; row < rows; row++) {
        occasion_row(x, kept[row].parts, a, row);
    }
    return ictus_arrivals_summarize(a);
}

static double arrivals_weight(const void *self, size_t at)
{
    return ((const struct extraction *)self)->subjects[at].spread;
}

int ictus_arrivals_extract(const char *in, int64_t rows, struct ictus_arrivals_list *list,
                           struct ictus_arrivals_left *left, struct ictus_why *why)
{
    if (!in || !list || rows < 0) {
        return ICTUS_ERR_ARG;
    }
    struct extraction *x = calloc(1, sizeof *x);
    if (!x) {
        return ICTUS_ERR_NOMEM;
    }
    x->most = rows;
    int err = ictusi_analysis_open(&x->analysis, in, why);
    err = err ? err : parts_make(x);
    err = err ? err : occasions_find(x);
    if (!err) {
        const struct pattern_source patterns = {x, x->subject_count, arrivals_weight,
                                                arrivals_pattern_make};
        err = ictusi_pattern_list(&patterns, list);
    }
    if (!err && left) {
        *left = x->left;
    }
    ictusi_analysis_close(&x->analysis);
    free(x->parts);
    free(x->occasions);
    free(x->subjects);
    free(x);
    return err;
}
