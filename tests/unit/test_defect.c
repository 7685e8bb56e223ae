/* SPDX-License-Identifier: BSD-3-Clause */
/* Known hangs are known for the releases and sizes that have them, and for no others. */
#include "../check.h"
#include "bench/defect.h"

int main(void)
{
    const char *old = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022";
    CHECK(ictusi_defect(old, "scatter_init", 2) != NULL);
    CHECK(ictusi_defect(old, "scatter_init", 1) == NULL);
    CHECK(ictusi_defect(old, "scatterv_init", 3) == NULL);
    CHECK(ictusi_defect("MPICH Version:      5.0.0", "scatter_init", 3) == NULL);
    CHECK(ictusi_defect(old, "allgather_init", 4) != NULL);
    CHECK(ictusi_defect(old, "allgather_init", 3) == NULL);
    CHECK(ictusi_defect("MPICH Version:\t4.1.2", "allgather_init", 4) == NULL);
    CHECK(ictusi_defect("MPICH Version:\t4.1.1", "allgather_init", 4) != NULL);
    CHECK(ictusi_defect("Open MPI v4.1.4", "scatter_init", 3) == NULL);
    return check_result();
}
