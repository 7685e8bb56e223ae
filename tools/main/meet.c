/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping together. */
#include "main/meet.h"

#include "main/interrupt.h"

#include <mpi.h>
#include <time.h>

enum { NAP_NS = 200000 };
#define NAP_MAX_S 0.05 /* how late a signal may be heard */

void meet_all(void)
{
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = NAP_NS};
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done;
         MPI_Test(&request, &done, MPI_STATUS_IGNORE)) {
        (void)nanosleep(&nap, NULL);
    }
}

double meet_now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void meet_sleep_until(double deadline_s)
{
    for (double left = deadline_s - meet_now_s(); left > 0.0 && !interrupt_here();
         left = deadline_s - meet_now_s()) {
        const double nap_s = left < NAP_MAX_S ? left : NAP_MAX_S;
        const struct timespec nap = {.tv_sec = 0, .tv_nsec = (long)(nap_s * 1e9)};
        (void)nanosleep(&nap, NULL);
    }
}
