/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Known hangs and crashes are reported for the releases and uses that have them, and for no others.
 */
#include "../check.h"
#include "bench/defect.h"

static const char *defect(const char *library, const char *operation, int processes)
{
    const struct defect_use use = {.operation = operation, .processes = processes};
    return ictusi_defect(library, &use);
}

int main(void)
{
    const char *old = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022";
    CHECK(defect(old, "scatter_init", 2) != NULL);
    CHECK(defect(old, "scatter_init", 1) == NULL);
    CHECK(defect(old, "scatterv_init", 3) == NULL);
    CHECK(defect("MPICH Version:      5.0.0", "scatter_init", 3) == NULL);
    CHECK(defect(old, "allgather_init", 4) != NULL);
    CHECK(defect(old, "allgather_init", 3) == NULL);
    CHECK(defect(old, "allgather_init", 1) != NULL); /* padded datatypes fail an assertion */
    CHECK(defect("MPICH Version:\t4.1.2", "allgather_init", 4) == NULL);
    CHECK(defect("MPICH Version:\t4.1.1", "allgather_init", 4) != NULL);
    CHECK(defect("Open MPI v4.1.4", "scatter_init", 3) == NULL);
    struct defect_use use = {.operation = "neighbor_alltoallw", .processes = 3};
    CHECK(ictusi_defect(old, &use) == NULL);
    use.listed_graph = true;
    CHECK(ictusi_defect(old, &use) != NULL);
    CHECK(ictusi_defect("MPICH Version:\t4.1.0", &use) == NULL);
    use.operation = "neighbor_alltoall";
    CHECK(ictusi_defect(old, &use) == NULL);
    use = (struct defect_use){.operation = "reduce", .processes = 2};
    CHECK(ictusi_defect(old, &use) == NULL);
    use.in_place_beyond_0 = true;
    CHECK(ictusi_defect(old, &use) != NULL);
    CHECK(ictusi_defect("MPICH Version:\t4.1.2", &use) == NULL);
    use.operation = "ireduce";
    CHECK(ictusi_defect(old, &use) == NULL);
    return check_result();
}
