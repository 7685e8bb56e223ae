/* SPDX-License-Identifier: BSD-3-Clause */
/* What a clock makes of a synchronisation, whose outcome is told here: the line and its error, the
 * numbers that it reports, when it tries again, and what is left where it fails. */
#include "sync/clock.h"

#include <ictus/text.h>

#include "check_mpi.h"

enum { RUNS = 4 };

/* An algorithm that finds what it is told. */
static struct {
    int outcomes[RUNS];
    bool stepped[RUNS]; /* whether a step is seen after the run */
    int runs;
    struct line base;
    struct line_error base_error;
    int64_t seen; /* the clock at the end of the run */
    double slope;
} told;

static const double age_s = 2.0;

static int told_run(struct sync *sync, struct sync_run *run)
{
    (void)sync;
    const int outcome = told.outcomes[told.runs++];
    told.base = run->base;
    told.base_error = run->base_error;
    run->line = ictusi_line_make(run->base.anchor - (int64_t)(age_s * 1e9), 5000 + check_rank, 0.25,
                                 told.slope);
    run->error = (struct line_error){.offset_var_ns2 = 9.0,
                                     .slope_var_ns2_per_s2 = 16.0,
                                     .bound_ns = 100.0,
                                     .bound_slope_ns_per_s = 50.0,
                                     .path_var_ns2 = 4.0,
                                     .unseen_var_ns2 = 25.0};
    run->exchanges += 3;
    run->messages += 7;
    run->steps += 2;
    told.seen = ictusi_source_read(run->source);
    return outcome ? ictus_because(&run->why, outcome, "run %d was told to fail", told.runs) : 0;
}

static const struct sync_ops told_ops = {.name = "told", .run = told_run};

// NOLINTNEXTLINE(bugprone-reserved-identifier)
int __wrap_ictusi_sync_create(const char *text, struct sync **out, struct ictus_why *why);
int __wrap_ictusi_sync_create(const char *text, struct sync **out, struct ictus_why *why)
{
    (void)text;
    (void)why;
    *out = calloc(1, sizeof(**out));
    REQUIRE(*out);
    (*out)->ops = &told_ops;
    return ICTUS_OK;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier)
struct watch_look __wrap_ictusi_watch_look(const struct watch *watch, const struct source *source);
struct watch_look __wrap_ictusi_watch_look(const struct watch *watch, const struct source *source)
{
    (void)watch;
    (void)source;
    return (struct watch_look){.stepped = told.runs > 0 && told.stepped[told.runs - 1]};
}

static struct ictus_clock *clock_told(int first, int second, int wanted, struct ictus_why *why)
{
    struct ictus_clock *clock = NULL;
    told.runs = 0;
    told.outcomes[0] = first;
    told.outcomes[1] = second;
    CHECK(ictus_clock_create_why(MPI_COMM_WORLD, "told@monotonic", &clock, why) == wanted);
    CHECK((clock == NULL) == (wanted != ICTUS_OK));
    return clock;
}

/* G begins as the clock of rank 0 at the instant at which the run begins. */
static void begins_with_its_own_clock(int64_t before)
{
    CHECK(told.base.offset == 0 && told.base.frac == 0.0 && told.base.slope == 0.0);
    CHECK(told.base.anchor >= before && told.base.anchor <= told.seen);
    CHECK(told.base_error.bound_ns == 0.0 && told.base_error.offset_var_ns2 == 0.0);
}

/* The error is that at the end of the run, when the clock begins to be used. */
static void reports_what_it_found(void)
{
    struct ictus_why why = {"left from before"};
    struct source *source = NULL;
    struct ictus_sync_stats stats;
    REQUIRE(!ictusi_source_open("monotonic", NULL, &source, &why));
    const int64_t before = ictusi_source_read(source);
    struct ictus_clock *clock = clock_told(ICTUS_OK, ICTUS_OK, ICTUS_OK, &why);
    const int64_t after = ictusi_source_read(source);
    ictusi_source_free(source);
    begins_with_its_own_clock(before);
    CHECK(told.runs == 1 && why.text[0] == '\0');
    REQUIRE(!ictus_clock_stats(clock, &stats));
    CHECK(stats.exchanges == 3 && stats.messages == 7 && stats.synced == 1 && stats.steps == 2);
    CHECK(stats.slope == 1e-5 && stats.path_ns == 2.0);
    double unseen_ns = 0.0;
    CHECK(!ictus_clock_unseen(clock, &unseen_ns) && unseen_ns == 5.0);
    CHECK(ictus_clock_unseen(NULL, &unseen_ns) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_unseen(clock, NULL) == ICTUS_ERR_ARG);
    const double least_s = age_s + (double)(told.seen - told.base.anchor) * 1e-9;
    const double most_s = age_s + (double)(after - told.base.anchor) * 1e-9;
    CHECK(stats.bound_ns >= 100.0 + 50.0 * least_s && stats.bound_ns <= 100.0 + 50.0 * most_s);
    CHECK(stats.sigma_ns >= sqrt(9.0 + 16.0 * least_s * least_s) - 1e-9);
    CHECK(stats.sigma_ns <= sqrt(9.0 + 16.0 * most_s * most_s) + 1e-9);
    CHECK(stats.duration_s >= least_s - age_s && stats.duration_s <= most_s - age_s);
    CHECK_STR(ictus_clock_spec(clock), "told@monotonic");
    CHECK_STR(ictus_clock_spec(NULL), "");
    /* Once more: these are the numbers of the last run, but for what is counted. */
    told.slope = 2e-5;
    told.runs = 0;
    CHECK(!ictus_clock_resync(clock) && !ictus_clock_stats(clock, &stats));
    CHECK(stats.synced == 2 && stats.steps == 4 && stats.exchanges == 3 && stats.messages == 7);
    CHECK(stats.slope == 2e-5);
    told.slope = 1e-5;
    ictus_clock_free(clock);
}

static void readings_follow_the_line(void)
{
    struct ictus_clock *clock = clock_told(ICTUS_OK, ICTUS_OK, ICTUS_OK, NULL);
    const int64_t anchor = told.base.anchor - (int64_t)(age_s * 1e9);
    struct ictus_reading reading;
    for (int side = -1; side <= 1; side += 2) {
        const struct ictus_time at = {anchor + side * INT64_C(3000000000)};
        REQUIRE(!ictus_clock_map_reading(clock, at, &reading));
        CHECK(reading.time.ns == at.ns + 5000 + check_rank + side * 30000);
        CHECK(ictus_clock_map(clock, at).ns == reading.time.ns);
        CHECK(llabs(ictus_clock_unmap(clock, reading.time).ns - at.ns) <= 1);
        CHECK_NEAR(reading.sigma_ns, sqrt(9.0 + 9.0 * 16.0), 1e-9);
        CHECK_NEAR(reading.bound_ns, 250.0, 1e-9);
        CHECK(reading.path_ns == 2.0);
    }
    const struct ictus_time first = ictus_clock_now(clock);
    CHECK(!ictus_clock_read(clock, &reading) && reading.time.ns >= first.ns);
    CHECK(reading.time.ns <= ictus_clock_now(clock).ns);
    const struct ictus_time deadline = {ictus_clock_now(clock).ns + 2000000};
    CHECK(!ictus_clock_wait_until(clock, deadline));
    CHECK(ictus_clock_now(clock).ns >= deadline.ns - 1);
    CHECK(ictus_clock_truth(clock, first, &reading.time) == ICTUS_ERR_UNSUPPORTED);
    ictus_clock_free(clock);
}

static void nothing_is_taken_for_a_clock(void)
{
    struct ictus_clock *clock = clock_told(ICTUS_OK, ICTUS_OK, ICTUS_OK, NULL);
    struct ictus_time time = {0};
    struct ictus_reading reading;
    struct ictus_sync_stats stats;
    CHECK(ictus_clock_map_reading(NULL, time, &reading) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_map_reading(clock, time, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_read(NULL, &reading) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_read(clock, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_truth(NULL, time, &time) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_truth(clock, time, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_stats(NULL, &stats) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_stats(clock, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_resync(NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_wait_until(NULL, time) == ICTUS_ERR_ARG);
    ictus_clock_free(clock);
    ictus_clock_free(NULL);
}

/* A step spoils one run, and the next one is good; two in a row are an error. */
static void steps_are_tried_once_more(void)
{
    struct ictus_why why = {""};
    struct ictus_sync_stats stats;
    struct ictus_clock *clock = clock_told(ICTUS_ERR_CLOCK, ICTUS_OK, ICTUS_OK, &why);
    CHECK(told.runs == 2 && !ictus_clock_stats(clock, &stats));
    CHECK(stats.synced == 1 && stats.steps == 3);
    ictus_clock_free(clock);
    (void)clock_told(ICTUS_ERR_CLOCK, ICTUS_ERR_CLOCK, ICTUS_ERR_CLOCK, &why);
    CHECK(told.runs == 2);
    CHECK_STR(why.text, "run 2 was told to fail");
    /* The same where nobody but the watch has seen it, and it only of one process. */
    told.stepped[0] = check_rank == check_size - 1;
    clock = clock_told(ICTUS_OK, ICTUS_OK, ICTUS_OK, &why);
    CHECK(told.runs == 2 && !ictus_clock_stats(clock, &stats) && stats.steps == 3);
    ictus_clock_free(clock);
    told.stepped[1] = told.stepped[0];
    (void)clock_told(ICTUS_OK, ICTUS_OK, ICTUS_ERR_CLOCK, &why);
    CHECK(told.runs == 2 && strstr(why.text, "clock 'monotonic' stepped or ran backwards"));
    memset(told.stepped, 0, sizeof(told.stepped));
}

/* Another error is final, for all processes. What was synchronised before goes on as it was. */
static void failures_leave_the_clock_as_it_was(void)
{
    struct ictus_why why = {""};
    struct ictus_sync_stats was, stats;
    const int here = check_rank == check_size - 1 ? ICTUS_ERR_SAMPLES : ICTUS_OK;
    (void)clock_told(here, ICTUS_OK, ICTUS_ERR_SAMPLES, &why);
    CHECK(told.runs == 1);
    CHECK_STR(why.text, "run 1 was told to fail");
    struct ictus_clock *clock = clock_told(ICTUS_OK, ICTUS_OK, ICTUS_OK, &why);
    const struct ictus_time at = {told.base.anchor};
    const int64_t mapped = ictus_clock_map(clock, at).ns;
    CHECK(!ictus_clock_stats(clock, &was));
    told.runs = 0;
    told.slope = 1e-3;
    told.outcomes[0] = here;
    CHECK(ictus_clock_resync(clock) == ICTUS_ERR_SAMPLES && told.runs == 1);
    CHECK(ictus_clock_map(clock, at).ns == mapped);
    CHECK(!ictus_clock_stats(clock, &stats) && memcmp(&was, &stats, sizeof(was)) == 0);
    told.slope = 1e-5;
    ictus_clock_free(clock);
}

/* What is missing in SYNC@SOURCE comes from the environment, then from the defaults; what does not
 * fit is refused. */
static void specs_are_completed(void)
{
    static const struct {
        const char *text, *env_sync, *env_clock, *sync, *source;
    } cases[] = {
        {NULL, "", "", "hierarchy(mesh,propagate(mesh))", "monotonic"},
        {"", "", "", "hierarchy(mesh,propagate(mesh))", "monotonic"},
        {"jk", "", "", "jk", "monotonic"},
        {"@tsc", "", "", "hierarchy(mesh,propagate(mesh))", "tsc"},
        {"jk@tsc", "a", "b", "jk", "tsc"},
        {"@tsc", "a", "b", "a", "tsc"},
        {"jk", "a", "b", "jk", "b"},
        {NULL, "a", "b", "a", "b"},
        {"12345678@12345678", "", "", NULL, NULL},
        {"1234567@12345678", "", "", NULL, NULL},
        {"12345678@1234567", "", "", NULL, NULL},
        {"1234567@1234567", "", "", "1234567", "1234567"},
        {"jk@", "", "", NULL, NULL},
        {"@", "a", "b", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sync[64] = "", source[64] = "";
        struct ictus_why why = {""};
        const bool tight = i >= 8 && i <= 11;
        const size_t room = tight ? 8 : sizeof(sync);
        REQUIRE(!setenv("ICTUS_SYNC", cases[i].env_sync, 1));
        REQUIRE(!setenv("ICTUS_CLOCK", cases[i].env_clock, 1));
        const int err = ictusi_clock_spec(cases[i].text, sync, room, source, room, &why);
        if (!cases[i].sync) {
            CHECK(err == ICTUS_ERR_SPEC && strstr(why.text, tight ? "too long" : "is missing"));
            continue;
        }
        CHECK(err == ICTUS_OK);
        CHECK_STR(sync, cases[i].sync);
        CHECK_STR(source, cases[i].source);
    }
    REQUIRE(!unsetenv("ICTUS_SYNC") && !unsetenv("ICTUS_CLOCK"));
}

/* The clock can still be read where MPI can no longer be used. */
static void settled_clocks_are_read(void)
{
    struct ictus_clock *clock = clock_told(ICTUS_OK, ICTUS_OK, ICTUS_OK, NULL);
    struct ictus_reading reading;
    ictusi_clock_settle(clock);
    CHECK(clock->comm == MPI_COMM_NULL && !clock->sync);
    CHECK(!ictus_clock_read(clock, &reading) && reading.bound_ns >= 200.0);
    ictusi_clock_settle(clock);
    ictus_clock_free(clock);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    told.slope = 1e-5;
    reports_what_it_found();
    readings_follow_the_line();
    nothing_is_taken_for_a_clock();
    steps_are_tried_once_more();
    failures_leave_the_clock_as_it_was();
    specs_are_completed();
    settled_clocks_are_read();
    return check_mpi_finish();
}
