/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources, sharing, offsets and judgements across a job, against simulated clocks of known truth.
 */
#include <ictus/study.h>

#include <math.h>

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

/* Offsets given one by one come out within the exchange's own bound. */
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

/* What exchanges say of a clock does not contradict the truth. */
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
        /* The clock moved on between the two: its claim grows with it. */
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

/* Clocks that drift apart have been apart before, and will be: truth at an instant is of that
 * instant. */
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

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    sources_are_described();
    sharing_is_found_out();
    bad_sources_are_refused();
    offsets_are_measured();
    judgements_agree();
    truth_is_of_the_instant();
    return check_mpi_finish();
}
