/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of reading the global clock relative to clock_gettime: ratios of medians over
 * interleaved batches of one run. Goals: at most 1.3 for a global clock on monotonic, and at most
 * 0.7 on tsc. Linked with the shared library, as a user's program is.
 */
#include <ictus/clock.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 301, READS = 2000, CASES_MAX = 8 };

struct one {
    const char *name;
    struct ictus_clock *clock; /* NULL: clock_gettime(CLOCK_MONOTONIC) */
    double goal;
    double ns[ROUNDS];
};

static int64_t monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
}

static int64_t sink; /* so that no reading is optimised away */

static double batch_ns(const struct one *one)
{
    int64_t sum = 0;
    const int64_t start = monotonic_ns();
    if (one->clock) {
        for (int i = 0; i < READS; i++) {
            sum += ictus_clock_now(one->clock).ns;
        }
    } else {
        for (int i = 0; i < READS; i++) {
            sum += monotonic_ns();
        }
    }
    const int64_t end = monotonic_ns();
    sink ^= sum;
    return (double)(end - start) / READS;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), compare_doubles);
    return values[ROUNDS / 2];
}

static bool add(struct one *cases, int *n, const char *name, const char *spec, double goal)
{
    struct ictus_why why = {""};
    cases[*n] = (struct one){.name = name, .goal = goal};
    if (spec && ictus_clock_create_why(MPI_COMM_WORLD, spec, &cases[*n].clock, &why)) {
        printf("# %s: %s\n", spec, why.text);
        return false;
    }
    (*n)++;
    return true;
}

int main(int argc, char **argv)
{
    static struct one cases[CASES_MAX];
    int n = 0;
    int missed = 0;
    MPI_Init(&argc, &argv);
    add(cases, &n, "clock_gettime", NULL, 0);
    add(cases, &n, "global clock on monotonic", "@monotonic", 1.3);
    add(cases, &n, "global clock on monotonic_raw", "@monotonic_raw", 0);
    add(cases, &n, "global clock on wtime", "@wtime", 0);
    add(cases, &n, "global clock on tsc", "@tsc", 0.7);
    add(cases, &n, "global clock on sim", "@sim:offset=1s,drift=10ppm", 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n; i++) {
            cases[i].ns[round] = batch_ns(&cases[i]);
        }
    }
    const double base = median(cases[0].ns);
    printf("%-32s %10s %10s %8s\n", "read", "ns", "ratio", "goal");
    for (int i = 0; i < n; i++) {
        const double ns = i ? median(cases[i].ns) : base;
        const bool late = cases[i].goal > 0 && ns / base > cases[i].goal;
        missed += late ? 1 : 0;
        char goal[16] = "-";
        if (cases[i].goal > 0) {
            (void)snprintf(goal, sizeof(goal), "%.2f", cases[i].goal);
        }
        printf("%-32s %10.2f %10.3f %8s%s\n", cases[i].name, ns, ns / base, goal,
               late ? "  missed" : "");
        ictus_clock_free(cases[i].clock);
    }
    MPI_Finalize();
    return missed > 0;
}
