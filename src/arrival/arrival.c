/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrival patterns by name: a library of shapes, and patterns of applications. */
#include "arrival/arrival.h"

#include "core/random.h"
#include "core/spec.h"

#include <ictus/arrivals.h>
#include <ictus/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A shape gives, for each process, the share of the spread by which it is late:
 *
 *     delay = spread * part(place, rng),     place = rank / (size - 1)
 *
 * so place is 0 for the first rank and 1 for the last. Each process computes its own part without
 * asking others. rng is seeded by rank and repetition, so that a shape does not depend on the order
 * of measurement, and is the same with the same seed in every launch.
 */
struct arrival_shape {
    const char *name;
    double (*part)(const struct arrival *a, double place, struct rng *rng);
};

static double shape_together(const struct arrival *a, double place, struct rng *rng)
{
    (void)a;
    (void)place;
    (void)rng;
    return 0.0;
}

static double shape_ascending(const struct arrival *a, double place, struct rng *rng)
{
    (void)a;
    (void)rng;
    return place;
}

static double shape_descending(const struct arrival *a, double place, struct rng *rng)
{
    (void)a;
    (void)rng;
    return 1.0 - place;
}

/*
 * Load that is balanced on average: each process arrives anywhere within the spread with equal
 * probability.
 */
static double shape_random(const struct arrival *a, double place, struct rng *rng)
{
    (void)a;
    (void)place;
    return ictusi_random_uniform(rng);
}

/*
 * Waiting times of independent disturbances: many small ones and a few large ones. The spread is
 * the mean. It is limited to ten times the mean, which one value in 22000 would exceed, so that no
 * repetition consists only of waiting.
 */
static double shape_exponential(const struct arrival *a, double place, struct rng *rng)
{
    (void)a;
    (void)place;
    return fmin(10.0, ictusi_random_exponential(rng));
}

/* One process has more work, or was disturbed, and all others wait for it. */
static double shape_late(const struct arrival *a, double place, struct rng *rng)
{
    (void)place;
    (void)rng;
    return a->rank == a->odd;
}

/*
 * One process has less work. Rooted operations show whether an early root or leaf can use its time.
 */
static double shape_early(const struct arrival *a, double place, struct rng *rng)
{
    (void)place;
    (void)rng;
    return a->rank != a->odd;
}

/*
 * Two halves, like two nodes or two loops of the program: the upper half is late. Computed in
 * integers, so that all processes agree: of an odd number, the middle rank belongs to the lower
 * half.
 */
static double shape_half(const struct arrival *a, double place, struct rng *rng)
{
    (void)place;
    (void)rng;
    return 2 * a->rank >= a->size;
}

/* Every other rank is late, so that neighbors differ. */
static double shape_alternating(const struct arrival *a, double place, struct rng *rng)
{
    (void)place;
    (void)rng;
    return a->rank % 2;
}

/*
 * The ends come first and the middle last, like the boundaries of a domain that have less work: 1
 * at place 1/2 and 0 at both ends. With an even number of ranks nobody is at 1/2, and the latest
 * ones arrive after (size - 2) / (size - 1) of the spread.
 */
static double shape_tent(const struct arrival *a, double place, struct rng *rng)
{
    (void)a;
    (void)rng;
    return 1.0 - fabs(2.0 * place - 1.0);
}

static const struct arrival_shape shapes[] = {{"together", shape_together},
                                              {"ascending", shape_ascending},
                                              {"descending", shape_descending},
                                              {"random", shape_random},
                                              {"exponential", shape_exponential},
                                              {"late", shape_late},
                                              {"early", shape_early},
                                              {"half", shape_half},
                                              {"alternating", shape_alternating},
                                              {"tent", shape_tent}};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]), SPEC_BYTES = 1024 };

static const char name_of_files[] = "file";

struct arrival_options {
    double spread_s;
    double gap_s;
    int64_t rank;
    int64_t seed;
    int64_t footprint;
    double scale;
    bool draw;
    struct spec_text path, site;
};

#define AT(member) offsetof(struct arrival_options, member)

/*
 * 512 KiB: less than a core's private caches hold, but so much that little of the operation is left
 * in the nearest ones. What applications go through between two calls is not in the pattern; with
 * this much, replays came nearest to them where it cannot be fitted (bench/arrivals replay).
 */
enum { FOOTPRINT_USUAL = 512 * 1024, FOOTPRINT_LEAST = 64 };

static const struct spec_param shape_params[] = {
    {"spread", SPEC_SECONDS, AT(spread_s), "10us", 0, 10, NULL,
     "time between the first and the last process"},
    {"rank", SPEC_INT, AT(rank), "0", 0, 1e9, NULL, "the rank that is late, or early"},
    {"seed", SPEC_INT, AT(seed), "1", 0, 9e18, NULL, "seed of what is random"},
    {"gap", SPEC_SECONDS, AT(gap_s), "0", 0, 10, NULL, "computation before each arrival"},
    {"footprint", SPEC_INT, AT(footprint), "524288", FOOTPRINT_LEAST, 1 << 30, NULL,
     "bytes that the computation touches"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static const struct spec_param file_params[] = {
    {"path", SPEC_TEXT, AT(path), "", 0, 0, NULL, "file that 'ictus arrivals -o' wrote"},
    {"site", SPEC_TEXT, AT(site), "", 0, 0, NULL, "call site in the file"},
    {"draw", SPEC_BOOL, AT(draw), "0", 0, 0, NULL, "draw offsets from the fitted model"},
    {"scale", SPEC_REAL, AT(scale), "1", 1e-6, 1e6, NULL,
     "factor by which all offsets are multiplied"},
    {"seed", SPEC_INT, AT(seed), "1", 0, 9e18, NULL, "seed of what is drawn"},
    {"gap", SPEC_SECONDS, AT(gap_s), "-1", -1, 10, NULL,
     "computation before each arrival; -1: as recorded"},
    {"footprint", SPEC_INT, AT(footprint), "0", 0, 1 << 30, NULL,
     "bytes that the computation touches; 0: fitted to the recorded calls"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static int arrival_refuse_no_path(struct ictus_why *why)
{
    return ictus_because(why, ICTUS_ERR_SPEC,
                         "arrival file: name a file that 'ictus arrivals -o' wrote, such as "
                         "file:patterns.jsonl");
}

/* What no single range says. */
static int arrival_check_options(const struct arrival_options *o, struct ictus_why *why)
{
    if (o->gap_s < 0 && o->gap_s != -1) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "gap=%g: must be a duration such as 50us, not less than 0, or -1 for "
                             "what was recorded",
                             o->gap_s);
    }
    if (o->footprint > 0 && o->footprint < FOOTPRINT_LEAST) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "footprint=%lld: must be at least %d bytes, or 0 to fit it to the "
                             "recorded calls",
                             (long long)o->footprint, FOOTPRINT_LEAST);
    }
    return ICTUS_OK;
}

/*
 * Every process reads the whole file but keeps only its own track. Memory is ranks x rows of
 * integers while reading, and one row of each kind afterwards.
 */
static int arrival_read_file(struct arrival *a, const struct arrival_options *o,
                             struct ictus_why *why)
{
    struct ictus_arrivals_list list = {.at = NULL};
    if (!o->path.text[0]) {
        return arrival_refuse_no_path(why);
    }
    int err = arrival_check_options(o, why);
    err = err ? err : ictus_arrivals_read(o->path.text, &list, why);
    const struct ictus_arrivals *found = NULL;
    if (!err) {
        found = ictus_arrivals_find(&list, o->site.text, why);
        err = found ? ICTUS_OK : ICTUS_ERR_SPEC;
    }
    if (found) {
        /*
         * Without processes only the text is checked, as if there were as many as in the pattern.
         */
        const struct replay_part part = {.rank = a->size > 0 ? a->rank : 0,
                                         .size = a->size > 0 ? a->size : found->ranks,
                                         .draw = o->draw,
                                         .seed = (uint64_t)o->seed,
                                         .scale = o->scale,
                                         .gap_ns = o->gap_s < 0 ? -1 : llround(o->gap_s * 1e9)};
        a->ranks = found->ranks;
        a->traced.bytes = found->bytes;
        a->traced.ranks = found->ranks;
        if (o->scale == 1 && !o->draw && found->recorded > 0) {
            a->traced.duration_s = found->duration_s;
        }
        (void)snprintf(a->traced.operation, sizeof a->traced.operation, "%s", found->operation);
        err = ictusi_replay_make(found, &part, &a->track, why);
    }
    ictus_arrivals_list_free(&list);
    return err && err != ICTUS_ERR_NOMEM ? ICTUS_ERR_SPEC : err;
}

/*
 * Expand "file:F,site=S" to "file:path=F,site=S": a first word without an equals sign is the path.
 * Paths with a comma or an equals sign need the long form.
 */
static int arrival_complete(const char *text, char *whole, size_t size, struct ictus_why *why)
{
    const size_t name = sizeof(name_of_files) - 1;
    const bool file = strncmp(text, name_of_files, name) == 0 && text[name] == ':';
    const char *first = text + name + 1;
    const bool bare = file && *first && !memchr(first, '=', strcspn(first, ","));
    (void)snprintf(whole, size, "%.*s%s%s", (int)(bare ? name + 1 : 0), text, bare ? "path=" : "",
                   bare ? first : text);
    return file && (!*first || *first == ',') ? arrival_refuse_no_path(why) : ICTUS_OK;
}

static int arrival_find_shape(struct arrival *a, const char *name, struct ictus_why *why)
{
    const char *names[SHAPES + 2] = {NULL};
    for (int i = 0; i < SHAPES; i++) {
        names[i] = shapes[i].name;
        if (strcmp(shapes[i].name, name) == 0) {
            a->shape = &shapes[i];
            return ICTUS_OK;
        }
    }
    names[SHAPES] = name_of_files; /* not a shape, but suggested for a mistyped name */
    return ictus_unknown(why, "arrival pattern", name, names);
}

/* Whether the shape treats one rank differently, which must then exist. */
static bool arrival_has_odd(const struct arrival *a)
{
    return a->shape->part == shape_late || a->shape->part == shape_early;
}

bool ictusi_arrival_is_asked(const char *text)
{
    return text && strcmp(text, shapes[0].name) != 0;
}

/* size 0: only the text is checked, before there are processes. */
int ictusi_arrival_init(struct arrival *a, const char *text, int rank, int size,
                        struct ictus_why *why)
{
    struct spec spec;
    struct arrival_options o = {.scale = 1.0};
    char whole[SPEC_BYTES];
    *a = (struct arrival){.shape = NULL, .rank = rank, .size = size, .traced = {.duration_s = NAN}};
    int err = arrival_complete(text ? text : shapes[0].name, whole, sizeof whole, why);
    err = err ? err : ictusi_spec_split(whole, &spec, why);
    const bool file = !err && strcmp(spec.name, name_of_files) == 0;
    err = err || file ? err : arrival_find_shape(a, spec.name, why);
    err = err ? err : ictusi_spec_read(&spec, file ? file_params : shape_params, &o, why);
    if (err) {
        return err;
    }
    a->footprint_given = o.footprint > 0;
    a->footprint = a->footprint_given ? o.footprint : FOOTPRINT_USUAL;
    if (file) {
        return arrival_read_file(a, &o, why);
    }
    if (arrival_has_odd(a) && size > 0 && o.rank >= size) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "arrival pattern %s:rank=%lld: must be a rank between 0 and %d",
                             spec.name, (long long)o.rank, size - 1);
    }
    a->spread_ns = o.spread_s * 1e9;
    a->gap_ns = llround(fmin(o.gap_s * 1e9, (double)REPLAY_GAP_MAX_NS));
    a->odd = o.rank;
    a->seed = (uint64_t)o.seed;
    return ICTUS_OK;
}

int ictus_arrival_describe(const char *arrival, struct ictus_arrival_traced *traced)
{
    const struct ictus_arrival_traced nothing = {.duration_s = NAN};
    struct arrival a;
    const int err = ictusi_arrival_init(&a, arrival, 0, 0, NULL);
    *traced = err ? nothing : a.traced;
    ictusi_arrival_fini(&a);
    return err;
}

int ictus_arrival_operation(const char *arrival, char operation[ICTUS_ARRIVALS_TEXT])
{
    struct ictus_arrival_traced traced;
    const int err = ictus_arrival_describe(arrival, &traced);
    (void)snprintf(operation, ICTUS_ARRIVALS_TEXT, "%s", traced.operation);
    return err;
}

void ictusi_arrival_fini(struct arrival *a)
{
    ictusi_replay_fini(&a->track);
}

/*
 * The delay in ns of this process in a repetition, which is the same each time. The generator has
 * no state: it is seeded by (seed + repetition, rank). So a repetition that is made again after a
 * late start has the same delays, and no process draws those of others.
 */
static int64_t shape_delay(const struct arrival *a, int64_t repetition)
{
    const double place = a->size > 1 ? (double)a->rank / (a->size - 1) : 0.0;
    struct rng rng;
    ictusi_random_seed(&rng, a->seed + (uint64_t)repetition, (uint64_t)a->rank);
    return (int64_t)(a->spread_ns * a->shape->part(a, place, &rng));
}

struct arrival_turn ictusi_arrival_turn(const struct arrival *a, int64_t repetition)
{
    const struct replay_track *t = &a->track;
    if (!t->delays_ns) { /* All processes compute equally long, so the lead equals the gap. */
        return (struct arrival_turn){.lead_ns = a->gap_ns,
                                     .delay_ns = a->shape ? shape_delay(a, repetition) : 0,
                                     .gap_ns = a->gap_ns};
    }
    /*
     * If a benchmark needs more repetitions than were recorded, it starts again at the first one.
     */
    const int64_t i = repetition % t->count;
    return (struct arrival_turn){.lead_ns = t->leads_ns ? t->leads_ns[i] : 0,
                                 .delay_ns = t->delays_ns[i],
                                 .gap_ns = t->gaps_ns ? t->gaps_ns[i] : 0,
                                 .silence_ns = t->silences_ns ? t->silences_ns[i] : 0};
}
