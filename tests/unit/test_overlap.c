/* SPDX-License-Identifier: BSD-3-Clause */
/* The three formulas on cases that can be checked by hand, and work in proportion. */
#include "overlap/formula.h"
#include "overlap/workload.h"

#include "../check.h"

static void formulas(void)
{
    /* Nothing is hidden: the wait takes as long as the blocking operation. */
    CHECK_NEAR(ictusi_overlap_h08(10.0, 10.0), 0.0, 1e-12);
    CHECK_NEAR(ictusi_overlap_osu(20.0, 10.0, 0.0, 10.0), 0.0, 1e-12);
    CHECK_NEAR(ictusi_overlap_imb(20.0, 10.0, 10.0), 0.0, 1e-12);
    /* Everything is hidden. */
    CHECK_NEAR(ictusi_overlap_h08(0.0, 10.0), 1.0, 1e-12);
    CHECK_NEAR(ictusi_overlap_osu(10.0, 10.0, 0.0, 10.0), 1.0, 1e-12);
    CHECK_NEAR(ictusi_overlap_imb(10.0, 10.0, 10.0), 1.0, 1e-12);
    /* With twice the computation: IMB divides by it, OSU and H08 do not. */
    CHECK_NEAR(ictusi_overlap_osu(25.0, 20.0, 0.0, 10.0), 0.5, 1e-12);
    CHECK_NEAR(ictusi_overlap_imb(25.0, 20.0, 10.0), 0.25, 1e-12);
    /* Microseconds are shared as seconds are. */
    CHECK_NEAR(ictusi_overlap_h08(3e-6, 10e-6), 0.7, 1e-12);
    CHECK_NEAR(ictusi_overlap_osu(25e-6, 20e-6, 0.0, 10e-6), 0.5, 1e-12);
    CHECK_NEAR(ictusi_overlap_imb(25e-6, 20e-6, 10e-6), 0.25, 1e-12);
    /* With OSU, tests inside the computation count as overhead. */
    CHECK_NEAR(ictusi_overlap_osu(14.0, 14.0, 4.0, 10.0), 0.6, 1e-12);
    /*
     * No share is negative if it is worse than blocking, nor infinite if the blocking time is zero.
     */
    CHECK_NEAR(ictusi_overlap_h08(30.0, 10.0), 0.0, 0);
    CHECK_NEAR(ictusi_overlap_osu(99.0, 10.0, 0.0, 10.0), 0.0, 0);
    CHECK_NEAR(ictusi_overlap_h08(1.0, 0.0), 0.0, 0);
    CHECK_NEAR(ictusi_overlap_imb(0.0, 0.0, 0.0), 0.0, 0);
    CHECK_NEAR(ictusi_overlap_osu(1.0, 1.0, 0.0, 0.0), 0.0, 0);
    CHECK_NEAR(ictusi_overlap_osu(1.0, 2.0, 0.0, 0.0), 0.0, 0);
}

static void work_is_found(enum ictus_kernel kernel)
{
    struct workload work;
    struct source *source = NULL;
    int64_t units = 0;
    REQUIRE(!ictusi_workload_init(&work, kernel));
    REQUIRE(!ictusi_source_open("monotonic", NULL, &source, NULL));
    const int err = ictusi_workload_find(&work, source, 1e6, &units);
    /* A machine that is too busy is reported; otherwise a millisecond is many units. */
    CHECK(err == ICTUS_OK ? units > 1000 : err == ICTUS_ERR_CORRUPT);
    ictusi_workload_do(&work, 1000);
    CHECK(work.result > 0.0);
    ictusi_source_free(source);
    ictusi_workload_fini(&work);
}

/* The work of a kernel can be read from its result; here this gives the time. */
struct work_clock {
    struct source base; /* first member */
    const struct workload *work;
    double unit_ns, read_ns;
    int64_t reads;
    double hiccup_ns; /* delay at every fifth reading */
};

enum { LINES = 16 * 1024 * 1024 / 64 }; /* of the memory-bound kernel */

static double units_done(const struct workload *work)
{
    if (work->kernel == ICTUS_KERNEL_MEMORY) { /* each lap adds 1 to each line */
        return work->memory[work->place] * LINES + (double)work->place / 8;
    }
    return log(work->result - 1.0) / log1p(-1e-6); /* x - 1 loses a millionth in each step */
}

static int64_t work_clock_read(const struct source *source)
{
    struct work_clock *clock = (struct work_clock *)(uintptr_t)source;
    clock->reads++;
    return (int64_t)llround(units_done(clock->work) * clock->unit_ns +
                            (double)clock->reads * clock->read_ns +
                            floor((double)clock->reads / 5) * clock->hiccup_ns);
}

static const struct source_ops work_clock_ops = {.name = "work", .read = work_clock_read};

/* The requested units are done, and the units found fill the time. */
static void work_is_counted(enum ictus_kernel kernel)
{
    static const double targets[] = {40.0, 3e3, 1e5, 2e6};
    struct workload work;
    struct work_clock clock = {{&work_clock_ops}, &work, 2.5, 0.0, 0, 0.0};
    int64_t units = 0;
    REQUIRE(!ictusi_workload_init(&work, kernel));
    CHECK(work.kernel == kernel && (work.memory != NULL) == (kernel == ICTUS_KERNEL_MEMORY));
    work.result = 2.0;
    ictusi_workload_do(&work, 1000);
    CHECK_NEAR(units_done(&work), 1000, 0.01);
    ictusi_workload_do(&work, 0);
    ictusi_workload_do(&work, LINES);
    CHECK_NEAR(units_done(&work), 1000 + LINES, 0.01);
    CHECK_NEAR(ictusi_workload_time(&work, &clock.base, 4000), 10000, 1);
    clock.hiccup_ns = 5e4; /* in one or two of seven runs, so the median is not affected */
    CHECK_NEAR(ictusi_workload_time(&work, &clock.base, 4000), 10000, 1);
    clock.hiccup_ns = 0.0;
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        work.result = 2.0;
        REQUIRE(!ictusi_workload_find(&work, &clock.base, targets[i], &units));
        CHECK_NEAR((double)units * 2.5, targets[i], fmax(0.006 * targets[i], 3));
    }
    /* The units take longer in total than in proportion, so they have to be searched for. */
    clock.read_ns = 2e5;
    work.result = 2.0;
    REQUIRE(!ictusi_workload_find(&work, &clock.base, 6e5, &units));
    CHECK_NEAR((double)units * 2.5, 4e5, 0.006 * 6e5);
    /* Never zero units. */
    work.result = 2.0;
    REQUIRE(!ictusi_workload_find(&work, &clock.base, 1.0, &units));
    CHECK(units >= 1);
    ictusi_workload_fini(&work);
    CHECK(!work.memory);
}

/* Twice the work must take about twice the time. */
static void disproportion_is_refused(void)
{
    struct workload work;
    struct work_clock clock = {{&work_clock_ops}, &work, 0.0, 1000.0, 0, 0.0};
    int64_t units = -1;
    REQUIRE(!ictusi_workload_init(&work, ICTUS_KERNEL_MEMORY));
    CHECK(ictusi_workload_find(&work, &clock.base, 1e6, &units) == ICTUS_ERR_CORRUPT);
    clock.read_ns = 0.0; /* the clock stands still */
    CHECK(ictusi_workload_find(&work, &clock.base, 1e6, &units) == ICTUS_ERR_CORRUPT);
    CHECK(units == -1);
    clock.unit_ns = 1.0; /* (400000 + r) / (200000 + r) = 1.4 or 1.2 */
    clock.read_ns = 300000.0;
    CHECK(ictusi_workload_find(&work, &clock.base, 1e6, &units) == ICTUS_OK);
    clock.read_ns = 800000.0;
    CHECK(ictusi_workload_find(&work, &clock.base, 1e6, &units) == ICTUS_ERR_CORRUPT);
    ictusi_workload_fini(&work);
}

int main(void)
{
    formulas();
    work_is_found(ICTUS_KERNEL_ARITHMETIC);
    work_is_found(ICTUS_KERNEL_MEMORY);
    work_is_counted(ICTUS_KERNEL_ARITHMETIC);
    work_is_counted(ICTUS_KERNEL_MEMORY);
    disproportion_is_refused();
    return check_result();
}
