/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * S23 algorithm 1 with corrections. It works on any intra-communicator, uses the clock's
 * uncertainty instead of a fixed validity of one second, also judges lateness after the wait, and
 * lets the slack decrease again.
 *
 * The usual path is one reduction of three words to rank 0 (whether a process wants a sync, and how
 * the last start went) and one broadcast of three words from it (the deadline). Between nodes these
 * are MPI_Reduce and MPI_Bcast; board.h describes them inside a node. After work between two calls,
 * both are rehearsed once.
 */
#include "clock/watch.h"
#include "harmonize/state.h"
#include "sync/wait.h"

#include <math.h>

/* The words of the reduction. All of them are combined by MPI_MAX. */
enum { TELL_RESYNC, TELL_SHORTFALL, TELL_LATENESS, TELL_WORDS };
/* The words of the broadcast. */
enum { GO_DEADLINE, GO_SLACK, GO_AGAIN, GO_WORDS };
_Static_assert((int)TELL_WORDS == (int)BOARD_WORDS && (int)GO_WORDS == (int)BOARD_WORDS, "a board");

/* Why the words must be exchanged again before a start: because the clocks were synchronised
 * again, or because the processes had been working and this exchange was a rehearsal. */
enum again { AGAIN_NO, AGAIN_WARM, AGAIN_RESYNC };

/* A new synchronisation must make the clock better by at least this factor. */
#define WORTH_RESYNC 1.5
/* At most this share of the time is spent on synchronising, if the machine is too noisy for the
 * tolerance. */
#define RESYNC_SHARE 0.1

/* Times since the last call that have slacks of their own, see GAPS. */
enum { GAP_FIRST_NS = 50000, GAP_FACTOR = 10 };

/* Return whether this process's clock has become too uncertain and a sync would help. */
static bool harmonize_wants_resync(const struct harmonize_state *s)
{
    if (s->options.resync == RESYNC_NEVER) {
        return false;
    }
    /* At most two readings, because every call takes this path. */
    const struct watch_look look = ictusi_watch_look(&s->clock->watch, s->clock->source);
    if (look.stepped) {
        return true;
    }
    if (!s->any_call) {
        return false; /* the clock may be as new as this state */
    }
    if (s->options.resync == RESYNC_ALWAYS || s->suspicious) {
        return true;
    }
    if (1e-9 * (double)look.elapsed_ns * RESYNC_SHARE < s->clock->stats.duration_s) {
        return false;
    }
    const struct ictus_time local = {look.source_ns};
    struct ictus_reading now;
    (void)ictus_clock_map_reading(s->clock, local, &now);
    return now.sigma_ns > s->options.tolerance_s * 1e9 &&
           now.sigma_ns > WORTH_RESYNC * s->clock->stats.sigma_ns;
}

/* The single message of each kind that a call takes. */
static int harmonize_reduce(struct harmonize_state *s, const int64_t *told, int64_t *heard)
{
    if (s->board) {
        return ictusi_board_max(s->board, told, heard);
    }
    const int err = PMPI_Reduce(told, heard, TELL_WORDS, MPI_INT64_T, MPI_MAX, 0, s->clock->comm);
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

static int harmonize_broadcast(struct harmonize_state *s, int64_t *go)
{
    if (s->board) {
        return ictusi_board_tell(s->board, go);
    }
    const int err = PMPI_Bcast(go, GO_WORDS, MPI_INT64_T, 0, s->clock->comm);
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/* A process that knows nothing of a last start sends INT64_MIN, so that the words of others
 * prevail. */
static int harmonize_report(struct harmonize_state *s, bool resync, int64_t *heard)
{
    const int64_t told[TELL_WORDS] = {
        [TELL_RESYNC] = resync,
        [TELL_SHORTFALL] = s->any_call ? -s->last_margin_ns : INT64_MIN,
        [TELL_LATENESS] = s->any_call ? s->last_lateness_ns : INT64_MIN,
    };
    return harmonize_reduce(s, told, heard);
}

/*
 * Rank 0: let the slack learn what the processes reported about earlier starts. This is done when a
 * call begins, because between the decision on an instant and the instant itself everything takes
 * time from the slack.
 */
static void harmonize_learn(struct harmonize_state *s)
{
    if (s->learn && s->options.slack_s <= 0.0) {
        struct slack *const slack = &s->slack[s->unlearned_gap];
        ictusi_slack_learn(slack, (double)s->unlearned_ns);
        s->next_slack_ns[s->unlearned_gap] = (int64_t)ictusi_slack_next(slack);
    }
    s->learn = false;
}

/* Choose the slack of a call by the time since rank 0 left the last start. */
static int gap_of(int64_t since_ns)
{
    int gap = 0;
    for (int64_t limit_ns = GAP_FIRST_NS; gap < GAPS - 1 && since_ns > limit_ns; gap++) {
        limit_ns *= GAP_FACTOR;
    }
    return gap;
}

/*
 * Rank 0: choose the deadline of this call, and note what the last one needed. After work, the path
 * from here to the wait runs through code and data that have left the caches and through branches
 * that the processors no longer predict. It takes 0.8 us, whereas in a call right after another one
 * it takes 0.3 us. All of this is slack, during which a process may lose its core, so starts are
 * late in proportion to it. The first exchange of words after work is therefore a rehearsal, for
 * which no process waits.
 */
static void harmonize_decide(struct harmonize_state *s, bool first, const int64_t *heard,
                             int64_t *go)
{
    const bool rehearse = first && s->options.rehearse == REHEARSE_AUTO;
    s->learn = heard[TELL_SHORTFALL] != INT64_MIN;
    s->unlearned_ns = s->last_slack_ns + heard[TELL_SHORTFALL];
    s->unlearned_gap = s->last_gap;
    if (first) {
        s->last_gap = gap_of(ictusi_source_read(s->clock->source) - s->left_ns);
    }
    go[GO_AGAIN] = heard[TELL_RESYNC]            ? AGAIN_RESYNC
                   : rehearse && s->last_gap > 0 ? AGAIN_WARM
                                                 : AGAIN_NO;
    go[GO_SLACK] = s->next_slack_ns[s->last_gap];
    go[GO_DEADLINE] = ictus_clock_now(s->clock).ns + go[GO_SLACK];
}

/* Exchange both messages of one attempt. Afterwards `go` is the same on all processes. `first`:
 * the first attempt of this call. */
static int harmonize_negotiate(struct harmonize_state *s, bool first, int64_t *go)
{
    int64_t heard[TELL_WORDS] = {0, INT64_MIN, INT64_MIN};
    harmonize_learn(s);
    const int err = harmonize_report(s, first && harmonize_wants_resync(s), heard);
    if (err) {
        return err;
    }
    if (s->rank == 0) {
        harmonize_decide(s, first, heard, go);
    }
    return harmonize_broadcast(s, go);
}

/* Record how this process leaves. The caller's operation begins next, so everything that can be
 * done earlier has been done. */
static void harmonize_judge(struct harmonize_state *s, int64_t lateness_ns, bool trusted,
                            struct ictus_harmony *harmony)
{
    harmony->lateness_ns = (double)lateness_ns;
    harmony->flag = trusted && lateness_ns <= s->tolerance_ns;
    s->last_lateness_ns = lateness_ns;
    s->suspicious = !trusted;
    s->stats.late += !harmony->flag;
}

/* Compute everything that is known about a start before it, because the wait hides the time. */
static void harmonize_foresee(struct harmonize_state *s, const int64_t *go, int64_t deadline,
                              struct ictus_harmony *harmony)
{
    const struct ictus_time at = {deadline};
    struct ictus_reading reading;
    (void)ictus_clock_map_reading(s->clock, at, &reading);
    *harmony = (struct ictus_harmony){
        .deadline = {go[GO_DEADLINE]},
        .sigma_ns = reading.sigma_ns,
        .bound_ns = reading.bound_ns,
        .slack_ns = (double)go[GO_SLACK],
        .attempts = 1,
    };
    s->last_slack_ns = go[GO_SLACK];
    s->last_sigma_ns = reading.sigma_ns;
    s->stats.slack_ns = (double)go[GO_SLACK];
    /* Judge once as if on time, without lasting effect, so that code and data are in the caches
     * at the exit. */
    harmonize_judge(s, 0, true, harmony);
}

/* The exit is rehearsed together with the words, but no process waits for the announced
 * deadline. What the processes remember of the last start has already been reported. */
static void harmonize_rehearse(struct harmonize_state *s, const int64_t *go)
{
    const struct ictus_clock *clock = s->clock;
    struct ictus_harmony unheard;
    harmonize_foresee(s, go, ictusi_line_unmap(&clock->line, go[GO_DEADLINE]), &unheard);
    const int64_t now = ictusi_source_read(clock->source);
    (void)ictusi_sync_wait_until(clock->source, now, clock->crowded);
    s->rehearsals++;
}

static int harmonize_agree_on_deadline(struct harmonize_state *s, int64_t *go)
{
    int err = harmonize_negotiate(s, true, go);
    if (err || go[GO_AGAIN] == AGAIN_NO) {
        return err;
    }
    if (go[GO_AGAIN] == AGAIN_RESYNC) {
        err = ictus_clock_resync(s->clock);
        if (err) {
            return err;
        }
        s->stats.resyncs++;
        s->suspicious = false;
    } else {
        harmonize_rehearse(s, go);
    }
    /* The margin of the last start has already been learned. */
    s->any_call = false;
    return harmonize_negotiate(s, false, go);
}

/* Wait for the deadline and judge how this process leaves. */
static void harmonize_start(struct harmonize_state *s, const int64_t *go,
                            struct ictus_harmony *harmony)
{
    const struct ictus_clock *clock = s->clock;
    const int64_t deadline = ictusi_line_unmap(&clock->line, go[GO_DEADLINE]);
    harmonize_foresee(s, go, deadline, harmony);
    s->any_call = true;
    s->stats.calls++;
    s->slack_sum_ns += (double)go[GO_SLACK];
    const int64_t ready = ictusi_source_read(clock->source);
    const int64_t margin = deadline - ready;
    int64_t left = ready;
    /* No valid deadline is farther ahead than the longest slack, so never wait for one that is. */
    const bool absurd = margin > go[GO_SLACK] + (int64_t)(s->options.max_slack_s * 1e9);
    const bool waits = margin > 0 && !absurd;
    harmony->margin_ns = (double)margin;
    s->last_margin_ns = absurd ? 0 : margin;
    if (waits) {
        left = ictusi_sync_wait_until(clock->source, deadline, clock->crowded);
    }
    /* A process that leaves before the deadline after a wait has a source that ran backwards. */
    harmonize_judge(s, left - deadline, !absurd && !(waits && left < deadline), harmony);
    s->left_ns = left;
}

/* S23 algorithm 1: negotiate, wait, judge. The flag is local. The reduction of the next call
 * tells rank 0 whether any process was late. */
int ictus_harmonize(MPI_Comm comm, struct ictus_harmony *harmony)
{
    struct harmonize_state *state = NULL;
    struct ictus_harmony unheard;
    int64_t go[GO_WORDS] = {0, 0, 0};
    int err = ictusi_harmonize_state(comm, &state, NULL);
    if (!err) {
        err = harmonize_agree_on_deadline(state, go);
    }
    if (err) {
        return err;
    }
    harmonize_start(state, go, harmony ? harmony : &unheard);
    return ICTUS_OK;
}

/* The pause, in slacks, before the start that counts. It is long because that start is not
 * repeated. */
enum { RETRY_PAUSE = 4 };

/* Find out whether any process was late, and agree on the instant at which all leave if none was
 * or no retry is left. */
static int harmonize_agree_on_restart(struct harmonize_state *s, struct ictus_harmony *harmony,
                                      bool *any_late)
{
    const int64_t told[TELL_WORDS] = {!harmony->flag, 0, 0};
    int64_t heard[TELL_WORDS] = {0, 0, 0};
    int64_t go[GO_WORDS] = {0, 0, 0};
    int err = harmonize_reduce(s, told, heard);
    if (!err && s->rank == 0) {
        const int64_t pause = RETRY_PAUSE * (int64_t)harmony->slack_ns;
        go[GO_AGAIN] = heard[TELL_RESYNC];
        go[GO_DEADLINE] = ictus_clock_now(s->clock).ns + pause;
    }
    err = err ? err : harmonize_broadcast(s, go);
    *any_late = go[GO_AGAIN] != 0;
    harmony->deadline.ns = go[GO_DEADLINE]; /* replaced by the next start's own deadline if there
                                               is one */
    return err;
}

/* It is judged like any start, but nothing is learned from it, because its slack is a fixed one. */
static void harmonize_start_again(struct harmonize_state *s, struct ictus_harmony *harmony)
{
    const int64_t deadline = ictusi_line_unmap(&s->clock->line, harmony->deadline.ns);
    const int64_t ready = ictusi_source_read(s->clock->source);
    int64_t left = ready;
    harmony->margin_ns = (double)(deadline - ready);
    if (ready < deadline) {
        left = ictusi_sync_wait_until(s->clock->source, deadline, s->clock->crowded);
    }
    harmony->lateness_ns = (double)(left - deadline);
    harmony->flag = left >= deadline && left - deadline <= s->tolerance_ns;
}

int ictus_harmonize_retry(MPI_Comm comm, int retries, struct ictus_harmony *harmony)
{
    struct ictus_harmony unheard;
    struct ictus_harmony *outcome = harmony ? harmony : &unheard;
    if (retries < 0) {
        return ICTUS_ERR_ARG;
    }
    int err = ictus_harmonize(comm, outcome);
    struct harmonize_state *state = err || !retries ? NULL : ictusi_harmonize_find(comm);
    for (int attempt = 1; state && !err; attempt++) {
        bool any_late = false;
        err = harmonize_agree_on_restart(state, outcome, &any_late);
        if (!err && (!any_late || attempt > retries)) {
            outcome->attempts = attempt;
            harmonize_start_again(state, outcome);
            break;
        }
        err = err ? err : ictus_harmonize(comm, outcome);
    }
    return err;
}

int ictus_harmonize_configure(MPI_Comm comm, const char *spec, const char *clock,
                              struct ictus_why *why)
{
    struct harmonize_state *state = NULL;
    struct ictus_why unheard;
    struct ictus_why *reason = why ? why : &unheard;
    reason->text[0] = '\0';
    return ictusi_harmonize_make(comm, spec, clock, &state, reason);
}

int ictus_harmonize_set_info(MPI_Comm comm, MPI_Info info, struct ictus_why *why)
{
    char spec[1024];
    char clock[CLOCK_SPEC_MAX];
    if (info == MPI_INFO_NULL) {
        return ictus_harmonize_configure(comm, NULL, NULL, why);
    }
    const bool any = ictusi_harmonize_info_spec(info, spec, sizeof(spec), clock, sizeof(clock));
    return ictus_harmonize_configure(comm, any ? spec : NULL, clock[0] ? clock : NULL, why);
}

int ictus_harmonize_get_info(MPI_Comm comm, MPI_Info *info)
{
    if (comm == MPI_COMM_NULL || !info) {
        return ICTUS_ERR_ARG;
    }
    const struct harmonize_state *state = ictusi_harmonize_find(comm);
    return state ? ictusi_harmonize_info_get(state, info) : ICTUS_ERR_SAMPLES;
}

int ictus_harmonize_clock(MPI_Comm comm, struct ictus_clock **clock)
{
    struct harmonize_state *state = NULL;
    if (!clock) {
        return ICTUS_ERR_ARG;
    }
    const int err = ictusi_harmonize_state(comm, &state, NULL);
    if (!err) {
        *clock = state->clock;
    }
    return err;
}

int ictus_harmonize_stats(MPI_Comm comm, struct ictus_harmonize_stats *stats)
{
    if (comm == MPI_COMM_NULL || !stats) {
        return ICTUS_ERR_ARG;
    }
    const struct harmonize_state *state = ictusi_harmonize_find(comm);
    if (!state || state->stats.calls == 0) {
        return ICTUS_ERR_SAMPLES;
    }
    *stats = state->stats;
    /* Each of two clocks may be off by sigma, and a start by its lateness. */
    stats->skew_ns = hypot(2.0 * state->last_sigma_ns, fmax(0.0, (double)state->last_lateness_ns));
    stats->tolerance_ns = state->options.tolerance_s * 1e9;
    stats->mean_slack_ns = state->slack_sum_ns / (double)state->stats.calls;
    return ICTUS_OK;
}
