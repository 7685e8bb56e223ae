/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows (SKaMPI; H08 section 4). Repetitions start at instants a fixed time apart. The first is
 * agreed on once for a batch, so nothing is sent between repetitions. If a process is not ready in
 * time, or has not finished when the next window opens, its repetition is invalid. The length of
 * the window adapts to the time that the operation needs.
 */
#include "bench/scheme.h"
#include "sync/wait.h"

#include <math.h>
#include <stdlib.h>

struct window_options {
    double window_s; /* length of a window; 0: adapted */
    double late;
};

static const struct spec_param params[] = {
    {"window", SPEC_SECONDS, offsetof(struct window_options, window_s), "0", 0, 100, NULL,
     "time between two starts; 0 adapts it"},
    {"late", SPEC_REAL, offsetof(struct window_options, late), "0.02", 1e-4, 0.9, NULL,
     "share of late repetitions above which the window grows"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

struct window {
    double window_ns; /* current length, the same on all processes; 0: not known yet */
};

enum { TRIES = 5 };

/*
 * The length of the first window as a multiple of the longest call, and the factors by which it
 * changes.
 */
#define FIRST_FACTOR 4.0
#define GROW 1.5
#define SHRINK 0.8
#define WINDOW_MIN_NS 1000.0
#define WINDOW_MAX_NS 1e9

static int window_init(struct scheme *scheme, struct ictus_why *why)
{
    (void)why;
    scheme->state = calloc(1, sizeof(struct window));
    return scheme->state ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/*
 * The longest of a few calls on any process, with barriers between the calls. This is good enough
 * for a first length.
 */
static int window_first_window(struct scheme *scheme, struct call *call, double *window_ns)
{
    int64_t longest = 0;
    for (int i = 0; i < TRIES; i++) {
        if (MPI_Barrier(scheme->comm) != MPI_SUCCESS) {
            return ICTUS_ERR_MPI;
        }
        const int64_t start = ictusi_source_read(scheme->clock->source);
        if (ictusi_call_run(call)) {
            return ICTUS_ERR_MPI;
        }
        const int64_t took = ictusi_source_read(scheme->clock->source) - start;
        longest = took > longest ? took : longest;
    }
    if (MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_INT64_T, MPI_MAX, scheme->comm) !=
        MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    *window_ns = fmin(fmax(FIRST_FACTOR * (double)longest, WINDOW_MIN_NS), WINDOW_MAX_NS);
    return ICTUS_OK;
}

/*
 * The start of the first window of a batch, far enough ahead that all processes learn of it in
 * time.
 */
static int window_agree_on_first(struct scheme *scheme, double window_ns, int64_t *first)
{
    enum { AHEAD_NS = 100000 };
    /* Only the value of rank 0 counts; the broadcast overwrites the others. */
    *first = ictus_clock_now(scheme->clock).ns + AHEAD_NS + (int64_t)window_ns;
    return MPI_Bcast(first, 1, MPI_INT64_T, 0, scheme->comm) == MPI_SUCCESS ? ICTUS_OK
                                                                            : ICTUS_ERR_MPI;
}

static int window_run_one(struct scheme *scheme, struct call *call, int64_t start, int64_t end,
                          struct sample *sample)
{
    const struct ictus_clock *clock = scheme->clock;
    const int64_t local = ictusi_line_unmap(&clock->line, start);
    ictusi_call_next(call);
    const bool ready = ictusi_source_read(clock->source) < local;
    (void)ictusi_sync_wait_until(clock->source, local, clock->crowded);
    sample->common = start;
    sample->has_common = true;
    const int err = ictusi_time_call(clock, call, sample);
    /*
     * The start and the end both count. A call that runs into the next window also makes that
     * repetition late, and was probably disturbed itself.
     */
    sample->valid = ready && sample->stop < ictusi_line_unmap(&clock->line, end);
    return err;
}

/*
 * The number of late repetitions on the process with the most decides, so all processes take the
 * same new length.
 */
static int window_adapt(struct scheme *scheme, const struct sample *samples, int64_t n)
{
    const struct window_options *options = scheme->options;
    struct window *state = scheme->state;
    int64_t words[2] = {0, 0}; /* late repetitions; the longest call */
    for (int64_t i = 0; i < n; i++) {
        const int64_t took = samples[i].stop - samples[i].start;
        words[0] += !samples[i].valid;
        words[1] = took > words[1] ? took : words[1];
    }
    if (MPI_Allreduce(MPI_IN_PLACE, words, 2, MPI_INT64_T, MPI_MAX, scheme->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    if (options->window_s > 0.0) {
        return ICTUS_OK;
    }
    if ((double)words[0] > options->late * (double)n) {
        /*
         * The window grows faster than it shrinks, and it shrinks only if no repetition was late. A
         * window that is too short costs repetitions; one that is too long only costs time.
         */
        state->window_ns = fmin(state->window_ns * GROW, WINDOW_MAX_NS);
    } else if (words[0] == 0 && FIRST_FACTOR * (double)words[1] < state->window_ns) {
        state->window_ns = fmax(state->window_ns * SHRINK, WINDOW_MIN_NS);
    }
    return ICTUS_OK;
}

static int window_measure(struct scheme *scheme, struct call *call, double budget_s,
                          struct sample *samples, int64_t *n)
{
    (void)budget_s;
    const struct window_options *options = scheme->options;
    struct window *state = scheme->state;
    int64_t first = 0;
    int64_t made = 0;
    /* Each experiment finds its own window, because the operation may be another one. */
    double window_ns = options->window_s * 1e9;
    int err = window_ns > 0.0 ? ICTUS_OK : window_first_window(scheme, call, &window_ns);
    if (!err) {
        /*
         * A few calls are a small sample, so the window does not become shorter than the last one
         * less one step.
         */
        state->window_ns =
            fmax(window_ns, options->window_s > 0.0 ? 0.0 : state->window_ns * SHRINK);
        window_ns = state->window_ns;
        err = window_agree_on_first(scheme, window_ns, &first);
    }
    while (made < *n && !err) {
        const int64_t start = first + (int64_t)((double)made * window_ns);
        err = window_run_one(scheme, call, start, start + (int64_t)window_ns, &samples[made]);
        made += !err;
    }
    *n = made;
    return err ? err : window_adapt(scheme, samples, made);
}

static void window_fini(struct scheme *scheme)
{
    free(scheme->state);
}

const struct scheme_ops ictusi_scheme_window = {
    .name = "window",
    .summary = "starts a fixed time apart, which is adapted, as in SKaMPI",
    .reduction = ICTUS_REDUCE_MAX,
    .params = params,
    .options_size = sizeof(struct window_options),
    .init = window_init,
    .measure = window_measure,
    .fini = window_fini,
};
