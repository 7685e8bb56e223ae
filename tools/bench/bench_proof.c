/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether forced algorithms really run: once for each experiment, before anything is timed.
 */
#include "bench/bench_proof.h"

#include "bench/witness.h"
#include "main/command.h"
#include "main/group.h"
#include "main/interrupt.h"
#include "main/results.h"

#include <ictus/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Whether what is measured is what a proof looks at: contiguous elements from one buffer to
 * another, and an operator of MPI's own. Libraries choose otherwise where operands must not change
 * places or an operator is the user's, where a whole block is one element of a derived datatype,
 * and in place, where Open MPI's algorithms of alltoall hand over to one that has no name.
 */
static bool bench_proof_is_like_proof(const struct bench_study *study,
                                      const struct bench_experiment *e)
{
    static const char user[] = "user_";
    const struct bench_options *o = study->options;
    const struct ictus_operation_info *op = &study->ops[e->op];
    const bool own_operator = !op->reduces || strncmp(o->reduce, user, sizeof(user) - 1) != 0;
    const bool plain = !o->in_place && strcmp(o->layout, "contiguous") == 0;
    return own_operator && (plain || !op->has_data);
}

/*
 * Called on members of the group. An algorithm that cannot be forced is reported when it is
 * measured.
 */
static int proof_prove(struct bench_study *study, const struct bench_experiment *e,
                       struct ictus_why *why)
{
    const struct bench_algorithm *a = &study->algorithms[e->algorithm];
    struct bench_proof *proof = bench_study_proof(study, e);
    const size_t bytes = (size_t)e->bytes;
    const size_t element = ictus_datatype_bytes(study->options->datatype);
    struct ictus_why unheard = {""};
    MPI_Comm forced = MPI_COMM_NULL;
    int err = ictus_selector_force(study->selector, study->groups[e->group].comm, a->operation,
                                   a->name, &forced, &unheard);
    if (err) {
        return ICTUS_OK;
    }
    err = ictus_selector_works(study->selector, forced, bytes, element);
    if (!err && bench_proof_is_like_proof(study, e)) {
        err = ictus_selector_prove(study->selector, forced, bytes, element, &study->witness,
                                   &proof->ran);
    }
    proof->looked = !err;
    (void)ictus_selector_release(study->selector, &forced);
    if (err == ICTUS_ERR_NOMEM || err == ICTUS_ERR_MPI) {
        return ictus_because(why, err, "algorithm '%s' of %s: whether it runs cannot be verified",
                             a->name, a->operation);
    }
    return ICTUS_OK;
}

int bench_study_prove(struct bench_study *study, const struct bench_experiment *list, size_t count,
                      struct ictus_why *why)
{
    if (!study->selector) {
        return ICTUS_OK;
    }
    study->listed = list;
    study->witness = witness_create();
    study->proofs = calloc(count, sizeof(*study->proofs));
    int err = results_agree(study->proofs ? ICTUS_OK : ICTUS_ERR_NOMEM, why);
    for (size_t i = 0; i < count && !err && !interrupt_came(); i++) {
        const struct bench_group *group = &study->groups[list[i].group];
        if (list[i].algorithm < 0) {
            continue;
        }
        err = group->member ? proof_prove(study, &list[i], why) : ICTUS_OK;
        if (study->group_count > 1 || group->processes < command_size()) {
            group_rest();
        }
        err = results_agree(err, why);
    }
    return err;
}

int bench_study_refuse(const struct bench_study *study, const struct bench_experiment *e,
                       struct ictus_why *why)
{
    const struct bench_proof *proof = bench_study_proof(study, e);
    if (!proof || proof->ran.proof != ICTUS_PROOF_FAILS) {
        return ICTUS_OK;
    }
    const struct bench_algorithm *a = &study->algorithms[e->algorithm];
    char ran[128];
    proof_describe(&proof->ran, ran, sizeof(ran));
    return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                         "algorithm '%s' of %s was not used with %llu bytes: the library ran %s "
                         "instead",
                         a->name, a->operation, (unsigned long long)e->bytes, ran);
}

void proof_describe(const struct ictus_ran *ran, char *text, size_t size)
{
    (void)snprintf(text, size, "%s%s%s", ran->component,
                   ran->component[0] && ran->algorithm[0] ? ", " : "", ran->algorithm);
}

/* A simulation runs the algorithms that it was started with. */
static void bench_proof_write_started(const char *algorithm, json_t *object)
{
    const bool named = strcmp(algorithm, ICTUS_ALGORITHM_DEFAULT) != 0;
    (void)json_object_set_new(object, "ran", json_sprintf("SimGrid, %s", algorithm));
    (void)json_object_set_new(object, "component", json_null());
    (void)json_object_set_new(object, "proven", named ? json_true() : json_null());
}

void bench_study_write_proof(const struct bench_study *study, const struct bench_experiment *e,
                             json_t *object)
{
    const struct bench_proof *proof = bench_study_proof(study, e);
    const char *started = ictus_selector_started(study->ops[e->op].name);
    if (started) {
        bench_proof_write_started(started, object);
        return;
    }
    const bool forced =
        proof && strcmp(study->algorithms[e->algorithm].name, ICTUS_ALGORITHM_DEFAULT) != 0;
    const bool holds = proof && proof->looked && proof->ran.proof == ICTUS_PROOF_HOLDS;
    char ran[128] = "unproven";
    if (holds) {
        proof_describe(&proof->ran, ran, sizeof(ran));
    }
    (void)json_object_set_new(object, "ran", holds || forced ? json_string(ran) : json_null());
    (void)json_object_set_new(object, "component",
                              holds && proof->ran.component[0] ? json_string(proof->ran.component)
                                                               : json_null());
    (void)json_object_set_new(object, "proven", forced ? json_boolean(holds) : json_null());
}
