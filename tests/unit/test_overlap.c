/* SPDX-License-Identifier: BSD-3-Clause */
/* The three formulas on cases that can be checked by hand, and work in proportion. */
#include "overlap/formula.h"
#include "overlap/workload.h"

#include "../check.h"

static void formulas(void)
{
    /* Nothing hidden: the wait takes as long as the blocking operation. */
    CHECK_NEAR(ictusi_overlap_h08(10.0, 10.0), 0.0, 1e-12);
    CHECK_NEAR(ictusi_overlap_osu(20.0, 10.0, 0.0, 10.0), 0.0, 1e-12);
    CHECK_NEAR(ictusi_overlap_imb(20.0, 10.0, 10.0), 0.0, 1e-12);
    /* All hidden. */
    CHECK_NEAR(ictusi_overlap_h08(0.0, 10.0), 1.0, 1e-12);
    CHECK_NEAR(ictusi_overlap_osu(10.0, 10.0, 0.0, 10.0), 1.0, 1e-12);
    CHECK_NEAR(ictusi_overlap_imb(10.0, 10.0, 10.0), 1.0, 1e-12);
    /* Twice the computation: IMB divides by it, OSU and H08 do not. */
    CHECK_NEAR(ictusi_overlap_osu(25.0, 20.0, 0.0, 10.0), 0.5, 1e-12);
    CHECK_NEAR(ictusi_overlap_imb(25.0, 20.0, 10.0), 0.25, 1e-12);
    /* Tests inside the computation count as overhead with OSU. */
    CHECK_NEAR(ictusi_overlap_osu(14.0, 14.0, 4.0, 10.0), 0.6, 1e-12);
    /* Worse than blocking is no negative share; a blocking time of zero gives no infinity. */
    CHECK_NEAR(ictusi_overlap_h08(30.0, 10.0), 0.0, 0);
    CHECK_NEAR(ictusi_overlap_osu(99.0, 10.0, 0.0, 10.0), 0.0, 0);
    CHECK_NEAR(ictusi_overlap_h08(1.0, 0.0), 0.0, 0);
    CHECK_NEAR(ictusi_overlap_imb(0.0, 0.0, 0.0), 0.0, 0);
}

static void work_is_found(enum ictus_kernel kernel)
{
    struct workload work;
    struct source *source = NULL;
    int64_t units = 0;
    REQUIRE(!ictusi_workload_init(&work, kernel));
    REQUIRE(!ictusi_source_open("monotonic", NULL, &source, NULL));
    const int err = ictusi_workload_find(&work, source, 1e6, &units);
    /* A machine that is too busy says so; otherwise a millisecond is many units. */
    CHECK(err == ICTUS_OK ? units > 1000 : err == ICTUS_ERR_CORRUPT);
    ictusi_workload_do(&work, 1000);
    CHECK(work.result > 0.0);
    ictusi_source_free(source);
    ictusi_workload_fini(&work);
}

int main(void)
{
    formulas();
    work_is_found(ICTUS_KERNEL_ARITHMETIC);
    work_is_found(ICTUS_KERNEL_MEMORY);
    return check_result();
}
