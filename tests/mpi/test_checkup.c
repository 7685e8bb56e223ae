/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A checkup over MPI names the process whose clock drifts or steps, and no other, wherever it is.
 * The faults are far larger than what a busy machine does to messages, and no round trip is called
 * slow.
 */
#include <ictus/error.h>
#include <ictus/study.h>

#include "check_mpi.h"

static const struct ictus_checkup_plan plan = {
    .rounds = 20, .span_s = 1.0, .slow = 1e9, .drift = 0.03, .step_ns = 0.3e9};

/* A clock for each process, one of them with a fault. */
static struct ictus_checkup *checkup_with(const char *fault, const char *more,
                                          const struct ictus_checkup_plan *how)
{
    struct ictus_study *study = NULL;
    struct ictus_checkup *checkup = NULL;
    struct ictus_why why = {""};
    char source[128];
    (void)snprintf(source, sizeof(source), "sim:offset=5s,scope=process,seed=3%s%s%s",
                   fault ? ",faults=" : "", fault ? fault : "", more);
    REQUIRE(!ictus_study_create(MPI_COMM_WORLD, source, &study, &why));
    const int err = ictus_study_checkup(study, how, &checkup, &why);
    if (err) {
        (void)fprintf(stderr, "%s: %s\n", source, why.text);
    }
    REQUIRE(!err && checkup->node_count == check_size);
    CHECK(checkup->duration_s >= how->span_s);
    CHECK((checkup->nodes != NULL) == (check_rank == 0));
    ictus_study_free(study);
    return checkup;
}

/* Only this node has a fault, and it is this one. -1: none has. */
static void faulty_is(const struct ictus_checkup *checkup, int node, unsigned fault)
{
    if (check_rank != 0) {
        return;
    }
    CHECK(checkup->pair_count == (size_t)check_size * (size_t)(check_size - 1) / 2);
    CHECK(checkup->usual_rtt_ns > 0.0);
    for (int i = 0; i < check_size; i++) {
        CHECK(checkup->nodes[i].faults == (i == node ? fault : 0U));
        CHECK((checkup->nodes[i].worst > 1.0) == (i == node));
        if (checkup->nodes[i].faults != (i == node ? fault : 0U)) {
            (void)fprintf(stderr, "node %d of %d: faults %u, drift %g, step %g ns, worst %g\n", i,
                          check_size, checkup->nodes[i].faults, checkup->nodes[i].drift,
                          checkup->nodes[i].step_ns, checkup->nodes[i].worst);
        }
    }
}

static void drifts_are_found(int node)
{
    char fault[32];
    (void)snprintf(fault, sizeof(fault), "%d:100000ppm", node);
    struct ictus_checkup *checkup = checkup_with(fault, "", &plan);
    faulty_is(checkup, node, ICTUS_NODE_DRIFT);
    if (check_rank == 0) {
        CHECK_NEAR(checkup->nodes[node].drift, 0.1, 0.02);
    }
    ictus_checkup_free(checkup);
}

static void steps_are_found(int node)
{
    const struct ictus_checkup_plan long_plan = {
        .rounds = 20, .span_s = 3.0, .slow = 1e9, .drift = 0.9, .step_ns = 0.5e9};
    char fault[32];
    (void)snprintf(fault, sizeof(fault), "%d:2s", node);
    struct ictus_checkup *checkup = checkup_with(fault, ",step_at=2s", &long_plan);
    faulty_is(checkup, node, ICTUS_NODE_STEP);
    if (check_rank == 0 && check_size > 3) { /* two partners tell that it stepped, not how far */
        CHECK_NEAR(fabs(checkup->nodes[node].step_ns), 2e9, 0.3e9);
    }
    ictus_checkup_free(checkup);
}

static void sound_nodes_have_no_fault(void)
{
    struct ictus_checkup *checkup = checkup_with(NULL, "", &plan);
    faulty_is(checkup, -1, 0);
    ictus_checkup_free(checkup);
}

/* So many pairs as the rounds have. */
static void rounds_are_as_planned(void)
{
    struct ictus_checkup_plan few = plan;
    few.rounds = 2;
    struct ictus_checkup *checkup = checkup_with(NULL, "", &few);
    CHECK(check_rank || checkup->pair_count == 2 * (size_t)(check_size / 2));
    ictus_checkup_free(checkup);
}

static void misuse_is_refused(void)
{
    struct ictus_study *study = NULL;
    struct ictus_checkup *checkup = NULL;
    struct ictus_why why = {""};
    REQUIRE(!ictus_study_create(MPI_COMM_WORLD, "monotonic", &study, &why));
    CHECK(ictus_study_checkup(NULL, &plan, &checkup, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_study_checkup(study, NULL, &checkup, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_study_checkup(study, &plan, NULL, &why) == ICTUS_ERR_ARG);
    if (check_size < 3) {
        char wanted[64];
        (void)snprintf(wanted, sizeof(wanted), "needs at least 3 nodes");
        CHECK(ictus_study_checkup(study, &plan, &checkup, &why) == ICTUS_ERR_ARG && !checkup);
        CHECK(strstr(why.text, wanted));
        (void)snprintf(wanted, sizeof(wanted), "this job has only %d", check_size);
        CHECK(strstr(why.text, wanted));
    }
    ictus_checkup_free(NULL);
    ictus_study_free(study);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    misuse_is_refused();
    if (check_size >= 3) {
        sound_nodes_have_no_fault();
        drifts_are_found(0);
        drifts_are_found(check_size - 1);
        steps_are_found(1);
    }
    if (check_size >= 4) {
        rounds_are_as_planned();
    }
    return check_mpi_finish();
}
