/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing and proving algorithms while memory runs out. */
#include "told_choices.h"

#include "../unit/scarce.h"

/* Return an error that all processes have alike. */
static int agreed(int err)
{
    int ends[2] = {err, -err};
    PMPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    CHECK(ends[0] == -ends[1] && (err == ICTUS_OK || err == ICTUS_ERR_NOMEM));
    return ends[0];
}

/* Choose, and prove the choice, as far as memory goes. */
static int choose_and_prove(void)
{
    struct ictus_ran ran;
    MPI_Comm forced = MPI_COMM_NULL;
    const int created = ictus_selector_create(&selector, &why);
    int worst = created;
    PMPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    CHECK(created == ICTUS_OK || created == ICTUS_ERR_NOMEM);
    if (!worst) {
        worst = agreed(ictus_selector_force(selector, MPI_COMM_WORLD, "bcast",
                                            variables == mpich ? "ring" : "chain", &forced, &why));
    }
    if (forced != MPI_COMM_NULL) {
        worst = agreed(ictus_selector_prove(selector, forced, 64, 4, &witness, &ran));
        release(&forced);
    }
    if (!created) {
        ictus_selector_free(selector);
    }
    left_is(0);
    return worst;
}

/*
 * If memory runs out, be it on all processes or on the last one alone, all of them are told so and
 * nothing stays behind.
 */
static void what_needs_memory_is_told(bool everywhere, struct told *told, int count)
{
    int failed = 0;
    /* Each run of an algorithm needs as much: the first few stand for all. */
    for (long at = 1; at <= 18; at++) {
        start(told, count);
        mpich[M_DEVICES].value = OFF;
        asked = 0;
        refused = everywhere || check_rank == check_size - 1 ? at : 0;
        failed += choose_and_prove() != ICTUS_OK;
        refused = 0;
    }
    CHECK(failed > 6);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (int everywhere = 0; everywhere < 2; everywhere++) {
        what_needs_memory_is_told(everywhere, mpich, M_COUNT);
        what_needs_memory_is_told(everywhere, open_mpi, O_COUNT);
    }
    return check_mpi_finish();
}
