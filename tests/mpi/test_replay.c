/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Archives that several ranks correct together: each value that they exchange arrives where it
 * belongs, and the result is that of one alone, to the tick.
 */
#include "check_mpi.h"
#define CROSSING_COMM MPI_COMM_WORLD
#include "crossing_values.h"

#include "archive/stamps.h"
#include "archive/trace_open.h"

#include <ftw.h>
#include <ictus/correct.h>
#include <ictus/error.h>
#include <ictus/text.h>
#include <jansson.h>
#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

int make_random(int argc, char **argv);
int make_patterns(int argc, char **argv);

static void errors_are_agreed_on(void)
{
    for (int r = 0; r < check_size; r++) {
        const int own = check_rank == r ? ICTUS_ERR_NOMEM : check_rank > r ? ICTUS_ERR_ARG : 0;
        const int least = ICTUS_ERR_NOMEM < ICTUS_ERR_ARG ? ICTUS_ERR_NOMEM : ICTUS_ERR_ARG;
        CHECK(ictusi_ranks_agree(MPI_COMM_WORLD, own) ==
              (r + 1 < check_size ? least : ICTUS_ERR_NOMEM));
    }
    CHECK(ictusi_ranks_agree(MPI_COMM_WORLD, ICTUS_OK) == ICTUS_OK);
}

/* An archive, by whom it is made, and how it is skewed. */
struct scene {
    const char *pattern; /* NULL: at random */
    const char *words[4];
    const char *skew;
    enum ictus_presync presync;
};

static const struct scene scenes[] = {
    {NULL, {"1"}, "offset=1ms,drift=50ppm,walk=100ppm,scope=process,offsets=drop", 0},
    {NULL, {"2"}, "offset=1ms,drift=50ppm,walk=100ppm,scope=process", ICTUS_PRESYNC_NONE},
    {NULL, {"4", "own"}, "offset=20us,drift=50ppm,scope=location,offsets=start", 0},
    {NULL, {"5", "bare"}, "offset=1ms,drift=50ppm,scope=location", ICTUS_PRESYNC_NONE},
    {"pairs",
     {"ranks=3", "seconds=1", "seed=999424"},
     "offset=100us,drift=10ppm,jump=20us,offsets=both,noise=300ns,sd=300ns,seed=999424",
     0},
    {"collectives",
     {"ranks=5", "seconds=1", "rounds=600"},
     "offset=1ms,offsets=drop",
     ICTUS_PRESYNC_NONE},
    {"threads",
     {"ranks=2", "rounds=60", "seed=7"},
     "offset=100us,drift=50ppm,offsets=drop,scope=location",
     0},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static char root[CHECK_PATH];

static char *path_of(char path[2 * CHECK_PATH], const char *name)
{
    (void)snprintf(path, 2 * CHECK_PATH, "%s/%s", root, name);
    return path;
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void path_remove(const char *name)
{
    char path[2 * CHECK_PATH];
    (void)nftw(path_of(path, name), entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* Makes "good", with true times, and "bad". */
static void scene_make(const struct scene *s)
{
    char good[2 * CHECK_PATH];
    char bad[2 * CHECK_PATH];
    char words[6][CHECK_PATH];
    char *list[8] = {words[0], path_of(good, "good")};
    int n = 2;
    json_t *report = NULL;
    struct ictus_why why = {""};
    (void)snprintf(words[0], CHECK_PATH, "make");
    if (s->pattern) {
        (void)snprintf(words[1], CHECK_PATH, "%s", s->pattern);
        list[n++] = words[1];
    }
    for (int i = 0; i < 4 && s->words[i]; i++) {
        (void)snprintf(words[2 + i], CHECK_PATH, "%s", s->words[i]);
        list[n++] = words[2 + i];
    }
    REQUIRE((s->pattern ? make_patterns(n, list) : make_random(n, list)) == 0);
    REQUIRE(!ictus_trace_skew(good, path_of(bad, "bad"), s->skew, &report, &why));
    json_decref(report);
}

static void options_make(struct ictus_correct_options *o, const struct scene *s,
                         char paths[3][2 * CHECK_PATH], const char *out)
{
    ictus_correct_defaults(o);
    o->in = path_of(paths[0], "bad");
    o->truth = path_of(paths[1], "good");
    o->out = path_of(paths[2], out);
    o->presync = s->presync;
}

/* Whether two values are the same, but for what is rounded where sums are made in another order. */
static bool values_same(const json_t *a, const json_t *b)
{
    if (json_typeof(a) != json_typeof(b)) {
        return false;
    }
    if (json_is_real(a)) {
        const double x = json_real_value(a);
        const double y = json_real_value(b);
        return fabs(x - y) <= 2e-9 * fabs(x) + 2e-12;
    }
    bool same = true;
    if (json_is_object(a)) {
        const char *key = NULL;
        json_t *one = NULL;
        same = json_object_size(a) == json_object_size(b);
        json_object_foreach((json_t *)a, key, one)
        {
            const json_t *other = json_object_get(b, key);
            same = same && other && values_same(one, other);
        }
        return same;
    }
    if (json_is_array(a)) {
        same = json_array_size(a) == json_array_size(b);
        for (size_t i = 0; same && i < json_array_size(a); i++) {
            same = values_same(json_array_get(a, i), json_array_get(b, i));
        }
        return same;
    }
    return json_equal(a, b);
}

static struct trace *archive_open(const char *name)
{
    char path[2 * CHECK_PATH];
    struct trace *trace = NULL;
    struct ictus_why why = {""};
    REQUIRE(!ictusi_archive_open(path_of(path, name), &trace, &why));
    REQUIRE(OTF2_Reader_OpenEvtFiles(trace->reader) == OTF2_SUCCESS);
    return trace;
}

/* Whether all events have the same times in both archives, and the clock the same properties. */
static void archives_same(const char *one, const char *other)
{
    struct trace *a = archive_open(one);
    struct trace *b = archive_open(other);
    CHECK(a->global_offset == b->global_offset && a->realtime == b->realtime);
    CHECK(a->layout.length == b->layout.length && a->layout.resolution == b->layout.resolution);
    REQUIRE(a->layout.location_count == b->layout.location_count);
    for (uint32_t l = 0; l < a->layout.location_count; l++) {
        struct stamps x = {.list = NULL};
        struct stamps y = {.list = NULL};
        REQUIRE(!ictusi_stamps_read(a, l, true, &x) && !ictusi_stamps_read(b, l, true, &y));
        REQUIRE(x.count == y.count);
        CHECK(a->layout.locations[l].offset_count == b->layout.locations[l].offset_count);
        CHECK(x.count == 0 || memcmp(x.list, y.list, x.count * sizeof *x.list) == 0);
        free(x.list);
        free(y.list);
    }
    ictusi_archive_close(a);
    ictusi_archive_close(b);
}

/* What one finds alone, for all. */
static json_t *scene_alone(const struct scene *s)
{
    char *text = NULL;
    unsigned long length = 0;
    if (check_rank == 0) {
        char paths[3][2 * CHECK_PATH];
        struct ictus_correct_options o;
        struct ictus_why why = {""};
        json_t *report = NULL;
        scene_make(s);
        options_make(&o, s, paths, "alone");
        REQUIRE(!ictus_correct(&o, &report, &why));
        CHECK(!strstr(s->skew, "jump") == !json_object_get(report, "clock_jumps"));
        text = json_dumps(report, JSON_REAL_PRECISION(17));
        REQUIRE(text);
        length = strlen(text);
        json_decref(report);
    }
    MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    text = check_rank == 0 ? text : calloc(1, length + 1);
    REQUIRE(text);
    MPI_Bcast(text, (int)length, MPI_CHAR, 0, MPI_COMM_WORLD);
    json_t *report = json_loads(text, 0, NULL);
    REQUIRE(report);
    free(text);
    return report;
}

/* The same by these ranks, all of which have the whole report. */
static void scene_together(const struct scene *s, MPI_Comm comm, json_t *alone)
{
    char paths[3][2 * CHECK_PATH];
    struct ictus_correct_options o;
    struct ictus_why why = {""};
    json_t *report = NULL;
    int size = 0;
    MPI_Comm_size(comm, &size);
    options_make(&o, s, paths, "team");
    const int err = ictus_correct_mpi(comm, &o, &report, &why);
    CHECK(!err && report);
    if (err) {
        (void)fprintf(stderr, "%d: %s\n", err, why.text);
        return;
    }
    CHECK(json_integer_value(json_object_get(report, "ranks")) == size);
    (void)json_object_set(report, "ranks", json_object_get(alone, "ranks"));
    (void)json_object_set(report, "output", json_object_get(alone, "output"));
    CHECK(values_same(alone, report));
    json_decref(report);
}

static void together_as_alone(const struct scene *s, MPI_Comm some)
{
    json_t *alone = scene_alone(s);
    for (int fewer = 0; fewer < 2; fewer++) {
        if (fewer ? some != MPI_COMM_NULL : true) {
            scene_together(s, fewer ? some : MPI_COMM_WORLD, alone);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (check_rank == 0) {
            archives_same("alone", "team");
            path_remove("team");
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    json_decref(alone);
    if (check_rank == 0) {
        path_remove("alone");
        path_remove("bad");
        path_remove("good");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All ranks fail alike, and know why. */
static void failures_are_shared(void)
{
    char paths[3][2 * CHECK_PATH];
    struct ictus_correct_options o;
    struct ictus_why why = {""};
    json_t *report = NULL;
    options_make(&o, &scenes[0], paths, "team");
    o.truth = NULL;
    CHECK(ictus_correct_mpi(MPI_COMM_WORLD, &o, &report, &why) == ICTUS_ERR_ARG && !report);
    CHECK(strstr(why.text, "bad") != NULL);
    if (check_rank == 0) {
        scene_make(&scenes[0]);
        char path[2 * CHECK_PATH];
        REQUIRE(mkdir(path_of(path, "team"), 0700) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(ictus_correct_mpi(MPI_COMM_WORLD, &o, &report, &why) == ICTUS_ERR_EXISTS && !report);
    CHECK(strstr(why.text, "team") != NULL);
    /* Only the first one looks at the truth. */
    char other[2 * CHECK_PATH];
    o.out = path_of(other, "other");
    o.truth = path_of(paths[1], "nowhere");
    why.text[0] = '\0';
    CHECK(ictus_correct_mpi(MPI_COMM_WORLD, &o, &report, &why) == ICTUS_ERR_ARG && !report);
    CHECK(strstr(why.text, "nowhere") != NULL);
    CHECK(ictus_correct_mpi(MPI_COMM_WORLD, &o, NULL, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_correct_mpi(MPI_COMM_NULL, &o, &report, &why) == ICTUS_ERR_ARG && !report);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void groups_apart_are_refused(void)
{
    MPI_Comm half;
    MPI_Comm inter;
    struct ictus_correct_options o;
    struct ictus_why why = {""};
    json_t *report = NULL;
    if (check_size < 2) {
        return;
    }
    ictus_correct_defaults(&o);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank > 0, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, check_rank > 0 ? 0 : 1, 7, &inter);
    CHECK(ictus_correct_mpi(inter, &o, &report, &why) == ICTUS_ERR_INTERCOMM && !report);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Comm some;
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (check_rank == 0) {
        REQUIRE(mkdtemp(check_scratch(root, "replay")));
    }
    MPI_Bcast(root, sizeof root, MPI_CHAR, 0, MPI_COMM_WORLD);
    /* Without the first rank, and the other way round; alone, if there are two. */
    MPI_Comm_split(MPI_COMM_WORLD, check_size == 1 || check_rank > 0 ? 0 : MPI_UNDEFINED,
                   -check_rank, &some);
    values_cross();
    errors_are_agreed_on();
    for (int i = 0; i < SCENES; i += CHECK_SANITIZED ? 3 : 1) {
        together_as_alone(&scenes[i], some);
    }
    failures_are_shared();
    groups_apart_are_refused();
    if (some != MPI_COMM_NULL) {
        MPI_Comm_free(&some);
    }
    if (check_rank == 0) {
        (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    }
    return check_mpi_finish();
}
