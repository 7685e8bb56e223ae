/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parallel replay (B07 5.2): a team of MPI ranks, each with some of the locations. Before the
 * first value flows, they must agree on how many collectives there are, where their nodes are, and
 * which send belongs to which receive.
 */
#include "correct/correct.h"
#include "correct/rank_matching.h"
#include "correct/transport.h"

#include <otf2/OTF2_MPI_Collectives.h>
#include <stdlib.h>
#include <string.h>

static int replay_checked(int code)
{
    return code == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

static int team_agree(struct team *team, int err)
{
    return ictusi_ranks_agree(ictusi_transport_team(team)->comm, err);
}

/* Reduce in pieces whose size fits into MPI's int counts. */
static int team_reduce(struct team *team, void *values, uint64_t count, MPI_Datatype type,
                       MPI_Op op, size_t size)
{
    enum { PIECE = 1 << 24 };
    int err = ICTUS_OK;
    for (uint64_t at = 0; at < count && !err; at += PIECE) {
        const uint64_t n = count - at < PIECE ? count - at : PIECE;
        err = replay_checked(MPI_Allreduce(MPI_IN_PLACE, (char *)values + at * size, (int)n, type,
                                           op, ictusi_transport_team(team)->comm));
    }
    return err;
}

static int team_sums(struct team *team, uint64_t *values, uint64_t count)
{
    return team_reduce(team, values, count, MPI_UINT64_T, MPI_SUM, sizeof *values);
}

static int team_maxima(struct team *team, int64_t *values, uint64_t count)
{
    return team_reduce(team, values, count, MPI_INT64_T, MPI_MAX, sizeof *values);
}

static int team_minima(struct team *team, int64_t *values, uint64_t count)
{
    return team_reduce(team, values, count, MPI_INT64_T, MPI_MIN, sizeof *values);
}

static int team_broadcast(struct team *team, void *bytes, uint64_t count)
{
    enum { PIECE = 1 << 24 };
    int err = ICTUS_OK;
    for (uint64_t at = 0; at < count && !err; at += PIECE) {
        const uint64_t n = count - at < PIECE ? count - at : PIECE;
        err = replay_checked(
            MPI_Bcast((char *)bytes + at, (int)n, MPI_BYTE, 0, ictusi_transport_team(team)->comm));
    }
    return err;
}

/*
 * Reduce 32-bit numbers as 64-bit ones, because MPICH 4.0 takes the minimum of MPI_UINT32_T as if
 * it were signed, and UINT32_MAX means "no value" here.
 */
static int team_reduce_u32(struct team *team, uint32_t *values, uint64_t count, MPI_Op op)
{
    enum { PIECE = 4096 };
    int64_t wide[PIECE];
    int err = ICTUS_OK;
    for (uint64_t at = 0; at < count && !err; at += PIECE) {
        const uint64_t n = count - at < PIECE ? count - at : PIECE;
        for (uint64_t i = 0; i < n; i++) {
            wide[i] = values[at + i];
        }
        err = team_reduce(team, wide, n, MPI_INT64_T, op, sizeof *wide);
        for (uint64_t i = 0; i < n; i++) {
            values[at + i] = (uint32_t)wide[i];
        }
    }
    return err;
}

/*
 * OTF2 writes the definitions of a parallel archive with collective calls of its own, on the team's
 * communicator.
 */
static int team_attach(struct team *team, void *archive)
{
    return OTF2_MPI_Archive_SetCollectiveCallbacks(archive, ictusi_transport_team(team)->comm,
                                                   MPI_COMM_NULL) == OTF2_SUCCESS
               ? ICTUS_OK
               : ICTUS_ERR_MPI;
}

/*
 * For each communicator, the number of collective calls that all of this rank's members have. The
 * minimum counts, because a call that one member lacks is complete for nobody.
 */
static void replay_count_calls(const struct history *history, const struct share *share,
                               uint32_t *calls)
{
    const struct layout *layout = history->layout;
    for (uint32_t i = 0; i < POINT_CLASSES * layout->comm_count; i++) {
        const uint32_t class = (uint32_t)(i / layout->comm_count);
        const struct layout_comm *comm = &layout->comms[i % layout->comm_count];
        calls[i] = UINT32_MAX; /* NOLINT(clang-analyzer-core.NullDereference): comms exist then */
        for (uint32_t k = 0; comm->members && k < comm->size_a + comm->size_b; k++) {
            const uint32_t location = comm->members[k];
            /*
             * A member that the archive does not contain has recorded no call, so no call on this
             * communicator can be complete.
             */
            if (location == LAYOUT_NONE) {
                calls[i] = 0;
            } else if (share->mine[location]) {
                const int64_t n = ictusi_idmap_get(
                    &history->matching.sequences,
                    (uint64_t) class << 32 | (uint32_t)(i % layout->comm_count), location);
                const uint32_t count = n == IDMAP_NONE ? 0 : (uint32_t)n;
                calls[i] = count < calls[i] ? count : calls[i];
            }
        }
    }
}

/* What the ranks recorded about each call: one entry per call, for all communicators in a row. */
struct calls_said {
    uint64_t count;
    uint32_t *op_low, *op_high, *root, *sums, *bases;
};

/*
 * Each rank writes what its own members recorded. The reductions in replay_exchange_said() then
 * show whether all agree: the least and the largest operation are then equal. A rank without a
 * member leaves the neutral elements of the minimum (all ones), maximum and sum (0). A broken call
 * writes 0 and 255, which never agree.
 */
static void replay_say_calls(const struct history *history, const struct agreement *agreements,
                             struct calls_said *said)
{
    const uint64_t comms = history->layout->comm_count;
    memset(said->op_low, 0xff, said->count * sizeof *said->op_low);
    memset(said->op_high, 0, said->count * sizeof *said->op_high);
    memset(said->root, 0xff, said->count * sizeof *said->root);
    memset(said->sums, 0, COLLECTIVE_SUMS * said->count * sizeof *said->sums);
    for (uint64_t i = 0; i < history->matching.instance_count; i++) {
        const struct instance *instance = &history->matching.instances[i];
        if (instance->op >= OP_FORK && instance->op <= OP_PAIR) {
            continue;
        }
        const struct agreement *a = &agreements[instance->class * comms + instance->comm];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an instance has a communicator */
        if (instance->sequence < a->calls) {
            a->op_low[instance->sequence] = instance->broken ? 0 : instance->op;
            a->op_high[instance->sequence] = instance->broken ? UINT8_MAX : instance->op;
            a->root[instance->sequence] = instance->root;
            memcpy(&a->sums[(size_t)instance->sequence * COLLECTIVE_SUMS], instance->sums,
                   sizeof instance->sums);
        }
    }
}

/* Four reductions over all calls of all communicators, instead of one message per call. */
static int replay_exchange_said(struct team *team, struct calls_said *said)
{
    int err = team_reduce_u32(team, said->op_low, said->count, MPI_MIN);
    err = err ? err : team_reduce_u32(team, said->op_high, said->count, MPI_MAX);
    err = err ? err : team_reduce_u32(team, said->sums, COLLECTIVE_SUMS * said->count, MPI_SUM);
    return err ? err : team_reduce_u32(team, said->root, said->count, MPI_MIN);
}

/*
 * Divide the entries among the communicators, and compute where this rank's nodes will be. The
 * entries still belong to `said`.
 */
static void calls_divide(struct team *team, const struct history *history,
                         const struct share *share, const uint32_t *calls,
                         struct agreement *agreements, struct calls_said *said, uint32_t *own_bases)
{
    const uint64_t comms = history->layout->comm_count;
    uint64_t at = 0;
    uint32_t base = 0;
    for (uint64_t i = 0; i < POINT_CLASSES * comms; i++) {
        const uint32_t slots =
            ictusi_collectives_slots(history->layout, share, (uint32_t)(i % comms), team->rank);
        struct agreement *a = &agreements[i];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): one for each communicator */
        a->calls = calls[i] == UINT32_MAX ? 0 : calls[i];
        a->op_low = said->op_low + at;
        a->op_high = said->op_high + at;
        a->root = said->root + at;
        a->sums = said->sums + COLLECTIVE_SUMS * at;
        a->base = said->bases + i * (uint64_t)team->size;
        own_bases[i] = base;
        /*
         * The nodes of one rank are ordered by communicator, and then by call: call k begins at
         * node base + slots k. So other ranks need only the base to refer to any of them.
         */
        base += slots * (uint32_t)a->calls;
        at += a->calls;
    }
}

/* Allocate entries for all communicators in one row, so that one reduction covers all of them. */
static int replay_make_rows(struct calls_said *said, const uint32_t *calls, uint64_t n, int ranks)
{
    for (uint64_t i = 0; i < n; i++) {
        said->count += calls[i] == UINT32_MAX ? 0 : calls[i];
    }
    said->op_low = malloc((said->count + 1) * sizeof *said->op_low);
    said->op_high = malloc((said->count + 1) * sizeof *said->op_high);
    said->root = malloc((said->count + 1) * sizeof *said->root);
    said->sums = malloc((COLLECTIVE_SUMS * said->count + 1) * sizeof *said->sums);
    said->bases = malloc((n * (uint64_t)ranks + 1) * sizeof *said->bases);
    return said->op_low && said->op_high && said->root && said->sums && said->bases
               ? ICTUS_OK
               : ICTUS_ERR_NOMEM;
}

/* Tell all ranks where this rank's nodes begin. */
static int replay_exchange_bases(struct team *team, uint32_t *own, uint64_t n,
                                 struct agreement *agreements)
{
    uint32_t *all = calloc(n * (uint64_t)team->size + 1, sizeof *all);
    int err = team_agree(team, all ? ICTUS_OK : ICTUS_ERR_NOMEM);
    err = err ? err
              : replay_checked(MPI_Allgather(own, (int)n, MPI_UINT32_T, all, (int)n, MPI_UINT32_T,
                                             ictusi_transport_team(team)->comm));
    for (uint64_t i = 0; all && i < n && !err; i++) {
        for (int r = 0; r < team->size; r++) {
            agreements[i].base[r] = all[(uint64_t)r * n + i];
        }
    }
    free(all);
    return err;
}

/*
 * The order matters, because each step needs the one before: the number of calls on each
 * communicator that all ranks have, room for them, what they are, and where their nodes will be.
 */
static int replay_agree_on_collectives(struct team *team, const struct history *history,
                                       const struct share *share, struct agreement *agreements,
                                       struct calls_said *said)
{
    const uint64_t n = POINT_CLASSES * history->layout->comm_count;
    uint32_t *calls = calloc(2 * n + 2, sizeof *calls);
    int err = team_agree(team, calls ? ICTUS_OK : ICTUS_ERR_NOMEM);
    if (!err) {
        replay_count_calls(history, share, calls);
        err = team_reduce_u32(team, calls, n, MPI_MIN);
    }
    err = err ? err : team_agree(team, replay_make_rows(said, calls, n, team->size));
    if (!err) {
        calls_divide(team, history, share, calls, agreements, said, calls + n + 1);
        replay_say_calls(history, agreements, said);
        err = replay_exchange_said(team, said);
    }
    err = err ? err : replay_exchange_bases(team, calls + n + 1, n, agreements);
    free(calls);
    return team_agree(team, err);
}

/*
 * If one rank's locations recorded sizes, that applies to all ranks; otherwise ranks would build
 * different collectives. What was agreed on is needed only until the graph is complete. Collective,
 * like everything here.
 */
static int team_connect(struct team *team, struct graph *graph, struct history *history,
                        const struct share *share)
{
    struct calls_said said = {.count = 0};
    uint64_t known = history->matching.sizes_known;
    struct agreement *agreements =
        calloc(POINT_CLASSES * history->layout->comm_count + 1, sizeof *agreements);
    int err = team_agree(team, agreements ? ICTUS_OK : ICTUS_ERR_NOMEM);
    err = err ? err : team_sums(team, &known, 1);
    if (!err) {
        history->matching.sizes_known = known > 0;
        err = replay_agree_on_collectives(team, history, share, agreements, &said);
    }
    if (!err) {
        err = team_agree(team, ictusi_connect_history(graph, history, share, agreements, 1));
    }
    if (!err) {
        err = ictusi_rank_matching_run(ictusi_transport_team(team)->comm, graph,
                                       &ictusi_transport_team(team)->crossings);
    }
    free(agreements);
    free(said.op_low);
    free(said.op_high);
    free(said.root);
    free(said.sums);
    free(said.bases);
    return err;
}

/*
 * The first rank that knows the reason tells the others. Errors are agreed on, so all ranks come
 * here together.
 */
static void replay_share_reason(const struct mpi_team *team, int own, struct ictus_why *why)
{
    int teller = own && why->text[0] ? team->team.rank : INT32_MAX;
    int first = INT32_MAX;
    MPI_Allreduce(&teller, &first, 1, MPI_INT, MPI_MIN, team->comm);
    if (first != INT32_MAX) {
        MPI_Bcast(why->text, (int)sizeof why->text, MPI_CHAR, first, team->comm);
    }
}

/*
 * The first rank alone knows the truth, and by how much the clocks that it fitted may be off: all
 * ranks get its report. Collective.
 */
static int replay_share_report(struct team *team, json_t **report)
{
    const bool first = team->rank == 0;
    char *text = first ? json_dumps(*report, JSON_COMPACT) : NULL;
    uint64_t size = text ? strlen(text) + 1 : 0;
    int err = team_agree(team, !first || text ? ICTUS_OK : ICTUS_ERR_NOMEM);
    err = err ? err : team_agree(team, team_broadcast(team, &size, sizeof size));
    if (!err) {
        text = first ? text : malloc(size);
        err = team_agree(team, text ? ICTUS_OK : ICTUS_ERR_NOMEM);
    }
    err = err ? err : team_agree(team, team_broadcast(team, text, size));
    if (!err) {
        json_t *shared = first ? json_incref(*report) : json_loads(text, 0, NULL);
        json_decref(*report);
        *report = shared;
        err = team_agree(team, shared ? ICTUS_OK : ICTUS_ERR_NOMEM);
    }
    if (err) {
        json_decref(*report);
        *report = NULL;
    }
    free(text);
    return err;
}

/*
 * The collective functions of a team. For messages while values flow see ictusi_transport_init().
 */
static void team_fill(struct team *team)
{
    team->agree = team_agree;
    team->sums = team_sums;
    team->maxima = team_maxima;
    team->minima = team_minima;
    team->broadcast = team_broadcast;
    team->attach = team_attach;
    team->connect = team_connect;
}

static int replay_run_team(struct mpi_team *team, const struct ictus_correct_options *options,
                           json_t **report, struct ictus_why *why)
{
    struct ictus_why mine = {""};
    int err = ictusi_transport_init(team, team->comm);
    team_fill(&team->team);
    err = team_agree(&team->team, err);
    if (!err) {
        err = ictusi_correct_team(options, &team->team, report, &mine);
        err = err ? err : replay_share_report(&team->team, report);
    }
    if (err) {
        replay_share_reason(team, err, &mine);
        if (why) {
            *why = mine;
        }
    }
    ictusi_transport_fini(team);
    return err;
}

/* Runs on a communicator of its own, so that its messages cannot be confused with the caller's. */
int ictus_correct_mpi(MPI_Comm comm, const struct ictus_correct_options *options, json_t **report,
                      struct ictus_why *why)
{
    struct mpi_team team = {.comm = MPI_COMM_NULL};
    int inter = 0;
    if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) {
        return ICTUS_ERR_ARG;
    }
    if (inter) {
        return ICTUS_ERR_INTERCOMM;
    }
    if (MPI_Comm_dup(comm, &team.comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    /*
     * Errors are reported through ictus_why and end all ranks alike, so MPI must not abort the job
     * first.
     */
    MPI_Comm_set_errhandler(team.comm, MPI_ERRORS_RETURN);
    const int err = replay_run_team(&team, options, report, why);
    MPI_Comm_free(&team.comm);
    return err;
}
