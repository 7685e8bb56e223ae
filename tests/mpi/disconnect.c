/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into MPICH jobs together with tests/mpi/yield.c. In MPI_Finalize, MPICH 4.0 (ch4:ucx)
 * closes its connections and polls until that is done. It then waits for the other processes
 * without polling any more. Over TCP, closing may need the peer to poll, so now and then a job with
 * nothing but MPI_Init and MPI_Finalize never ends. This gives each close a limited time; what it
 * would have released ends with the process.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "yield.h"

enum { UCS_INPROGRESS = 1 };
static const double PATIENCE_S = 0.5;

__attribute__((visibility("default"))) void *ucp_disconnect_nb(void *endpoint);

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*
 * NULL means done. Errors are small negative numbers, and anything else is a request in progress.
 */
void *ucp_disconnect_nb(void *endpoint)
{
    void *(*const disconnect)(void *) =
        (void *(*)(void *))(uintptr_t)dlsym(RTLD_NEXT, "ucp_disconnect_nb");
    int (*const status)(void *) =
        (int (*)(void *))(uintptr_t)dlsym(RTLD_NEXT, "ucp_request_check_status");
    void (*const release)(void *) =
        (void (*)(void *))(uintptr_t)dlsym(RTLD_NEXT, "ucp_request_free");
    void *request = disconnect(endpoint);
    if (!request || (intptr_t)request < 0) {
        return NULL;
    }
    const double until = now_s() + PATIENCE_S;
    while (status(request) == UCS_INPROGRESS && now_s() < until) {
        if (!test_poll_again()) {
            break;
        }
    }
    release(request);
    return NULL;
}
