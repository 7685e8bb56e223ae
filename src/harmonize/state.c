/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of harmonised starts as an attribute of the communicator. */
#include "harmonize/state.h"

#include "core/container.h"
#include "core/plain.h"
#include "core/spec.h"
#include "harmonize/ballast.h"

#include <ictus/text.h>
#include <ictus/traits.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const policies[] = {"auto", "never", "always", NULL};
static const char *const withins[] = {"auto", "memory", "messages", NULL};
static const char *const rehearsals[] = {"auto", "no", NULL};

static const struct spec_param params[] = {
    {"tolerance", SPEC_SECONDS, offsetof(struct harmonize_options, tolerance_s), "0", 0, 1.0, NULL,
     "error that a start may have; 0 means 1us, or 100us if there are more "
     "processes than cores"},
    {"late", SPEC_REAL, offsetof(struct harmonize_options, late), "0.001", 1e-6, 0.5, NULL,
     "target rate of late starts"},
    {"reach", SPEC_REAL, offsetof(struct harmonize_options, reach), "32", 1, 1e6, NULL,
     "longest slack, as a multiple of the median time that calls needed"},
    {"resync", SPEC_CHOICE, offsetof(struct harmonize_options, resync), "auto", 0, 0, policies,
     "when to synchronise again"},
    {"slack", SPEC_SECONDS, offsetof(struct harmonize_options, slack_s), "0", 0, 10, NULL,
     "fixed slack; 0 chooses it from the measured margins"},
    {"within", SPEC_CHOICE, offsetof(struct harmonize_options, within), "auto", 0, 0, withins,
     "how processes of one node agree"},
    {"rehearse", SPEC_CHOICE, offsetof(struct harmonize_options, rehearse), "auto", 0, 0,
     rehearsals, "after work, exchange the messages twice, so that the start finds warm caches"},
    {"max_slack", SPEC_SECONDS, offsetof(struct harmonize_options, max_slack_s), "100ms", 1e-6, 10,
     NULL, "longest slack"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static void state_release(struct attached *attached)
{
    struct harmonize_state *state = container_of(attached, struct harmonize_state, attached);
    ictusi_board_free(state->board);
    ictus_clock_free(state->clock);
    free(state);
}

struct harmonize_state *ictusi_harmonize_find(MPI_Comm comm)
{
    struct attached *attached = ictusi_harmonize_attached(comm, ATTACH_HARMONIZE);
    return attached ? container_of(attached, struct harmonize_state, attached) : NULL;
}

static const char start_name[] = "harmonize";

/* Return the specification to use: the given one, else that of the environment, else the
 * default. */
static const char *scheme_resolved(const char *text)
{
    const char *const fallback = getenv("ICTUS_HARMONIZE");
    return text ? text : fallback && fallback[0] ? fallback : start_name;
}

static int state_read_options(const char *given, struct harmonize_options *options,
                              struct ictus_why *why)
{
    static const char *const only[] = {start_name, NULL};
    struct spec spec;
    const int err = ictusi_spec_split(given, &spec, why);
    if (err) {
        return err;
    }
    if (strcmp(spec.name, only[0]) != 0) {
        return ictus_unknown(why, "start", spec.name, only);
    }
    return ictusi_spec_read(&spec, params, options, why);
}

/* Return a first guess, in ns, before any call: the fastest of a few broadcasts between
 * barriers. */
static double broadcast_ns(const struct ictus_clock *clock)
{
    enum { TRIES = 5 };
    int64_t word = 0;
    double least = 1e18;
    for (int i = 0; i < TRIES; i++) {
        PMPI_Barrier(clock->comm); /* PMPI, because tools may replace MPI_Barrier */
        const int64_t start = ictusi_source_read(clock->source);
        PMPI_Bcast(&word, 1, MPI_INT64_T, 0, clock->comm);
        PMPI_Barrier(clock->comm); /* see above */
        const double took = (double)(ictusi_source_read(clock->source) - start);
        least = took < least ? took : least;
    }
    return least;
}

static int state_check_comm(MPI_Comm comm, struct ictus_why *why)
{
    int inter = 0;
    if (comm == MPI_COMM_NULL) {
        return ictus_because(why, ICTUS_ERR_ARG, "a communicator must be given");
    }
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    return inter ? ictus_because(why, ICTUS_ERR_INTERCOMM,
                                 "the communicator must be an intra-communicator")
                 : ICTUS_OK;
}

#define TOLERANCE_S 1e-6
/* Processes that take turns on a core start at best a context switch apart. */
#define TOLERANCE_CROWDED_S 100e-6

/* Return whether processes outnumber cores on any node. Collective. */
static bool state_any_crowded(const struct ictus_clock *clock)
{
    int crowded = clock->crowded;
    (void)PMPI_Allreduce(MPI_IN_PLACE, &crowded, 1, MPI_INT, MPI_MAX, clock->comm);
    return crowded != 0;
}

/* Processes that take turns wait for context switches, whichever way the words take. MPI
 * libraries handle some of these waits better. */
static bool state_wants_memory(const struct harmonize_options *options, bool crowded)
{
    return options->within == WITHIN_MEMORY || (options->within == WITHIN_AUTO && !crowded);
}

/* min_ns is the time that a line of shared memory takes from core to core. No start can do with
 * less. */
static int state_fill(struct harmonize_state *state, const struct harmonize_options *options)
{
    const struct ictus_clock *clock = state->clock;
    const bool crowded = state_any_crowded(clock);
    struct slack_options slack = {.late = options->late,
                                  .reach = options->reach,
                                  .min_ns = 200.0,
                                  .max_ns = options->max_slack_s * 1e9};
    state->options = *options;
    if (state->options.tolerance_s <= 0.0) {
        state->options.tolerance_s = crowded ? TOLERANCE_CROWDED_S : TOLERANCE_S;
    }
    slack.tolerance_ns = state->options.tolerance_s * 1e9;
    state->tolerance_ns = (int64_t)slack.tolerance_ns;
    PMPI_Comm_rank(clock->comm, &state->rank);
    /* Ten broadcasts: the first start should be too long rather than late, because it teaches
     * more. */
    const double first_ns = 10.0 * broadcast_ns(clock);
    for (int gap = 0; gap < GAPS; gap++) {
        ictusi_slack_init(&state->slack[gap], &slack, first_ns);
        state->next_slack_ns[gap] = options->slack_s > 0.0
                                        ? (int64_t)(options->slack_s * 1e9)
                                        : (int64_t)ictusi_slack_next(&state->slack[gap]);
    }
    return state_wants_memory(options, crowded)
               ? ictusi_board_create(clock->comm, clock->crowded, &state->board)
               : ICTUS_OK;
}

/* Create the clock and the board. */
static int state_build(MPI_Comm comm, const char *clock, const struct harmonize_options *options,
                       struct harmonize_state *state, struct ictus_why *why)
{
    struct ballast ballast;
    ictusi_ballast_take(&ballast, comm);
    int err = ictus_clock_create_why(comm, clock, &state->clock, why);
    if (err) {
        free(state);
    } else {
        state->attached.release = state_release;
        err = state_fill(state, options);
        if (err) {
            state_release(&state->attached);
        }
    }
    ictusi_ballast_drop(&ballast);
    return err;
}

/* Errors are agreed on before the clock is created, which takes a second and involves all ranks. */
static int state_make(MPI_Comm comm, const char *spec, const char *clock,
                      struct harmonize_state **out, struct ictus_why *why)
{
    struct harmonize_options options = {.late = 0.0};
    struct harmonize_state *state = NULL;
    const char *const given = scheme_resolved(spec);
    int err = state_read_options(given, &options, why);
    if (!err) {
        state = calloc(1, sizeof(*state));
        err = state ? ICTUS_OK : ICTUS_ERR_NOMEM;
    }
    err = ictusi_sync_agree(comm, err, why);
    if (!err) {
        err = ictus_traits_agree(comm, &(struct ictus_trait){"start", given}, 1, why);
    }
    if (err || !state) {
        free(state);
        return err;
    }
    err = state_build(comm, clock, &options, state, why);
    err = err ? err : ictusi_attach(comm, ATTACH_HARMONIZE, &state->attached);
    if (!err) {
        *out = state;
    }
    return err;
}

/* The requested options of a communicator as one text: the specification of the start, a line
 * feed, and that of the clock. */
enum { WISHES_MAX = 1024 + CLOCK_SPEC_MAX };

struct wishes {
    char text[WISHES_MAX];
    const char *spec; /* NULL: the default */
    const char *clock;
};

static void state_split_wishes(struct wishes *wishes)
{
    char *feed = strchr(wishes->text, '\n');
    wishes->spec = wishes->text;
    wishes->clock = NULL;
    if (feed) {
        *feed = '\0';
        wishes->clock = feed[1] ? feed + 1 : NULL;
    }
    if (!wishes->text[0]) {
        wishes->spec = NULL;
    }
}

static int state_remember(MPI_Comm comm, const char *spec, const char *clock)
{
    struct wishes wishes;
    if (!spec && !clock) {
        return ictusi_attach_hint(comm, NULL);
    }
    (void)snprintf(wishes.text, sizeof(wishes.text), "%s\n%s", spec ? spec : "",
                   clock ? clock : "");
    return ictusi_attach_hint(comm, wishes.text);
}

int ictusi_harmonize_make(MPI_Comm comm, const char *spec, const char *clock,
                          struct harmonize_state **out, struct ictus_why *why)
{
    int err = state_check_comm(comm, why);
    if (!err) {
        err = state_make(comm, spec, clock, out, why);
    }
    return err ? err : state_remember(comm, spec, clock);
}

/* Read one key of an info object. Return false if it is absent. */
static bool info_value(MPI_Info info, const char *name, char *value, int size)
{
    char key[64];
    int found = 0;
    (void)snprintf(key, sizeof(key), "ictus_%s", name);
    PMPI_Info_get(info, key, size - 1, value, &found);
    return found != 0;
}

/* The info keys are the options' names after "ictus_". The table of the specification is used
 * for both. */
bool ictusi_harmonize_info_spec(MPI_Info info, char *spec, size_t size, char *clock,
                                size_t clock_size)
{
    char value[256];
    size_t length = (size_t)snprintf(spec, size, "harmonize");
    const size_t plain = length;
    for (const struct spec_param *p = params; p->name; p++) {
        if (info_value(info, p->name, value, (int)sizeof(value)) &&
            length + strlen(value) + 40 < size) {
            length += (size_t)snprintf(spec + length, size - length, "%c%s=%s",
                                       length == plain ? ':' : ',', p->name, value);
        }
    }
    clock[0] = '\0';
    const bool named = info_value(info, "clock", clock, (int)clock_size);
    return named || length > plain;
}

/* The inherited text of a duplicate takes precedence over info keys, which MPI_Comm_dup also
 * copies, because the text was set last. */
static int state_make_as_wished(MPI_Comm comm, struct harmonize_state **state,
                                struct ictus_why *why)
{
    struct wishes wishes = {.text = ""};
    const char *hint = ictusi_harmonize_attached_hint(comm);
    MPI_Info info = MPI_INFO_NULL;
    if (hint) {
        (void)snprintf(wishes.text, sizeof(wishes.text), "%s", hint);
        state_split_wishes(&wishes);
        return state_make(comm, wishes.spec, wishes.clock, state, why);
    }
    char clock[CLOCK_SPEC_MAX];
    bool wished = false;
    if (PMPI_Comm_get_info(comm, &info) == MPI_SUCCESS && info != MPI_INFO_NULL) {
        wished = ictusi_harmonize_info_spec(info, wishes.text, sizeof(wishes.text), clock,
                                            sizeof(clock));
        PMPI_Info_free(&info);
    }
    return wished ? state_make(comm, wishes.text, clock[0] ? clock : NULL, state, why)
                  : state_make(comm, NULL, NULL, state, why);
}

int ictusi_harmonize_state(MPI_Comm comm, struct harmonize_state **state, struct ictus_why *why)
{
    *state = comm == MPI_COMM_NULL ? NULL : ictusi_harmonize_find(comm);
    if (*state) {
        return ICTUS_OK;
    }
    const int err = state_check_comm(comm, why);
    return err ? err : state_make_as_wished(comm, state, why);
}

int ictusi_harmonize_info_get(const struct harmonize_state *state, MPI_Info *info)
{
    const struct harmonize_options *o = &state->options;
    if (PMPI_Info_create(info) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    for (const struct spec_param *p = params; p->name; p++) {
        char key[64];
        char value[64];
        const void *member = (const char *)o + p->offset;
        (void)snprintf(key, sizeof(key), "ictus_%s", p->name);
        if (p->type == SPEC_CHOICE) {
            (void)snprintf(value, sizeof(value), "%s", p->choices[*(const int *)member]);
        } else {
            const struct plain plain = plain_begin();
            (void)snprintf(value, sizeof(value), "%.9g", *(const double *)member);
            plain_end(&plain);
        }
        PMPI_Info_set(*info, key, value);
    }
    PMPI_Info_set(*info, "ictus_clock", ictus_clock_spec(state->clock));
    return ICTUS_OK;
}
