/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What schemes promise, in simulated jobs: an operation of known length is measured under each
 * scheme, and its samples and their reductions are judged by the truth: when each rank entered and
 * left.
 */
#include "bench/reduce.h"

#include "../check.h"
#include "../sim/job_names.h"

#include <ictus/harmonize.h>

enum {
    RANKS = NAMED_RANKS,
    BATCHES = 6,
    WANTED = 20,
    CALLS_MAX = 4096,
    LATENCY_NS = NAMED_LATENCY_NS,
    NEAR_NS = 400, /* readings, and the error of clocks */
    OVERSLEPT_NS = 500000
};

/* One call of the operation on a rank, in true time. */
struct visit {
    int64_t entered, left;
};

/* What a job is to do, and what happened in it. */
struct play {
    const char *spec;
    double budget_s;
    int batches, root;
    int64_t (*length_ns)(const struct play *p, int batch, int rank, int call);
    double away_every_s;
    /* What happened. */
    struct visit visits[RANKS][CALLS_MAX];
    int visit_count[RANKS], batch[RANKS], batch_calls[RANKS];
    int first_visit[RANKS][BATCHES]; /* of the samples of a batch */
    struct sample samples[RANKS][BATCHES][WANTED];
    int64_t made[RANKS][BATCHES];
    int barriers[RANKS]; /* while it was measured */
    struct collection all[RANKS];
};

static struct play *current;

/* The operation: each rank works for as long as the play says. */
static int play_run(struct call *call)
{
    struct play *p = current;
    const int me = job_rank();
    struct visit *v = &p->visits[me][p->visit_count[me]++];
    REQUIRE(p->visit_count[me] < CALLS_MAX && call->rank == me);
    v->entered = job_now();
    job_spend((double)p->length_ns(p, p->batch[me], me, p->batch_calls[me]++));
    v->left = job_now();
    return MPI_SUCCESS;
}

static const struct operation play_operation = {.name = "known", .run = play_run};

static void play_rank(int rank, void *context)
{
    struct play *p = context;
    struct scheme *scheme = NULL;
    struct ictus_clock *clock = NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    struct ictus_why why = {""};
    REQUIRE(PMPI_Comm_dup(job_world(), &comm) == MPI_SUCCESS);
    REQUIRE(!ictus_harmonize_configure(comm, NULL, named_clock, &why));
    REQUIRE(!ictus_harmonize_clock(comm, &clock));
    REQUIRE(!ictusi_scheme_create(p->spec, comm, clock, &scheme, &why));
    struct call call = {.operation = &play_operation,
                        .comm = comm,
                        .rank = rank,
                        .size = RANKS,
                        .root = p->root,
                        .sets = 1};
    p->all[rank].keep_ranks = true;
    for (int b = 0; b < p->batches; b++) {
        const int before = named_barriers.turn[rank];
        int64_t n = WANTED;
        p->batch[rank] = b;
        p->batch_calls[rank] = 0;
        REQUIRE(!scheme->ops->measure(scheme, &call, p->budget_s, p->samples[rank][b], &n));
        p->made[rank][b] = n;
        p->first_visit[rank][b] = p->visit_count[rank] - (int)n;
        p->barriers[rank] = named_barriers.turn[rank] - before;
        REQUIRE(!ictusi_reduce_batch(scheme, &call, p->samples[rank][b], n, &p->all[rank]));
    }
    ictusi_scheme_free(scheme);
    (void)PMPI_Comm_free(&comm);
}

static void play_start(struct play *p)
{
    memset(p->visit_count, 0, sizeof(p->visit_count));
    memset(p->all, 0, sizeof(p->all));
    current = p;
    named_job_run(play_rank, p, p->away_every_s);
    for (int r = 1; r < RANKS; r++) {
        for (int b = 0; b < p->batches; b++) {
            CHECK(p->made[r][b] == p->made[0][b]);
        }
        CHECK(p->all[r].n == p->all[0].n && p->all[r].invalid == p->all[0].invalid);
    }
}

static void play_end(struct play *p)
{
    for (int r = 0; r < RANKS; r++) {
        ictusi_reduce_collection_fini(&p->all[r]);
        CHECK(p->all[r].n == 0 && !p->all[r].ranks_s);
    }
}

/* The truth of sample i of a batch. */
static const struct visit *play_visit(const struct play *p, int rank, int batch, int i)
{
    return &p->visits[rank][p->first_visit[rank][batch] + i];
}

static int64_t length_of_turns(const struct play *p, int batch, int rank, int call)
{
    (void)p;
    return 20000 + 3000 * ((rank * 3 + call) % RANKS) + 1000 * batch;
}

/* Lengths and instants are the true ones, whatever the scheme. A common start is at most so late:
 * processes that have long to wait sleep, and may oversleep. */
static void samples_are_true(const struct play *p, bool has_common, int64_t late_ns)
{
    for (int b = 0; b < p->batches; b++) {
        for (int i = 0; i < p->made[0][b]; i++) {
            const struct visit *zero = play_visit(p, 0, b, i);
            for (int r = 0; r < RANKS; r++) {
                const struct sample *s = &p->samples[r][b][i];
                const struct visit *v = play_visit(p, r, b, i);
                CHECK_NEAR(s->stop - s->start, v->left - v->entered, NEAR_NS);
                CHECK_NEAR(s->begin - p->samples[0][b][i].begin, v->entered - zero->entered,
                           NEAR_NS);
                CHECK_NEAR(s->end - s->begin, v->left - v->entered, NEAR_NS);
                CHECK(s->has_common == has_common);
                CHECK(!has_common || s->common == p->samples[0][b][i].common);
                const int64_t late = has_common && s->valid ? s->begin - s->common : 0;
                CHECK(late >= -NEAR_NS && late <= late_ns);
            }
        }
    }
}

/* How far apart all ranks entered, at most, in valid repetitions. */
static int64_t play_spread(const struct play *p)
{
    int64_t most = 0;
    for (int b = 0; b < p->batches; b++) {
        for (int i = 0; i < p->made[0][b]; i++) {
            int64_t first = INT64_MAX;
            int64_t last = INT64_MIN;
            bool valid = true;
            for (int r = 0; r < RANKS; r++) {
                const int64_t entered = play_visit(p, r, b, i)->entered;
                valid = valid && p->samples[r][b][i].valid;
                first = entered < first ? entered : first;
                last = entered > last ? entered : last;
            }
            most = valid && last - first > most ? last - first : most;
        }
    }
    return most;
}

/* Each reduction of repetition i of a batch, in true ns. */
static void play_reduce(const struct play *p, int b, int i, double *wanted)
{
    double sum = 0.0, wait = 0.0, longest = 0.0, shortest = INFINITY;
    int64_t arrival = INT64_MIN, exit = INT64_MIN, begin = INT64_MAX;
    for (int r = 0; r < RANKS; r++) {
        const struct visit *v = play_visit(p, r, b, i);
        const double took = (double)(v->left - v->entered);
        sum += took;
        longest = fmax(longest, took);
        shortest = fmin(shortest, took);
        arrival = v->entered > arrival ? v->entered : arrival;
        exit = v->left > exit ? v->left : exit;
        begin = v->entered < begin ? v->entered : begin;
    }
    if (p->samples[0][b][i].has_common) { /* from the instant on, also if all overslept */
        const struct sample *s = &p->samples[0][b][i];
        begin = play_visit(p, 0, b, i)->entered - (s->begin - s->common);
    }
    for (int r = 0; r < RANKS; r++) {
        const struct visit *v = play_visit(p, r, b, i);
        wait += fmin((double)(arrival - v->entered), (double)(v->left - v->entered));
    }
    const struct visit *root = play_visit(p, p->root, b, i);
    wanted[ICTUS_REDUCE_MAX] = longest;
    wanted[ICTUS_REDUCE_MEAN] = sum / RANKS;
    wanted[ICTUS_REDUCE_MIN] = shortest;
    wanted[ICTUS_REDUCE_ROOT] = (double)(root->left - root->entered);
    wanted[ICTUS_REDUCE_MAKESPAN] = (double)(exit - begin);
    wanted[ICTUS_REDUCE_EXIT] = (double)(exit - arrival);
    wanted[ICTUS_REDUCE_WAIT] = wait;
}

/* One number for each valid repetition, in order, and every rank's own time. */
static void reductions_are_true(const struct play *p)
{
    const struct collection *all = &p->all[0];
    int64_t n = 0;
    int64_t invalid = 0;
    for (int b = 0; b < p->batches; b++) {
        for (int i = 0; i < p->made[0][b]; i++) {
            double wanted[ICTUS_REDUCTIONS];
            bool valid = true;
            for (int r = 0; r < RANKS; r++) {
                valid = valid && p->samples[r][b][i].valid && !p->samples[r][b][i].late;
            }
            if (!valid) {
                invalid++;
                continue;
            }
            play_reduce(p, b, i, wanted);
            for (int k = 0; k < ICTUS_REDUCTIONS && n < all->n; k++) {
                const int readings = k == ICTUS_REDUCE_WAIT ? RANKS : 1;
                CHECK_NEAR(1e9 * all->values[k][n], wanted[k], readings * NEAR_NS);
            }
            for (int r = 0; r < RANKS && n < all->n; r++) {
                const struct visit *v = play_visit(p, r, b, i);
                CHECK_NEAR(1e9 * all->ranks_s[n * RANKS + r], v->left - v->entered, NEAR_NS);
            }
            n++;
        }
    }
    CHECK(all->n == n && all->invalid == invalid);
    CHECK(!p->all[1].values[0] && !p->all[1].ranks_s);
}

/* Every scheme that times single calls tells the truth about them. */
static void single_calls_are_true(struct play *p)
{
    static const struct {
        const char *spec;
        bool common;
        int barriers; /* of MPI in a batch: before each repetition; as many as there are tries */
    } schemes[] = {{"harmonize", true, 0},
                   {"round-time:slack=10", true, 0},
                   {"window", true, 5},
                   {"barrier", false, WANTED},
                   {"double-barrier", false, 2 * WANTED},
                   {"dissemination", false, 0},
                   {"barrier:algorithm=linear", false, 0},
                   {"double-barrier:algorithm=tree", false, 0}};
    for (size_t k = 0; k < sizeof(schemes) / sizeof(schemes[0]); k++) {
        const bool common = schemes[k].common;
        *p = (struct play){.spec = schemes[k].spec,
                           .batches = 3,
                           .root = (int)k % RANKS,
                           .length_ns = length_of_turns};
        play_start(p);
        CHECK(p->made[0][0] == WANTED && p->made[0][2] == WANTED);
        samples_are_true(p, common, NEAR_NS);
        reductions_are_true(p);
        CHECK(p->barriers[3] == schemes[k].barriers);
        CHECK(p->all[0].n > 2 * WANTED);
        /* Common starts are common; after a barrier of messages ranks are apart. */
        CHECK(common ? play_spread(p) <= NEAR_NS : play_spread(p) >= LATENCY_NS / 2);
        play_end(p);
    }
}

/* A process that loses its core spoils the repetition for all, and no number contains it. */
static void late_ones_are_dropped(struct play *p)
{
    static const char *const specs[] = {"harmonize", "round-time:slack=10"};
    for (size_t k = 0; k < sizeof(specs) / sizeof(specs[0]); k++) {
        *p = (struct play){.spec = specs[k],
                           .batches = BATCHES,
                           .root = 1,
                           .length_ns = length_of_turns,
                           .away_every_s = 2e-3};
        play_start(p);
        CHECK(p->all[0].invalid > 0 && p->all[0].n > 0);
        CHECK(p->all[0].n + p->all[0].invalid == BATCHES * WANTED);
        reductions_are_true(p);
        play_end(p);
    }
}

/* A start is `slack` broadcasts ahead; too few of them make late starts, which all know of. */
static void round_time_keeps_its_distance(struct play *p)
{
    double gaps[2];
    for (int k = 0; k < 2; k++) {
        *p = (struct play){.spec = k ? "round-time:slack=200" : "round-time:slack=100",
                           .batches = 1,
                           .length_ns = length_of_turns};
        play_start(p);
        gaps[k] =
            (double)(play_visit(p, 0, 0, WANTED - 1)->entered - play_visit(p, 0, 0, 0)->left) /
            (WANTED - 1);
        CHECK(p->all[0].invalid == 0);
        play_end(p);
    }
    const double latency_ns = (gaps[1] - gaps[0]) / 100.0; /* three messages, one after another */
    CHECK(latency_ns > 2.0 * LATENCY_NS && latency_ns < 6.0 * LATENCY_NS);
    *p = (struct play){.spec = "round-time:slack=1", .batches = 2, .length_ns = length_of_turns};
    play_start(p);
    CHECK(p->all[0].invalid > 0);
    for (int i = 0; i < 2 * WANTED; i++) {
        for (int r = 1; r < RANKS; r++) {
            CHECK(p->samples[r][i / WANTED][i % WANTED].valid ==
                  p->samples[0][i / WANTED][i % WANTED].valid);
        }
    }
    CHECK(play_spread(p) <= NEAR_NS);
    play_end(p);
}

static int64_t length_of_ms(const struct play *p, int batch, int rank, int call)
{
    (void)p;
    (void)batch;
    return rank == 2 ? 1000000 : 1000 * (call + 1);
}

/* A time slice ends the experiment on all processes after the repetition that exceeds it. */
static void round_time_ends(struct play *p)
{
    *p = (struct play){
        .spec = "round-time:slack=10", .batches = 1, .length_ns = length_of_ms, .budget_s = 6.5e-3};
    play_start(p);
    CHECK(p->made[0][0] == 7);
    play_end(p);
}

static int64_t length_of_a_long_one(const struct play *p, int batch, int rank, int call)
{
    (void)p;
    (void)batch;
    return rank == 2 && call == 3 ? 1300000 : 50000 + 1000 * rank;
}

/* Windows begin a fixed time apart. A call that goes on when the next one opens spoils its own and,
 * as its process is not ready, the next. */
static void windows_are_as_long_as_asked(struct play *p)
{
    *p = (struct play){
        .spec = "window:window=1ms", .batches = 2, .length_ns = length_of_a_long_one, .root = 4};
    play_start(p);
    samples_are_true(p, true, OVERSLEPT_NS);
    reductions_are_true(p);
    for (int b = 0; b < 2; b++) {
        for (int i = 0; i < WANTED; i++) {
            const int64_t since = p->samples[1][b][i].common - p->samples[1][b][0].common;
            CHECK(since == 1000000 * (int64_t)i);
            for (int r = 0; r < RANKS; r++) {
                CHECK(p->samples[r][b][i].valid == !(r == 2 && (i == 3 || i == 4)));
            }
        }
    }
    CHECK(p->all[0].invalid == 4 && p->all[0].n == 2 * WANTED - 4);
    CHECK(p->barriers[0] == 0); /* no tries */
    play_end(p);
}

enum { TRIES = 5, LONG_NS = 100000 };

/* Batch by batch: as long as tried; one too long; many too long; short ones. */
static int64_t length_of_batches(const struct play *p, int batch, int rank, int call)
{
    (void)p;
    static const double factors[BATCHES] = {1.0, 1.0, 6.0, 1.0, 0.01, 0.01};
    const double factor = batch == 1 && call == TRIES + 7 ? 6.0 : factors[batch];
    const double tried = factors[batch] < 1.0 ? factors[batch] : 1.0;
    return (int64_t)(LONG_NS * (call < TRIES ? tried : factor)) - 1000 * rank * (call < TRIES);
}

static double play_window(const struct play *p, int batch)
{
    return (double)(p->samples[0][batch][WANTED - 1].common - p->samples[0][batch][0].common) /
           (WANTED - 1);
}

/* A window is four times the longest call that was tried; it grows by half if more repetitions than
 * the given share were late, and shrinks by steps of a fifth to what calls take. */
static void windows_adapt(struct play *p)
{
    double window[2][BATCHES];
    for (int k = 0; k < 2; k++) {
        *p = (struct play){.spec = k ? "window:late=0.2" : "window",
                           .batches = BATCHES,
                           .length_ns = length_of_batches};
        play_start(p);
        samples_are_true(p, true, OVERSLEPT_NS);
        for (int b = 0; b < BATCHES; b++) {
            window[k][b] = play_window(p, b);
        }
        play_end(p);
        const double *w = window[k];
        CHECK_NEAR(w[0], 4.0 * LONG_NS, 4.0 * NEAR_NS);
        CHECK_NEAR(w[1], w[0], 4.0 * NEAR_NS);
        /* one of twenty late: more than 2 %, less than 20 % */
        CHECK_NEAR(w[2], k ? w[0] : w[0] * 1.5 * 0.8, 4.0 * NEAR_NS);
        CHECK_NEAR(w[3], w[2] * 1.5 * 0.8, 10.0);
        CHECK_NEAR(w[5], w[4] * 0.8 * 0.8, 10.0);
        CHECK_NEAR(w[4], w[3] * 0.8 * 0.8, 10.0);
    }
}

/* A loop's sample is the mean of its calls, after so many barriers. */
static void loops_are_means(struct play *p)
{
    enum { CALLS = 7 };
    static const struct {
        const char *spec;
        int barriers;
    } loops[] = {{"loop-imb:calls=7", 2},
                 {"loop-imb:calls=7,barriers=5", 5},
                 {"loop-mpptest:calls=7", 1},
                 {"loop-mpptest:calls=7,barriers=0", 0},
                 {"loop-mpbench:calls=7", 0}};
    for (size_t k = 0; k < sizeof(loops) / sizeof(loops[0]); k++) {
        *p = (struct play){.spec = loops[k].spec, .batches = 1, .length_ns = length_of_turns};
        play_start(p);
        CHECK(p->made[0][0] == WANTED && p->all[0].n == WANTED && p->all[0].invalid == 0);
        CHECK(p->barriers[2] == loops[k].barriers * WANTED);
        for (int r = 0; r < RANKS; r++) {
            CHECK(p->visit_count[r] == CALLS * WANTED);
            for (int i = 0; i < WANTED; i++) {
                const struct sample *s = &p->samples[r][0][i];
                const struct visit *v = &p->visits[r][i * CALLS];
                CHECK_NEAR(s->stop - s->start, (v[CALLS - 1].left - v[0].entered) / CALLS, NEAR_NS);
                CHECK_NEAR(s->end - s->begin, s->stop - s->start, 1.0);
                CHECK(!s->has_common && s->valid);
            }
        }
        play_end(p);
    }
}

int main(void)
{
    static struct play play;
    single_calls_are_true(&play);
    late_ones_are_dropped(&play);
    round_time_keeps_its_distance(&play);
    round_time_ends(&play);
    windows_are_as_long_as_asked(&play);
    windows_adapt(&play);
    loops_are_means(&play);
    return check_result();
}
