/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a reading of the locked clock costs against clock_gettime, interleaved in one run.
 *   reading [NAME [DIRECTORY]]
 */
#include <ictus/lock.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 200, READS = 20000, KINDS = 4 };

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int64_t read_kind(const struct ictus_lock *lock, int kind)
{
    struct timespec t;
    struct ictus_lock_reading r;
    switch (kind) {
    case 0:
        (void)clock_gettime(CLOCK_REALTIME, &t);
        return t.tv_nsec;
    case 1:
        (void)clock_gettime(CLOCK_MONOTONIC_RAW, &t);
        return t.tv_nsec;
    case 2:
        (void)ictus_lock_now(lock, &r);
        return r.time.ns;
    default:
        return ictus_lock_time(lock).ns;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double cost[KINDS][ROUNDS];
    static const char *const names[KINDS] = {"clock_gettime(CLOCK_REALTIME)",
                                             "clock_gettime(CLOCK_MONOTONIC_RAW)", "ictus_lock_now",
                                             "ictus_lock_time"};
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    volatile int64_t sink = 0;
    (void)sink;
    if (ictus_lock_open(argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL, &lock, &why)) {
        (void)fprintf(stderr, "reading: %s\n", why.text);
        return 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int kind = 0; kind < KINDS; kind++) {
            const double start = now_s();
            for (int i = 0; i < READS; i++) {
                sink += read_kind(lock, kind);
            }
            cost[kind][round] = (now_s() - start) / READS * 1e9;
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        qsort(cost[kind], ROUNDS, sizeof(double), ascending);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        printf("%-36s %6.1f ns, ratio %.2f\n", names[kind], cost[kind][ROUNDS / 2],
               cost[kind][ROUNDS / 2] / cost[0][ROUNDS / 2]);
    }
    ictus_lock_close(lock);
    return 0;
}
