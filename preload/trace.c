/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libictus-trace.so: where the tracer meets the program. MPI's entry and exit, the switch, and what
 * the process itself goes through. All other wrappers are made from src/tracer/mpi.table.
 *
 * Both MPI_X and PMPI_X are put in front of the library's: the Fortran bindings of Open MPI and
 * some of MPICH call PMPI_X, so that C and Fortran callers are seen alike and once.
 */
#include "behind.h"
#include "library.h"
#include "speaker.h"

#include "trace/tallies_mpi.h"
#include "trace/write_mpi.h"
#include "tracer/comms.h"
#include "tracer/real.h"
#include "tracer/sessions.h"
#include "tracer/tracer.h"

#include <ictus/api.h>
#include <ictus/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

PRELOAD_BEHIND(MPI_Pcontrol)
PRELOAD_BEHIND(PMPI_Pcontrol)

/* MPI_Init has returned. A tool after us that calls PMPI_Init has brought us here already. */
static void trace_start(const struct begin_call *call, int err)
{
    ictusi_sessions_opened(err);
    preload_tell_variables("ictus trace");
    if (err != MPI_SUCCESS || !ictusi_settings_wanted()) {
        return;
    }
    if (!ictusi_tracer_start(call) && ictusi_tracer.in_sessions) {
        (void)ictusi_comms_start(); /* MPI_COMM_WORLD exists from here on */
    }
}

static int trace_init(int (*real)(int *, char ***), int *argc, char ***argv, const void *from)
{
    const struct begin_call call = {FUNCTION_MPI_Init, from, ictusi_tracer_stamp(), MPI_COMM_WORLD,
                                    false};
    ictusi_sessions_enter();
    const int err = real(argc, argv);
    trace_start(&call, err);
    return err;
}

static int trace_init_thread(int (*real)(int *, char ***, int, int *), int *argc, char ***argv,
                             int required, int *provided, const void *from)
{
    const struct begin_call call = {FUNCTION_MPI_Init_thread, from, ictusi_tracer_stamp(),
                                    MPI_COMM_WORLD, false};
    ictusi_sessions_enter();
    const int err = real(argc, argv, required, provided);
    trace_start(&call, err);
    return err;
}

ICTUS_API int MPI_Init(int *argc, char ***argv)
{
    return trace_init(ictusi_real.Init, argc, argv, SITE_FROM());
}

ICTUS_API int PMPI_Init(int *argc, char ***argv)
{
    return trace_init(ictusi_real.P_Init, argc, argv, SITE_FROM());
}

ICTUS_API int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return trace_init_thread(ictusi_real.Init_thread, argc, argv, required, provided, SITE_FROM());
}

ICTUS_API int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return trace_init_thread(ictusi_real.P_Init_thread, argc, argv, required, provided,
                             SITE_FROM());
}

static void trace_finish(const void *from)
{
    const struct trace_settings *settings = &ictusi_tracer.settings;
    if (!ictusi_tracer_finish(from)) {
        return;
    }
    if (settings->defer) {
        ictusi_write_deferred(&ictusi_tracer);
    } else if (settings->statistics) {
        ictusi_tallies_write(&ictusi_tracer);
    } else {
        ictusi_write_parallel(&ictusi_tracer);
    }
    ictusi_tracer_release();
}

static int trace_finalize(int (*real)(void), const void *from)
{
    trace_finish(from);
    ictusi_sessions_closing();
    const int err = real();
    ictusi_sessions_closed(err);
    return err;
}

ICTUS_API int MPI_Finalize(void)
{
    return trace_finalize(ictusi_real.Finalize, SITE_FROM());
}

ICTUS_API int PMPI_Finalize(void)
{
    return trace_finalize(ictusi_real.P_Finalize, SITE_FROM());
}

ICTUS_API int MPI_Abort(MPI_Comm comm, int errorcode)
{
    ictusi_tracer_lost("MPI_Abort");
    return ictusi_real.Abort(comm, errorcode);
}

ICTUS_API int PMPI_Abort(MPI_Comm comm, int errorcode)
{
    ictusi_tracer_lost("MPI_Abort");
    return ictusi_real.P_Abort(comm, errorcode);
}

/*
 * 0 switches recording off, other levels switch it on (MPI 4.0, 15.2.4). What else the program
 * hands over is meant for no tool in particular; another one gets the level alone.
 */
ICTUS_API int MPI_Pcontrol(const int level, ...)
{
    ictusi_tracer_mute(level == 0);
    return behind_MPI_Pcontrol()(level);
}

ICTUS_API int PMPI_Pcontrol(const int level, ...)
{
    ictusi_tracer_mute(level == 0);
    return behind_PMPI_Pcontrol()(level);
}

/* The windows are shared with the parent: a child must not write to them. */
static void trace_forked(void)
{
    atomic_store(&ictusi_tracer.state, TRACER_IDLE);
    ictusi_tracer_self = NULL;
    ictusi_tracer_active = NULL;
    ictusi_tracer.log_fd = -1;
    ictusi_tracer.forked = true;
}

/* A program that is linked with another MPI library is refused before it does anything. */
__attribute__((constructor)) static void trace_loaded(void)
{
    preload_refuse_other("trace");
    ictusi_real_load();
    ictusi_tracer.comm = MPI_COMM_NULL;
    ictusi_tracer.world = MPI_GROUP_NULL;
#ifdef MPI_SESSION_NULL
    ictusi_tracer.session = MPI_SESSION_NULL;
#endif
    atomic_store(&ictusi_tracer.next_region, REGION_USER + 1);
    atomic_store(&ictusi_tracer.next_metric, METRIC_CLASS_USER);
    (void)pthread_atfork(NULL, NULL, trace_forked);
}

__attribute__((destructor)) static void trace_unloaded(void)
{
    const char *started = getenv("ICTUS_TRACE_PID");
    int64_t pid = 0;
    if (ictusi_tracer.forked) {
        return;
    }
    if (ictusi_sessions_over()) {
        ictusi_write_last(&ictusi_tracer);
    }
    ictusi_tracer_lost(ictusi_tracer.in_sessions ? "ended with an open session"
                                                 : "ended without MPI_Finalize");
    if (ictusi_settings_wanted() && started && ictus_parse_int(started, &pid) == ICTUS_OK &&
        pid == getpid() && !atomic_load(&ictusi_tracer.claimed) && preload_speaks()) {
        (void)fprintf(stderr, "ictus trace: nothing was recorded: the program never called "
                              "MPI_Init, nor made a communicator of all processes from a "
                              "session\n");
    }
}
