/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus rtt: the distribution of round trips, and how many exchanges a good minimum needs (H08 2.2,
 * 3.1, figures 4 and 6). */
#include "clocks/clock_study.h"
#include "clocks/rtt_describe.h"
#include "main/command.h"
#include "main/interrupt.h"
#include "main/meet.h"
#include "main/progress.h"
#include "main/results.h"
#include "main/shared_rows.h"

#include <ictus/result.h>
#include <ictus/study.h>
#include <ictus/text.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rtt_options {
    const char *clock;
    const char *pairs;
    int64_t exchanges;
    int64_t warmup;
    int64_t bins;
    bool raw;
    struct results_options results;
    struct progress_options talk;
};

#define AT(member) offsetof(struct rtt_options, member)

static const struct option_row options[] = {
    ROW_CLOCK(AT(clock)),
    {"pairs", 0, OPTION_TEXT, AT(pairs), "from0", 0, 0, NULL, "LIST",
     "pairs of ranks to measure: 0-1,2-3 or from0, neighbours, all"},
    ROW_EXCHANGES(AT(exchanges), "10000", 10, 1e7, "exchanges of each pair"),
    ROW_WARMUP(AT(warmup), "200", 1e6, "warm-up exchanges before, which are not counted"),
    {"bins", 0, OPTION_INT, AT(bins), "200", 2, 10000, NULL, "N",
     "bins of the histogram; the last one holds the tail"},
    ROW_RAW(AT(raw), "keep every round trip in the result file"),
    ROWS_RESULTS(AT(results)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

static const struct ictus_column columns[] = {{"from", "from", ICTUS_COLUMN_COUNT},
                                              {"to", "to", ICTUS_COLUMN_COUNT},
                                              {"n", "n", ICTUS_COLUMN_COUNT},
                                              {"min_s", "min us", ICTUS_COLUMN_SECONDS},
                                              {"median_s", "median us", ICTUS_COLUMN_SECONDS},
                                              {"mean_s", "mean us", ICTUS_COLUMN_SECONDS},
                                              {"p90_s", "p90 us", ICTUS_COLUMN_SECONDS},
                                              {"p99_s", "p99 us", ICTUS_COLUMN_SECONDS},
                                              {"max_s", "max us", ICTUS_COLUMN_SECONDS},
                                              {NULL, NULL, ICTUS_COLUMN_TEXT}};

enum {
    DRAWN_MAX = 3, /* pairs whose histogram the terminal shows */
    SLICE = 10000, /* exchanges: some ten milliseconds or more */
    TAG_RTT = 7
};

struct pair {
    int from;
    int to;
};

struct pairs {
    struct pair *list;
    size_t count;
    size_t room;
};

static int pairs_add(struct pairs *pairs, int from, int to)
{
    if (pairs->count == pairs->room) {
        const size_t room = pairs->room ? 2 * pairs->room : 16;
        struct pair *list = realloc(pairs->list, room * sizeof(*list));
        if (!list) {
            return ICTUS_ERR_NOMEM;
        }
        pairs->list = list;
        pairs->room = room;
    }
    pairs->list[pairs->count++] = (struct pair){from, to};
    return ICTUS_OK;
}

/* One "from-to". */
static int rtt_read_pair(const char *word, struct pair *pair, struct ictus_why *why)
{
    char first[32];
    int64_t from = -1;
    int64_t to = -1;
    const size_t length = strcspn(word, "-");
    const int size = command_size();
    bool good = length < sizeof(first) && word[length] == '-';
    if (good) {
        (void)snprintf(first, sizeof(first), "%.*s", (int)length, word);
        good = !ictus_parse_int(first, &from) && !ictus_parse_int(word + length + 1, &to);
    }
    if (!good || from < 0 || to < 0 || from >= size || to >= size || from == to) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--pairs: '%.40s' is not a pair of two different ranks below %d, such "
                             "as 0-1; 'all', 'neighbours' and 'from0' are possible, too",
                             word, size);
    }
    *pair = (struct pair){(int)from, (int)to};
    return ICTUS_OK;
}

static int rtt_read_listed(const char *text, struct pairs *pairs, struct ictus_why *why)
{
    char word[64];
    int err = ICTUS_OK;
    for (const char *rest = text; !err;) {
        struct pair pair = {0, 0};
        const size_t length = strcspn(rest, ",");
        (void)snprintf(word, sizeof(word), "%.*s", (int)(length < 63 ? length : 63), rest);
        err = rtt_read_pair(word, &pair, why);
        err = err ? err : pairs_add(pairs, pair.from, pair.to);
        if (!rest[length]) {
            break;
        }
        rest += length + 1;
    }
    return err;
}

static int rtt_read_pairs(const char *text, struct pairs *pairs, struct ictus_why *why)
{
    const int size = command_size();
    int err = ICTUS_OK;
    if (size < 2) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "a round trip needs at least two processes: mpirun -n 2 ictus rtt");
    }
    if (strcmp(text, "from0") == 0) {
        for (int i = 1; i < size && !err; i++) {
            err = pairs_add(pairs, 0, i);
        }
    } else if (strcmp(text, "neighbours") == 0) {
        for (int i = 0; i + 1 < size && !err; i++) {
            err = pairs_add(pairs, i, i + 1);
        }
    } else if (strcmp(text, "all") == 0) {
        for (int i = 0; i < size * size && !err; i++) {
            err = i / size < i % size ? pairs_add(pairs, i / size, i % size) : ICTUS_OK;
        }
    } else {
        err = rtt_read_listed(text, pairs, why);
    }
    return err;
}

/* Where the round trips of a pair are stored, and to whom progress is reported. */
struct rtt_run {
    struct ictus_study *study;
    struct progress *progress;
    double *rtt_ns; /* of --exchanges values */
    double done;    /* pairs before this one */
};

/*
 * A pair's exchanges, a slice at a time, since nothing can be said during one: what a slice costs
 * to begin with is one outlier in so many. Where nothing is kept (warming up), slices overwrite
 * each other. All are exchanged even after an error: only the rank that began knows of a clock that
 * ran backwards, and the other one answers them all.
 */
static int rtt_exchange(const struct rtt_run *run, struct pair pair, int64_t n, int64_t slice,
                        bool keep)
{
    int err = ICTUS_OK;
    for (int64_t at = 0; at < n; at += slice) {
        const int64_t count = n - at < slice ? n - at : slice;
        if (at > 0) {
            progress_step(run->progress, run->done + (keep ? (double)at / (double)n : 0.0), NULL);
        }
        const int exchanged = ictus_study_rtt(run->study, pair.from, pair.to, (size_t)count,
                                              run->rtt_ns + (keep ? at : 0));
        err = err ? err : exchanged;
    }
    return err;
}

/* Collective: measure one pair; rank 0 gets the round trips. Returns the same error on all. */
static int rtt_measure(const struct rtt_run *run, struct pair pair, const struct rtt_options *o)
{
    const int rank = command_rank();
    const int n = (int)o->exchanges;
    const int64_t slice = n < SLICE ? n : SLICE;
    double *rtt_ns = run->rtt_ns;
    meet_all();
    int err = rtt_exchange(run, pair, o->warmup, slice, false);
    const int measured = rtt_exchange(run, pair, n, slice, true);
    err = err ? err : measured;
    meet_all();
    if (pair.from != 0 && rank == pair.from) {
        MPI_Send(rtt_ns, n, MPI_DOUBLE, 0, TAG_RTT, MPI_COMM_WORLD);
    } else if (pair.from != 0 && rank == 0) {
        MPI_Recv(rtt_ns, n, MPI_DOUBLE, pair.from, TAG_RTT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(MPI_IN_PLACE, &err, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return err;
}

static int rtt_measure_all(struct ictus_study *study, const struct pairs *pairs,
                           const struct rtt_options *o, struct ictus_output *out, const char *clock,
                           struct ictus_why *why)
{
    struct progress progress;
    double *rtt_ns = calloc((size_t)o->exchanges, sizeof(*rtt_ns));
    int enough = rtt_ns != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!enough) {
        free(rtt_ns);
        return ICTUS_ERR_NOMEM;
    }
    const struct rtt_picture picture = {.clock = clock,
                                        .bins = (size_t)o->bins,
                                        .raw = o->raw,
                                        .text = o->results.format == ICTUS_FORMAT_TEXT &&
                                                pairs->count <= DRAWN_MAX};
    int err = ICTUS_OK;
    progress_start(&progress, &o->talk, "pairs", (double)pairs->count);
    for (size_t i = 0; i < pairs->count && !err; i++) {
        if (interrupt_came()) {
            err = ICTUS_ERR_TIMEOUT;
            break;
        }
        progress_step(&progress, (double)i, NULL);
        const struct rtt_run run = {study, &progress, rtt_ns, (double)i};
        err = rtt_measure(&run, pairs->list[i], o);
        if (err == ICTUS_ERR_CLOCK) {
            err = ictus_because(why, err, "clock '%.80s' ran backwards during an exchange", clock);
        }
        if (!err && command_rank() == 0) {
            progress_hide(&progress);
            err = rtt_describe(out, &picture, pairs->list[i].from, pairs->list[i].to, rtt_ns,
                               (size_t)o->exchanges);
        }
        err = results_agree(err, why);
    }
    progress_hide(&progress);
    free(rtt_ns);
    return err;
}

static int rtt_run_study(const struct rtt_options *o, const struct pairs *pairs,
                         struct ictus_why *why)
{
    struct clock_study s;
    const struct header_facts facts = {.command = "rtt", .rows = options, .options = o};
    int err = clock_study_open(&s, o->clock, facts, &o->results, columns, why);
    if (!err) {
        err = rtt_measure_all(s.study, pairs, o, s.out, s.clock, why);
    }
    return clock_study_close(&s, err, why);
}

static int rtt_run(const void *given, int word_count, char **words)
{
    const struct rtt_options *o = given;
    struct pairs pairs = {NULL, 0, 0};
    struct ictus_why why = {""};
    int err = ICTUS_OK;
    if (word_count > 0) {
        err = ictus_because(&why, ICTUS_ERR_SPEC,
                            "unexpected argument '%.80s'; name pairs with --pairs=0-1", words[0]);
    } else {
        err = rtt_read_pairs(o->pairs, &pairs, &why);
    }
    if (!err) {
        err = rtt_run_study(o, &pairs, &why);
    }
    free(pairs.list);
    if (err == ICTUS_ERR_TIMEOUT) {
        return EXIT_INTERRUPTED;
    }
    return err ? command_fail("rtt", err, &why) : EXIT_OK;
}

const struct command command_rtt = {
    .name = "rtt",
    .summary = "measure round trips, and how many exchanges find the shortest",
    .arguments = "",
    .details = "mpirun -n 2 ictus rtt --exchanges=50000\n"
               "An exchange is an 8-byte message and its answer. Pairs are measured one by one.",
    .options = options,
    .flags = NEEDS_MPI,
    .options_size = sizeof(struct rtt_options),
    .run = rtt_run,
};
