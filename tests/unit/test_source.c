/* SPDX-License-Identifier: BSD-3-Clause */
/* Time sources: all read forward; simulated ones know their truth and refuse invalid options. */
#include "clock/counter.h"
#include "clock/source.h"
#include "clock/wander.h"
#include "page/page.h"
#include "page/timebase.h"

#include <ictus/time.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "../check.h"

static struct source *opened(const char *spec, int process, int node)
{
    const struct source_place place = {process, node};
    struct source *source = NULL;
    struct ictus_why why = {""};
    const int err = ictusi_source_open(spec, &place, &source, &why);
    if (err) {
        (void)fprintf(stderr, "%s: %s\n", spec, why.text);
    }
    REQUIRE(!err);
    return source;
}

static void reads_forward(const char *spec)
{
    struct source *source = opened(spec, 0, 0);
    int64_t before = ictusi_source_read(source);
    int backwards = 0;
    for (int i = 0; i < 100000; i++) {
        const int64_t now = ictusi_source_read(source);
        backwards += now < before;
        before = now;
    }
    CHECK(backwards == 0);
    ictusi_source_free(source);
}

static void truth_is_known(const char *spec)
{
    struct source *skewed = opened(spec, 1, 1);
    struct source *real = opened("monotonic", 0, 0);
    for (int i = 0; i < 1000; i++) {
        const int64_t before = ictusi_source_read(real);
        const int64_t local = ictusi_source_read(skewed);
        const int64_t after = ictusi_source_read(real);
        const int64_t truth = skewed->ops->truth(skewed, local);
        CHECK(truth >= before - 1 && truth <= after + 1);
    }
    ictusi_source_free(real);
    ictusi_source_free(skewed);
}

static void nodes_differ_and_seeds_repeat(void)
{
    struct source *a = opened("sim:offset=1s,seed=4", 0, 0);
    struct source *b = opened("sim:offset=1s,seed=4", 0, 1);
    struct source *c = opened("sim:offset=1s,seed=4", 5, 1);
    struct source *d = opened("sim:offset=1s,seed=4,scope=process", 5, 1);
    const int64_t ta = ictusi_source_read(a);
    const int64_t tb = ictusi_source_read(b);
    const int64_t tc = ictusi_source_read(c);
    const int64_t td = ictusi_source_read(d);
    CHECK(llabs(ta - tb) > 1000000);
    CHECK(llabs(tb - tc) < 10000000);
    CHECK(llabs(tc - td) > 1000000);
    char ia[SOURCE_IDENTITY_MAX];
    char ib[SOURCE_IDENTITY_MAX];
    a->ops->identify(a, ia, sizeof(ia));
    b->ops->identify(b, ib, sizeof(ib));
    CHECK(strcmp(ia, ib) != 0);
    ictusi_source_free(a);
    ictusi_source_free(b);
    ictusi_source_free(c);
    ictusi_source_free(d);
}

/* An invalid specification is reported and named; only a missing device might exist elsewhere. */
static void nonsense_is_refused(void)
{
    static const struct {
        const char *text;
        int err;
        const char *named;
    } bad[] = {{"monotnic", ICTUS_ERR_UNKNOWN, "monotnic"},
               {"sim:offset=x", ICTUS_ERR_SPEC, "offset"},
               {"sim:offsets=0,,1", ICTUS_ERR_SPEC, "offsets"},
               {"sim:drift=2", ICTUS_ERR_SPEC, "drift"},
               {"tsc:a=1", ICTUS_ERR_SPEC, "a"},
               {"sim:scope=galaxy", ICTUS_ERR_UNKNOWN, "galaxy"},
               {"sim:base=nothing", ICTUS_ERR_UNKNOWN, "nothing"},
               {"phc", ICTUS_ERR_SPEC, "phc"},
               {"sim:walk=-1", ICTUS_ERR_SPEC, "walk"},
               {"", ICTUS_ERR_SPEC, "''"},
               {"sim:base=sim:", ICTUS_ERR_SPEC, "sim"},
               {"phc:/dev/null", ICTUS_ERR_UNSUPPORTED, "/dev/null"},
               {"monotonic(a)", ICTUS_ERR_SPEC, "monotonic"},
               {"sim:seed=1.5", ICTUS_ERR_SPEC, "seed"},
               {"sim:offsets=1x", ICTUS_ERR_SPEC, "offsets"},
               {"sim:drifts=0,9", ICTUS_ERR_SPEC, "drifts"},
               {"sim:steps=0,1x", ICTUS_ERR_SPEC, "steps"},
               {"sim:faults=0:1x", ICTUS_ERR_SPEC, "faults"},
               {"sim:faults=0:1000001s", ICTUS_ERR_SPEC, "faults"},
               {"lock:name=a/b", ICTUS_ERR_SPEC, "a/b"},
               {"lock:nme=a", ICTUS_ERR_SPEC, "nme"},
               {"wtime", ICTUS_ERR_UNSUPPORTED, "wtime"}, /* before MPI is initialised */
               {"phc:/does/not/exist", ICTUS_ERR_UNSUPPORTED, "/does/not/exist"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct source *source = NULL;
        struct ictus_why why = {""};
        const int err = ictusi_source_open(bad[i].text, NULL, &source, &why);
        if (err != bad[i].err || !strstr(why.text, bad[i].named)) {
            (void)fprintf(stderr, "%s: %d, %s\n", bad[i].text, err, why.text);
        }
        CHECK(source == NULL && err == bad[i].err && strstr(why.text, bad[i].named));
    }
}

/*
 * A locked clock is shared by the processes of this machine, and by all machines only on request.
 */
static void test_shared_lock(void)
{
    char directory[CHECK_PATH], spec[160], own[256], everywhere[256];
    struct page_writer writer;
    struct ictus_why why;
    REQUIRE(mkdtemp(check_scratch(directory, "source")) &&
            ictusi_page_create("s", directory, &writer, &why) == ICTUS_OK);
    struct page_clock clock = {.anchor = 1, .value = 1, .state = ICTUS_LOCK_UNLOCKED};
    struct source *source = NULL;
    (void)snprintf(spec, sizeof(spec), "lock:name=s,directory=%s", directory);
    for (int published = 0; published < 2; published++) { /* no page, then one that is not locked */
        CHECK(ictusi_source_open(spec, NULL, &source, &why) == ICTUS_ERR_UNSUPPORTED);
        CHECK(!source && strstr(why.text, "not locked yet"));
        ictusi_page_publish(&writer, &clock);
    }
    clock.state = ICTUS_LOCK_LOCKED;
    ictusi_page_publish(&writer, &clock);
    source = opened(spec, 0, 0);
    source->ops->identify(source, own, sizeof(own));
    ictusi_source_free(source);
    (void)snprintf(spec, sizeof(spec), "lock:name=s,directory=%s,shared=yes", directory);
    source = opened(spec, 0, 0);
    source->ops->identify(source, everywhere, sizeof(everywhere));
    ictusi_source_free(source);
    CHECK(strncmp(everywhere, "everywhere/", 11) == 0);
    CHECK(strncmp(own, "everywhere/", 11) != 0);
    /*
     * A clock may have a name of one letter, and so may its directory, seen from the one above it.
     */
    char here[256];
    REQUIRE(getcwd(here, sizeof(here)) && chdir(directory) == 0 && symlink(directory, "d") == 0);
    ictusi_source_free(opened("lock:name=s,directory=d", 0, 0));
    REQUIRE(unlink("d") == 0 && chdir(here) == 0);
    ictusi_page_close(&writer);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(spec, sizeof(spec), "%s/ictus-%s.s", directory, i ? "lock" : "guard");
        CHECK(unlink(spec) == 0);
    }
    CHECK(rmdir(directory) == 0);
}

static int freed;

static void counted_free(struct source *source)
{
    (void)source;
    freed++;
}

static void sources_are_freed_once(void)
{
    static const struct source_ops counted_ops = {.name = "counted", .free = counted_free};
    struct source counted = {&counted_ops};
    ictusi_source_free(&counted);
    ictusi_source_free(NULL);
    CHECK(freed == 1);
}

/*
 * The truth of a reading is the instant that it was made from, however fast and late the clock is.
 */
static void truth_undoes_the_skew(void)
{
    static const char *const specs[] = {"sim:drifts=0.1,offsets=-7s", "sim:drifts=-0.1",
                                        "sim:drifts=0.05,faults=0:0.05",
                                        "sim:faults=0:-1000000s,step_at=1000000s"};
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct source *clock = opened(specs[i], 0, 0);
        size_t size = 0;
        const int64_t origin = *(const int64_t *)clock->ops->state(clock, &size);
        CHECK(size == sizeof(origin));
        for (int64_t after = 1; after < INT64_C(1000000000000000); after *= 10) {
            const int64_t local = clock->ops->reading_at(clock, origin + after);
            CHECK(llabs(clock->ops->truth(clock, local) - origin - after) <= 1);
        }
        ictusi_source_free(clock);
    }
}

/* Random offsets of nodes are within the requested range, symmetric, and fill it. */
static void draws_keep_their_range(void)
{
    enum { NODES = 400, DRIFT_NS = 100000 }; /* ns per second: 100 ppm */
    int ahead = 0, fast = 0;
    double offsets = 0.0, drifts = 0.0;
    for (int node = 0; node < NODES; node++) {
        struct source *clock = opened("sim:offset=1s,drift=100ppm,seed=4", 0, node);
        size_t size = 0;
        const int64_t origin = *(const int64_t *)clock->ops->state(clock, &size);
        const int64_t offset = clock->ops->reading_at(clock, origin) - origin;
        const int64_t later = clock->ops->reading_at(clock, origin + ICTUS_NS_PER_S);
        const int64_t drift = later - origin - ICTUS_NS_PER_S - offset;
        CHECK(llabs(offset) <= ICTUS_NS_PER_S);
        CHECK(llabs(drift) <= DRIFT_NS);
        ahead += offset > 0;
        fast += drift > 0;
        offsets += fabs((double)offset) / NODES;
        drifts += fabs((double)drift) / NODES;
        ictusi_source_free(clock);
    }
    CHECK_NEAR(ahead, NODES / 2, 40); /* four standard deviations */
    CHECK_NEAR(fast, NODES / 2, 40);
    CHECK_NEAR(offsets, 0.5 * ICTUS_NS_PER_S, 0.06 * ICTUS_NS_PER_S);
    CHECK_NEAR(drifts, 0.5 * DRIFT_NS, 0.06 * DRIFT_NS);
}

/* The integral of a frequency walk has a standard deviation of walk sqrt(t^3 / 3). */
static void walks_grow_with_time(void)
{
    enum { WALKS = 400, SPANS = 3 };
    static const int64_t spans_s[SPANS] = {2, 10, 210}; /* inside, beyond one table, beyond 64 */
    double squares[SPANS] = {0.0};
    for (uint64_t stream = 0; stream < WALKS; stream++) {
        struct wander *w = NULL;
        REQUIRE(ictusi_wander_create(1e-6, 5, stream, &w) == ICTUS_OK);
        CHECK_NEAR(ictusi_wander_phase(w, 0), 0, 0);
        CHECK_NEAR(ictusi_wander_phase(w, -ICTUS_NS_PER_S), 0, 0);
        for (int i = 0; i < SPANS; i++) {
            const double phase = ictusi_wander_phase(w, spans_s[i] * ICTUS_NS_PER_S);
            squares[i] += phase * phase / WALKS;
        }
        ictusi_wander_free(w);
    }
    for (int i = 0; i < SPANS; i++) {
        const double wanted_ns = 1e3 * sqrt(pow((double)spans_s[i], 3.0) / 3.0);
        CHECK_NEAR(sqrt(squares[i]) / wanted_ns, 1.0, 0.15); /* known to 0.035 */
    }
}

/* A clock with a walk leaves the one without, on each node in its own way, alike for one seed. */
static void clocks_walk(void)
{
    static const char *const specs[] = {"sim:seed=5", "sim:seed=5,walk=1e-6",
                                        "sim:seed=5,walk=1e-6"};
    int64_t shown[2][3];
    for (int node = 0; node < 2; node++) {
        for (int i = 0; i < 3; i++) {
            struct source *clock = opened(specs[i], 0, node);
            size_t size = 0;
            const int64_t origin = *(const int64_t *)clock->ops->state(clock, &size);
            shown[node][i] = clock->ops->reading_at(clock, origin + 100 * ICTUS_NS_PER_S) - origin;
            ictusi_source_free(clock);
        }
        CHECK(shown[node][1] != shown[node][0] && shown[node][1] == shown[node][2]);
    }
    CHECK(shown[0][0] == shown[1][0] && shown[0][1] != shown[1][1]);
}

/* An element of a list has room for 63 characters; a longer one is refused. */
static void elements_have_room(void)
{
    for (int digits = 63; digits <= 64; digits++) {
        char spec[128];
        struct source *clock = NULL;
        struct ictus_why why = {""};
        (void)snprintf(spec, sizeof(spec), "sim:offsets=1,%0*d", digits, 1);
        const int err = ictusi_source_open(spec, NULL, &clock, &why);
        CHECK(err == (digits < 64 ? ICTUS_OK : ICTUS_ERR_SPEC));
        CHECK(digits < 64 || strstr(why.text, "offsets"));
        ictusi_source_free(clock);
    }
}

/* Neither phase nor frequency ever jumps, and the order of queries does not matter. */
static void walks_have_no_seams(void)
{
    struct wander *forth = NULL, *back = NULL;
    const int64_t step = 50000000, h = 1000, last = INT64_C(210) * ICTUS_NS_PER_S;
    REQUIRE(ictusi_wander_create(1e-6, 5, 77, &forth) == ICTUS_OK);
    REQUIRE(ictusi_wander_create(1e-6, 5, 77, &back) == ICTUS_OK);
    int seams = 0;
    for (int64_t at = step; at <= last; at += step) {
        const double there = ictusi_wander_phase(forth, at);
        const double before = ictusi_wander_phase(forth, at - h);
        const double after = ictusi_wander_phase(forth, at + h);
        seams += !(fabs(there - before) < 1.0 && fabs(after - 2.0 * there + before) < 1e-6);
    }
    CHECK(seams == 0);
    for (int64_t at = last; at > 0; at -= 7 * step) {
        CHECK_NEAR(ictusi_wander_phase(back, at), ictusi_wander_phase(forth, at), 0);
    }
    ictusi_wander_free(forth);
    ictusi_wander_free(back);
    ictusi_wander_free(NULL);
}

/* The counter continues from the kernel's clock, even if its anchor is an hour ahead. */
static void counter_follows_the_kernel(void)
{
    struct source *tsc = NULL;
    size_t size = 0;
    if (ictusi_source_open("tsc", NULL, &tsc, NULL)) {
        return;
    }
    struct source_counter *c = tsc->ops->state(tsc, &size);
    REQUIRE(size == sizeof(*c));
    for (int i = 0; i < 2; i++) {
        const int64_t before = ictusi_timebase_raw_now();
        const int64_t now = ictusi_source_read(tsc);
        const int64_t after = ictusi_timebase_raw_now();
        CHECK(now > before - ICTUS_NS_PER_S && now < after + ICTUS_NS_PER_S);
        c->anchor_ticks += UINT64_C(1) << 43;
        c->anchor_ns += (int64_t)(c->multiplier >> 5); /* 2^43 multiplier / 2^48 */
    }
    ictusi_source_free(tsc);
}

/* What each clock of a list shows, by hand: offset, drift, and a jump from its instant on. */
static void lists_are_per_clock(void)
{
    static const struct {
        const char *spec;
        int64_t offset[4], step[4]; /* ns, for clocks 0 to 3 */
        double ppm[4];
        int64_t step_at;
    } cases[] = {
        {"sim:offsets=1s,-2s,drifts=10ppm,-20ppm,0",
         {1000000000, -2000000000, -2000000000, -2000000000},
         {0},
         {10, -20, 0, 0},
         0},
        {"sim:step=3ms,step_at=5s", {0}, {3000000, 3000000, 3000000, 3000000}, {0}, 5000000000},
        {"sim:steps=0,-3s,step_at=1s",
         {0},
         {0, -3000000000, -3000000000, -3000000000},
         {0},
         1000000000},
        {"sim:drifts=5ppm,faults=1:100ppm,3:50us,step_at=2s",
         {0},
         {0, 0, 0, 50000},
         {5, 105, 5, 5},
         2000000000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int node = 0; node < 4; node++) {
            struct source *clock = opened(cases[i].spec, 0, node);
            size_t size = 0;
            const int64_t origin = *(const int64_t *)clock->ops->state(clock, &size);
            const int64_t ages[] = {0, cases[i].step_at - 1, cases[i].step_at,
                                    INT64_C(86400000000000)};
            for (int a = 0; a < 4; a++) {
                const int64_t age = ages[a] > 0 ? ages[a] : 0;
                const int64_t wanted = cases[i].offset[node] +
                                       (age >= cases[i].step_at ? cases[i].step[node] : 0) +
                                       llround(cases[i].ppm[node] * 1e-6 * (double)age);
                const int64_t shown = clock->ops->reading_at(clock, origin + age);
                CHECK(llabs(shown - origin - age - wanted) <= 1);
            }
            ictusi_source_free(clock);
        }
    }
}

/* As fast as the kernel's raw clock within 1 %; an empty interval has no rate. */
static void counter_keeps_pace(void)
{
    struct source *tsc = NULL;
    const int err = ictusi_source_open("tsc", NULL, &tsc, NULL);
    CHECK((err == ICTUS_OK) == ictusi_counter_invariant());
    if (err) {
        return;
    }
    const int64_t a = ictusi_timebase_raw_now();
    const int64_t from = ictusi_source_read(tsc);
    const int64_t b = ictusi_timebase_raw_now();
    while (ictusi_timebase_raw_now() < b + 5000000) { /* the wait is what is measured */
    }
    const int64_t c = ictusi_timebase_raw_now();
    const int64_t to = ictusi_source_read(tsc);
    const int64_t d = ictusi_timebase_raw_now();
    CHECK((double)(to - from) >= 0.99 * (double)(c - b));
    CHECK((double)(to - from) <= 1.01 * (double)(d - a));
    ictusi_source_free(tsc);
}

/* If the process is not specified, it is the first process of the first node. */
static void alone_is_the_first(void)
{
    static const char *const specs[] = {"sim:offsets=1s,2s", "sim:offsets=1s,2s,scope=process"};
    for (int i = 0; i < 2; i++) {
        struct source *clock = NULL;
        size_t size = 0;
        REQUIRE(!ictusi_source_open(specs[i], NULL, &clock, NULL));
        const int64_t origin = *(const int64_t *)clock->ops->state(clock, &size);
        CHECK(clock->ops->reading_at(clock, origin) == origin + ICTUS_NS_PER_S);
        ictusi_source_free(clock);
    }
}

/*
 * Clocks are identified by the boot of this kernel; those that a container may shift, by its
 * namespace too.
 */
static void identities_name_the_boot(void)
{
    char boot[64] = "", id[SOURCE_IDENTITY_MAX], wanted[SOURCE_IDENTITY_MAX];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file || !fgets(boot, sizeof(boot), file)) {
        return;
    }
    (void)fclose(file);
    boot[strcspn(boot, "\n")] = '\0';
    struct source *clock = opened("realtime", 0, 0);
    (void)snprintf(wanted, sizeof(wanted), "%s/realtime", boot);
    clock->ops->identify(clock, id, sizeof(id));
    CHECK_STR(id, wanted);
    ictusi_source_free(clock);
    clock = opened("monotonic", 0, 0);
    clock->ops->identify(clock, id, sizeof(id));
    CHECK(strncmp(id, boot, strlen(boot)) == 0 && strcmp(strrchr(id, '/'), "/monotonic") == 0);
    CHECK(strchr(id, '/') != strrchr(id, '/'));
    ictusi_source_free(clock);
}

/* A network clock without a daemon is one that is missing here, which is not the user's mistake. */
static void absent_locks_are_absent(void)
{
    struct source *source = NULL;
    struct ictus_why why = {""};
    CHECK(ictusi_source_open("lock:name=n,directory=/nowhere", NULL, &source, &why) ==
          ICTUS_ERR_UNSUPPORTED);
    CHECK(!source && why.text[0]);
}

/* An impossible clock is distinguished from a missing one, before any machine is queried. */
static void forms_are_checked(void)
{
    struct ictus_why why = {""};
    CHECK(ictusi_source_check("phc:/does/not/exist", &why) == ICTUS_OK);
    CHECK(ictusi_source_check("phc:ptp0", &why) == ICTUS_ERR_SPEC);
    CHECK(strstr(why.text, "needs a device") != NULL);
    CHECK(ictusi_source_check("sim:offsets=0,1s,x", &why) == ICTUS_ERR_SPEC);
    CHECK(ictusi_source_check("sim:base=nothing", &why) != ICTUS_OK);
    CHECK(ictusi_source_check("sim:steps=0,1s", &why) == ICTUS_OK);
}

/* Whether the processor says that its counter never changes its rate is known to the kernel, too.
 */
static void counters_are_as_the_kernel_says(void)
{
    char line[8192];
    bool flags = false;
    bool constant = false;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !flags && fgets(line, sizeof(line), file)) {
        flags = strncmp(line, "flags", 5) == 0;
        constant = flags && strstr(line, " nonstop_tsc") != NULL;
    }
    if (file) {
        (void)fclose(file);
    }
    CHECK(!flags || !constant || ictusi_counter_invariant());
}

/* Whatever is opened and asked for its identity, no descriptor stays open. */
static void descriptors_are_closed(void)
{
    static const char *const specs[] = {"monotonic", "monotonic_raw", "sim:drift=1ppm"};
    const int before = dup(STDIN_FILENO);
    (void)close(before);
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        char text[512] = "";
        struct source *source = opened(specs[i], 0, 0);
        source->ops->identify(source, text, sizeof(text));
        CHECK(text[0]);
        ictusi_source_free(source);
        (void)ictusi_counter_name();
    }
    const int after = dup(STDIN_FILENO);
    (void)close(after);
    CHECK(before == after);
    struct ictus_why why = {""};
    CHECK(ictusi_source_check("lock:nme=a", &why) == ICTUS_ERR_SPEC);
    CHECK(ictusi_source_check("lock:name=a", &why) == ICTUS_OK);
}

int main(void)
{
    counters_are_as_the_kernel_says();
    descriptors_are_closed();
    lists_are_per_clock();
    counter_keeps_pace();
    alone_is_the_first();
    identities_name_the_boot();
    absent_locks_are_absent();
    forms_are_checked();
    test_shared_lock();
    sources_are_freed_once();
    reads_forward("monotonic");
    reads_forward("monotonic_raw");
    reads_forward("sim:drift=100ppm,walk=1e-6");
    struct source *tsc = NULL;
    if (!ictusi_source_open("tsc", NULL, &tsc, NULL)) {
        ictusi_source_free(tsc);
        reads_forward("tsc");
    }
    truth_is_known("sim:offset=1.5s,drift=50ppm,walk=1e-6,seed=9");
    truth_is_known("sim:offsets=0,-3.2s,drifts=0,-7.3ppm");
    truth_undoes_the_skew();
    draws_keep_their_range();
    walks_grow_with_time();
    walks_have_no_seams();
    clocks_walk();
    elements_have_room();
    counter_follows_the_kernel();
    nodes_differ_and_seeds_repeat();
    nonsense_is_refused();
    return check_result();
}
