/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choosing algorithms in fake MPI libraries. The test defines their variables, which algorithm runs
 * for which values, and what a witness sees on stacks. So MPICH's dialect is also tested under Open
 * MPI, and the other way round.
 */
#include "told_choices.h"

static void start_mpich(int devices, int device)
{
    start(mpich, M_COUNT);
    mpich[M_DEVICES].value = devices;
    mpich[M_BCAST_DEVICE].value = device;
    REQUIRE(!ictus_selector_create(&selector, &why));
}

static void finish_with(int kept)
{
    ictus_selector_free(selector);
    left_is(kept);
}

static void finish(void)
{
    finish_with(0);
}

static MPI_Comm force(MPI_Comm comm, const char *operation, const char *algorithm, int wanted)
{
    MPI_Comm forced = MPI_COMM_NULL;
    CHECK(ictus_selector_force(selector, comm, operation, algorithm, &forced, &why) == wanted);
    CHECK((forced != MPI_COMM_NULL) == (wanted == ICTUS_OK));
    lib.runs = 0;
    return forced;
}

static void operations_are_found(void)
{
    const char *const *names = NULL;
    start_mpich(EACH, 1);
    const char *const *operations = ictus_selector_operations(selector);
    REQUIRE(operations[0] && operations[1]);
    CHECK_STR(operations[0], "bcast");
    CHECK_STR(operations[1], "reduce_scatter");
    CHECK(!operations[2]);
    CHECK(!ictus_selector_algorithms(selector, "bcast", &names, &why));
    CHECK_STR(names[0], "binomial");
    CHECK_STR(names[1], "ring");
    CHECK_STR(names[2], "smp");
    CHECK(!names[3]);
    CHECK(ictus_selector_algorithms(selector, "scan", &names, &why) == ICTUS_ERR_UNKNOWN);
    CHECK_STR(ictus_selector_terms(selector),
              "MPIR_CVAR_OPERATION_DEVICE_COLLECTIVE=0 while forced");
    finish();
    start(open_mpi, O_COUNT);
    REQUIRE(!ictus_selector_create(&selector, &why));
    CHECK(!ictus_selector_algorithms(selector, "bcast", &names, &why));
    CHECK_STR(names[0], "basic_default");
    CHECK_STR(names[1], "chain");
    CHECK(!names[2]);
    CHECK_STR(ictus_selector_terms(selector),
              "coll_tuned_use_dynamic_rules=1 before MPI_Init, ompi_comm_coll_preference=tuned on "
              "forced communicators, han (priority 35) precedes tuned (30) on other "
              "communicators, libnbc (priority 30) precedes tuned (30) on other communicators");
    finish();
}

static void libraries_without_choice_are_refused(void)
{
    start(open_mpi, O_COUNT);
    open_mpi[O_RULES].value = 0;
    CHECK(ictus_selector_create(&selector, &why) == ICTUS_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "set OMPI_MCA_coll_tuned_use_dynamic_rules=1 before MPI_Init"));
    open_mpi[O_RULES].value = 1;
    start(mpich, 1);
    CHECK(ictus_selector_create(&selector, &why) == ICTUS_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "offers no choice of algorithms"));
    CHECK(tools == 0);
    CHECK(ictus_selector_create(NULL, &why) == ICTUS_ERR_ARG);
}

/*
 * A choice applies while its communicator is active, before that of any device, and not afterwards.
 */
static void choices_act_at_once(void)
{
    for (int devices = ALWAYS; devices <= EACH; devices++) {
        for (int device = 0; device < 2; device++) {
            start_mpich(devices, device);
            lib.bytes = 4096;
            MPI_Comm ring = force(MPI_COMM_WORLD, "bcast", "ring", ICTUS_OK);
            CHECK(lib.ran == RING && mpich[M_BCAST].value == RING && !mpich[M_BCAST_DEVICE].value);
            CHECK(mpich[M_DEVICES].value == (devices == ALWAYS ? EACH : devices));
            CHECK(goes_on_in_silence() && lib.duplicates == 2);
            MPI_Comm own = force(MPI_COMM_WORLD, "bcast", "default", ICTUS_OK);
            const bool by_device = devices == ALWAYS || (devices == EACH && device);
            CHECK(lib.ran == (by_device ? DEVICE : BINOMIAL));
            CHECK(mpich[M_DEVICES].value == devices && mpich[M_BCAST_DEVICE].value == device);
            CHECK(!ictus_selector_activate(selector, ring) && mpich[M_BCAST].value == RING);
            lib.bytes = 800;
            CHECK(!ictus_selector_works(selector, ring, 800, 8) && lib.ran == RING);
            lib.bytes = 0;
            release(&ring);
            release(&own);
            CHECK(mpich[M_BCAST].value == AUTO && mpich[M_BCAST_DEVICE].value == device);
            CHECK(mpich[M_DEVICES].value == devices);
            ring = force(MPI_COMM_WORLD, "bcast", "ring", ICTUS_OK);
            MPI_Comm_free(&ring); /* the program must free it once the selector is gone */
            finish_with(1);
            CHECK(mpich[M_BCAST_DEVICE].value == device && mpich[M_DEVICES].value == devices);
        }
    }
}

/* If one process cannot run an algorithm, none does; what would crash is not tried. */
static void what_cannot_run_is_refused(void)
{
    start_mpich(OFF, 0);
    lib.refuses[SMP] = true;
    (void)force(MPI_COMM_WORLD, "bcast", "smp", ICTUS_ERR_UNSUPPORTED);
    char text[80];
    (void)snprintf(text, sizeof(text), "algorithm 'smp' of bcast cannot run on %d processes",
                   check_size);
    CHECK_STR(why.text, text);
    CHECK(lib.ran == SMP && mpich[M_BCAST].value == AUTO && goes_on_in_silence());
    (void)force(MPI_COMM_WORLD, "bcast", "quick", ICTUS_ERR_UNKNOWN);
    MPI_Comm noncommutative = force(MPI_COMM_WORLD, "reduce_scatter", "noncommutative",
                                    check_size == 3 ? ICTUS_ERR_UNSUPPORTED : ICTUS_OK);
    if (check_size != 3) {
        release(&noncommutative);
    }
    MPI_Comm binomial = force(MPI_COMM_WORLD, "reduce_scatter", "binomial", ICTUS_OK);
    release(&binomial);
    finish();
}

/* A variable that the library does not let go, be it an inherited choice's or one to be restored.
 */
static void what_cannot_be_set_is_told(void)
{
    start_mpich(EACH, 1);
    MPI_Comm own = force(MPI_COMM_WORLD, "bcast", "default", ICTUS_OK);
    MPI_Comm ring = force(MPI_COMM_WORLD, "bcast", "ring", ICTUS_OK);
    MPI_Comm both = force(ring, "reduce_scatter", "binomial", ICTUS_OK);
    CHECK(!ictus_selector_activate(selector, own) && mpich[M_BCAST].value == AUTO);
    mpich[M_BCAST].is_constant = true;
    CHECK(ictus_selector_activate(selector, both) == ICTUS_ERR_UNSUPPORTED);
    CHECK(ictus_selector_activate(selector, ring) == ICTUS_ERR_UNSUPPORTED);
    mpich[M_BCAST].is_constant = false;
    CHECK(!ictus_selector_activate(selector, both) && mpich[M_BCAST].value == RING);
    mpich[M_BCAST_DEVICE].is_constant = true;
    CHECK(ictus_selector_activate(selector, own) == ICTUS_ERR_UNSUPPORTED);
    mpich[M_BCAST_DEVICE].is_constant = false;
    mpich[M_BCAST_DEVICE].value = 1;
    CHECK(!ictus_selector_activate(selector, ring));
    mpich[M_DEVICES].is_constant = true;
    CHECK(!ictus_selector_activate(selector, own)); /* it was left as it is */
    mpich[M_DEVICES].is_constant = false;
    release(&both);
    release(&ring);
    release(&own);
    finish();
}

/*
 * In Open MPI, a choice belongs to a communicator permanently, and the component that knows it
 * comes first.
 */
static void choices_stay_with_communicators(void)
{
    start(open_mpi, O_COUNT);
    REQUIRE(!ictus_selector_create(&selector, &why));
    MPI_Comm chain = force(MPI_COMM_WORLD, "bcast", "chain", ICTUS_OK);
    CHECK(lib.duplicates == 101 && open_mpi[O_BCAST].value == 0);
    MPI_Comm own = force(MPI_COMM_WORLD, "bcast", "default", ICTUS_OK);
    CHECK(lib.duplicates == 103);
    release(&own);
    /* Derived from one that already prefers a component. */
    own = force(chain, "bcast", "default", ICTUS_OK);
    CHECK(lib.duplicates == 204);
    release(&chain);
    release(&own);
    finish();
}

/* Prove each algorithm, and check what it is reported to be and how often it had to run. */
static struct ictus_ran prove(const char *algorithm, size_t bytes, size_t element)
{
    struct ictus_ran ran = {.proof = ICTUS_PROOF_FAILS};
    lib.bytes = 0;
    MPI_Comm forced = force(MPI_COMM_WORLD, "bcast", algorithm, ICTUS_OK);
    lib.bytes = bytes;
    CHECK(!ictus_selector_prove(selector, forced, bytes, element, &witness, &ran));
    lib.bytes = 0;
    release(&forced);
    return ran;
}

static void proven_is(const char *forced, bool holds, const char *algorithm, const char *component)
{
    const struct ictus_ran ran = prove(forced, 64, 4);
    holds = holds && check_size > 1;
    CHECK(ran.proof == (holds ? ICTUS_PROOF_HOLDS : ICTUS_PROOF_NONE));
    CHECK_STR(ran.algorithm, holds ? algorithm : "");
    CHECK_STR(ran.component, holds ? component : "");
}

static int runs_of(int runs)
{
    return check_size > 1 ? runs : 0;
}

static void algorithms_are_told_apart(void)
{
    for (int devices = ALWAYS; devices <= EACH; devices++) {
        for (int device = 0; device < 2; device++) {
            start_mpich(devices, device);
            proven_is("ring", true, "ring", "");
            CHECK(lib.runs == runs_of(8)); /* all algorithms, in two stages */
            proven_is("binomial", true, "binomial", "");
            const bool by_device = devices == ALWAYS || (devices == EACH && device);
            proven_is("default", true, "binomial", by_device ? "device" : "");
            CHECK(lib.runs == 0); /* the proof is remembered */
            finish();
        }
    }
    start_mpich(OFF, 0);
    (void)prove("ring", 64, 4);
    (void)prove("ring", 64, 1);
    CHECK(lib.runs == runs_of(8));
    (void)prove("ring", 128, 4);
    CHECK(lib.runs == runs_of(8));
    (void)prove("smp", 64, 1);
    CHECK(lib.runs == 0);
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank < 2, 0, &part);
    MPI_Comm forced = force(part, "bcast", "ring", ICTUS_OK);
    struct ictus_ran ran;
    const int blind = lib.blind;
    lib.blind = check_rank == 2 ? 2 : blind;
    CHECK(!ictus_selector_prove(selector, forced, 64, 1, &witness, &ran));
    /* Two of three processes are another group, and a single process proves nothing. */
    CHECK(lib.runs == (check_size == 3 && check_rank < 2 ? 8 : 0));
    release(&forced);
    PMPI_Comm_free(&part);
    finish();
}

/* Groups are others if one process is another, whichever; the rest then prove anew, too. */
static void groups_prove_for_themselves(void)
{
    const int blind = lib.blind;
    start_mpich(OFF, 0);
    lib.blind = -1;
    for (int out = 0; out < 3 && check_size == 3; out++) {
        MPI_Comm part;
        struct ictus_ran ran;
        MPI_Comm_split(MPI_COMM_WORLD, check_rank == out, 0, &part);
        MPI_Comm forced = force(part, "bcast", "ring", ICTUS_OK);
        CHECK(!ictus_selector_prove(selector, forced, 64, 4, &witness, &ran));
        CHECK(lib.runs == (check_rank == out ? 0 : 8));
        release(&forced);
        PMPI_Comm_free(&part);
    }
    lib.blind = blind;
    finish();
}

/*
 * An algorithm that cannot be told apart from another is not proven, however often it runs; others
 * are.
 */
static void doubts_stay(void)
{
    start_mpich(OFF, 0);
    lib.alike = true;
    proven_is("ring", false, "", "");
    CHECK(lib.runs == runs_of(8 * 5));
    proven_is("smp", false, "", "");
    proven_is("binomial", true, "binomial", "");
    proven_is("default", true, "binomial", "");
    finish();
    static const int owns[] = {OTHER, BOTH, TWICE};
    for (size_t i = 0; i < sizeof(owns) / sizeof(owns[0]); i++) {
        start_mpich(OFF, 0);
        lib.own = owns[i];
        proven_is("default", false, "", "");
        CHECK(lib.runs == runs_of(8 * 5));
        proven_is("ring", true, "ring", "");
        finish();
    }
    start_mpich(OFF, 0);
    lib.own_last = OTHER; /* two processes see different algorithms */
    proven_is("default", false, "", "");
    finish();
    start_mpich(OFF, 0);
    lib.apart = true; /* on several nodes, one name is not the whole algorithm */
    proven_is("default", check_size == 1, "", "");
    CHECK(lib.runs == runs_of(8));
    proven_is("smp", true, "smp", "");
    finish();
}

static void little_is_seen(void)
{
    start_mpich(OFF, 0);
    lib.dark = true;
    proven_is("ring", false, "", "");
    CHECK(lib.runs == runs_of(8 * 8));
    for (int i = 0; i < lib.runs; i++) {
        const int delay_ms = 4 << (i / 8); /* first the first process is delayed, then the last */
        CHECK(lib.delays_ms[i] == (i % 2 ? delay_ms : -delay_ms));
    }
    finish();
    start_mpich(OFF, 0);
    lib.blind = 1;
    proven_is("ring", true, "ring", "");
    CHECK(lib.runs == runs_of(8));
    finish();
}

/*
 * Algorithms that cannot run do not prevent a proof, but a single one has nothing to be told apart
 * from.
 */
static void the_unable_do_not_count(void)
{
    start_mpich(OFF, 0);
    lib.refuses[SMP] = true;
    lib.alike = true;
    proven_is("ring", true, "ring", "");
    CHECK(lib.runs == runs_of(7));
    proven_is("default", true, "binomial", "");
    lib.refuses[RING] = true;
    struct ictus_ran ran = prove("binomial", 32, 4);
    CHECK(ran.proof == ICTUS_PROOF_NONE);
    finish();
}

/* A message that no trial can send is refused each time: what was not seen is not remembered. */
static void impossible_messages_are_refused(void)
{
    const int wanted = check_size > 1 ? ICTUS_ERR_ARG : ICTUS_OK;
    struct ictus_ran ran = {.algorithm = "as before"};
    start_mpich(OFF, 0);
    MPI_Comm ring = force(MPI_COMM_WORLD, "bcast", "ring", ICTUS_OK);
    lib.runs = 0;
    for (int i = 0; i < 2; i++) {
        CHECK(ictus_selector_prove(selector, ring, 64, 0, &witness, &ran) == wanted);
        CHECK(wanted == ICTUS_OK || strcmp(ran.algorithm, "as before") == 0);
    }
    CHECK(lib.runs == 0);
    release(&ring);
    finish();
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    operations_are_found();
    libraries_without_choice_are_refused();
    choices_act_at_once();
    what_cannot_run_is_refused();
    what_cannot_be_set_is_told();
    choices_stay_with_communicators();
    algorithms_are_told_apart();
    groups_prove_for_themselves();
    doubts_stay();
    little_is_seen();
    the_unable_do_not_count();
    impossible_messages_are_refused();
    return check_mpi_finish();
}
