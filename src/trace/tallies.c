/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins the processes' parts of instances. */
#include "trace/tallies.h"

#include "arrival/limits.h"
#include "arrival/pattern.h"
#include "core/operands.h"
#include "tracer/functions.h"
#include "tracer/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)COLL_REDUCE_SCATTER_BLOCK == (int)COLLECTIVE_REDUCE_SCATTER_BLOCK,
               "one numbering of collectives");

/* The largest number of rows in memory, about 200 MB. */
enum { ROWS_MAX = 1 << 22 };

static const double two_sided = 1.96; /* standard deviations of 95 % */

/* Instances with the same place, communicator, operation and size. */
struct pattern {
    char site[ICTUS_ARRIVALS_TEXT];
    uint32_t comm, function, root, place;
    uint32_t operands; /* what all instances have in common */
    uint8_t op;
    bool one_place; /* all calls of rank 0 are counted at one place, in order */
    uint64_t index; /* index there of the latest call */
    uint64_t bytes, calls;
    uint64_t first, count; /* of its instances */
    uint64_t level;        /* at and above which every process has kept all instances */
    double spread;         /* sum over its instances, ns */
};

struct instance {
    const struct tallied *parts; /* by rank */
    uint32_t pattern;
};

struct joining {
    struct tallies *t;
    struct instance *instances;
    uint64_t instance_count;
    struct pattern *patterns;
    uint32_t pattern_count;
    int64_t most; /* instances of a pattern that are listed; 0: all */
};

/*
 * A clock is identified by the lowest process that reads it, so that equal numbers mean equal
 * clocks. The search is quadratic at worst, but it ends at the first process with the same clock,
 * and only the lowest process of each clock is compared.
 */
int ictusi_tallies_init(struct tallies *t)
{
    t->clock = calloc((size_t)t->size + 1, sizeof *t->clock);
    if (!t->clock) {
        return ICTUS_ERR_NOMEM;
    }
    for (int p = 0; p < t->size; p++) {
        t->clock[p] = (uint32_t)p;
        for (int q = 0; q < p && t->logs[p].text; q++) {
            if (t->clock[q] == (uint32_t)q && t->logs[q].text &&
                ictusi_rawlog_share_clock(&t->logs[q], &t->logs[p])) {
                t->clock[p] = (uint32_t)q;
                break;
            }
        }
    }
    return ICTUS_OK;
}

void ictusi_tallies_free(struct tallies *t)
{
    free(t->clock);
    free(t->rows);
    free(t->places);
    *t = (struct tallies){.rows = NULL};
}

/*
 * Drop about half of the sample: the instances below the next level. A row's height depends only on
 * the number of its instance, so all processes' rows of an instance are dropped together, and what
 * remains is still a random sample. An instance of n members takes n rows.
 */
static void rows_thin(struct tallies *t)
{
    while (t->count == ROWS_MAX) {
        size_t kept = 0;
        t->level++;
        for (size_t i = 0; i < t->count; i++) {
            if (tally_height(t->rows[i].number) >= t->level) {
                t->rows[kept++] = t->rows[i];
            }
        }
        t->count = kept;
    }
}

static int rows_room(struct tallies *t)
{
    if (t->count == ROWS_MAX) {
        rows_thin(t);
    }
    if (t->count == t->room) {
        const size_t room = t->room ? 2 * t->room : 4096;
        struct tallied *rows = realloc(t->rows, room * sizeof *rows);
        if (!rows) {
            return ICTUS_ERR_NOMEM;
        }
        t->rows = rows;
        t->room = room;
    }
    return ICTUS_OK;
}

/* The rank of a process in one of its communicators; UINT32_MAX: the log does not state it. */
static uint32_t log_rank(const struct rawlog *log, uint32_t comm)
{
    for (size_t i = 0; i < log->item_count; i++) {
        if (log->items[i].kind == 'C' && log->items[i].number == comm && log->items[i].a >= 0) {
            return (uint32_t)log->items[i].a;
        }
    }
    return UINT32_MAX;
}

/*
 * Add the rows of a site. The file of a running process may change while it is read: rows that
 * change meanwhile are left out. Rows below the level are left out too, because they have been
 * dropped for all other members. enter and leave are converted to ns of the global clock here;
 * sigma is the error of the clock at that instant. index counts the calls at this place, and number
 * those on the communicator.
 */
static int tallies_add_rows(struct tallies *t, const struct tally_site *site, uint32_t place)
{
    struct rawlog *log = &t->logs[t->places[place].process];
    const struct tally_row *rows = t->recent ? site->recent : site->rows;
    const int count = t->recent ? TALLY_RECENT : TALLY_ROWS;
    struct tally_row row;
    for (int i = 0; i < count; i++) {
        if (!ictusi_tally_read(&rows[i], &row) || tally_height(row.number) < t->level) {
            continue;
        }
        if (rows_room(t)) {
            return ICTUS_ERR_NOMEM;
        }
        const int64_t local = ticks_to_ns(&log->scale, row.enter);
        t->rows[t->count++] = (struct tallied){
            .number = row.number,
            .index = row.index,
            .enter = ictusi_timeline_map(&log->timeline, local),
            .leave = row.leave
                         ? ictusi_timeline_map(&log->timeline, ticks_to_ns(&log->scale, row.leave))
                         : INT64_MIN,
            .sigma_ns = (float)ictusi_timeline_sigma(&log->timeline, local),
            .place = place};
    }
    /* After the rows: a level that is raised meanwhile drops rows that have been read. */
    t->places[place].level = t->recent ? 0 : __atomic_load_n(&site->level, __ATOMIC_ACQUIRE);
    return ICTUS_OK;
}

/*
 * Add a site, if the log identifies it. calls is read before the rows, so there may be more rows
 * than calls states, but never fewer. @return its number, or UINT32_MAX
 */
static uint32_t tallies_add_place(struct tallies *t, int process, const struct tally_site *site)
{
    const struct trace_map *map = &t->maps[process];
    const struct tallied_place place = {
        .calls = __atomic_load_n(&site->calls, __ATOMIC_ACQUIRE),
        .process = (uint32_t)process,
        .comm = ictusi_unify_map_get(map, MAP_COMM, tally_place_comm(site->key.place)),
        .symbol = ictusi_unify_map_get(map, MAP_SITE, tally_place_site(site->key.place)),
        .rank = log_rank(&t->logs[process], tally_place_comm(site->key.place)),
        .function = tally_what_function(site->key.what),
        .op = tally_what_op(site->key.what),
        .sent = site->sent,
        .received = site->received,
        .root = (uint32_t)site->root,
        .operands = (uint32_t)site->operands,
        .pattern = UINT32_MAX,
    };
    const bool known = place.comm < t->unified->comm_keys.count && place.rank != UINT32_MAX &&
                       place.op < COLLECTIVE_CREATE_HANDLE && place.function < TRACE_FUNCTIONS;
    if (known) {
        t->places[t->place_count] = place;
    }
    return known ? (uint32_t)t->place_count++ : UINT32_MAX;
}

/* The count of sites is read once (acquire), because sites beyond it may be half written. */
int ictusi_tallies_add(struct tallies *t, int process, const struct tally_image *image)
{
    const uint64_t sites = __atomic_load_n(&image->sites, __ATOMIC_ACQUIRE);
    int err = ICTUS_OK;
    struct tallied_place *places =
        realloc(t->places, (t->place_count + TALLY_SITES) * sizeof *places);
    if (!places) {
        return ICTUS_ERR_NOMEM;
    }
    t->places = places;
    t->full += image->full;
    t->inter += image->inter;
    for (uint64_t i = 0; i < sites && i < TALLY_SITES && !err; i++) {
        const uint32_t place = tallies_add_place(t, process, &image->site[i]);
        err = place == UINT32_MAX ? ICTUS_OK : tallies_add_rows(t, &image->site[i], place);
    }
    return err;
}

/* For sorting. The communicator and rank of a row are those of its place. */
static int tallies_by_instance(const void *a, const void *b, void *context)
{
    const struct tallies *t = context;
    const struct tallied *p = a;
    const struct tallied *q = b;
    const struct tallied_place *x = &t->places[p->place];
    const struct tallied_place *y = &t->places[q->place];
    if (x->comm != y->comm) {
        return x->comm < y->comm ? -1 : 1;
    }
    if (p->number != q->number) {
        return p->number < q->number ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/*
 * Sort by communicator, number and rank, so that the rows of an instance become neighbours in the
 * order of ranks. A row that was moved while it was read may occur twice; duplicates are removed.
 */
static void rows_sort(struct tallies *t)
{
    size_t kept = 0;
    if (t->count > 1) {
        qsort_r(t->rows, t->count, sizeof *t->rows, tallies_by_instance, t);
    }
    for (size_t i = 0; i < t->count; i++) {
        if (kept == 0 || tallies_by_instance(&t->rows[kept - 1], &t->rows[i], t) != 0) {
            t->rows[kept++] = t->rows[i];
        }
    }
    t->count = kept;
}

/*
 * The name of a place: "solver.c:120", or, without the line, the calling function, or else the
 * called function. File names have no directories, because these differ between builds and patterns
 * are compared across builds.
 */
static void place_name(const struct tallies *t, const struct tallied_place *place, char *text,
                       size_t size)
{
    if (place->symbol >= t->unified->symbols.count) {
        (void)snprintf(text, size, "%s", ictusi_tracer_functions[place->function].name);
        return;
    }
    const struct symbol_site *site = &t->unified->symbols.sites[place->symbol];
    const char *slash = site->file ? strrchr(site->file, '/') : NULL;
    if (site->file && site->line) {
        (void)snprintf(text, size, "%s:%u", slash ? slash + 1 : site->file, site->line);
    } else {
        (void)snprintf(text, size, "%s", site->function);
    }
}

/*
 * The index of the wanted pattern, which is made if it is new; UINT32_MAX: no memory. The search
 * begins at the latest, because consecutive instances often alternate between the same patterns.
 */
static uint32_t tallies_pattern_at(struct joining *j, const struct pattern *wanted)
{
    for (uint32_t i = j->pattern_count; i-- > 0;) {
        const struct pattern *p = &j->patterns[i];
        if (p->comm == wanted->comm && p->function == wanted->function &&
            (p->bytes == wanted->bytes || ictusi_pattern_varies(p->op)) &&
            strcmp(p->site, wanted->site) == 0) {
            return i;
        }
    }
    struct pattern *grown = realloc(j->patterns, (j->pattern_count + 1) * sizeof *grown);
    if (!grown) {
        return UINT32_MAX;
    }
    j->patterns = grown;
    grown[j->pattern_count] = *wanted;
    return j->pattern_count++;
}

/* From the first arrival to the last. Instants of a damaged file may be farther apart than 2^63. */
static uint64_t parts_spread(const struct tallied *parts, uint32_t n)
{
    int64_t first = parts[0].enter;
    int64_t last = first;
    for (uint32_t i = 1; i < n; i++) {
        first = parts[i].enter < first ? parts[i].enter : first;
        last = parts[i].enter > last ? parts[i].enter : last;
    }
    return (uint64_t)last - (uint64_t)first;
}

/*
 * Whether these are the parts of all members of one operation, with a spread that a pattern may
 * have. Inconsistent data of a damaged file is left out, and so is a job that was suspended. Each
 * rank 0 .. n - 1 must occur once: after sorting, rank i must be at index i.
 */
static bool parts_usable(const struct tallies *t, const struct tallied *parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (t->places[parts[i].place].rank != i ||
            t->places[parts[i].place].op != t->places[parts[0].place].op) {
            return false;
        }
    }
    return parts_spread(parts, n) <= (uint64_t)ARRIVAL_OFFSET_MAX_NS &&
           parts[0].number <= INT64_MAX;
}

/*
 * Add one instance to its pattern, which is made if needed. parts are in the order of ranks, and
 * parts[0], that of rank 0, names the pattern: place, function and root may differ between members,
 * for example if a root calls from another line.
 */
static int instance_add(struct joining *j, const struct tallied *parts, uint32_t n)
{
    struct tallied_place *place = &j->t->places[parts[0].place];
    struct traffic_sums sums = {0};
    uint32_t operands = place->operands;
    uint64_t level = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct tallied_place *member = &j->t->places[parts[i].place];
        ictusi_pattern_traffic_add(&sums, member->sent, member->received);
        operands = ictusi_operands_join(operands, member->operands);
        level = member->level > level ? member->level : level;
    }
    struct pattern wanted = {.comm = place->comm,
                             .function = place->function,
                             .root = place->root,
                             .place = parts[0].place,
                             .operands = operands,
                             .op = place->op,
                             .one_place = true,
                             .bytes = ictusi_pattern_bytes(place->op, &sums, n)};
    place_name(j->t, place, wanted.site, sizeof wanted.site - 16);
    const uint32_t at = tallies_pattern_at(j, &wanted);
    if (at == UINT32_MAX) {
        return ICTUS_ERR_NOMEM;
    }
    struct pattern *pattern = &j->patterns[at];
    pattern->one_place = pattern->one_place && pattern->place == parts[0].place &&
                         parts[0].index > pattern->index && parts[0].index <= INT64_MAX;
    pattern->index = parts[0].index;
    pattern->root = pattern->root == place->root ? place->root : ROOT_NONE;
    pattern->operands = ictusi_operands_common(pattern->operands, operands);
    pattern->level = pattern->level > level ? pattern->level : level;
    pattern->count++;
    /* sizes that only other members distinguish are counted once */
    if (place->pattern == UINT32_MAX) {
        place->pattern = at;
        pattern->calls += place->calls;
    }
    j->instances[j->instance_count++] = (struct instance){parts, at};
    return ICTUS_OK;
}

/*
 * Sort instances by pattern, and within a pattern by call on the communicator. Parts are in the
 * order of their numbers, so comparing addresses compares these.
 */
static int tallies_by_pattern(const void *a, const void *b)
{
    const struct instance *p = a;
    const struct instance *q = b;
    if (p->pattern != q->pattern) {
        return p->pattern < q->pattern ? -1 : 1;
    }
    return (p->parts > q->parts) - (p->parts < q->parts);
}

/*
 * Whether an instance belongs to the pattern's sample. Several places may have the same name: two
 * lines of a function if lines are not known, or one that the compiler copied. Each has kept what
 * it has room for: one that was called 20 times all of them, and another one in a hundred. They
 * have in common the sample of the highest level, with the calls that follow a kept one.
 */
static bool instance_is_sampled(const struct pattern *p, const struct tallied *part,
                                struct tallied_place *place)
{
    const bool follows = place->high > 0 && part->index == place->high + 1;
    const bool high = tally_height(part->number) >= p->level;
    place->high = high ? part->index : place->high;
    return high || follows;
}

/* Keep the sample, or the latest calls. The instances of a pattern are neighbours. */
static void instances_choose(struct joining *j)
{
    uint64_t kept = 0;
    for (uint64_t i = 0, end = 0; i < j->instance_count; i = end) {
        struct pattern *p = &j->patterns[j->instances[i].pattern];
        end = i + p->count;
        p->first = kept;
        for (uint64_t k = i; k < end; k++) {
            const struct tallied *parts = j->instances[k].parts;
            const bool chosen = j->t->recent
                                    ? k + TALLY_RECENT >= end
                                    : instance_is_sampled(p, parts, &j->t->places[parts->place]);
            /* No table is empty, even if some part of each call that is high enough is missing. */
            if (chosen || (k + 1 == end && kept == p->first)) {
                p->spread +=
                    (double)parts_spread(parts, (uint32_t)j->t->unified->comms[p->comm].size);
                j->instances[kept++] = j->instances[k];
            }
        }
        p->count = kept - p->first;
    }
    j->instance_count = kept;
}

/*
 * Find the complete instances. After sorting, the parts of an instance are neighbours. An instance
 * without some member's part is left out: that member has thinned its rows further, or was not
 * read. A second sort makes the instances of a pattern neighbours.
 */
static int instances_find(struct joining *j)
{
    struct tallies *t = j->t;
    int err = ICTUS_OK;
    j->instances = calloc(t->count + 1, sizeof *j->instances);
    if (!j->instances) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0, end = 0; i < t->count && !err; i = end) {
        const uint32_t comm = t->places[t->rows[i].place].comm;
        for (end = i + 1; end < t->count && t->rows[end].number == t->rows[i].number &&
                          t->places[t->rows[end].place].comm == comm;) {
            end++;
        }
        const uint32_t n = (uint32_t)(end - i);
        if (n > 1 && n == (uint32_t)t->unified->comms[comm].size &&
            parts_usable(t, &t->rows[i], n)) {
            err = instance_add(j, &t->rows[i], n);
        }
    }
    qsort(j->instances, j->instance_count, sizeof *j->instances, tallies_by_pattern);
    instances_choose(j);
    return err;
}

/*
 * Half the 95 % interval of the worst member's offset from the first one, and at least 1 ns:
 *
 *     1.96 sqrt(sigma_i^2 + sigma_first^2),   without members on the first one's own clock,
 *
 * because two readings of one clock have no clock error between them.
 */
static double instance_error_ns(const struct tallies *t, const struct tallied *parts, uint32_t n,
                                const struct tallied *first)
{
    const uint32_t clock = t->clock[t->places[first->place].process];
    double worst = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (t->clock[t->places[parts[i].place].process] != clock) {
            worst = fmax(worst, hypot(parts[i].sigma_ns, first->sigma_ns));
        }
    }
    return fmax(1, two_sided * worst);
}

/*
 * One row of a pattern. Offsets are relative to the first arrival of the instance. The duration is
 * from the last arrival to the last leave, so it does not include waiting for others. It is NaN if
 * a member had not left.
 */
static void pattern_row(const struct tallies *t, const struct tallied *parts,
                        struct ictus_arrivals *a, int64_t row)
{
    const struct tallied *first = parts;
    const struct tallied *last = parts;
    int64_t leave = parts[0].leave;
    bool left = true;
    for (int r = 0; r < a->ranks; r++) {
        first = parts[r].enter < first->enter ? &parts[r] : first;
        last = parts[r].enter > last->enter ? &parts[r] : last;
        leave = parts[r].leave > leave ? parts[r].leave : leave;
        left = left && parts[r].leave != INT64_MIN;
    }
    for (int r = 0; r < a->ranks; r++) {
        a->offsets_ns[row * a->ranks + r] = parts[r].enter - first->enter;
    }
    a->errors_ns[row] = instance_error_ns(t, parts, (uint32_t)a->ranks, first);
    a->durations_s[row] = left ? fmax(0, 1e-9 * (double)(leave - last->enter)) : NAN;
}

/*
 * The least height at which a pattern has at most `most` instances; 0: all of them. If even the
 * greatest height has more, the first ones are used. With the heights of the sampling, the
 * selection is again a random sample, and does not depend on when the file was read.
 */
static unsigned pattern_level(const struct joining *j, const struct pattern *p, int64_t most,
                              int64_t *rows)
{
    unsigned level = 0;
    int64_t higher = (int64_t)p->count;
    for (*rows = higher; most > 0 && *rows > most; *rows = higher, level++) {
        higher = 0;
        for (uint64_t i = 0; i < p->count; i++) {
            higher += tally_height(j->instances[p->first + i].parts->number) > level;
        }
        if (higher == 0) {
            *rows = most;
            break;
        }
    }
    return level;
}

/*
 * Calls are numbered at their place if all calls of rank 0 are there in ascending order. Otherwise
 * they are numbered on the communicator, where consecutive numbers need not be consecutive calls at
 * the site.
 */
static int tallies_pattern_make(const void *self, size_t at, struct ictus_arrivals *a)
{
    const struct joining *j = self;
    const struct pattern *p = &j->patterns[at];
    const struct unified_comm *comm = &j->t->unified->comms[p->comm];
    const char *call = ictusi_tracer_functions[p->function].name;
    int64_t rows = 0;
    const unsigned level = pattern_level(j, p, j->most, &rows);
    const int err = ictus_arrivals_init(a, comm->size, rows);
    a->calls = err ? NULL : calloc((size_t)rows + 1, sizeof *a->calls);
    if (err || !a->calls) {
        return ICTUS_ERR_NOMEM;
    }
    ictusi_pattern_describe(a, p->site, call, p->op, comm->name);
    a->bytes = p->bytes;
    a->root = collective_is_rooted(p->op) && p->root < (uint32_t)a->ranks ? (int)p->root : -1;
    ictusi_pattern_operands(a, p->operands);
    a->instances = (int64_t)p->calls > rows ? (int64_t)p->calls : rows;
    int64_t row = 0;
    for (uint64_t i = 0; i < p->count && row < rows; i++) {
        const struct tallied *parts = j->instances[p->first + i].parts;
        if (tally_height(parts->number) >= level) {
            a->calls[row] = (int64_t)(p->one_place ? parts->index : parts->number);
            pattern_row(j->t, parts, a, row++);
        }
    }
    return ictus_arrivals_summarize(a);
}

/*
 * The total time that the first member waited for the last, over all calls. It is the mean of the
 * sample times the number of calls, of which the sample is a random part:
 *
 *     spread / count * calls   (ns)
 */
static double tallies_weight(const void *self, size_t at)
{
    const struct pattern *p = &((const struct joining *)self)->patterns[at];
    return p->spread / (double)p->count * (double)p->calls;
}

int ictusi_tallies_list(struct tallies *t, int64_t most, struct ictus_arrivals_list *list)
{
    struct joining j = {.t = t, .most = most};
    rows_sort(t);
    int err = instances_find(&j);
    if (!err) {
        const struct pattern_source patterns = {&j, j.pattern_count, tallies_weight,
                                                tallies_pattern_make};
        err = ictusi_pattern_list(&patterns, list);
    }
    free(j.instances);
    free(j.patterns);
    return err;
}
