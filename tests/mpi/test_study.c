/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sources, sharing, offsets and judgements across a job, against simulated clocks of known truth.
 */
#include "study/study.h"
#include "sync/clock.h"

#include <math.h>
#include <time.h>

#include "check_mpi.h"

#define OWN "sim:offset=3s,drift=20ppm,scope=process"

static struct ictus_study *open_study(const char *source)
{
    struct ictus_study *study = NULL;
    struct ictus_why why = {""};
    const int err = ictus_study_create(MPI_COMM_WORLD, source, &study, &why);
    if (err && check_rank == 0) {
        (void)fprintf(stderr, "%s: %s\n", source, why.text);
    }
    REQUIRE(!err);
    return study;
}

static void sources_are_described(void)
{
    struct ictus_study *study = open_study("monotonic");
    struct ictus_source_study found;
    CHECK(!ictus_study_source(study, &found));
    CHECK(found.resolution_ns > 0 && found.cost_ns > 0 && found.reads > 1000 && found.cpus > 0);
    CHECK(found.cost_ns > 1); /* no machine reads a clock in a nanosecond */
    CHECK(found.backwards == 0);
    CHECK(ictus_study_source(study, NULL) == ICTUS_ERR_ARG);
    ictus_study_free(study);
}

static void sharing_is_found_out(void)
{
    struct ictus_why why = {""};
    struct ictus_sharing s;
    struct ictus_study *study = open_study("monotonic");
    CHECK(!ictus_study_sharing(study, &s, &why));
    CHECK(s.groups == s.nodes && s.per_node && s.contradicted == 0);
    ictus_study_free(study);
    study = open_study(OWN);
    CHECK(!ictus_study_sharing(study, &s, &why));
    CHECK(s.groups == check_size && s.group == check_rank);
    ictus_study_free(study);
}

static void bad_sources_are_refused(void)
{
    struct ictus_study *study = NULL;
    struct ictus_why why = {""};
    CHECK(ictus_study_create(MPI_COMM_WORLD, "monotonc", &study, &why) == ICTUS_ERR_UNKNOWN);
    CHECK(strstr(why.text, "monotonic"));
    CHECK(ictus_study_create(MPI_COMM_WORLD, "sim:drift=x", &study, &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_study_create(MPI_COMM_NULL, "tsc", &study, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_study_create(MPI_COMM_WORLD, NULL, &study, &why) == ICTUS_ERR_ARG);
    CHECK(study == NULL);
    ictus_study_free(NULL);
}

/* Offsets that are given one by one are found within the bound of the exchange. */
static void offsets_are_measured(void)
{
    static const double offsets_s[] = {0, 1, -2, 4, -8, 16, -32};
    struct ictus_study *study =
        open_study("sim:offsets=0,1s,-2s,4s,-8s,16s,-32s,scope=process,base=monotonic");
    for (int client = 1; client < check_size; client++) {
        struct ictus_offset offset = {.half_width_ns = -1};
        double rtt_ns[50] = {0};
        CHECK(!ictus_study_offset(study, client, 0, 50, &offset));
        CHECK(!ictus_study_rtt(study, client, 0, 50, check_rank == client ? rtt_ns : NULL));
        if (check_rank == client) {
            const double wanted_ns = -offsets_s[client % 7] * 1e9;
            CHECK_NEAR((double)offset.offset_ns + offset.frac_ns, wanted_ns,
                       offset.half_width_ns + 2);
            CHECK(rtt_ns[0] > 0 && rtt_ns[49] > 0);
        }
    }
    CHECK(ictus_study_offset(study, 0, 0, 50, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_study_offset(study, check_size, 0, 50, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_study_rtt(study, 0, -1, 50, NULL) == ICTUS_ERR_ARG);
    ictus_study_free(study);
}

/* What exchanges find out about a clock does not contradict the truth. */
static void judgements_agree(void)
{
    struct ictus_clock *clock = NULL;
    struct ictus_clock_error exact;
    struct ictus_clock_error measured;
    bool truth = false;
    REQUIRE(!ictus_clock_create(MPI_COMM_WORLD, "hca3:fitpoints=100,exchanges=10@" OWN, &clock));
    CHECK(!ictus_clock_has_truth(clock, &truth));
    CHECK(truth);
    const bool asked = check_rank % 2 == 1;
    CHECK(!ictus_clock_measured_error(clock, asked, 50, &measured));
    CHECK(!ictus_clock_true_error(clock, ictus_clock_local(clock), &exact));
    CHECK(exact.known && measured.known == (asked || check_rank == 0));
    CHECK(fabs(exact.error_ns) <= exact.bound_ns + 2);
    if (measured.known) {
        /* The clock advanced between the two, so its claimed error has grown. */
        CHECK_NEAR(measured.error_ns, exact.error_ns,
                   measured.half_width_ns + exact.bound_ns - measured.bound_ns + 1000.0);
    }
    if (check_rank == 0) {
        CHECK_NEAR(exact.error_ns, 0, 0);
        CHECK_NEAR(measured.error_ns, 0, 0);
    }
    CHECK(ictus_clock_measured_error(clock, asked, 0, &measured) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_true_error(NULL, ictus_clock_local(clock), &exact) == ICTUS_ERR_ARG);
    ictus_clock_free(clock);
    REQUIRE(!ictus_clock_create(MPI_COMM_WORLD, "hca3-offset@monotonic", &clock));
    CHECK(!ictus_clock_has_truth(clock, &truth));
    CHECK(!truth);
    CHECK(ictus_clock_true_error(clock, ictus_clock_local(clock), &exact) == ICTUS_ERR_ARG);
    ictus_clock_free(clock);
}

/*
 * Clocks that drift apart have differed before and will differ later: the truth is that of the
 * given instant.
 */
static void truth_is_of_the_instant(void)
{
    static const double drifts_ppm[] = {0, 20, -35, 5, 50, -10, 1};
    const int64_t later_ns = 10 * (int64_t)1000000000;
    struct ictus_clock *clock = NULL;
    struct ictus_clock_error now;
    struct ictus_clock_error later;
    REQUIRE(!ictus_clock_create(
        MPI_COMM_WORLD,
        "hca3-offset@sim:scope=process,offset=7s,drifts=0,20ppm,-35ppm,5ppm,50ppm,-10ppm,1ppm",
        &clock));
    struct ictus_time at = ictus_clock_local(clock);
    CHECK(!ictus_clock_true_error(clock, at, &now));
    at.ns += later_ns;
    CHECK(!ictus_clock_true_error(clock, at, &later));
    const double gained_ns = 1e-6 * drifts_ppm[check_rank % 7] * (double)later_ns;
    CHECK_NEAR(later.error_ns - now.error_ns, gained_ns, 4);
    ictus_clock_free(clock);
}

/* A clock that is given what to show, what it promises, and its truth. */
static struct {
    const char *promise;
    int64_t ahead_ns; /* ahead of the kernel's clock */
    int64_t count;
} told;

static int64_t told_read(const struct source *source)
{
    struct timespec now;
    (void)source;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + told.ahead_ns;
}

static int64_t told_read_backwards(const struct source *source)
{
    (void)source;
    return -1000 * told.count++;
}

static int64_t told_read_still(const struct source *source)
{
    (void)source;
    return 7;
}

static void told_identify(const struct source *source, char *text, size_t size)
{
    (void)source;
    (void)snprintf(text, size, "%s", told.promise);
}

/* It runs faster than the truth by a sixteenth. */
static int64_t told_truth(const struct source *source, int64_t local)
{
    (void)source;
    return local - local / 16 - told.ahead_ns;
}

static const struct source_ops told_ops = {
    .name = "told", .read = told_read, .identify = told_identify, .truth = told_truth};
static const struct source_ops backwards_ops = {.name = "told", .read = told_read_backwards};
static const struct source_ops still_ops = {.name = "told", .read = told_read_still};

static void promises_are_checked(void)
{
    static const char *const odd_and_even[] = {"even", "odd"};
    struct source source = {&told_ops};
    struct ictus_sharing s;
    struct ictus_study study = {
        .comm = MPI_COMM_WORLD, .source = &source, .rank = check_rank, .size = check_size};
    told.promise = odd_and_even[check_rank % 2];
    CHECK(!ictus_study_sharing(&study, &s, NULL));
    CHECK(s.groups == (check_size > 1 ? 2 : 1) && s.group == check_rank % 2);
    CHECK(s.nodes == 1 && s.kernels == 1 && s.contradicted == 0);
    CHECK(s.per_node == (check_size == 1));
    told.promise = "";
    CHECK(!ictus_study_sharing(&study, &s, NULL));
    CHECK(s.groups == check_size && s.group == check_rank && s.contradicted == 0);
    /* The last clock shows something other than it promises. */
    told.promise = "the same";
    told.ahead_ns = check_rank == check_size - 1 ? INT64_C(1000000000000) : 0;
    CHECK(!ictus_study_sharing(&study, &s, NULL));
    const int contradicted = check_size > 1 ? 1 : 0;
    CHECK(s.contradicted == contradicted && s.groups == 1 + contradicted);
    CHECK(s.group == (check_rank == check_size - 1 ? contradicted : 0));
    CHECK(s.per_node == !contradicted && s.nodes == 1);
    told.ahead_ns = 0;
    CHECK(ictus_study_sharing(NULL, &s, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_study_sharing(&study, NULL, NULL) == ICTUS_ERR_ARG);
}

static void backwards_is_an_error(void)
{
    struct source source = {&backwards_ops};
    struct ictus_study study = {
        .comm = MPI_COMM_WORLD, .source = &source, .rank = check_rank, .size = check_size};
    double rtt_ns[20];
    if (check_size > 1) {
        const int err = ictus_study_rtt(&study, 1, 0, 20, check_rank == 1 ? rtt_ns : NULL);
        CHECK(err == (check_rank == 1 ? ICTUS_ERR_CLOCK : ICTUS_OK));
    }
    CHECK(ictus_study_rtt(&study, 0, 0, 20, rtt_ns) == ICTUS_ERR_ARG);
    CHECK(ictus_study_rtt(&study, 0, check_size, 20, rtt_ns) == ICTUS_ERR_ARG);
    CHECK(ictus_study_rtt(&study, 0, check_size - 1, 0, rtt_ns) == ICTUS_ERR_ARG);
}

/* A clock may be so coarse that it shows no time between a request and its reply. */
static void no_time_is_no_error(void)
{
    struct source source = {&still_ops};
    struct ictus_study study = {
        .comm = MPI_COMM_WORLD, .source = &source, .rank = check_rank, .size = check_size};
    double rtt_ns[20] = {[19] = -1.0};
    if (check_size > 1) {
        CHECK(!ictus_study_rtt(&study, 1, 0, 20, check_rank == 1 ? rtt_ns : NULL));
        CHECK(rtt_ns[19] == (check_rank == 1 ? 0.0 : -1.0));
    }
}

/*
 * What each clock says when rank 0's shows `at`. Each rank is 1500 ns ahead of the previous one in
 * truth, which their own clocks show as 1600 ns, and has a line of its own.
 */
static double said_at(int rank, int64_t at)
{
    const double local = (double)at + 1600.0 * rank;
    return local + 70.0 * rank + 0.375 * (rank % 3 - 1) + 1e-3 * (rank + 1) * (local - 5e5);
}

static void errors_are_exact(void)
{
    struct source source = {&told_ops};
    struct ictus_clock_error e;
    const struct ictus_clock clock = {
        .source = &source,
        .comm = MPI_COMM_WORLD,
        .line = {500000, 70L * check_rank, 0.375 * (check_rank % 3 - 1), 1e-3 * (check_rank + 1)},
        .error = {.offset_var_ns2 = 9.0,
                  .slope_var_ns2_per_s2 = 16e6,
                  .bound_ns = 100.0,
                  .bound_slope_ns_per_s = 2e4,
                  .path_var_ns2 = 4.0},
    };
    told.ahead_ns = 1500L * check_rank;
    for (int64_t at = 16008; at < 2000000; at += 160000) {
        CHECK(!ictus_clock_true_error(&clock, (struct ictus_time){check_rank ? -at : at}, &e));
        CHECK_NEAR(e.error_ns, said_at(check_rank, at) - said_at(0, at), 1e-6);
        const double distance_s = 1e-9 * (double)(at + 1600L * check_rank - 500000);
        CHECK_NEAR(e.sigma_ns, sqrt(9.0 + 16e6 * distance_s * distance_s), 1e-9);
        CHECK_NEAR(e.bound_ns, 100.0 + 2e4 * fabs(distance_s), 1e-9);
        CHECK(e.known && e.half_width_ns == 1.0 && e.path_ns == 2.0);
    }
    told.ahead_ns = 0;
}

/* By exchange: clocks that are the same in truth, with known lines. */
static void errors_are_bracketed(void)
{
    struct source source = {&told_ops};
    struct ictus_clock_error e;
    const int64_t ahead = INT64_C(1000000000000);
    const struct ictus_clock clock = {
        .source = &source,
        .comm = MPI_COMM_WORLD,
        .line = {0, ahead * (check_rank + 1), 0.0, 0.0},
        .error = {.offset_var_ns2 = 9.0, .bound_ns = 100.0, .path_var_ns2 = 4.0},
    };
    const bool asked = check_rank != 2;
    CHECK(!ictus_clock_measured_error(&clock, asked, 10, &e));
    CHECK(e.known == asked);
    if (check_rank == 0) {
        CHECK(e.error_ns == 0.0);
    } else if (asked) {
        CHECK_NEAR(e.error_ns, (double)ahead * check_rank, e.half_width_ns + 1.0);
        CHECK(e.half_width_ns > 0.0 && e.half_width_ns < (double)ahead / 4);
        CHECK(e.sigma_ns == 3.0 && e.bound_ns == 100.0 && e.path_ns == 2.0);
    }
    CHECK(!ictus_clock_measured_error(&clock, asked, 1, &e) && e.known == asked); /* the fewest */
    CHECK(ictus_clock_measured_error(NULL, true, 10, &e) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_measured_error(&clock, true, 0, &e) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_measured_error(&clock, true, 10, NULL) == ICTUS_ERR_ARG);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    sources_are_described();
    sharing_is_found_out();
    bad_sources_are_refused();
    offsets_are_measured();
    judgements_agree();
    truth_is_of_the_instant();
    promises_are_checked();
    backwards_is_an_error();
    no_time_is_no_error();
    errors_are_exact();
    errors_are_bracketed();
    return check_mpi_finish();
}
