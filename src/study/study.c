/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the sources of a job, and makes bursts of exchanges between two of its processes. */
#include "study/study.h"

#include "core/estimator.h"
#include "exchange/exchange.h"
#include "sync/place.h"

#include <ictus/text.h>

#include <stdlib.h>

/* A study has a communicator of its own, so that bursts cannot match the program's messages. */
static int study_build(struct ictus_study *study, MPI_Comm comm, const char *source,
                       struct ictus_why *why)
{
    const int err = ictusi_place_own(comm, &study->comm);
    if (err) {
        return err;
    }
    MPI_Comm_rank(study->comm, &study->rank);
    MPI_Comm_size(study->comm, &study->size);
    return ictusi_place_open_source(study->comm, source, &study->source, &study->crowded, why);
}

int ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                       struct ictus_why *why)
{
    int inter = 0;
    if (comm == MPI_COMM_NULL || !source || !study) {
        return ictus_because(why, ICTUS_ERR_ARG, "a communicator and a clock source must be given");
    }
    if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter) {
        return ictus_because(why, ICTUS_ERR_INTERCOMM,
                             "the communicator must be an intra-communicator");
    }
    struct ictus_study *made = calloc(1, sizeof(*made));
    if (!made) {
        return ICTUS_ERR_NOMEM;
    }
    made->comm = MPI_COMM_NULL;
    const int err = study_build(made, comm, source, why);
    if (err) {
        ictus_study_free(made);
        return err;
    }
    *study = made;
    return ICTUS_OK;
}

void ictus_study_free(struct ictus_study *study)
{
    if (!study) {
        return;
    }
    ictusi_source_free(study->source);
    if (study->comm != MPI_COMM_NULL) {
        ictusi_place_disown(&study->comm);
    }
    free(study);
}

struct ictus_time ictus_study_now(const struct ictus_study *study)
{
    return (struct ictus_time){ictusi_source_read(study->source)};
}

void ictus_study_identity(const struct ictus_study *study, char *text, size_t size)
{
    study->source->ops->identify(study->source, text, size);
}

static struct exchange study_exchange(const struct ictus_study *study)
{
    return (struct exchange){
        .comm = study->comm, .source = study->source, .crowded = study->crowded};
}

/* All processes pass the same arguments. They therefore all refuse or all accept them, and none
 * waits. */
static bool study_is_pair(const struct ictus_study *study, int a, int b, size_t n)
{
    return study && a != b && a >= 0 && b >= 0 && a < study->size && b < study->size && n > 0;
}

/* Client: make a burst. The caller frees the stamps. */
static int study_burst(struct ictus_study *study, int peer, size_t n, struct stamp **stamps)
{
    struct exchange x = study_exchange(study);
    /* The memory is written before the first stamp is taken, because a page that is first
     * touched during the burst would delay it. */
    struct stamp *taken = malloc(n * sizeof(*taken));
    if (!taken) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        taken[i] = (struct stamp){-1, -1, -1};
    }
    const int err = ictusi_exchange_ping(&x, peer, n, taken);
    if (err) {
        free(taken);
        return err;
    }
    *stamps = taken;
    return ICTUS_OK;
}

/* Server: answer a burst with the bare clock, which no line corrects. */
static int study_answer(struct ictus_study *study, int peer, size_t n)
{
    struct exchange x = study_exchange(study);
    const struct line bare = ictusi_line_identity();
    return ictusi_exchange_pong(&x, peer, n, &bare);
}

int ictus_study_rtt(struct ictus_study *study, int from, int to, size_t n, double *rtt_ns)
{
    struct stamp *stamps = NULL;
    if (!study_is_pair(study, from, to, n)) {
        return ICTUS_ERR_ARG;
    }
    /* Only the two processes take part. For all others the call is local. */
    if (study->rank == to) {
        return study_answer(study, from, n);
    }
    if (study->rank != from) {
        return ICTUS_OK;
    }
    int err = study_burst(study, to, n, &stamps);
    for (size_t i = 0; i < n && !err; i++) {
        rtt_ns[i] = (double)(stamps[i].received - stamps[i].sent);
        /* Both stamps are from the clock of one process. A negative difference is therefore an
         * error of that clock and never of the network. */
        err = rtt_ns[i] < 0.0 ? ICTUS_ERR_CLOCK : ICTUS_OK;
    }
    free(stamps);
    return err;
}

/* The exchange with the narrowest interval decides (ictusi_estimator_offset_skampi()). No
 * asymmetry of the paths can cause an error above half_width_ns. */
int ictus_study_offset(struct ictus_study *study, int client, int reference, size_t exchanges,
                       struct ictus_offset *offset)
{
    struct stamp *stamps = NULL;
    struct offset found;
    if (!study_is_pair(study, client, reference, exchanges)) {
        return ICTUS_ERR_ARG;
    }
    if (study->rank == reference) {
        return study_answer(study, client, exchanges);
    }
    if (study->rank != client) {
        return ICTUS_OK;
    }
    int err = study_burst(study, reference, exchanges, &stamps);
    if (!err) {
        err = ictusi_estimator_offset_skampi(stamps, exchanges, &found);
    }
    free(stamps);
    if (!err) {
        *offset = (struct ictus_offset){.at = {found.at},
                                        .offset_ns = found.offset,
                                        .frac_ns = found.frac,
                                        .half_width_ns = found.half_width_ns};
    }
    return err;
}
