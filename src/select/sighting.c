/* SPDX-License-Identifier: BSD-3-Clause */
/* What the functions on a stack inside MPI say of the collective that is running. */
#include "select/sighting.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum {
    KINDS_MAX = 16,  /* different sightings of one witness that are counted */
    STACKS_LEAST = 5 /* fewer prove neither a trunk nor a component */
};
/* A trunk goes on while so many of its stacks agree; in waiting they change from one to the next.
 */
#define TRUNK_SHARE 0.85

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/*
 * The function's part of the stack: from the call of MPI on. functions go from the outermost to the
 * innermost.
 */
static size_t sighting_inside_mpi(const void **functions, size_t count)
{
    /* From outside: a collective that is made of others enters MPI again further in. */
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
 * A copy without what names are written with or without: "in-order_binary", "inorderbinary".
 * "basic_linear" is chosen as "linear" or "basic_linear", whichever version of the library it is.
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

/*
 * The names by which Open MPI's variables choose an algorithm differ from its functions' in these.
 */
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

/*
 * "mca_coll_han.so": what stands between others, to count or to synchronise, is passed over. The
 * outermost component counts: han calls tuned for its parts, and who was asked is han.
 */
static void sighting_note_component(const char *file, struct sighting *sighting)
{
    static const char prefix[] = "mca_coll_";
    const char *name = base_name(file);
    if (sighting->component[0] || strncmp(name, prefix, sizeof(prefix) - 1) != 0) {
        return;
    }
    name += sizeof(prefix) - 1;
    const size_t length = strcspn(name, ".");
    if (length < sizeof(sighting->component) && strncmp(name, "monitoring", length) != 0 &&
        strncmp(name, "sync", length) != 0) {
        memcpy(sighting->component, name, length);
        sighting->component[length] = '\0';
    }
}

/*
 * "ompi_coll_base_reduce_intra_chain"; "reduce" is not "reduce_scatter". The innermost that fits
 * stays, as later ones overwrite it: an algorithm that hands over shows by that.
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
        return; /* another operation's */
    }
    name += strncmp(name, intra, sizeof(intra) - 1) == 0 ? sizeof(intra) - 1 : 0;
    if (strcmp(name, "generic") != 0) { /* what several algorithms are made of */
        (void)snprintf(sighting->algorithm, sizeof(sighting->algorithm), "%s", name);
    } else if (strcmp(sighting->algorithm, "split_bintree") == 0) {
        /* It has a loop of its own, but for messages too short to split: they go down a chain. */
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

/*
 * The outermost component, which was asked, and the innermost algorithm, which does the work.
 * memset: sightings are compared as memory (memcmp), so that bytes after the texts must be equal.
 */
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
}

/*
 * A vote among stacks. Most are taken while the process polls inside the algorithm, and a few
 * before it has reached it. Han, for example, asks its rules first and may then hand the call over
 * to tuned. One stack that shows an algorithm proves that it ran; a component without an algorithm
 * is believed only if enough stacks agree, since a process that lost its processor on the way may
 * leave no other stacks.
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
        /* A stack that shows the algorithm says more than any number that do not. */
        const bool named = kinds[k].algorithm[0] != '\0';
        const int weight = counts[k] + (named ? 1 << 20 : 0);
        if (weight > most && (named || counts[k] >= STACKS_LEAST)) {
            most = weight;
            *sighting = kinds[k];
        }
    }
}

/*
 * How many stacks pass through the trunk as far as it is known, and their commonest next function.
 * *through counts stacks that have the whole trunk so far as their beginning; the votes are for
 * what follows it. More than KINDS_MAX different next functions are no trunk.
 */
static int sighting_vote(const struct ictus_witness *witness, const struct trunk *trunk,
                         const void **next, int *through)
{
    const void *functions[STACK_MAX];
    const void *candidates[KINDS_MAX];
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
    *next = known > 0 ? candidates[most] : NULL;
    return known > 0 ? votes[most] : 0;
}

/*
 * Grown by one function at a time from the call of MPI inwards, as long as a large majority agrees.
 */
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
        /*
         * Below here the stacks differ: these are the functions in which a process polls while it
         * waits, which say nothing of the algorithm.
         */
        if (votes < STACKS_LEAST || votes < TRUNK_SHARE * through) {
            break;
        }
        trunk->functions[trunk->count++] = next;
    }
}

/*
 * @return the first place where they differ; -1: one is the beginning of the other, or they are
 * equal, and nothing tells them apart.
 */
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
    /*
     * Up to the first function that comes a second time: an algorithm that is made of other
     * collectives enters MPI again, and what follows belongs to those.
     */
    for (int i = 0; i < trunk->count && !trunk_returns(trunk, i); i++) {
        if (trunk->functions[i] == function) {
            return true;
        }
    }
    return false;
}
