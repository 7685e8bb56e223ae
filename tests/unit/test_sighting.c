/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What many stacks of one process show together: the component, the algorithm, and where they part.
 */
#include "select/sighting.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "../check.h"

/* Addresses with names, in libraries of their own: see sighting_functions.c and sighting_han.c. */
enum {
    END,
    LOOP,
    CALL,
    CALL_BELOW,
    NO_CALL,
    BCAST,
    WAIT,
    BINOMIAL,
    CHAIN,
    HAN_CALL,
    HAN,
    HAN_SIMPLE,
    HAN_GATHER,
    PROGRESS,
    PLACES
};
static const char *const names[PLACES] = {
    [LOOP] = "main_loop",
    [CALL] = "MPI_Pretend",
    [CALL_BELOW] = "PMPI_Pretend",
    [NO_CALL] = "PMPIX_Pretend",
    [BCAST] = "mca_coll_pretend_bcast",
    [WAIT] = "mca_coll_pretend_wait",
    [BINOMIAL] = "ompi_coll_base_bcast_intra_binomial",
    [CHAIN] = "ompi_coll_base_bcast_intra_chain",
    [HAN_CALL] = "MPI_Han",
    [HAN] = "mca_coll_han_bcast_intra",
    [HAN_SIMPLE] = "mca_coll_han_bcast_intra_simple",
    [HAN_GATHER] = "mca_coll_han_gather_intra",
    [PROGRESS] = "opal_progress",
};
static const void *places[PLACES];

static void find_places(const char *library, int first, int end)
{
    void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(opened);
    for (int i = first; i < end; i++) {
        places[i] = dlsym(opened, names[i]);
        REQUIRE(places[i]);
    }
}

enum { STACKS_ROOM = 64, DEPTH = 6 };

/* Recorded stacks, each from the outermost frame on and ended by END. */
struct noted {
    int functions[STACKS_ROOM][DEPTH + 1];
    size_t count;
};

static size_t noted_stack(void *state, size_t i, const void **functions, size_t room)
{
    const struct noted *noted = state;
    size_t depth = 0;
    for (; i < noted->count && noted->functions[i][depth] && depth < room; depth++) {
        functions[depth] = places[noted->functions[i][depth]];
    }
    return depth;
}

/* Record this many more stacks of one kind. */
static void note(struct noted *noted, int times, const int *functions)
{
    for (; times > 0; times--) {
        REQUIRE(noted->count < STACKS_ROOM);
        for (int i = 0; i < DEPTH && functions[i]; i++) {
            noted->functions[noted->count][i] = functions[i];
        }
        noted->count++;
    }
}

#define NOTE(noted, times, ...) note(noted, times, (const int[DEPTH]){__VA_ARGS__})

static void seen_is(struct noted *noted, const char *component, const char *algorithm)
{
    const struct ictus_witness witness = {noted, NULL, NULL, noted_stack};
    struct sighting seen;
    ictusi_sighting_read(&witness, "bcast", &seen);
    CHECK_STR(seen.component, component);
    CHECK_STR(seen.algorithm, algorithm);
}

/* Only functions that MPI itself called count. */
static void stacks_begin_in_mpi(void)
{
    struct noted none = {.count = 0};
    struct noted outside = {.count = 0};
    struct noted called = {.count = 0};
    struct noted inner = {.count = 0};
    seen_is(&none, "", "");
    NOTE(&outside, 9, LOOP, NO_CALL, BINOMIAL);
    seen_is(&outside, "", "");
    NOTE(&called, 1, LOOP); /* however short, this stack is not the end of all */
    NOTE(&called, 1, LOOP, CALL, BCAST, CHAIN);
    seen_is(&called, "pretend", "chain");
    NOTE(&inner, 5, BINOMIAL, CALL_BELOW, BCAST);
    seen_is(&inner, "pretend", "");
}

/* A process may be seen a few times on its way to the component that does the work. */
static void few_stacks_prove_no_component(void)
{
    struct noted noted = {.count = 0};
    NOTE(&noted, 4, CALL, BCAST);
    seen_is(&noted, "", "");
    NOTE(&noted, 1, CALL, BCAST);
    seen_is(&noted, "pretend", "");
}

/* What most stacks show; but one that shows an algorithm counts more than any number without. */
static void most_stacks_decide(void)
{
    struct noted noted = {.count = 0};
    NOTE(&noted, 9, CALL, BCAST);
    NOTE(&noted, 1, CALL, BINOMIAL);
    seen_is(&noted, "pretend", "binomial");
    NOTE(&noted, 2, CALL_BELOW, CHAIN);
    seen_is(&noted, "pretend", "chain");
    NOTE(&noted, 2, CALL, BINOMIAL);
    seen_is(&noted, "pretend", "binomial");
}

static void within_is(const char *operation, const char *within, const int *functions)
{
    struct noted noted = {.count = 0};
    const struct ictus_witness witness = {&noted, NULL, NULL, noted_stack};
    struct sighting seen;
    note(&noted, 9, functions);
    ictusi_sighting_read(&witness, operation, &seen);
    CHECK_STR(seen.component, "han");
    CHECK_STR(seen.within, within);
}
#define WITHIN_IS(operation, within, ...)                                                          \
    within_is(operation, within, (const int[DEPTH]){__VA_ARGS__})

/* What han calls itself, not what is found in the polling, which serves everything in progress. */
static void han_shows_what_it_calls(void)
{
    WITHIN_IS("bcast", "pretend", HAN_CALL, HAN, BCAST, PROGRESS);
    WITHIN_IS("bcast", "pretend", HAN_CALL, HAN, WAIT, BINOMIAL);
    WITHIN_IS("bcast", "", HAN_CALL, HAN, PROGRESS, BCAST);
    WITHIN_IS("bcast", "", HAN_CALL, HAN, PROGRESS, WAIT);
    WITHIN_IS("bcast", "", HAN_CALL, HAN);
    /* It calls both levels alike here, so that nobody knows which one is seen. */
    WITHIN_IS("bcast", "", HAN_CALL, HAN_SIMPLE, BCAST);
    WITHIN_IS("gather", "", HAN_CALL, HAN_GATHER, BCAST);
    WITHIN_IS("reduce", "", HAN_CALL, HAN, BCAST);
    /* One stack that shows it counts more than any number without. */
    struct noted noted = {.count = 0};
    const struct ictus_witness witness = {&noted, NULL, NULL, noted_stack};
    struct sighting seen;
    NOTE(&noted, 9, HAN_CALL, HAN);
    NOTE(&noted, 1, HAN_CALL, HAN, BCAST);
    ictusi_sighting_read(&witness, "bcast", &seen);
    CHECK_STR(seen.within, "pretend");
}

static struct trunk trunk_of(struct noted *noted)
{
    const struct ictus_witness witness = {noted, NULL, NULL, noted_stack};
    struct trunk trunk;
    ictusi_sighting_trunk_read(&witness, &trunk);
    return trunk;
}

/* A trunk continues while nearly all of enough stacks agree on the next function. */
static void trunks_are_what_nearly_all_share(void)
{
    struct noted few = {.count = 0};
    NOTE(&few, 1, LOOP);
    NOTE(&few, 4, CALL, BCAST);
    CHECK(!trunk_of(&few).seen && trunk_of(&few).count == 0);
    NOTE(&few, 1, LOOP, CALL, BCAST);
    struct trunk trunk = trunk_of(&few);
    REQUIRE(trunk.seen && trunk.count == 2);
    CHECK(trunk.functions[0] == places[CALL] && trunk.functions[1] == places[BCAST]);
    NOTE(&few, 9, LOOP, WAIT); /* not in MPI, so they do not count */
    CHECK(trunk_of(&few).count == 2);

    /* The most frequent next function is not the first one seen. */
    struct noted noted = {.count = 0};
    NOTE(&noted, 1, CALL, WAIT);
    NOTE(&noted, 5, CALL, BCAST, CHAIN);
    NOTE(&noted, 5, CALL, BCAST, BINOMIAL);
    trunk = trunk_of(&noted);
    REQUIRE(trunk.seen && trunk.count == 2);
    CHECK(trunk.functions[1] == places[BCAST]);
    NOTE(&noted, 40, CALL, BCAST, BINOMIAL, WAIT);
    trunk = trunk_of(&noted);
    REQUIRE(trunk.count == 4);
    CHECK(trunk.functions[2] == places[BINOMIAL]);
    CHECK(trunk.functions[3] == places[WAIT]);
    NOTE(&noted, 4, CALL, WAIT); /* 9 %; with the next 17 % */
    CHECK(trunk_of(&noted).count == 4);
    NOTE(&noted, 5, CALL, WAIT);
    CHECK(trunk_of(&noted).count == 1);
}

/* Trunks part where both continue differently; a function that is returned to is only a part. */
static void trunks_part(void)
{
    const struct trunk one = {{places[CALL], places[BCAST]}, 2, true};
    const struct trunk chain = {{places[CALL], places[BCAST], places[CHAIN]}, 3, true};
    const struct trunk tree = {{places[CALL], places[BCAST], places[BINOMIAL]}, 3, true};
    const struct trunk again = {
        {places[CALL], places[BCAST], places[CALL], places[BINOMIAL]}, 4, true};
    const struct trunk other = {{places[CALL_BELOW]}, 1, true};
    CHECK(ictusi_sighting_trunk_parting(&one, &chain) == -1);
    CHECK(ictusi_sighting_trunk_parting(&chain, &one) == -1);
    CHECK(ictusi_sighting_trunk_parting(&tree, &chain) == 2);
    CHECK(ictusi_sighting_trunk_parting(&again, &one) == -1);
    CHECK(ictusi_sighting_trunk_parting(&other, &one) == 0);
    CHECK(ictusi_sighting_trunk_reaches(&tree, places[CALL]));
    CHECK(ictusi_sighting_trunk_reaches(&tree, places[BINOMIAL]));
    CHECK(!ictusi_sighting_trunk_reaches(&tree, places[CHAIN]));
    CHECK(ictusi_sighting_trunk_reaches(&again, places[BCAST]));
    CHECK(!ictusi_sighting_trunk_reaches(&again, places[BINOMIAL]));
}

/*
 * Functions and algorithms have equal names except for how words are joined; a few have another
 * name.
 */
static void names_are_matched(void)
{
    static const struct {
        const char *function, *algorithm;
        bool same;
    } cases[] = {{"binomial", "binomial", true},
                 {"inorderbinary", "in-order_binary", true},
                 {"in_order_binary", "inorder-binary", true},
                 {"basic_linear", "linear", true},
                 {"linear", "basic_linear", true},
                 {"redscat_allgather", "rabenseifner", true},
                 {"redscat_gather", "rabenseifner", true},
                 {"neighborexchange", "neighbor", true},
                 {"ring_segmented", "segmented_ring", true},
                 {"two_procs", "two_proc", true},
                 {"bruck", "modified_bruck", true},
                 {"split_bintree", "split_binary_tree", true},
                 {"bintree", "binary_tree", true},
                 {"neighborexchange", "two_proc", false},
                 {"chain", "binomial", false},
                 {"binomial", "binomia", false},
                 {"binomia", "binomial", false},
                 {"basic_linear", "basic", false},
                 {"bruck", "rabenseifner", false},
                 {"two_procs", "neighbor", false},
                 {"", "linear", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        CHECK(ictusi_sighting_matches(cases[i].function, cases[i].algorithm) == cases[i].same);
    }
    char longest[200];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    CHECK(!ictusi_sighting_matches(longest, "linear"));
}

/* han composes some operations of two levels; functions of others only look like that. */
static void han_splits_three(void)
{
    static const char *const whole[] = {"gather",  "scatter",        "allgather", "barrier",
                                        "reduced", "reduce_scatter", "bcas",      ""};
    CHECK(ictusi_sighting_han_splits("bcast"));
    CHECK(ictusi_sighting_han_splits("reduce"));
    CHECK(ictusi_sighting_han_splits("allreduce"));
    for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
        CHECK(!ictusi_sighting_han_splits(whole[i]));
    }
}

/*
 * A component is known by its library's file, wherever that lies. The outermost one was called.
 * Those that only count or synchronise, and other libraries, are passed over.
 */
static void files_name_components(void)
{
    static const struct {
        const char *before, *file, *component;
    } cases[] = {
        {"", "/usr/lib/openmpi/mca_coll_tuned.so", "tuned"},
        {"", "mca_coll_tuned.so", "tuned"},
        {"", "lib/mca_coll_tuned", "tuned"},
        {"", "mca_coll_han.so.40.30.4", "han"},
        {"han", "mca_coll_tuned.so", "han"},
        {"", "mca_coll_monitoring.so", ""},
        {"", "mca_coll_sync.so", ""},
        {"", "mca_coll_synchro.so", "synchro"},
        {"", "libmca_coll_tuned.so", ""},
        {"", "mca_collector.so", ""},
        {"", "mca_common_sm.so", ""},
        {"", "mca_coll_tuned.d/libmpi.so", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sighting s;
        memset(&s, 0, sizeof(s));
        (void)snprintf(s.component, sizeof(s.component), "%s", cases[i].before);
        ictusi_sighting_note(cases[i].file, NULL, "bcast", &s);
        CHECK_STR(s.component, cases[i].component);
        CHECK_STR(s.algorithm, "");
    }
    /* A name is taken as a whole or not at all. */
    for (size_t n = 1; n < 100; n++) {
        struct sighting s;
        char name[100] = "";
        char file[128];
        memset(name, 'x', n);
        name[n] = '\0';
        (void)snprintf(file, sizeof(file), "mca_coll_%s.so", name);
        memset(&s, 0, sizeof(s));
        ictusi_sighting_note(file, NULL, "bcast", &s);
        CHECK_STR(s.component, n < sizeof(s.component) ? name : "");
    }
}

/* An algorithm's name is what stands behind the operation's in a function's name. */
static void functions_name_algorithms(void)
{
    static const struct {
        const char *before, *function, *operation, *algorithm;
    } cases[] = {
        {"", "ompi_coll_base_bcast_intra_binomial", "bcast", "binomial"},
        {"", "ompi_coll_base_bcast_binomial", "bcast", "binomial"},
        {"", "ompi_coll_base_bcast_intra_", "bcast", ""},
        {"chain", "ompi_coll_base_bcast_intra_binomial", "bcast", "binomial"},
        {"chain", "ompi_coll_base_bcast_intra_generic", "bcast", "chain"},
        {"chain", "ompi_coll_base_bcasts_intra_binomial", "bcast", "chain"},
        {"chain", "ompi_coll_base_reduce_intra_binomial", "bcast", "chain"},
        {"chain", "ompi_coll_tuned_bcast_intra_binomial", "bcast", "chain"},
        {"split_bintree", "ompi_coll_base_bcast_intra_generic", "bcast", "chain"},
        {"split_bintree", "ompi_coll_base_bcast_generic", "bcast", "chain"},
        {"chain", "ompi_coll_base_reduce_scatter_intra_ring", "reduce", "chain"},
        {"chain", "ompi_coll_base_reduce_scatter_intra_ring", "reduce_scatter", "ring"},
        {"chain", "ompi_coll_base_reduce_scatter_block_intra_ring", "reduce_scatter", "chain"},
        {"", "ompi_coll_base_reduce_scatter_block_intra_ring", "reduce_scatter_block", "ring"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sighting s;
        memset(&s, 0, sizeof(s));
        (void)snprintf(s.algorithm, sizeof(s.algorithm), "%s", cases[i].before);
        ictusi_sighting_note(NULL, cases[i].function, cases[i].operation, &s);
        CHECK_STR(s.algorithm, cases[i].algorithm);
        CHECK_STR(s.component, "");
    }
}

int main(void)
{
    files_name_components();
    functions_name_algorithms();
    find_places(SIGHTING_LIBRARY, LOOP, HAN_CALL);
    find_places(SIGHTING_HAN, HAN_CALL, PLACES);
    stacks_begin_in_mpi();
    few_stacks_prove_no_component();
    most_stacks_decide();
    han_shows_what_it_calls();
    trunks_are_what_nearly_all_share();
    trunks_part();
    han_splits_three();
    names_are_matched();
    return check_result();
}
