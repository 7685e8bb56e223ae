/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into MPICH jobs with more processes than cores. MPICH (ch4:ucx) waits by polling and
 * never yields, so a waiting process keeps the core from the process it waits for until its time
 * slice ends: 8 ms per barrier with 4 processes on 2 cores. Yielding after a poll that found
 * nothing brings this to 10 us. A yield affects only processes in the same scheduling group, and
 * Linux groups processes by session (autogroup). So this is also preloaded into MPICH's launcher,
 * where it keeps the processes in one session.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "yield.h"

/*
 * The build hides symbols by default; these must be found before those of libucp and of the C
 * library.
 */
#define VISIBLE __attribute__((visibility("default")))

VISIBLE unsigned ucp_worker_progress(void *worker);

static _Atomic uintptr_t last_worker;

unsigned ucp_worker_progress(void *worker)
{
    static _Atomic uintptr_t found;
    atomic_store_explicit(&last_worker, (uintptr_t)worker, memory_order_relaxed);
    uintptr_t address = atomic_load_explicit(&found, memory_order_relaxed);
    if (!address) {
        address = (uintptr_t)dlsym(RTLD_NEXT, "ucp_worker_progress");
        atomic_store_explicit(&found, address, memory_order_relaxed);
    }
    const unsigned events = ((unsigned (*)(void *))address)(worker);
    if (events == 0) {
        (void)sched_yield();
    }
    return events;
}

bool test_poll_again(void)
{
    const uintptr_t worker = atomic_load_explicit(&last_worker, memory_order_relaxed);
    if (worker) {
        (void)ucp_worker_progress((void *)worker);
    }
    return worker != 0;
}

/* All the launcher needs is a process group, to signal a process and its children. */
VISIBLE pid_t setsid(void)
{
    return setpgid(0, 0) == 0 ? getpid() : -1;
}
