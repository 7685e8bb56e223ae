/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts what keeps MPI open, and holds a session of the tracer's own besides the program's. */
#include "tracer/sessions.h"

#include "sync/clock.h"
#include "tracer/comms.h"
#include "tracer/real.h"
#include "tracer/tracer.h"

#ifdef MPI_SESSION_NULL

/*
 * MPI libraries may open sessions of their own within calls. The depth distinguishes the program's
 * calls from those.
 */
static __thread unsigned sessions_depth __attribute__((tls_model("initial-exec")));

void ictusi_sessions_enter(void)
{
    sessions_depth++;
}

static const char all_processes[] = "mpi://WORLD";

/*
 * Open a session for the group by which the archive numbers processes. The group must not come from
 * a session of the program, which may end long before the last one. Local.
 */
static void sessions_attach(struct tracer *t)
{
    if (REAL(Session_init)(MPI_INFO_NULL, MPI_ERRORS_RETURN, &t->session) != MPI_SUCCESS) {
        t->session = MPI_SESSION_NULL;
        return;
    }
    (void)REAL(Group_from_session_pset)(t->session, all_processes, &t->world);
}

/*
 * MPI is finalized in the process when no session is open, so the tracer's must not be the last.
 * Local.
 */
static void sessions_detach(struct tracer *t)
{
    if (t->session != MPI_SESSION_NULL) {
        (void)REAL(Group_free)(&t->world);
        (void)REAL(Session_finalize)(&t->session);
        t->session = MPI_SESSION_NULL;
    }
}

/*
 * The number of processes in the job, as far as the launcher has told this process. Local. A
 * communicator with fewer processes must not start the tracer, because it would wait for the others
 * forever.
 */
static int sessions_count_processes(void)
{
    int size = 0;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Session session = MPI_SESSION_NULL;
    if (REAL(Session_init)(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) {
        return 0;
    }
    if (REAL(Group_from_session_pset)(session, all_processes, &group) == MPI_SUCCESS) {
        (void)REAL(Group_size)(group, &size);
        (void)REAL(Group_free)(&group);
    }
    (void)REAL(Session_finalize)(&session);
    return size;
}

/* The processes are numbered as in the set, whatever their order in `all`. */
void ictusi_sessions_meet(MPI_Comm all)
{
    struct tracer *t = &ictusi_tracer;
    int rank = 0;
    t->in_sessions = true;
    t->multiple = true; /* the thread level of each session is not known */
    sessions_attach(t);
    (void)REAL(Group_rank)(t->world, &rank);
    (void)REAL(Comm_split)(all, 0, rank, &t->comm);
}

/* The clock was synchronised while all processes were together, which may never happen again. */
void ictusi_sessions_settle(bool begun)
{
    struct tracer *t = &ictusi_tracer;
    if (!t->in_sessions) {
        return;
    }
    struct recorder *const was = ictusi_tracer_active;
    ictusi_tracer_active = NULL; /* the clock's own calls are not the program's */
    if (begun) {
        ictusi_clock_settle(t->clock);
    } else {
        ictus_clock_free(t->clock);
        t->clock = NULL;
    }
    ictusi_tracer_active = was;
    t->sweeps = false;
    (void)REAL(Comm_free)(&t->comm);
    if (!begun) {
        sessions_detach(t);
        t->in_sessions = false;
    }
}

/*
 * A call has returned, after which one more session is open than counted before, or not. Only the
 * outermost call counts; calls that MPI makes within it do not. Locked, because several threads may
 * open and close sessions. The tracer's own session is opened with the program's first one, because
 * MPI may have been finalized and started again in between.
 */
static void sessions_return(bool one_more)
{
    struct tracer *t = &ictusi_tracer;
    if (--sessions_depth > 0 || !one_more) {
        return;
    }
    (void)pthread_mutex_lock(&t->lock);
    if (t->sessions_open++ == 0 && t->in_sessions) {
        sessions_attach(t);
    }
    (void)pthread_mutex_unlock(&t->lock);
}

void ictusi_sessions_opened(int err)
{
    sessions_return(err == MPI_SUCCESS);
}

void ictusi_sessions_closing(void)
{
    struct tracer *t = &ictusi_tracer;
    if (sessions_depth++ > 0) {
        return;
    }
    (void)pthread_mutex_lock(&t->lock);
    if (--t->sessions_open == 0 && t->in_sessions) {
        sessions_detach(t);
    }
    (void)pthread_mutex_unlock(&t->lock);
}

/* It was counted as closed before the call. If the call failed, it is still open. */
void ictusi_sessions_closed(int err)
{
    sessions_return(err != MPI_SUCCESS);
}

/*
 * Tracing begins at the first communicator of all processes, because there they can be
 * synchronised.
 */
void ictusi_sessions_made(struct begin_call begin, int err, const MPI_Comm *comm, const char *text)
{
    int size = 0;
    int inter = 0;
    if (err != MPI_SUCCESS || *comm == MPI_COMM_NULL || !ictusi_settings_wanted()) {
        return;
    }
    (void)REAL(Comm_size)(*comm, &size);
    (void)REAL(Comm_test_inter)(*comm, &inter);
    if (inter || size != sessions_count_processes()) {
        return;
    }
    begin.all = *comm;
    begin.sessions = true;
    if (ictusi_tracer_start(&begin)) {
        ictusi_comm_text(*comm, text);
    }
}

#else /* a library without sessions */

void ictusi_sessions_meet(MPI_Comm all)
{
    (void)all;
}

void ictusi_sessions_settle(bool begun)
{
    (void)begun;
}

void ictusi_sessions_enter(void)
{
}

void ictusi_sessions_opened(int err)
{
    (void)err;
}

void ictusi_sessions_closing(void)
{
}

void ictusi_sessions_closed(int err)
{
    (void)err;
}

#endif

bool ictusi_sessions_over(void)
{
    struct tracer *t = &ictusi_tracer;
    if (t->in_sessions && t->sessions_open == 0 && atomic_load(&t->state) == TRACER_RUNNING) {
        ictusi_tracer_end();
    }
    return t->in_sessions && t->ended;
}
