/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of MPI that fail while a clock is created. All ranks must say so alike, and none may wait
 * for the others or go on with what it did not receive. */
#include <ictus/clock.h>
#include <ictus/error.h>
#include <stdbool.h>

#include "check_mpi.h"
#include "failing_mpi.h"

enum { CALLS_MOST = 100 };

FAILS(int, PMPI_Scatter,
      (const void *in, int m, MPI_Datatype s, void *out, int n, MPI_Datatype t, int root,
       MPI_Comm c),
      (in, m, s, out, n, t, root, c))
FAILS(int, PMPI_Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm *out),
      (c, type, key, info, out))

/* Let each call fail, one after the other, until all are made. */
static void clock_tells(const char *spec)
{
    int err = ICTUS_ERR_MPI;
    int made = 0;
    for (int k = 1; err && k < CALLS_MOST; k++) {
        struct ictus_clock *clock = NULL;
        struct ictus_why why;
        calls = 0;
        failing = k;
        err = ictus_clock_create_why(MPI_COMM_WORLD, spec, &clock, &why);
        made = calls;
        failing = 0;
        if (made < k) {
            CHECK(!err && clock); /* nothing failed */
        } else {
            CHECK(err == ICTUS_ERR_MPI && !clock);
            err = ICTUS_ERR_MPI; /* go on, whatever it was */
        }
        ictus_clock_free(clock);
    }
    CHECK(!err && made > 6);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    clock_tells("propagate@monotonic");
    clock_tells("propagate@sim:offset=1s,scope=node");
    return check_mpi_finish();
}
