/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for all processes while sleeping. */
#include "main/meet.h"

#include "main/interrupt.h"

#include <math.h>
#include <mpi.h>
#include <time.h>

enum { NAP_NS = 200000 };
#define NAP_MAX_S 0.05 /* longest delay until a signal is noticed */
#define TELL_EVERY_S 5.0

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

void meet_sleep_telling(double deadline_s, struct progress *progress, double done, double more,
                        const char *label)
{
    const double all_s = deadline_s - meet_now_s();
    for (double left_s = all_s; left_s > TELL_EVERY_S && !interrupt_here();) {
        meet_sleep_until(meet_now_s() + TELL_EVERY_S);
        left_s = deadline_s - meet_now_s();
        progress_step(progress, done + more * fmin(1.0, 1.0 - left_s / all_s), label);
    }
    meet_sleep_until(deadline_s);
    progress_hide(progress);
}
