/* SPDX-License-Identifier: BSD-3-Clause */
/* The tracer's threads, its switch and its log. */
#include "tracer/tracer.h"

#include "core/plain.h"
#include "tracer/metrics.h"
#include "tracer/openmp.h"
#include "tracer/real.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct tracer ictusi_tracer = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .log_lock = PTHREAD_MUTEX_INITIALIZER, .log_fd = -1};
__thread struct recorder *ictusi_tracer_self __attribute__((tls_model("initial-exec")));
__thread struct recorder *ictusi_tracer_active __attribute__((tls_model("initial-exec")));

/* Make a recorder of the process. One without a file belongs to its thread and ends with it. */
static struct recorder *recorder_make(struct tracer *t)
{
    const uint64_t window = ictusi_settings_window(&t->settings, t->windows_left);
    struct recorder *r = t->recorder_count < TRACER_THREADS_MAX
                             ? ictusi_recorder_create(&t->setup, t->recorder_count, window)
                             : ictusi_recorder_create_bare(&t->setup);
    if (r && !(r->after & AFTER_FULL)) {
        t->windows_left -= window < t->windows_left ? window : t->windows_left;
        t->recorders[t->recorder_count++] = r;
    } else if (r) {
        r->next_bare = t->bare;
        t->bare = r;
    }
    return r;
}

/* Free a recorder without a file. Only the number of its lost calls is kept. */
static void recorder_drop_bare(struct tracer *t, struct recorder *r)
{
    (void)pthread_mutex_lock(&t->lock);
    struct recorder **link = &t->bare;
    while (*link && *link != r) {
        link = &(*link)->next_bare;
    }
    if (*link) {
        *link = r->next_bare;
    }
    t->lost += r->lost;
    (void)pthread_mutex_unlock(&t->lock);
    ictusi_recorder_free(r);
}

uint64_t ictusi_tracer_count_lost(struct tracer *t)
{
    (void)pthread_mutex_lock(&t->lock);
    uint64_t lost = t->lost;
    for (uint32_t i = 0; i < t->recorder_count; i++) {
        lost += t->recorders[i]->lost;
    }
    for (const struct recorder *r = t->bare; r; r = r->next_bare) {
        lost += r->lost;
    }
    (void)pthread_mutex_unlock(&t->lock);
    return lost;
}

/* Take over the recorder of a thread that has ended, or make one. */
static struct recorder *recorder_claim(void)
{
    struct tracer *t = &ictusi_tracer;
    (void)pthread_mutex_lock(&t->lock);
    struct recorder *r = t->spare_count > 0 ? t->spare[--t->spare_count] : recorder_make(t);
    (void)pthread_mutex_unlock(&t->lock);
    return r;
}

struct recorder *ictusi_tracer_join(void)
{
    struct tracer *t = &ictusi_tracer;
    if (ictusi_tracer_self ||
        atomic_load_explicit(&t->state, memory_order_acquire) != TRACER_RUNNING) {
        return NULL;
    }
    struct recorder *r = recorder_claim();
    if (!r) {
        return NULL;
    }
    r->enabled = r->muted ? t->tracked : t->enabled;
    ictusi_tracer_metrics_join(r);
    ictusi_tracer_self = r;
    ictusi_tracer_active = r;
    (void)pthread_setspecific(t->key, r);
    return r;
}

/*
 * A recorder with a file is kept for the next thread, so that a program that keeps starting threads
 * does not get as many files. A recorder without a file is freed.
 */
void ictusi_tracer_thread_ended(void *recorder)
{
    struct tracer *t = &ictusi_tracer;
    struct recorder *r = recorder;
    ictusi_tracer_self = NULL;
    ictusi_tracer_active = NULL;
    ictusi_tracer_metrics_leave(r);
    r->member = NULL;
    if ((r->after & AFTER_FULL) && !r->window) {
        recorder_drop_bare(t, r);
        return;
    }
    (void)pthread_mutex_lock(&t->lock);
    t->spare[t->spare_count++] = r;
    (void)pthread_mutex_unlock(&t->lock);
}

void ictusi_tracer_unusual(struct recorder *r, unsigned function)
{
    _Atomic uint8_t *wanted = &ictusi_tracer.enabled[function];
    const uint8_t now = atomic_load_explicit(wanted, memory_order_relaxed);
    if (now == FILTER_HIDDEN) {
        ictusi_recorder_divert(r, AFTER_HIDDEN);
    } else if (now == FILTER_FRESH) {
        /* Two threads may both log it, which does no harm. */
        ictusi_tracer_log("F\t%u", function);
        atomic_store_explicit(wanted, FILTER_ON, memory_order_relaxed);
    }
}

void ictusi_tracer_after(struct recorder *r)
{
    if ((r->after & AFTER_DIVERTED) == AFTER_FULL) {
        r->lost++;
    }
    if (r->after & AFTER_HIDDEN) {
        ictusi_recorder_resume(r, AFTER_HIDDEN);
    } else if (r->after & AFTER_DIVERTED) {
        recorder_scratch(r);
    } else {
        ictusi_tracer_metrics_sample(r);
    }
}

/*
 * Each thread writes a mark of its own before the first call that it no longer records, or records
 * again. Only this shows a reader which of the thread's calls may be missing.
 */
void ictusi_tracer_switched(struct recorder *r, bool muted)
{
    struct tracer *t = &ictusi_tracer;
    if (muted) {
        ictusi_openmp_muted(r);
        recorder_make_room(r);
        recorder_timed(r, RECORD_OFF, OFF_ASKED, recorder_ticks(r));
        ictusi_recorder_divert(r, AFTER_MUTED);
    } else {
        ictusi_recorder_resume(r, AFTER_MUTED);
        recorder_make_room(r);
        recorder_timed(r, RECORD_ON, 0, recorder_ticks(r));
    }
    r->enabled = muted ? t->tracked : t->enabled;
    r->muted = muted;
}

/* Other threads notice the change before their next call. */
void ictusi_tracer_mute(bool muted)
{
    atomic_store(&ictusi_tracer.muted, muted);
    /* Within a call, as from a callback, the thread notices it at its next call. */
    if (ictusi_tracer_active) {
        trace_notice_switch(ictusi_tracer_active);
    }
}

/* Keep text until there is a file, or room on its disk. */
static void tracer_log_keep(struct tracer *t, const char *text, size_t length)
{
    char *all = realloc(t->kept_log, t->kept_bytes + length);
    if (all) {
        memcpy(all + t->kept_bytes, text, length);
        t->kept_log = all;
        t->kept_bytes += length;
    }
}

/* Beyond the limit on file sizes (RLIMIT_FSIZE) the kernel would end the program by SIGXFSZ. */
static bool tracer_log_may_grow(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

/*
 * Other files or the events may fill the disk at any time. The log's last lines say what the last
 * events mean and how many calls were lost, so space for them is reserved in advance. If that
 * fails, the line itself may still fit.
 */
static void tracer_log_reserve(struct tracer *t)
{
    enum { LOG_AHEAD = 8192 };
    const uint64_t wanted = t->log_bytes + LOG_AHEAD;
    if (t->log_bytes + LOG_AHEAD / 2 > t->log_reserved && tracer_log_may_grow(wanted) &&
        fallocate(t->log_fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)wanted) == 0) {
        t->log_reserved = wanted;
    }
}

/* @return the number of bytes written */
static size_t tracer_log_write(struct tracer *t, const char *text, size_t length)
{
    if (t->log_fd < 0 || !tracer_log_may_grow(t->log_bytes + length)) {
        return 0;
    }
    tracer_log_reserve(t);
    const ssize_t done = write(t->log_fd, text, length);
    t->log_bytes += done < 0 ? 0 : (uint64_t)done;
    return done < 0 ? 0 : (size_t)done;
}

/*
 * A line that finds no room is kept, and is written before any later line. There is one write for
 * each line, so that a killed process leaves whole lines.
 */
static void tracer_log_line(struct tracer *t, const char *text, size_t length)
{
    (void)pthread_mutex_lock(&t->log_lock);
    if (t->kept_bytes) {
        const size_t done = tracer_log_write(t, t->kept_log, t->kept_bytes);
        t->kept_bytes -= done;
        memmove(t->kept_log, t->kept_log + done, t->kept_bytes);
    }
    const size_t done = t->kept_bytes ? 0 : tracer_log_write(t, text, length);
    if (done < length) {
        tracer_log_keep(t, text + done, length - done);
    }
    (void)pthread_mutex_unlock(&t->log_lock);
}

/* text has room for the end of its line. */
static void tracer_log_end_line(char *text, int length)
{
    text[length] = '\n';
    tracer_log_line(&ictusi_tracer, text, (size_t)length + 1);
}

void ictusi_tracer_log(const char *format, ...)
{
    char small[1024];
    va_list list;
    va_start(list, format);
    const struct plain plain = plain_begin();
    const int length = vsnprintf(small, sizeof(small) - 1, format, list);
    plain_end(&plain);
    va_end(list);
    if (length < 0 || ictusi_tracer.forked) {
        return;
    }
    if ((size_t)length < sizeof(small) - 1) {
        tracer_log_end_line(small, length);
        return;
    }
    char *large = malloc((size_t)length + 2);
    if (large) {
        va_start(list, format);
        const struct plain again = plain_begin();
        (void)vsnprintf(large, (size_t)length + 1, format, list);
        plain_end(&again);
        va_end(list);
        tracer_log_end_line(large, length);
        free(large);
    }
}

void ictusi_tracer_say(const char *format, ...)
{
    char text[1024];
    va_list list;
    const struct plain plain = plain_begin();
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    plain_end(&plain);
    if (ictusi_tracer.speaks) {
        (void)fprintf(stderr, "ictus trace: %s\n", text);
    }
}

bool ictusi_tracer_refused(int err)
{
    static const int refusals[] = {
        MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE,     MPI_ERR_TAG,      MPI_ERR_COMM,
        MPI_ERR_RANK,   MPI_ERR_ROOT,  MPI_ERR_GROUP,    MPI_ERR_OP,       MPI_ERR_TOPOLOGY,
        MPI_ERR_ARG,    MPI_ERR_WIN,   MPI_ERR_DISP,     MPI_ERR_LOCKTYPE, MPI_ERR_RMA_SYNC,
        MPI_ERR_ASSERT, MPI_ERR_INFO,  MPI_ERR_RMA_RANGE};
    int class = MPI_SUCCESS;
    if (REAL(Error_class)(err, &class) != MPI_SUCCESS) {
        return false;
    }
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        if (class == refusals[i]) {
            return true;
        }
    }
    return false;
}
