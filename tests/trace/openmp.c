/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams of OpenMP of different sizes, with barriers in which all wait for one thread, alone and
 * between calls of MPI; nested ones, and some that are switched off. Prints what a trace must hold:
 * records of each kind, and whom the barrier of which line waits for.
 */
#include "tracer/ompt_abi.h"

#include <mpi.h>
#include <omp-tools.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

_Static_assert((int)ompt_callback_parallel_begin == OMPT_PARALLEL_BEGIN &&
                   (int)ompt_callback_parallel_end == OMPT_PARALLEL_END &&
                   (int)ompt_callback_implicit_task == OMPT_IMPLICIT_TASK &&
                   (int)ompt_callback_sync_region == OMPT_SYNC_REGION,
               "callbacks");
_Static_assert((int)ompt_scope_begin == OMPT_SCOPE_BEGIN && (int)ompt_scope_end == OMPT_SCOPE_END,
               "scopes");
_Static_assert((int)ompt_sync_region_barrier == OMPT_BARRIER &&
                   (int)ompt_sync_region_barrier_implicit == OMPT_BARRIER_IMPLICIT &&
                   (int)ompt_sync_region_barrier_explicit == OMPT_BARRIER_EXPLICIT &&
                   (int)ompt_sync_region_barrier_implementation == OMPT_BARRIER_IMPLEMENTATION &&
                   (int)ompt_sync_region_barrier_implicit_workshare == OMPT_BARRIER_WORKSHARE &&
                   (int)ompt_sync_region_barrier_implicit_parallel == OMPT_BARRIER_PARALLEL,
               "barriers");
_Static_assert((int)ompt_task_initial == OMPT_TASK_INITIAL &&
                   (unsigned)ompt_parallel_team == OMPT_PARALLEL_TEAM,
               "flags");
_Static_assert(sizeof(union ompt_word) == sizeof(ompt_data_t) &&
                   sizeof(struct ompt_tool) == sizeof(ompt_start_tool_result_t),
               "structures");

enum { ROUNDS = 20, LATE_US = 100000 };

/* What this process did, in records. */
struct counts {
    _Atomic long regions, teams, members, explicit_barriers, implicit_barriers;
};

static void count_region(struct counts *c)
{
    const int size = omp_get_num_threads();
    const int first = omp_get_thread_num() == 0;
    c->regions += 1;
    c->teams += first && size > 1;
    c->members += size > 1;
    c->implicit_barriers += size > 1; /* at its end */
}

/* Everybody waits for the last thread at this barrier, and for nobody at others. */
static int wait_for_last(struct counts *c)
{
    int line = 0;
#pragma omp parallel num_threads(3) shared(line)
    {
        count_region(c);
        if (omp_get_thread_num() == 2) {
            usleep(LATE_US);
        }
        c->explicit_barriers++;
        __atomic_store_n(&line, __LINE__ + 1, __ATOMIC_RELAXED);
#pragma omp barrier
    }
    return line;
}

static void take_turns(struct counts *c, int round)
{
    int sum = 0;
#pragma omp parallel num_threads(round % 3 + 1) shared(sum)
    {
        count_region(c);
        c->implicit_barriers += omp_get_num_threads() > 1;
#pragma omp for
        for (int i = 0; i < 64; i++) {
            (void)__atomic_fetch_add(&sum, i, __ATOMIC_RELAXED);
        }
    }
    int all = 0;
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void nest(struct counts *c)
{
#pragma omp parallel num_threads(2)
    {
        count_region(c);
#pragma omp parallel num_threads(2)
        {
            count_region(c);
            c->explicit_barriers++;
#pragma omp barrier
        }
    }
}

/* The first thread switches recording off and on between barriers, and leaves it off at times. */
static void toggle(int round)
{
#pragma omp parallel num_threads(3)
    {
        for (int i = 0; i < 4; i++) {
            if (omp_get_thread_num() == 0 && (round >> i & 1)) {
                MPI_Pcontrol(i % 2);
            }
            usleep(50U * (unsigned)omp_get_thread_num());
#pragma omp barrier
        }
    }
}

int main(int argc, char **argv)
{
    static struct counts c;
    static struct counts ignored;
    int provided = 0;
    int rank = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    omp_set_max_active_levels(2);
    omp_set_dynamic(0);
    for (int i = 0; i < ROUNDS; i++) {
        take_turns(&c, i);
    }
    for (int i = 0; argc > 1 && i < 2 * ROUNDS; i++) {
        toggle(i);
    }
    MPI_Pcontrol(0);
    take_turns(&ignored, 2);
    MPI_Pcontrol(1);
    const int line = wait_for_last(&c);
    nest(&c);
    take_turns(&c, 2);
    MPI_Finalize();
#pragma omp parallel num_threads(2)
    count_region(&ignored);
    (void)printf("rank %d line %d regions %ld teams %ld members %ld explicit %ld implicit %ld\n",
                 rank, line, c.regions, c.teams, c.members, c.explicit_barriers,
                 c.implicit_barriers);
    return 0;
}
