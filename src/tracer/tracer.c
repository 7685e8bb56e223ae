/* SPDX-License-Identifier: BSD-3-Clause */
/* The tracer's threads, its switch and its log. */
#include "tracer/tracer.h"

#include "core/plain.h"
#include "tracer/metrics.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tracer ictusi_tracer = {.lock = PTHREAD_MUTEX_INITIALIZER, .log_fd = -1};
__thread struct recorder *ictusi_trace_self __attribute__((tls_model("initial-exec")));
__thread struct recorder *ictusi_trace_active __attribute__((tls_model("initial-exec")));

/* Take over the recorder of a thread that has ended, or make one. */
static struct recorder *claim_recorder(void)
{
    struct tracer *t = &ictusi_tracer;
    struct recorder *r = NULL;
    (void)pthread_mutex_lock(&t->lock);
    if (t->spare_count > 0) {
        r = t->spare[--t->spare_count];
    } else if (t->recorder_count < TRACER_THREADS_MAX) {
        const uint64_t window = ictusi_settings_window(&t->settings, t->windows_left);
        r = ictusi_recorder_create(&t->setup, t->recorder_count, window);
        if (r) {
            t->windows_left -= window < t->windows_left ? window : t->windows_left;
            t->recorders[t->recorder_count++] = r;
        }
    }
    (void)pthread_mutex_unlock(&t->lock);
    return r;
}

struct recorder *ictusi_trace_join(void)
{
    struct tracer *t = &ictusi_tracer;
    if (ictusi_trace_self ||
        atomic_load_explicit(&t->state, memory_order_acquire) != TRACER_RUNNING) {
        return NULL;
    }
    struct recorder *r = claim_recorder();
    if (!r) {
        return NULL;
    }
    const bool muted = atomic_load(&t->muted);
    r->enabled = muted ? t->tracked : t->enabled;
    r->after = muted ? AFTER_MUTED : 0;
    ictusi_metrics_join(r);
    ictusi_trace_self = r;
    ictusi_trace_active = r;
    (void)pthread_setspecific(t->key, r);
    return r;
}

void ictusi_trace_thread_ended(void *recorder)
{
    struct tracer *t = &ictusi_tracer;
    ictusi_trace_self = NULL;
    ictusi_trace_active = NULL;
    ictusi_metrics_leave(recorder);
    (void)pthread_mutex_lock(&t->lock);
    t->spare[t->spare_count++] = recorder;
    (void)pthread_mutex_unlock(&t->lock);
}

void ictusi_trace_unusual(struct recorder *r, unsigned function)
{
    uint8_t *wanted = &ictusi_tracer.enabled[function];
    if (*wanted == FILTER_HIDDEN) {
        r->after |= AFTER_HIDDEN;
    } else if (*wanted == FILTER_FRESH) {
        /* Two threads may log it at once; that does no harm. */
        ictusi_trace_log("F\t%u", function);
        *wanted = FILTER_ON;
    }
}

/* Unwrite what a muted call wrote; the words must be zero again for the end to be found. */
static void take_back(struct recorder *r)
{
    uint64_t *from = r->mark;
    if (from < r->window || from > r->pos) {
        from = r->window;
    }
    memset(from, 0, (size_t)(r->pos - from) * sizeof(*from));
    r->pos = from;
    r->open = NULL;
}

void ictusi_trace_after(struct recorder *r)
{
    if (r->after & (AFTER_MUTED | AFTER_HIDDEN)) {
        take_back(r);
        r->after &= (uint8_t)~AFTER_HIDDEN;
    } else if (r->after & AFTER_SAMPLE) {
        ictusi_metrics_sample(r);
    }
}

void ictusi_trace_mute(bool muted)
{
    struct tracer *t = &ictusi_tracer;
    struct recorder *r = ictusi_trace_self;
    if (atomic_exchange(&t->muted, muted) == muted) {
        return;
    }
    if (r && recorder_ready(r)) {
        recorder_timed(r, muted ? RECORD_OFF : RECORD_ON, OFF_ASKED, recorder_ticks(r));
    }
    (void)pthread_mutex_lock(&t->lock);
    for (uint32_t i = 0; i < t->recorder_count; i++) {
        struct recorder *one = t->recorders[i];
        one->enabled = muted ? t->tracked : t->enabled;
        const unsigned kept = one->after & (unsigned)~AFTER_MUTED;
        one->after = (uint8_t)(kept | (muted ? AFTER_MUTED : 0));
    }
    (void)pthread_mutex_unlock(&t->lock);
}

/* Keep a line for when there is a file. */
static void log_early(const char *text, size_t length)
{
    struct tracer *t = &ictusi_tracer;
    (void)pthread_mutex_lock(&t->lock);
    char *all = realloc(t->early_log, t->early_bytes + length);
    if (all) {
        memcpy(all + t->early_bytes, text, length);
        t->early_log = all;
        t->early_bytes += length;
    }
    (void)pthread_mutex_unlock(&t->lock);
}

void ictusi_trace_log(const char *format, ...)
{
    char small[1024];
    char *text = small;
    va_list list;
    va_start(list, format);
    const struct plain plain = plain_begin();
    const int length = vsnprintf(small, sizeof(small) - 1, format, list);
    plain_end(&plain);
    va_end(list);
    if (length < 0 || ictusi_tracer.forked) {
        return;
    }
    if ((size_t)length >= sizeof(small) - 1) {
        text = malloc((size_t)length + 2);
        if (!text) {
            return;
        }
        va_start(list, format);
        const struct plain again = plain_begin();
        (void)vsnprintf(text, (size_t)length + 1, format, list);
        plain_end(&again);
        va_end(list);
    }
    text[length] = '\n';
    /* One write a line: lines of different threads do not mix, and a kill leaves whole ones. */
    if (ictusi_tracer.log_fd < 0) {
        log_early(text, (size_t)length + 1);
    } else if (write(ictusi_tracer.log_fd, text, (size_t)length + 1) < 0) {
        atomic_store(&ictusi_tracer.log_failed, true);
    }
    if (text != small) {
        free(text);
    }
}

void ictusi_trace_say(const char *format, ...)
{
    char text[1024];
    va_list list;
    const struct plain plain = plain_begin();
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    plain_end(&plain);
    if (ictusi_tracer.rank == 0) {
        (void)fprintf(stderr, "ictus trace: %s\n", text);
    }
}
