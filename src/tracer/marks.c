/* SPDX-License-Identifier: BSD-3-Clause */
/* Records the program's own events, regions and metrics. */
#include "tracer/tracer.h"

#include <ictus/trace.h>
#include <string.h>

enum { NUMBERS_MAX = 65535, NAME_MAX_BYTES = 200 };

/* Assign the next number of a kind, and log its name. */
static int mark_define(_Atomic uint32_t *next, char kind, const char *name, const char *more)
{
    char clean[NAME_MAX_BYTES + 1];
    size_t used = 0;
    for (; name && name[used] && used < NAME_MAX_BYTES; used++) {
        clean[used] = name[used];
        if (name[used] == '\n' || name[used] == '\t') {
            clean[used] = ' ';
        }
    }
    clean[used] = '\0';
    const uint32_t number = atomic_fetch_add(next, 1);
    if (number > NUMBERS_MAX) {
        return -1;
    }
    if (more) {
        ictusi_tracer_log("%c\t%u\t0\t%s\t%.40s", kind, number, clean, more);
    } else {
        ictusi_tracer_log("%c\t%u\t%s", kind, number, clean);
    }
    return (int)number;
}

ICTUS_API int ictus_event_define(const char *name)
{
    return mark_define(&ictusi_tracer.next_name, 'P', name, NULL);
}

static inline void marks_put_event(struct recorder *r, unsigned event, uint64_t value,
                                   uint64_t ticks)
{
    recorder_timed_words(r, RECORD_EVENT, event, ticks, &value, 1);
}

/*
 * Everything that calls other functions is kept out of the fast path, which then needs fewer saved
 * registers.
 */
static __attribute__((noinline, cold)) void event_slowly(int event, uint64_t value)
{
    struct recorder *r = trace_recorder();
    if (!r || event < 0 || event > NUMBERS_MAX) {
        return;
    }
    marks_put_event(r, (unsigned)event, value, recorder_ticks(r));
}

ICTUS_API void ictus_event(int event, uint64_t value)
{
    struct recorder *r = ictusi_tracer_self;
    const bool muted = atomic_load_explicit(&ictusi_tracer.muted, memory_order_relaxed);
    if (__builtin_expect(r && (unsigned)event <= NUMBERS_MAX && !(r->after & AFTER_DIVERTED) &&
                             !muted && r->pos <= r->soft && r->flush_ticks == 0 &&
                             r->kind == TICKS_TSC,
                         1)) {
        marks_put_event(r, (unsigned)event, value, ticks_read(TICKS_TSC, r->clock));
    } else {
        event_slowly(event, value);
    }
}

ICTUS_API int ictus_region_define(const char *name)
{
    return mark_define(&ictusi_tracer.next_region, 'R', name, NULL);
}

ICTUS_API void ictus_region_enter(int region)
{
    struct recorder *r = trace_recorder();
    if (r && region >= REGION_USER && region <= REGION_MAX) {
        recorder_enter(r, (unsigned)region);
    }
}

ICTUS_API void ictus_region_leave(int region)
{
    struct recorder *r = trace_recorder();
    if (r && region >= REGION_USER && region <= REGION_MAX) {
        recorder_leave(r, (unsigned)region, recorder_ticks(r));
        if (r->after & AFTER_SAMPLE) {
            ictusi_tracer_metrics_sample(r);
        }
    }
}

ICTUS_API int ictus_metric_define(const char *name, const char *unit)
{
    return mark_define(&ictusi_tracer.next_metric, 'U', name, unit ? unit : "");
}

ICTUS_API void ictus_metric(int metric, double value)
{
    struct recorder *r = trace_recorder();
    if (!r || metric < METRIC_CLASS_USER || metric > NUMBERS_MAX) {
        return;
    }
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    recorder_timed_words(r, RECORD_METRIC, (unsigned)metric, recorder_ticks(r), &bits, 1);
}

ICTUS_API void ictus_trace_switch(int on)
{
    ictusi_tracer_mute(!on);
}

ICTUS_API int ictus_trace_is_on(void)
{
    return atomic_load(&ictusi_tracer.state) == TRACER_RUNNING &&
           !atomic_load(&ictusi_tracer.muted);
}
