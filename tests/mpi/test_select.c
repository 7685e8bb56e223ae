/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithms inside the MPI library: named correctly, forced, kept apart, refused and restored. */
#include <ictus/select.h>

#include "select/sighting.h"
#include "select/trial.h"
#include "select/variable.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>

#include "check_mpi.h"

/* Values that MPICH reads by name from the environment; our names for them must agree. */
static const struct {
    const char *variable;
    const char *name;
} named[] = {
    {"MPIR_CVAR_BARRIER_INTRA_ALGORITHM", "dissemination"},
    {"MPIR_CVAR_BCAST_INTRA_ALGORITHM", "smp"},
    {"MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM", "ring"},
    {"MPIR_CVAR_GATHER_INTRA_ALGORITHM", "nb"},
    {"MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM", "scattered"},
    {"MPIR_CVAR_REDUCE_INTRA_ALGORITHM", "reduce_scatter_gather"},
    {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "recursive_doubling"},
    {"MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM", "recursive_halving"},
    {"MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM", "tsp_tree"},
    {"MPIR_CVAR_IBARRIER_INTRA_ALGORITHM", "sched_recursive_doubling"},
    {"MPIR_CVAR_COLLECTIVE_FALLBACK", "silent"},
};
enum { NAMED = sizeof(named) / sizeof(named[0]) };

static void name_values(void)
{
    for (int i = 0; i < NAMED; i++) {
        setenv(named[i].variable, named[i].name, 1);
    }
}

static bool open_by_name(const char *name, struct variable *variable)
{
    int index = 0;
    return MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
           ictusi_variable_open(index, variable);
}

static void names_are_the_librarys(void)
{
    struct variable variable;
    if (!open_by_name(named[0].variable, &variable)) {
        return; /* Open MPI names its values itself */
    }
    ictusi_variable_close(&variable);
    for (int i = 0; i < NAMED; i++) {
        int held = -1;
        int ours = -2;
        REQUIRE(open_by_name(named[i].variable, &variable));
        CHECK(ictusi_variable_read(&variable, &held));
        CHECK(ictusi_variable_value(&variable, named[i].name, &ours));
        if (held != ours) {
            (void)fprintf(stderr, "%s=%s\n", named[i].variable, named[i].name);
        }
        CHECK(held == ours);
        CHECK(ictusi_variable_write(&variable,
                                    ictusi_variable_value(&variable, "auto", &held) ? held : ours));
        ictusi_variable_close(&variable);
    }
}

static int sum_of_ranks(MPI_Comm comm)
{
    int sum = 0;
    MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static void every_algorithm_works(struct ictus_selector *selector, const char *operation)
{
    const char *const *names = NULL;
    struct ictus_why why;
    int able = 0;
    REQUIRE(!ictus_selector_algorithms(selector, operation, &names, &why));
    for (int i = 0; names[i]; i++) {
        MPI_Comm forced = MPI_COMM_NULL;
        const int err =
            ictus_selector_force(selector, MPI_COMM_WORLD, operation, names[i], &forced, &why);
        CHECK(!err || err == ICTUS_ERR_UNSUPPORTED);
        if (err) {
            CHECK(forced == MPI_COMM_NULL && why.text[0]);
            continue;
        }
        able++;
        CHECK(sum_of_ranks(forced) == check_size * (check_size - 1) / 2);
        CHECK(!ictus_selector_works(selector, forced, 65536, sizeof(int)));
        CHECK(!ictus_selector_release(selector, &forced));
        CHECK(forced == MPI_COMM_NULL);
    }
    CHECK(able >= 1 || check_size == 1);
}

static void choices_are_kept_and_restored(struct ictus_selector *selector)
{
    struct variable open_mpi;
    const bool has = open_by_name("coll_tuned_barrier_algorithm", &open_mpi);
    MPI_Comm one;
    MPI_Comm two;
    struct ictus_why why;
    const char *const *barriers = NULL;
    const char *const *reduces = NULL;
    REQUIRE(!ictus_selector_algorithms(selector, "barrier", &barriers, &why));
    REQUIRE(!ictus_selector_algorithms(selector, "reduce", &reduces, &why));
    REQUIRE(!ictus_selector_force(selector, MPI_COMM_WORLD, "barrier", barriers[0], &one, &why));
    REQUIRE(!ictus_selector_force(selector, one, "reduce", reduces[0], &two, &why));
    CHECK(!ictus_selector_activate(selector, one));
    CHECK(!ictus_selector_activate(selector, two));
    CHECK(!ictus_selector_release(selector, &one));
    CHECK(ictus_selector_activate(selector, one) == ICTUS_ERR_ARG);
    CHECK(!ictus_selector_activate(selector, two));
    CHECK(sum_of_ranks(two) == check_size * (check_size - 1) / 2);
    CHECK(!ictus_selector_release(selector, &two));
    if (has) {
        int value = -1;
        CHECK(ictusi_variable_read(&open_mpi, &value) && value == 0);
        ictusi_variable_close(&open_mpi);
    }
}

static void misuse_is_refused(struct ictus_selector *selector)
{
    MPI_Comm forced = MPI_COMM_NULL;
    struct ictus_why why;
    CHECK(ictus_selector_force(selector, MPI_COMM_WORLD, "redoce", "linear", &forced, &why) ==
          ICTUS_ERR_UNKNOWN);
    CHECK(strstr(why.text, "reduce") != NULL);
    CHECK(ictus_selector_force(selector, MPI_COMM_WORLD, "reduce", "quick", &forced, &why) ==
          ICTUS_ERR_UNKNOWN);
    CHECK(ictus_selector_force(selector, MPI_COMM_NULL, "reduce", "linear", &forced, &why) ==
          ICTUS_ERR_ARG);
    CHECK(ictus_selector_release(selector, &forced) == ICTUS_ERR_ARG);
    struct variable open_mpi;
    if (open_by_name("coll_tuned_barrier_algorithm", &open_mpi)) {
        ictusi_variable_close(&open_mpi);
        const int err =
            ictus_selector_force(selector, MPI_COMM_WORLD, "barrier", "two_proc", &forced, &why);
        /*
         * The library itself refuses it, which shows that the choice was in force. A single process
         * has no choice of algorithm.
         */
        CHECK(check_size < 2 || err == (check_size == 2 ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED));
        if (!err) {
            CHECK(!ictus_selector_release(selector, &forced));
        }
    }
}

static void functions_tell_algorithms(void)
{
    static const struct {
        const char *operation;
        const char *functions[3]; /* outermost first, in one file */
        const char *file;
        const char *component;
        const char *algorithm;
    } stacks[] = {
        {"bcast",
         {"ompi_coll_base_bcast_intra_binomial", "ompi_coll_base_bcast_intra_generic"},
         "/lib/mca_coll_tuned.so",
         "tuned",
         "binomial"},
        {"reduce", {"ompi_coll_base_reduce_scatter_intra_ring"}, "/lib/libmpi.so.40", "", ""},
        {"reduce_scatter", {"ompi_coll_base_reduce_scatter_block_basic_linear"}, "x.so", "", ""},
        {"bcast", {"mca_coll_sm_bcast_intra"}, "/lib/mca_coll_sm.so", "sm", ""},
        {"allreduce",
         {"ompi_coll_base_allreduce_intra_ring",
          "ompi_coll_base_allreduce_intra_recursivedoubling"},
         "/lib/mca_coll_monitoring.so",
         "",
         "recursivedoubling"},
        /* A message that is too short to be split goes down a chain. */
        {"bcast",
         {"ompi_coll_base_bcast_intra_split_bintree", "ompi_coll_base_bcast_intra_generic"},
         "mca_coll_tuned.so",
         "tuned",
         "chain"},
    };
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
        struct sighting sighting = {.component = ""};
        for (int k = 0; k < 3 && stacks[i].functions[k]; k++) {
            ictusi_sighting_note(stacks[i].file, stacks[i].functions[k], stacks[i].operation,
                                 &sighting);
        }
        CHECK(strcmp(sighting.component, stacks[i].component) == 0);
        CHECK(strcmp(sighting.algorithm, stacks[i].algorithm) == 0);
    }
    CHECK(ictusi_sighting_matches("redscat_allgather", "rabenseifner"));
    CHECK(ictusi_sighting_matches("in_order_binary", "in-order_binary"));
    CHECK(ictusi_sighting_matches("basic_linear", "linear"));
    CHECK(!ictusi_sighting_matches("linear_sync", "linear"));
    CHECK(!ictusi_sighting_matches("scatter_allgather", "scatter_allgather_ring"));
}

/* A witness that cannot be used. */
static int see_nothing(void *state)
{
    (void)state;
    return ICTUS_OK;
}

static void stop_seeing(void *state)
{
    (void)state;
}

static void misuse_of_proofs_is_refused(struct ictus_selector *selector)
{
    const struct ictus_witness witness = {NULL, see_nothing, stop_seeing, NULL};
    struct ictus_ran ran;
    CHECK(ictus_selector_prove(selector, MPI_COMM_WORLD, 8, 1, &witness, &ran) == ICTUS_ERR_ARG);
    CHECK(ictus_selector_prove(NULL, MPI_COMM_WORLD, 8, 1, &witness, &ran) == ICTUS_ERR_ARG);
}

/* A witness that is given what to have seen: these functions, from the MPI call inwards. */
struct told {
    const void *functions[3]; /* until NULL; not even the call: nothing was seen */
};

static size_t told_stack(void *state, size_t i, const void **functions, size_t room)
{
    const struct told *told = state;
    size_t n = 0;
    while (i < 5 && n < 3 && n < room && told->functions[n]) {
        functions[n] = told->functions[n];
        n++;
    }
    return n;
}

/* A function of a component of the library, which it loads for itself. */
struct wanted {
    const char *file, *name;
    const void *function;
};

static int wanted_find(struct dl_phdr_info *info, size_t size, void *data)
{
    struct wanted *wanted = data;
    (void)size;
    if (strstr(info->dlpi_name, wanted->file)) {
        void *file = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        wanted->function = file ? dlsym(file, wanted->name) : NULL;
        if (file) {
            (void)dlclose(file);
        }
    }
    return wanted->function != NULL;
}

static const void *component_function(const char *file, const char *name)
{
    struct wanted wanted = {file, name, NULL};
    (void)dl_iterate_phdr(wanted_find, &wanted);
    return wanted.function;
}

struct sight {
    const char *forced;
    const void *functions[2]; /* what this process sees inside the call */
    enum ictus_proof proof;
    const char *algorithm, *component;
    bool told; /* whether the component can be known */
};

static void proof_is_of(struct ictus_selector *selector, const struct sight *sight)
{
    const void *call = sight->functions[0] ? dlsym(RTLD_DEFAULT, "MPI_Bcast") : NULL;
    struct told told = {
        {call, sight->functions[0], sight->functions[0] ? sight->functions[1] : NULL}};
    const struct ictus_witness witness = {&told, see_nothing, stop_seeing, told_stack};
    MPI_Comm forced = MPI_COMM_NULL;
    struct ictus_ran ran = {.proof = ICTUS_PROOF_NONE};
    struct ictus_why why;
    REQUIRE(!ictus_selector_force(selector, MPI_COMM_WORLD, "bcast", sight->forced, &forced, &why));
    CHECK(!ictus_selector_prove(selector, forced, 64, 1, &witness, &ran));
    CHECK(ran.proof == (check_size > 1 ? sight->proof : ICTUS_PROOF_NONE));
    CHECK_STR(ran.algorithm, check_size > 1 ? sight->algorithm : "");
    CHECK_STR(ran.component, check_size > 1 ? sight->component : "");
    CHECK(!ictus_selector_release(selector, &forced));
}

/*
 * A name is proven if a process saw it run and no process saw another one, in the component whose
 * algorithms are forced. All processes say the same.
 */
static void proofs_are_of_what_was_seen(struct ictus_selector *selector)
{
    const void *tree = dlsym(RTLD_DEFAULT, "ompi_coll_base_bcast_intra_binomial");
    const void *chain = dlsym(RTLD_DEFAULT, "ompi_coll_base_bcast_intra_chain");
    const void *tuned =
        component_function("mca_coll_tuned.so", "ompi_coll_tuned_bcast_intra_dec_fixed");
    const void *basic = component_function("mca_coll_basic.so", "mca_coll_basic_allreduce_intra");
    const bool last = check_rank == check_size - 1;
    const struct sight cases[] = {
        {"binomial", {tree}, ICTUS_PROOF_HOLDS, "binomial", "", true},
        {"binomial", {last ? tree : NULL}, ICTUS_PROOF_HOLDS, "binomial", "", true},
        {"binomial", {chain}, ICTUS_PROOF_FAILS, "chain", "", true},
        {"binomial", {last ? tree : chain}, ICTUS_PROOF_NONE, "", "", true},
        {ICTUS_ALGORITHM_DEFAULT, {last ? NULL : chain}, ICTUS_PROOF_HOLDS, "chain", "", true},
        {"binomial", {tuned, tree}, ICTUS_PROOF_HOLDS, "binomial", "tuned", tuned},
        {"binomial", {last ? basic : tuned, tree}, ICTUS_PROOF_HOLDS, "binomial", "tuned", tuned},
        {"binomial", {last ? tuned : basic, tree}, ICTUS_PROOF_FAILS, "", "basic", tuned && basic},
    };
    for (size_t i = 0; tree && chain && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (cases[i].told) {
            proof_is_of(selector, &cases[i]);
        }
    }
}

/* What int displacements cannot place is refused before memory is taken for it. */
static void large_displacements_are_refused(void)
{
    static const char *const placed[] = {"gatherv", "scatterv", "allgatherv", "alltoallv",
                                         "alltoallw"};
    const struct message small = {.bytes = 64, .element = 16};
    const struct message large = {.bytes = ((size_t)INT_MAX / (size_t)check_size / 16 + 1) * 16,
                                  .element = 16};
    for (size_t i = 0; i < sizeof(placed) / sizeof(placed[0]); i++) {
        struct trial *trial = NULL;
        CHECK(ictusi_trial_prepare(MPI_COMM_WORLD, placed[i], large, &trial) ==
              ICTUS_ERR_UNSUPPORTED);
        CHECK(!trial);
        REQUIRE(!ictusi_trial_prepare(MPI_COMM_WORLD, placed[i], small, &trial));
        CHECK(!ictusi_trial_run(trial, MPI_COMM_WORLD, placed[i]));
        ictusi_trial_free(trial);
    }
}

/* A message of elements of no size, or of more elements than an int counts of all processes. */
static void messages_are_judged(void)
{
    const struct message bad[] = {
        {.bytes = 64, .element = 0},
        {.bytes = (size_t)(INT_MAX / check_size) + 1, .element = 1},
        {.bytes = 4 * ((size_t)(INT_MAX / check_size) + 1), .element = 4}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct trial *trial = NULL;
        CHECK(ictusi_trial_prepare(MPI_COMM_WORLD, "bcast", bad[i], &trial) == ICTUS_ERR_ARG);
        CHECK(!trial);
    }
}

static void nothing_is_no_selector(const struct ictus_selector *selector)
{
    const char *const *names = NULL;
    struct ictus_why why = {""};
    CHECK(ictus_selector_algorithms(NULL, "bcast", &names, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_selector_algorithms(selector, NULL, &names, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_selector_algorithms(selector, "bcast", NULL, &why) == ICTUS_ERR_ARG);
    CHECK(!names);
}

int main(int argc, char **argv)
{
    struct ictus_selector *selector = NULL;
    struct ictus_why why = {""};
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
    name_values();
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    int level = 0;
    REQUIRE(MPI_T_init_thread(MPI_THREAD_SINGLE, &level) == MPI_SUCCESS);
    names_are_the_librarys();
    large_displacements_are_refused();
    messages_are_judged();
    const int err = ictus_selector_create(&selector, &why);
    if (err) {
        (void)fprintf(stderr, "%s\n", why.text);
    }
    REQUIRE(!err);
    for (int i = 0; ictus_selector_operations(selector)[i]; i++) {
        every_algorithm_works(selector, ictus_selector_operations(selector)[i]);
    }
    choices_are_kept_and_restored(selector);
    misuse_is_refused(selector);
    nothing_is_no_selector(selector);
    functions_tell_algorithms();
    misuse_of_proofs_is_refused(selector);
    proofs_are_of_what_was_seen(selector);
    ictus_selector_free(selector);
    MPI_T_finalize();
    return check_mpi_finish();
}
