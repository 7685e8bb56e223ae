/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exit skew of barriers: exit times on one clock, with all processes entering at one instant.
 */
#include <ictus/skew.h>

#include "bench/subject.h"
#include "sync/clock.h"

#include <ictus/harmonize.h>
#include <ictus/text.h>

#include <stdlib.h>
#include <string.h>

/*
 * There are two communicators, because messages of the barrier under test must not disturb the
 * harmonised starts, and because each of the two keeps a deadline of its own.
 */
struct ictus_skew {
    MPI_Comm entry; /* its harmonised starts bring all processes to the barrier */
    MPI_Comm plain; /* the barriers run here; "harmonize" uses its harmonised starts */
    struct ictus_clock *clock;
    struct ictus_selector *selector;
    int rank;
    int size;
    int64_t batch;
    int64_t *exits;    /* of one batch: exit, entry and validity of each barrier */
    int64_t *gathered; /* rank 0: the same of all processes */
};

enum { BATCH_WORDS = 1 << 20, BATCH_MAX = 200, WARMUP = 10, ATTEMPTS_FACTOR = 4 };
enum { OF_EXIT, OF_ENTRY, OF_VALID, WORDS };

/*
 * exits has WORDS words for each barrier. gathered, on rank 0, has those of all processes, one
 * process after the other.
 */
static int skew_allocate(struct ictus_skew *s)
{
    /*
     * Rank 0 holds a batch of all processes: at most 2^20 words (8 MB), or a single barrier if that
     * is more.
     */
    int64_t batch = BATCH_WORDS / ((int64_t)s->size * WORDS);
    batch = batch < BATCH_MAX ? batch : BATCH_MAX;
    s->batch = batch > 0 ? batch : 1;
    const size_t words = (size_t)s->batch * WORDS;
    s->exits = calloc(words, sizeof(*s->exits));
    s->gathered = calloc(s->rank == 0 ? words * (size_t)s->size : 1, sizeof(*s->gathered));
    return ictusi_sync_agree(s->entry, s->exits && s->gathered ? ICTUS_OK : ICTUS_ERR_NOMEM, NULL);
}

/*
 * Both communicators get the same clock specification. Errors are returned and not fatal, because
 * all processes must report a barrier that fails.
 */
static int skew_build(struct ictus_skew *s, MPI_Comm comm, const char *clock, struct ictus_why *why)
{
    if (MPI_Comm_dup(comm, &s->entry) != MPI_SUCCESS ||
        MPI_Comm_dup(comm, &s->plain) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    MPI_Comm_rank(comm, &s->rank);
    MPI_Comm_size(comm, &s->size);
    MPI_Comm_set_errhandler(s->entry, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(s->plain, MPI_ERRORS_RETURN);
    int err = ictus_harmonize_configure(s->entry, NULL, clock, why);
    if (!err) {
        err = ictus_harmonize_clock(s->entry, &s->clock);
    }
    if (!err && clock) {
        err = ictus_harmonize_configure(s->plain, NULL, clock, why);
    }
    return err ? err : skew_allocate(s);
}

int ictus_skew_create(MPI_Comm comm, const char *clock, struct ictus_selector *selector,
                      struct ictus_skew **skew, struct ictus_why *why)
{
    if (comm == MPI_COMM_NULL || !skew) {
        return ICTUS_ERR_ARG;
    }
    struct ictus_skew *s = calloc(1, sizeof(*s));
    if (!s) {
        return ICTUS_ERR_NOMEM;
    }
    s->entry = MPI_COMM_NULL;
    s->plain = MPI_COMM_NULL;
    s->selector = selector;
    const int err = skew_build(s, comm, clock, why);
    if (err) {
        ictus_skew_free(s);
        return err;
    }
    *skew = s;
    return ICTUS_OK;
}

void ictus_skew_free(struct ictus_skew *s)
{
    if (!s) {
        return;
    }
    if (s->entry != MPI_COMM_NULL) {
        MPI_Comm_free(&s->entry);
    }
    if (s->plain != MPI_COMM_NULL) {
        MPI_Comm_free(&s->plain);
    }
    free(s->exits);
    free(s->gathered);
    free(s);
}

struct ictus_clock *ictus_skew_clock(struct ictus_skew *skew)
{
    return skew->clock;
}

/* In ns. A difference has the errors of two clocks, unless both exits are on one process. */
static int64_t skew_on_common_clock(const struct ictus_skew *s, int64_t local)
{
    struct ictus_time truth = {0};
    /* In a simulation the true time is known, so the skews are free of clock errors. */
    if (ictus_clock_truth(s->clock, (struct ictus_time){local}, &truth) == ICTUS_OK) {
        return truth.ns;
    }
    return ictusi_line_map(&s->clock->line, local);
}

/*
 * One barrier: enter together, leave, and read the clock at once.
 *       skew = last exit - first exit,   duration = last exit - first entry,   on the common clock
 */
static int skew_once(struct ictus_skew *s, const struct subject *subject, int64_t *words)
{
    struct ictus_harmony entry;
    struct ictus_harmony leave = {.flag = 1};
    int err = ictus_harmonize(s->entry, &entry);
    if (err) {
        return err;
    }
    const int64_t began = ictusi_source_read(s->clock->source);
    err = subject->algorithm == ICTUS_BARRIER_HARMONIZE ? ictus_harmonize(subject->comm, &leave)
                                                        : ictusi_subject_call(subject);
    /*
     * Only raw readings are taken here. Mapping them onto the common clock takes time, so it is
     * done after the batch.
     */
    words[OF_EXIT] = ictusi_source_read(s->clock->source);
    words[OF_ENTRY] = began;
    words[OF_VALID] = entry.flag && leave.flag;
    return err;
}

/*
 * The line of the clock does not change within a batch, so mapping after the batch gives the same
 * as mapping at once.
 */
static int skew_measure(struct ictus_skew *s, const struct subject *subject, int64_t n)
{
    int err = ICTUS_OK;
    for (int64_t i = 0; i < n && !err; i++) {
        err = skew_once(s, subject, s->exits + i * WORDS);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t *words = s->exits + i * WORDS;
        words[OF_EXIT] = skew_on_common_clock(s, words[OF_EXIT]);
        words[OF_ENTRY] = skew_on_common_clock(s, words[OF_ENTRY]);
    }
    err = ictusi_sync_agree(s->entry, err, NULL);
    if (!err && MPI_Gather(s->exits, (int)n * WORDS, MPI_INT64_T, s->gathered, (int)n * WORDS,
                           MPI_INT64_T, 0, s->entry) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    return err;
}

/*
 * Rank 0: find the first and the last exit of barrier i, unless it is invalid. One late entry makes
 * the barrier invalid, because the others then leave when the late one has arrived.
 */
static void skew_judge(const struct ictus_skew *s, int64_t i, int64_t n,
                       struct ictus_skew_result *r)
{
    int first = 0;
    int last = 0;
    int64_t entry = INT64_MAX;
    /*
     * The gathered words are ordered by process, and the words of consecutive processes are
     * `stride` apart.
     */
    const int64_t *of = s->gathered + i * WORDS;
    const int64_t stride = n * WORDS;
    for (int p = 0; p < s->size; p++) {
        const int64_t *words = of + p * stride;
        if (!words[OF_VALID]) {
            r->invalid++;
            return;
        }
        first = words[OF_EXIT] < of[first * stride + OF_EXIT] ? p : first;
        last = words[OF_EXIT] > of[last * stride + OF_EXIT] ? p : last;
        entry = words[OF_ENTRY] < entry ? words[OF_ENTRY] : entry;
    }
    const int64_t end = of[last * stride + OF_EXIT];
    r->skews_s[r->n] = 1e-9 * (double)(end - of[first * stride + OF_EXIT]);
    r->durations_s[r->n] = 1e-9 * (double)(end - entry);
    r->first[first]++;
    r->last[last]++;
    r->n++;
}

/*
 * Rank 0 decides for all how many barriers come next; 0 ends the run. If each rank decided by its
 * own clock, one that stopped alone would leave the others in the barrier.
 */
static int skew_next_batch(struct ictus_skew *s, const struct ictus_skew_result *r, int64_t wanted,
                           double max_time_s, double spent_s, int64_t *n)
{
    int64_t left = wanted - r->n;
    const bool limited = max_time_s > 0.0;
    const bool out_of_time = limited && spent_s >= max_time_s && r->n + r->invalid > 0;
    /* As in bench.c: without a time limit, late starts might be repeated forever. */
    const bool hopeless = !limited && r->invalid > ATTEMPTS_FACTOR * wanted + BATCH_MAX;
    left = left < s->batch ? left : s->batch;
    *n = out_of_time || hopeless ? 0 : left;
    return MPI_Bcast(n, 1, MPI_INT64_T, 0, s->entry) == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/*
 * The time limit is checked between batches only, so a batch (of at most 200 barriers) may exceed
 * it.
 */
static int skew_run_all(struct ictus_skew *s, const struct subject *subject, int64_t wanted,
                        double max_time_s, struct ictus_skew_result *r)
{
    const int64_t began = ictusi_source_read(s->clock->source);
    int64_t n = 1;
    /* The warm-up barriers are not evaluated. */
    int err = skew_measure(s, subject, s->batch < WARMUP ? s->batch : WARMUP);
    while (!err) {
        const double spent_s = 1e-9 * (double)(ictusi_source_read(s->clock->source) - began);
        err = skew_next_batch(s, r, wanted, max_time_s, spent_s, &n);
        if (err || n == 0) {
            break;
        }
        err = skew_measure(s, subject, n);
        for (int64_t i = 0; i < n && !err && s->rank == 0; i++) {
            skew_judge(s, i, n, r);
        }
    }
    int64_t counts[2] = {r->n, r->invalid};
    if (!err && MPI_Bcast(counts, 2, MPI_INT64_T, 0, s->entry) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    r->n = counts[0];
    r->invalid = counts[1];
    return err;
}

/* Room for at most n barriers. Invalid ones are not stored. */
static int skew_reserve(const struct ictus_skew *s, int64_t n, struct ictus_skew_result *r)
{
    memset(r, 0, sizeof(*r));
    bool enough = true;
    if (s->rank == 0) {
        r->skews_s = calloc((size_t)n, sizeof(*r->skews_s));
        r->durations_s = calloc((size_t)n, sizeof(*r->durations_s));
        r->first = calloc((size_t)s->size, sizeof(*r->first));
        r->last = calloc((size_t)s->size, sizeof(*r->last));
        enough = r->skews_s && r->durations_s && r->first && r->last;
    }
    struct ictus_time truth;
    r->truth = ictus_clock_truth(s->clock, (struct ictus_time){0}, &truth) == ICTUS_OK;
    return ictusi_sync_agree(s->entry, enough ? ICTUS_OK : ICTUS_ERR_NOMEM, NULL);
}

/* On an error the result is freed, so that the caller never has half of one. */
int ictus_skew_run(struct ictus_skew *skew, const char *barrier, int64_t n, double max_time_s,
                   struct ictus_skew_result *result, struct ictus_why *why)
{
    struct subject subject;
    if (why) {
        /* a reason left by an earlier run does not explain an error of this one */
        why->text[0] = '\0';
    }
    if (!skew || !barrier || n < 1 || !result) {
        return ICTUS_ERR_ARG;
    }
    int err = ictusi_subject_init(&subject, skew->plain, barrier, skew->selector, why);
    if (err) {
        return err;
    }
    err = skew_reserve(skew, n, result);
    if (!err) {
        err = skew_run_all(skew, &subject, n, max_time_s, result);
    }
    ictusi_subject_fini(&subject);
    if (!err && result->n == 0) {
        err = ictus_because(why, ICTUS_ERR_SAMPLES,
                            "barrier '%.80s': none of the %lld starts was on time", barrier,
                            (long long)result->invalid);
    }
    if (err) {
        ictus_skew_result_free(result);
    }
    return err;
}

void ictus_skew_result_free(struct ictus_skew_result *result)
{
    free(result->skews_s);
    free(result->durations_s);
    free(result->first);
    free(result->last);
    memset(result, 0, sizeof(*result));
}
