/* SPDX-License-Identifier: BSD-3-Clause */
/* What the functions on a stack inside MPI reveal about the collective that is running. */
#include "select/sighting.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum {
    KINDS_MAX = 16,  /* different sightings of one witness that are counted */
    STACKS_LEAST = 5 /* fewer stacks prove neither a trunk nor a component */
};
/* A trunk goes on while this share of its stacks agrees. In the functions that poll for a
 * message, the stacks differ from one to the next. */
#define TRUNK_SHARE 0.85

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Cut a stack down to the part inside MPI, from the call of MPI on. Functions are ordered from
 * the outermost to the innermost. */
static size_t sighting_inside_mpi(const void **functions, size_t count)
{
    /* The search begins outside, because a collective that is composed of others enters MPI
     * again further in. */
    for (size_t i = 0; i < count; i++) {
        Dl_info info;
        if (dladdr(functions[i], &info) && info.dli_sname &&
            (strncmp(info.dli_sname, "MPI_", 4) == 0 || strncmp(info.dli_sname, "PMPI_", 5) == 0)) {
            memmove(functions, functions + i, (count - i) * sizeof(*functions));
            return count - i;
        }
    }
    return 0;
}

/*
 * Copy a name without the characters in which spellings differ: "in-order_binary" and
 * "inorderbinary" become equal. "basic_linear" is called "linear" or "basic_linear", depending on
 * the version.
 */
static void plain_name(const char *name, char *plain, size_t size)
{
    static const char basic[] = "basic";
    size_t used = 0;
    for (; *name && used + 1 < size; name++) {
        if (*name != '_' && *name != '-') {
            plain[used++] = *name;
        }
    }
    plain[used] = '\0';
    if (strncmp(plain, basic, sizeof(basic) - 1) == 0) {
        memmove(plain, plain + sizeof(basic) - 1, used - sizeof(basic) + 2);
    }
}

/* Compare names. The table lists the algorithms that Open MPI's variables name differently from
 * its functions. */
bool ictusi_sighting_matches(const char *function, const char *algorithm)
{
    static const char *const same[][2] = {
        {"neighborexchange", "neighbor"},    {"twoprocs", "twoproc"},
        {"ringsegmented", "segmentedring"},  {"redscatallgather", "rabenseifner"},
        {"redscatgather", "rabenseifner"},   {"bruck", "modifiedbruck"},
        {"splitbintree", "splitbinarytree"}, {"bintree", "binarytree"},
    };
    char ran[64];
    char named[64];
    plain_name(function, ran, sizeof(ran));
    plain_name(algorithm, named, sizeof(named));
    bool matches = strcmp(ran, named) == 0;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        matches = matches || (strcmp(ran, same[i][0]) == 0 && strcmp(named, same[i][1]) == 0);
    }
    return matches;
}

/* Take a component's name from a file such as "mca_coll_han.so". Components that only count or
 * synchronise (monitoring, sync) have none here. */
static bool component_of(const char *file, char *component, size_t size)
{
    static const char prefix[] = "mca_coll_";
    const char *name = base_name(file);
    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0) {
        return false;
    }
    name += sizeof(prefix) - 1;
    const size_t length = strcspn(name, ".");
    if (length >= size || strncmp(name, "monitoring", length) == 0 ||
        strncmp(name, "sync", length) == 0) {
        return false;
    }
    memcpy(component, name, length);
    component[length] = '\0';
    return true;
}

/* The outermost component counts: han calls tuned for its parts, but the collective was given to
 * han. */
static void sighting_note_component(const char *file, struct sighting *sighting)
{
    if (!sighting->component[0]) {
        (void)component_of(file, sighting->component, sizeof(sighting->component));
    }
}

bool ictusi_sighting_han_splits(const char *operation)
{
    return strcmp(operation, "bcast") == 0 || strcmp(operation, "reduce") == 0 ||
           strcmp(operation, "allreduce") == 0;
}

/*
 * Note the component that han called. han's "simple" functions and its other operations call both
 * levels alike and are not looked at. What lies further in than the polling may belong to anything
 * that is in progress.
 */
static void sighting_note_within(const void *const *functions, size_t count, const char *operation,
                                 struct sighting *sighting)
{
    char han[64];
    bool inside = false;
    (void)snprintf(han, sizeof(han), "mca_coll_han_%s_intra", operation);
    for (size_t i = 0; i < count && ictusi_sighting_han_splits(operation); i++) {
        Dl_info info = {.dli_fname = NULL};
        if (!dladdr(functions[i], &info)) {
            continue;
        }
        const char *function = info.dli_sname ? info.dli_sname : "";
        if (strcmp(function, "opal_progress") == 0) {
            return;
        }
        if (inside && component_of(info.dli_fname, sighting->within, sizeof(sighting->within)) &&
            strcmp(sighting->within, sighting->component) != 0) {
            return;
        }
        memset(sighting->within, 0, sizeof(sighting->within));
        inside = inside || strcmp(function, han) == 0;
    }
}

/*
 * Note an algorithm from a function such as "ompi_coll_base_reduce_intra_chain". "reduce" must not
 * match "reduce_scatter". Later functions overwrite earlier ones, so the innermost match remains:
 * an algorithm that delegates to another shows as that other.
 */
static void sighting_note_algorithm(const char *function, const char *operation,
                                    struct sighting *sighting)
{
    static const char prefix[] = "ompi_coll_base_";
    static const char intra[] = "intra_";
    const size_t length = strlen(operation);
    if (strncmp(function, prefix, sizeof(prefix) - 1) != 0 ||
        strncmp(function + sizeof(prefix) - 1, operation, length) != 0 ||
        function[sizeof(prefix) - 1 + length] != '_') {
        return;
    }
    const char *name = function + sizeof(prefix) + length;
    if (strncmp(name, "scatter_", 8) == 0 || strncmp(name, "block_", 6) == 0) {
        return; /* belongs to another operation */
    }
    name += strncmp(name, intra, sizeof(intra) - 1) == 0 ? sizeof(intra) - 1 : 0;
    if (strcmp(name, "generic") != 0) { /* a loop that several algorithms share */
        (void)snprintf(sighting->algorithm, sizeof(sighting->algorithm), "%s", name);
    } else if (strcmp(sighting->algorithm, "split_bintree") == 0) {
        /* split_bintree has a loop of its own. It uses the generic one only for messages that
         * are too short to split, which it sends down a chain. */
        (void)snprintf(sighting->algorithm, sizeof(sighting->algorithm), "chain");
    }
}

void ictusi_sighting_note(const char *file, const char *function, const char *operation,
                          struct sighting *sighting)
{
    if (file) {
        sighting_note_component(file, sighting);
    }
    if (function) {
        sighting_note_algorithm(function, operation, sighting);
    }
}

/* Find the outermost component, which was called, and the innermost algorithm, which does the
 * work. Sightings are compared by memcmp(), so memset() makes the bytes after the texts equal. */
static void sighting_read_stack(const void *const *functions, size_t count, const char *operation,
                                struct sighting *sighting)
{
    memset(sighting, 0, sizeof(*sighting));
    for (size_t i = 0; i < count; i++) {
        Dl_info info;
        if (dladdr(functions[i], &info)) {
            ictusi_sighting_note(info.dli_fname, info.dli_sname, operation, sighting);
        }
    }
    sighting_note_within(functions, count, operation, sighting);
}

/*
 * Take a vote among the stacks. Most of them are taken while a process polls inside the algorithm,
 * but a few before it has reached the algorithm. Han, for example, asks its rules first and may
 * then hand the call over to tuned. One stack that shows an algorithm proves that it ran. A
 * component without an algorithm is believed only if enough stacks agree, since a process that lost
 * its processor on the way may leave no other stacks.
 */
void ictusi_sighting_read(const struct ictus_witness *witness, const char *operation,
                          struct sighting *sighting)
{
    struct sighting kinds[KINDS_MAX];
    int counts[KINDS_MAX] = {0};
    int known = 0;
    const void *functions[STACK_MAX];
    size_t depth = 0;
    for (size_t i = 0; (depth = witness->stack(witness->state, i, functions, STACK_MAX)) > 0; i++) {
        struct sighting one;
        sighting_read_stack(functions, sighting_inside_mpi(functions, depth), operation, &one);
        int k = 0;
        while (k < known && memcmp(&kinds[k], &one, sizeof(one)) != 0) {
            k++;
        }
        if (k < KINDS_MAX && (one.component[0] || one.algorithm[0])) {
            kinds[k] = one;
            counts[k]++;
            known = k == known ? known + 1 : known;
        }
    }
    memset(sighting, 0, sizeof(*sighting));
    int most = 0;
    for (int k = 0; k < known; k++) {
        /* One stack that shows the algorithm, or what han called, outweighs any number of stacks
         * that do not. */
        const bool named = kinds[k].algorithm[0] || kinds[k].within[0];
        const int weight = counts[k] + (named ? 1 << 20 : 0);
        if (weight > most && (named || counts[k] >= STACKS_LEAST)) {
            most = weight;
            *sighting = kinds[k];
        }
    }
}

/*
 * Count the stacks that pass through the trunk as known so far, and find their most frequent next
 * function. *through counts the stacks that begin with the whole trunk. The result is the number of
 * votes for the next function. Votes for more than KINDS_MAX different functions are not counted.
 */
static int sighting_vote(const struct ictus_witness *witness, const struct trunk *trunk,
                         const void **next, int *through)
{
    const void *functions[STACK_MAX];
    const void *candidates[KINDS_MAX] = {NULL};
    int votes[KINDS_MAX] = {0};
    int known = 0;
    size_t depth = 0;
    *through = 0;
    for (size_t i = 0; (depth = witness->stack(witness->state, i, functions, STACK_MAX)) > 0; i++) {
        const size_t count = sighting_inside_mpi(functions, depth);
        const size_t have = (size_t)trunk->count;
        if (count < have || memcmp((const void *)functions, (const void *)trunk->functions,
                                   have * sizeof(*functions)) != 0) {
            continue;
        }
        *through += count > 0;
        int k = 0;
        while (k < known && count > have && candidates[k] != functions[have]) {
            k++;
        }
        if (count > have && k < KINDS_MAX) {
            candidates[k] = functions[have];
            votes[k]++;
            known = k == known ? known + 1 : known;
        }
    }
    int most = 0;
    for (int k = 1; k < known; k++) {
        most = votes[k] > votes[most] ? k : most;
    }
    *next = candidates[most];
    return votes[most];
}

/* Grow the trunk by one function at a time, from the call of MPI inwards, as long as a large
 * majority of the stacks agrees. */
void ictusi_sighting_trunk_read(const struct ictus_witness *witness, struct trunk *trunk)
{
    memset(trunk, 0, sizeof(*trunk));
    while (trunk->count < TRUNK_MAX) {
        const void *next = NULL;
        int through = 0;
        const int votes = sighting_vote(witness, trunk, &next, &through);
        if (trunk->count == 0) {
            trunk->seen = through >= STACKS_LEAST;
        }
        /* From here on the stacks differ. These are the functions in which a process polls while
         * it waits. They reveal nothing about the algorithm. */
        if (votes < STACKS_LEAST || votes < TRUNK_SHARE * through) {
            break;
        }
        trunk->functions[trunk->count++] = next;
    }
}

/* Return the first place where two trunks differ. Return -1 if they are equal or one is the
 * beginning of the other, because then nothing tells them apart. */
int ictusi_sighting_trunk_parting(const struct trunk *a, const struct trunk *b)
{
    const int both = a->count < b->count ? a->count : b->count;
    for (int i = 0; i < both; i++) {
        if (a->functions[i] != b->functions[i]) {
            return i;
        }
    }
    return -1;
}

/* Return whether function i of the trunk already occurs before. */
static bool trunk_returns(const struct trunk *trunk, int i)
{
    for (int k = 0; k < i; k++) {
        if (trunk->functions[k] == trunk->functions[i]) {
            return true;
        }
    }
    return false;
}

bool ictusi_sighting_trunk_reaches(const struct trunk *trunk, const void *function)
{
    /* Stop at the first function that occurs a second time. An algorithm that is composed of
     * other collectives enters MPI again, and what follows belongs to those. */
    for (int i = 0; i < trunk->count && !trunk_returns(trunk, i); i++) {
        if (trunk->functions[i] == function) {
            return true;
        }
    }
    return false;
}
