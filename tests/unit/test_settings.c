/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of a trace: each variable sets its own member and nothing else, within its limits.
 * Also the division of the buffer, and the functions that a list of names and groups selects.
 */
#include "../check.h"

#include "tracer/filter.h"
#include "tracer/functions.h"
#include "tracer/settings.h"

#include <stdbool.h>

enum member_type { TEXT, SECONDS, INTEGER, BYTES, FLAG };

#define MEMBER(name) offsetof(struct trace_settings, name)
#define TEXT_IS(variable, name)                                                                    \
    {                                                                                              \
        "ICTUS_TRACE_" variable, TEXT, MEMBER(name), sizeof(((struct trace_settings *)0)->name),   \
            "mesh", 0, {NULL, NULL},                                                               \
        {                                                                                          \
            NULL, NULL, NULL                                                                       \
        }                                                                                          \
    }
#define FLAG_IS(variable, name)                                                                    \
    {                                                                                              \
        "ICTUS_TRACE_" variable, FLAG, MEMBER(name), 0, "1", 1, {"0", "1"},                        \
        {                                                                                          \
            "-1", "2", "yes"                                                                       \
        }                                                                                          \
    }

/* A value and the resulting member; the smallest and largest accepted values; what is refused. */
static const struct choice {
    const char *variable;
    enum member_type type;
    size_t offset, room; /* room: of a text */
    const char *value;
    double number;
    const char *taken[2], *refused[3];
} choices[] = {
    TEXT_IS("OUTPUT", directory),
    TEXT_IS("SCRATCH", scratch),
    TEXT_IS("SYNC", sync),
    TEXT_IS("CLOCK", clock),
    TEXT_IS("FILTER", filter),
    TEXT_IS("METRICS", metrics),
    {"ICTUS_TRACE_METRICS_EVERY",
     SECONDS,
     MEMBER(metrics_every_s),
     0,
     "20ms",
     0.02,
     {"0", "3600s"},
     {"-1s", "3601s", "soon"}},
    {"ICTUS_TRACE_RESYNC_EVERY",
     SECONDS,
     MEMBER(resync_every_s),
     0,
     "2.5s",
     2.5,
     {"0", "1000000s"},
     {"-1ns", "1000001s", "x"}},
    {"ICTUS_TRACE_RESYNC_BARRIERS",
     INTEGER,
     MEMBER(resync_barriers),
     0,
     "7",
     7,
     {"0", "1000000000"},
     {"-1", "1000000001", "x"}},
    {"ICTUS_TRACE_BUFFER",
     BYTES,
     MEMBER(buffer_bytes),
     0,
     "64M",
     67108864,
     {"8M", "1000000000000"},
     {"8388607", "1000000000001", "much"}},
    {"ICTUS_TRACE_WINDOW",
     BYTES,
     MEMBER(window_bytes),
     0,
     "1M",
     1048576,
     {"0", "1000000000000"},
     {"-1", "1000000000001", "x"}},
    {"ICTUS_TRACE_LIMIT",
     BYTES,
     MEMBER(limit_bytes),
     0,
     "3G",
     3221225472.0,
     {"0", "1000000000000000000"},
     {"-1", "2000000000000000000", "x"}},
    {"ICTUS_TRACE_REQUESTS",
     INTEGER,
     MEMBER(requests),
     0,
     "9",
     9,
     {"0", "1000000000"},
     {"-1", "1000000001", "x"}},
    FLAG_IS("FORCE", force),
    FLAG_IS("KEEP", keep),
    FLAG_IS("DEFER", defer),
    FLAG_IS("STATISTICS", statistics),
    FLAG_IS("OFF", off),
    FLAG_IS("QUIET", quiet),
};

enum { CHOICES = sizeof(choices) / sizeof(choices[0]) };

static int settings_with(const struct choice *choice, const char *value,
                         struct trace_settings *settings, struct ictus_why *why)
{
    memset(settings, 0x5a, sizeof(*settings));
    REQUIRE(!setenv(choice->variable, value, 1));
    const int err = ictusi_settings_read(settings, why);
    REQUIRE(!unsetenv(choice->variable));
    return err;
}

static double member_number(const struct choice *choice, const struct trace_settings *settings)
{
    const char *member = (const char *)settings + choice->offset;
    switch (choice->type) {
    case SECONDS:
        return *(const double *)member;
    case INTEGER:
        return (double)*(const int64_t *)member;
    case BYTES:
        return (double)*(const uint64_t *)member;
    default:
        return *(const bool *)member;
    }
}

/* By default, nothing is on and nothing is limited. */
static bool is_default(const struct choice *choice, const struct trace_settings *settings)
{
    if (choice->type == TEXT) {
        return ((const char *)settings)[choice->offset] == '\0';
    }
    const double number = member_number(choice, settings);
    return number == (choice->offset == MEMBER(metrics_every_s) ? 1e-3
                      : choice->offset == MEMBER(buffer_bytes)  ? 16777216.0
                                                                : 0.0);
}

static void variables_set_their_members(void)
{
    for (int i = 0; i < CHOICES; i++) {
        const struct choice *choice = &choices[i];
        struct trace_settings settings;
        REQUIRE(!settings_with(choice, choice->value, &settings, NULL));
        if (choice->type == TEXT) {
            CHECK_STR((const char *)&settings + choice->offset, choice->value);
        } else {
            CHECK_NEAR(member_number(choice, &settings), choice->number, 1e-12);
        }
        for (int k = 0; k < CHOICES; k++) {
            CHECK(k == i || is_default(&choices[k], &settings));
        }
        REQUIRE(!settings_with(choice, "", &settings, NULL)); /* empty: the same as not set */
        CHECK(is_default(choice, &settings));
    }
}

static void limits_are_kept(void)
{
    static char text[4096];
    for (int i = 0; i < CHOICES; i++) {
        const struct choice *choice = &choices[i];
        struct trace_settings settings;
        struct ictus_why why;
        for (int k = 0; k < 2 && choice->taken[k]; k++) {
            CHECK(!settings_with(choice, choice->taken[k], &settings, &why));
        }
        for (int k = 0; k < 3 && choice->refused[k]; k++) {
            CHECK(settings_with(choice, choice->refused[k], &settings, &why) == ICTUS_ERR_SPEC);
            CHECK(strstr(why.text, choice->variable) && strstr(why.text, choice->refused[k]));
        }
        if (choice->type == TEXT) {
            memset(text, 'a', sizeof(text));
            text[choice->room] = '\0';
            CHECK(settings_with(choice, text, &settings, &why) == ICTUS_ERR_SPEC);
            CHECK(strstr(why.text, choice->variable));
            text[choice->room - 1] = '\0';
            REQUIRE(!settings_with(choice, text, &settings, &why));
            CHECK_STR((const char *)&settings + choice->offset, text);
        }
    }
}

/*
 * What is passed to another process: only settings that differ from unset, however they are
 * written.
 */
static void differences_are_lines(void)
{
    static const char expected[] = "ICTUS_TRACE_OUTPUT=/tmp/a b\nICTUS_TRACE_RESYNC_EVERY=2\n"
                                   "ICTUS_TRACE_WINDOW=64K\nICTUS_TRACE_KEEP=1";
    static const char *const given[][2] = {
        {"OUTPUT", "/tmp/a b"}, {"SCRATCH", ""},   {"METRICS_EVERY", "0.001000000"},
        {"RESYNC_EVERY", "2"},  {"WINDOW", "64K"}, {"BUFFER", "16777216"},
        {"KEEP", "1"},          {"QUIET", "0"},
    };
    char text[sizeof(expected)];
    char name[64];
    CHECK(ictusi_settings_lines(text, sizeof(text)) == 0);
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        (void)snprintf(name, sizeof(name), "ICTUS_TRACE_%s", given[i][0]);
        (void)setenv(name, given[i][1], 1);
    }
    CHECK(ictusi_settings_lines(text, sizeof(text)) == strlen(expected));
    CHECK_STR(text, expected);
    /* With too little room, or none, the length is returned all the same. */
    CHECK(ictusi_settings_lines(text, 40) == strlen(expected));
    CHECK(strlen(text) == 39 && strncmp(text, expected, 39) == 0);
    CHECK(ictusi_settings_lines(text, 0) == strlen(expected));
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        (void)snprintf(name, sizeof(name), "ICTUS_TRACE_%s", given[i][0]);
        (void)unsetenv(name);
    }
}

/* Windows get half of the buffer and the table of requests a quarter; a window is whole 64 KiB. */
static void buffer_is_shared_out(void)
{
    const uint64_t step = 65536;
    struct trace_settings settings = {.buffer_bytes = 400 * step};
    CHECK(ictusi_settings_windows(&settings) == 200 * step);
    CHECK(ictusi_settings_table(&settings) == 100 * step);
    CHECK(ictusi_settings_window(&settings, 200 * step) == 100 * step);
    CHECK(ictusi_settings_window(&settings, 11 * step) == 5 * step);
    CHECK(ictusi_settings_window(&settings, 5 * step - 1) == 2 * step);
    CHECK(ictusi_settings_window(&settings, 3 * step) == step);
    CHECK(ictusi_settings_window(&settings, 0) == step);
    settings.window_bytes = 1;
    CHECK(ictusi_settings_window(&settings, 0) == step);
    settings.window_bytes = step;
    CHECK(ictusi_settings_window(&settings, 0) == step);
    settings.window_bytes = step + 1;
    CHECK(ictusi_settings_window(&settings, 0) == 2 * step);
}

/*
 * Whether a list records exactly the functions that `wanted` accepts; others are followed if
 * needed.
 */
static void list_is(const char *list, bool (*wanted)(const struct trace_function *function))
{
    uint8_t enabled[TRACE_FUNCTIONS];
    int failures = 0;
    REQUIRE(!ictusi_filter_apply(list, enabled, NULL));
    for (int i = 0; i < TRACE_FUNCTIONS; i++) {
        const struct trace_function *function = &ictusi_tracer_functions[i];
        failures += enabled[i] != (wanted(function)    ? FILTER_FRESH
                                   : function->tracked ? FILTER_HIDDEN
                                                       : FILTER_OFF);
    }
    if (failures > 0) {
        (void)fprintf(stderr, "%d functions are not as '%s' says\n", failures, list);
    }
    CHECK(failures == 0);
}

static bool is_any(const struct trace_function *function)
{
    return function->name[0] != '\0';
}

static bool is_p2p(const struct trace_function *function)
{
    return strcmp(function->group, "p2p") == 0;
}

static bool is_not_p2p(const struct trace_function *function)
{
    return !is_p2p(function);
}

static bool is_send(const struct trace_function *function)
{
    return strcmp(function->name, "MPI_Send") == 0 || strcmp(function->name, "MPI_Send_c") == 0;
}

static bool is_p2p_but_send(const struct trace_function *function)
{
    return is_p2p(function) && !is_send(function);
}

static bool is_send_or_not_p2p(const struct trace_function *function)
{
    return !is_p2p(function) || is_send(function);
}

static void lists_are_followed_in_order(void)
{
    list_is("", is_any);
    list_is("p2p", is_p2p);
    list_is("P2P", is_p2p);
    list_is("-p2p", is_not_p2p);
    list_is("MPI_Send", is_send);
    list_is("mpi_send", is_send);
    list_is("MPI_Send,MPI_Send", is_send);
    list_is("p2p,-MPI_Send", is_p2p_but_send);
    list_is("p2p -MPI_Send", is_p2p_but_send);
    list_is("-p2p,MPI_Send", is_send_or_not_p2p);
    list_is("-p2p,p2p", is_any);
}

static void unknown_names_are_refused(void)
{
    uint8_t enabled[TRACE_FUNCTIONS];
    struct ictus_why why;
    CHECK(ictusi_filter_apply("p2p,MPI_Sent", enabled, &why) == ICTUS_ERR_UNKNOWN);
    CHECK(strstr(why.text, "'MPI_Sent'; did you mean 'MPI_Send'?"));
    CHECK(ictusi_filter_apply("-col", enabled, &why) == ICTUS_ERR_UNKNOWN);
    CHECK(strstr(why.text, "'col'; did you mean 'coll'?"));
    CHECK(ictusi_filter_apply("MPI_Sen", enabled, &why) == ICTUS_ERR_UNKNOWN);
    CHECK(ictusi_filter_apply("completely different", enabled, &why) == ICTUS_ERR_UNKNOWN);
    CHECK_STR(why.text, "there is no MPI function or group 'completely'");
}

int main(void)
{
    variables_set_their_members();
    limits_are_kept();
    differences_are_lines();
    buffer_is_shared_out();
    lists_are_followed_in_order();
    unknown_names_are_refused();
    return check_result();
}
