/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proof that a label is true. One process is delayed, so that the others wait for it inside the
 * collective, where a witness records the functions they are in. Open MPI's functions have names
 * and are in the files of its components. MPICH's have none. There each algorithm of the operation
 * is run in turn, and an algorithm is proven when its stacks diverge from those of all others.
 */
#include "select/selector.h"
#include "select/sighting.h"
#include "select/trial.h"

#include <ictus/select.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* There are two stages because, in a rooted operation, only those processes wait that depend on
 * the late one. */
enum {
    STAGES = 2,      /* the late process is the first one, then the last one */
    TRIES_SEEN = 5,  /* tries if stacks were seen but prove nothing */
    TRIES_LEVEL = 3, /* tries for the component that han uses within nodes */
    TRIES_MOST = 8,  /* tries if hardly any stacks were seen, as on a crowded machine */
    DELAY_MS = 4,    /* delay of the first try; each further try doubles it */
    OWN = 0,         /* place of the library's own choice among the trunks of a reference */
};

/* One collective under observation. */
struct scene {
    const struct ictus_witness *witness;
    int late_rank;
    int delay_ms;
};

static void sleep_ms(int ms)
{
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000L};
    while (nanosleep(&left, &left) != 0) {
    }
}

/*
 * Run the trial while the witness watches. A process whose witness cannot watch still takes part.
 * The late process arrives after the others have been in the collective for delay_ms. During this
 * time the witness takes their stacks.
 */
static int proof_act(struct trial *trial, const struct forced *f, void *context)
{
    const struct scene *scene = context;
    int rank = 0;
    MPI_Comm_rank(f->plain, &rank);
    if (rank == scene->late_rank) {
        sleep_ms(scene->delay_ms);
    }
    const int blind = scene->witness->watch(scene->witness->state);
    const int err = ictusi_trial_run(trial, f->comm, f->operation->name);
    if (!blind) {
        scene->witness->rest(scene->witness->state);
    }
    return err;
}

/* Set the library's variables for this trial only. */
static int proof_observe(struct ictus_selector *s, struct forced *f, struct message message,
                         struct scene *scene, int stage)
{
    int size = 1;
    MPI_Comm_size(f->plain, &size);
    scene->late_rank = stage == 0 ? 0 : size - 1;
    return ictusi_select_forced_try(s, f, message, f->value != f->operation->automatic, proof_act,
                                    scene);
}

/* --- Functions with names: Open MPI --- */

/* Take over a text that is not known yet. Return whether it contradicts one that is. */
static bool text_unite(char *text, const char *other, size_t size)
{
    const bool torn = text[0] && other[0] && strcmp(text, other) != 0;
    if (!text[0]) {
        memcpy(text, other, size);
    }
    return torn;
}

/*
 * Unite what all processes have seen. Collective. Processes see different parts: a leaf waits at
 * another place than the root. Two different names of algorithms are a contradiction, and then
 * nothing is claimed.
 */
static int sighting_unite(MPI_Comm comm, struct sighting *sighting)
{
    int size = 1;
    MPI_Comm_size(comm, &size);
    struct sighting *all = ictusi_trial_allocate(comm, (size_t)size * sizeof(*all));
    if (!all) {
        return ICTUS_ERR_NOMEM;
    }
    const int bytes = (int)sizeof(*sighting);
    MPI_Allgather(sighting, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm);
    bool torn = false;
    bool mixed = false;
    memset(sighting, 0, sizeof(*sighting));
    for (int i = 0; i < size; i++) {
        torn |= text_unite(sighting->algorithm, all[i].algorithm, sizeof(sighting->algorithm));
        mixed |= text_unite(sighting->within, all[i].within, sizeof(sighting->within));
        (void)text_unite(sighting->component, all[i].component, sizeof(sighting->component));
    }
    if (torn) {
        sighting->algorithm[0] = '\0';
    }
    if (mixed) {
        sighting->within[0] = '\0';
    }
    free(all);
    return ICTUS_OK;
}

/* Return the name that belongs to a value of the operation's variable, or "" if it has none. */
static const char *proof_name_of(const struct operation *o, int value)
{
    for (int i = 0; i < o->variable.count; i++) {
        if (o->variable.values[i] == value) {
            return o->variable.text[i];
        }
    }
    return "";
}

/* Return the name by which an algorithm is chosen, given the name of its function. Return the
 * function's own name if no choice matches. */
static const char *choice_of(const struct operation *o, const char *function)
{
    for (int i = 0; o->algorithms[i]; i++) {
        if (ictusi_sighting_matches(function, o->algorithms[i])) {
            return o->algorithms[i];
        }
    }
    return function;
}

/* The label is false if another algorithm was seen to run, or a component other than the one
 * whose algorithms are chosen. Seeing nothing proves neither. */
static void proof_judge_sighting(const struct ictus_selector *s, const struct forced *f,
                                 const struct sighting *seen, struct ictus_ran *ran)
{
    const struct operation *o = f->operation;
    const bool elsewhere = seen->component[0] && strcmp(seen->component, s->dialect->selects) != 0;
    const bool known = seen->algorithm[0] != '\0';
    (void)snprintf(ran->component, sizeof(ran->component), "%s", seen->component);
    (void)snprintf(ran->algorithm, sizeof(ran->algorithm), "%s",
                   known && !elsewhere ? choice_of(o, seen->algorithm) : "");
    if (elsewhere && seen->within[0]) {
        (void)snprintf(ran->algorithm, sizeof(ran->algorithm), "low=%s", seen->within);
    }
    if (f->value == o->automatic) {
        ran->proof = known || elsewhere ? ICTUS_PROOF_HOLDS : ICTUS_PROOF_NONE;
    } else if (elsewhere ||
               (known && !ictusi_sighting_matches(seen->algorithm, proof_name_of(o, f->value)))) {
        ran->proof = ICTUS_PROOF_FAILS;
    } else {
        ran->proof = known ? ICTUS_PROOF_HOLDS : ICTUS_PROOF_NONE;
    }
}

/* This process among those of its node. */
struct node_place {
    int rank, size;
};

/* Collective. */
static struct node_place proof_place_in_node(MPI_Comm comm)
{
    MPI_Comm node = MPI_COMM_NULL;
    struct node_place place = {0, 0};
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place.rank);
    MPI_Comm_size(node, &place.size);
    MPI_Comm_free(&node);
    return place;
}

/* Observe once more and judge what all processes saw. Collective. */
static int proof_take_sighting(struct ictus_selector *s, struct forced *f, struct message message,
                               struct scene *scene, int stage, bool leads, struct ictus_ran *ran)
{
    struct sighting seen;
    int err = proof_observe(s, f, message, scene, stage);
    if (!err) {
        ictusi_sighting_read(scene->witness, f->operation->name, &seen);
        if (leads) {
            memset(seen.within, 0, sizeof(seen.within));
        }
        err = sighting_unite(f->plain, &seen);
    }
    if (!err) {
        proof_judge_sighting(s, f, &seen, ran);
    }
    return err;
}

/* Return whether another try may tell more: about the label, or, where the library's own choice is
 * han, about the component that serves a node. */
static bool proof_wants_more(const struct forced *f, const struct ictus_ran *ran, int tries)
{
    return ran->proof == ICTUS_PROOF_NONE ||
           (tries < TRIES_LEVEL && f->value == f->operation->automatic && !ran->algorithm[0] &&
            strcmp(ran->component, "han") == 0 && ictusi_sighting_han_splits(f->operation->name));
}

/* Try until the united sighting proves or disproves the label. The delay doubles with each try:
 * 4 ms, 8 ms, ..., 512 ms at the eighth. */
static int proof_by_name(struct ictus_selector *s, struct forced *f, struct message message,
                         const struct ictus_witness *witness, struct ictus_ran *ran)
{
    struct scene scene = {.witness = witness, .delay_ms = DELAY_MS};
    char component[sizeof(ran->component)] = "";
    const bool leads =
        ictusi_sighting_han_splits(f->operation->name) && proof_place_in_node(f->plain).rank == 0;
    int err = ICTUS_OK;
    /* Each turn is collective. All processes judge the same united sighting, so they all leave
     * these loops together. */
    for (int i = 0; i < TRIES_MOST && !err && proof_wants_more(f, ran, i); i++) {
        for (int stage = 0; stage < STAGES && !err && proof_wants_more(f, ran, i); stage++) {
            err = proof_take_sighting(s, f, message, &scene, stage, leads, ran);
            memcpy(component, ran->component[0] ? ran->component : component, sizeof(component));
        }
        scene.delay_ms *= 2;
    }
    /* For the library's own choice, knowing the component is useful even if the algorithm is
     * unknown. */
    if (!err && ran->proof == ICTUS_PROOF_NONE && component[0] &&
        f->value == f->operation->automatic) {
        memcpy(ran->component, component, sizeof(component));
        ran->proof = ICTUS_PROOF_HOLDS;
    }
    return err;
}

/* --- Functions without names: MPICH --- */

/* The stacks of all algorithms of an operation, for one message and one group of processes. i
 * and k are indices of algorithms. Index OWN is the library's own choice. */
struct reference {
    const struct operation *operation;
    struct message message;
    uint64_t group; /* hash of the processes' ranks in MPI_COMM_WORLD */
    int values[VARIABLE_VALUES_MAX + 1];
    /* whether algorithm i can run here */
    bool able[VARIABLE_VALUES_MAX + 1];
    struct trunk trunks[VARIABLE_VALUES_MAX + 1][STAGES]; /* as this process saw them */
    /* At i * count + k: not 0 if some process saw the stacks of i and k diverge. */
    int apart[(VARIABLE_VALUES_MAX + 1) * (VARIABLE_VALUES_MAX + 1)];
    int count;
    int own; /* index of the algorithm that the library chooses itself; -1: not known */
    struct reference *next;
};

void ictusi_proof_references_free(struct ictus_selector *s)
{
    struct reference *next = NULL;
    for (struct reference *r = s->references; r; r = next) {
        next = r->next;
        free(r);
    }
    s->references = NULL;
}

/* Return an FNV-1a hash of the ranks in MPI_COMM_WORLD. The key is the group and not the handle,
 * because communicators of the same processes behave alike, and handles are reused. */
static uint64_t proof_group_of(MPI_Comm comm)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    MPI_Group mine;
    MPI_Group world;
    int size = 0;
    MPI_Comm_group(comm, &mine);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(mine, &size);
    for (int i = 0; i < size; i++) {
        int rank = 0;
        MPI_Group_translate_ranks(mine, 1, &i, world, &rank);
        hash = (hash ^ (uint64_t)(uint32_t)rank) * UINT64_C(1099511628211);
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&world);
    return hash;
}

/*
 * Watch one algorithm in both stages. An algorithm that MPI refuses is marked as not able and is no
 * error. An algorithm that would crash is never run: it is not able, so no other needs to diverge
 * from it.
 */
static int proof_observe_one(struct ictus_selector *s, struct forced *f, struct reference *r, int i,
                             struct scene *scene)
{
    const int kept = f->value;
    int size = 1;
    int err = ICTUS_OK;
    MPI_Comm_size(f->plain, &size);
    r->able[i] =
        r->able[i] && !ictusi_select_would_crash(s, f->operation,
                                                 proof_name_of(f->operation, r->values[i]), size);
    /* The library's variables are set to f->value, so f takes another value during this trial. */
    f->value = r->values[i];
    for (int stage = 0; stage < STAGES && r->able[i] && !err; stage++) {
        err = proof_observe(s, f, r->message, scene, stage);
        ictusi_sighting_trunk_read(scene->witness, &r->trunks[i][stage]);
        /* All processes get the same error, so they all rule the algorithm out. */
        if (err == ICTUS_ERR_UNSUPPORTED) {
            r->able[i] = false;
            err = ICTUS_OK;
        }
    }
    f->value = kept;
    return err;
}

/*
 * Find out which algorithms diverge on any process, and whether there were enough stacks for that.
 * Collective. If the stacks of two algorithms diverge on a single process, the algorithms are
 * different code.
 */
static bool reference_compare(const struct forced *f, struct reference *r, bool *seen)
{
    int apart[sizeof(r->apart) / sizeof(r->apart[0])] = {0};
    int enough[VARIABLE_VALUES_MAX + 1] = {0};
    for (int i = 0; i < r->count; i++) {
        for (int stage = 0; stage < STAGES; stage++) {
            enough[i] = enough[i] || r->trunks[i][stage].seen;
            for (int k = 0; k < r->count; k++) {
                apart[i * r->count + k] |=
                    ictusi_sighting_trunk_parting(&r->trunks[i][stage], &r->trunks[k][stage]) >= 0;
            }
        }
    }
    /* The maximum over the processes is a logical or. */
    MPI_Allreduce(MPI_IN_PLACE, apart, r->count * r->count, MPI_INT, MPI_MAX, f->plain);
    MPI_Allreduce(MPI_IN_PLACE, enough, r->count, MPI_INT, MPI_MAX, f->plain);
    memcpy(r->apart, apart, sizeof(apart));
    bool all = true;
    *seen = true;
    for (int i = 0; i < r->count; i++) {
        *seen = *seen && (enough[i] || !r->able[i]);
        for (int k = 0; k < r->count; k++) {
            /* The library's own choice is one of the other algorithms, so it need not diverge
             * from them. */
            all = all && (i == k || i == OWN || k == OWN || !r->able[i] || !r->able[k] ||
                          apart[i * r->count + k]);
        }
    }
    return all;
}

/* Return whether algorithm i diverges from all others that can run here. There must be at least
 * one other: with nothing to diverge from, any stack would be a proof. */
static bool proof_stands_alone(const struct reference *r, int i)
{
    int others = 0;
    for (int k = 0; k < r->count; k++) {
        if (k != i && k != OWN && r->able[k]) {
            others++;
            if (!r->apart[i * r->count + k]) {
                return false;
            }
        }
    }
    return others > 0 && r->able[i];
}

/*
 * Return this process's opinion on whether the library's own choice is algorithm i. The opinion is
 * 1 if the stacks of the own choice reach the functions at which algorithm i diverges from the
 * others. It is -1 if they lack such a function or reach it from within another algorithm, and 0 if
 * there is nothing to compare. It is an opinion because a process sees only its own part of the
 * algorithm.
 */
static int proof_own_choice_like(const struct reference *r, int i)
{
    int opinion = 0;
    for (int stage = 0; stage < STAGES; stage++) {
        const struct trunk *trunk = &r->trunks[i][stage];
        const struct trunk *own = &r->trunks[OWN][stage];
        for (int k = 0; k < r->count && own->count > 0; k++) {
            const int at = k == OWN || k == i || !r->able[k]
                               ? -1
                               : ictusi_sighting_trunk_parting(trunk, &r->trunks[k][stage]);
            if (at >= 0) {
                /* A negative opinion stays negative, because a single missing function is
                 * enough. */
                opinion = opinion < 0 || !ictusi_sighting_trunk_reaches(own, trunk->functions[at])
                              ? -1
                              : 1;
            }
        }
    }
    return opinion;
}

/* Return whether all processes are on one node. On several nodes MPICH's device composes a
 * collective of others, and then the name of one algorithm does not describe it. */
static bool proof_on_one_node(MPI_Comm comm)
{
    int size = 0;
    MPI_Comm_size(comm, &size);
    int all = proof_place_in_node(comm).size == size;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

/* Return the index of the algorithm that the library itself chooses, or -1 if it is not
 * recognised. Collective. */
static int proof_recognise_own_choice(const struct forced *f, const struct reference *r)
{
    int found = -1;
    int several = 0;
    for (int i = 1; i < r->count; i++) {
        /* One reduction yields the largest opinion and, negated, the smallest. An algorithm is
         * recognised if some process saw it and no process saw anything that contradicts it. */
        int opinion[2] = {proof_own_choice_like(r, i), 0};
        opinion[1] = -opinion[0];
        MPI_Allreduce(MPI_IN_PLACE, opinion, 2, MPI_INT, MPI_MAX, f->plain);
        if (proof_stands_alone(r, i) && opinion[0] > 0 && opinion[1] <= 0) {
            several += found >= 0;
            found = i;
        }
    }
    return several ? -1 : found;
}

/*
 * Run all algorithms until their stacks diverge and, on one node, until the library's own choice is
 * recognised. The stacks of each try replace those of the try before, which had a shorter delay.
 */
static int proof_observe_all(struct ictus_selector *s, struct forced *f, struct reference *r,
                             const struct ictus_witness *witness)
{
    struct scene scene = {.witness = witness, .delay_ms = DELAY_MS};
    const bool simple = proof_on_one_node(f->plain);
    bool seen = false;
    bool parted = false;
    int err = ICTUS_OK;
    r->own = -1;
    for (int i = 0;
         i < (seen ? TRIES_SEEN : TRIES_MOST) && !err && !(parted && (r->own >= 0 || !simple));
         i++) {
        for (int k = 0; k < r->count && !err; k++) {
            err = proof_observe_one(s, f, r, k, &scene);
        }
        parted = !err && reference_compare(f, r, &seen);
        r->own = !err && simple ? proof_recognise_own_choice(f, r) : -1;
        /* On a crowded machine the witness may not be scheduled within 4 ms. The last of eight
         * tries waits for half a second. */
        scene.delay_ms *= 2;
    }
    return err;
}

/* Find the reference of this operation, message and group. An algorithm may behave differently
 * at another size, so each size has a reference of its own. */
static struct reference *proof_known_reference(const struct ictus_selector *s,
                                               const struct forced *f, struct message message,
                                               uint64_t group)
{
    for (struct reference *r = s->references; r; r = r->next) {
        if (r->operation == f->operation && r->message.bytes == message.bytes &&
            r->message.element == message.element && r->group == group) {
            return r;
        }
    }
    return NULL;
}

/* Find the reference or make it. The list grows by one for each operation, message and group
 * that is asked about, and is searched linearly. */
static int proof_find_reference(struct ictus_selector *s, struct forced *f, struct message message,
                                const struct ictus_witness *witness, struct reference **out)
{
    const struct operation *o = f->operation;
    const uint64_t group = proof_group_of(f->plain);
    *out = proof_known_reference(s, f, message, group);
    if (*out) {
        return ICTUS_OK;
    }
    struct reference *r = ictusi_trial_allocate(f->plain, sizeof(*r));
    if (!r) {
        return ICTUS_ERR_NOMEM;
    }
    *r = (struct reference){.operation = o, .message = message, .group = group, .count = 1};
    r->values[OWN] = o->automatic;
    r->able[OWN] = true;
    for (int i = 0; i < o->variable.count; i++) {
        if (o->variable.values[i] != o->automatic) {
            r->values[r->count] = o->variable.values[i];
            r->able[r->count++] = true;
        }
    }
    const int err = proof_observe_all(s, f, r, witness);
    if (err) {
        free(r);
        return err;
    }
    r->next = s->references;
    s->references = r;
    *out = r;
    return ICTUS_OK;
}

/* Return whether a device's own collective runs in place of the library's algorithms: either the
 * switch of all devices says so, or it leaves the decision to the operation's own switch. */
static bool device_is_in_force(const struct ictus_selector *s, const struct operation *o)
{
    const int how = ictusi_variable_lent_value(&s->devices, s->dialect->devices_each);
    return o->has_device && (how == s->dialect->devices_always ||
                             (how != s->dialect->devices_off && o->device_original != 0));
}

/*
 * Name the algorithm that the library chose itself. A device may compose its collective of several,
 * as the barrier within a node is a barrier and a broadcast. Then only one of them is recognised,
 * and the component says that the device was in force.
 */
static void proof_name_own_choice(const struct ictus_selector *s, const struct forced *f,
                                  const struct reference *r, struct ictus_ran *ran)
{
    const struct operation *o = f->operation;
    if (r->own >= 0) {
        ran->proof = ICTUS_PROOF_HOLDS;
        if (device_is_in_force(s, o)) {
            (void)snprintf(ran->component, sizeof(ran->component), "device");
        }
        (void)snprintf(ran->algorithm, sizeof(ran->algorithm), "%s",
                       proof_name_of(o, r->values[r->own]));
    }
}

/* Without names, the proof is that the stacks of this algorithm diverge from those of all
 * others. The setting was the only difference, so whatever ran was the algorithm that was set. */
static int proof_by_parting(struct ictus_selector *s, struct forced *f, struct message message,
                            const struct ictus_witness *witness, struct ictus_ran *ran)
{
    struct reference *r = NULL;
    const int err = proof_find_reference(s, f, message, witness, &r);
    if (err) {
        return err;
    }
    if (f->value == f->operation->automatic) {
        proof_name_own_choice(s, f, r, ran);
        return ICTUS_OK;
    }
    for (int i = 1; i < r->count; i++) {
        if (r->values[i] == f->value && proof_stands_alone(r, i)) {
            ran->proof = ICTUS_PROOF_HOLDS;
            (void)snprintf(ran->algorithm, sizeof(ran->algorithm), "%s",
                           proof_name_of(f->operation, f->value));
        }
    }
    return ICTUS_OK;
}

int ictus_selector_prove(struct ictus_selector *selector, MPI_Comm forced, size_t bytes,
                         size_t element, const struct ictus_witness *witness, struct ictus_ran *ran)
{
    const struct message message = {.bytes = bytes, .element = element};
    struct forced *f = selector ? ictusi_select_forced_find(selector, forced) : NULL;
    struct ictus_ran seen = {.proof = ICTUS_PROOF_NONE};
    int size = 1;
    if (!f || !witness || !ran) {
        return ICTUS_ERR_ARG;
    }
    MPI_Comm_size(forced, &size);
    int err = ICTUS_OK;
    /* A single process waits for nobody, so there would be no stacks to read. */
    if (size > 1 && ictusi_trial_knows(f->operation->name)) {
        err = selector->dialect->selects ? proof_by_name(selector, f, message, witness, &seen)
                                         : proof_by_parting(selector, f, message, witness, &seen);
    }
    if (!err) {
        *ran = seen;
    }
    return err;
}
