/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of ictus_waits() as a table: states with their worst call, then what caused them. */
#include "traces/waits_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 23, SITE_BYTES = 256, STATES_SHOWN = 8 };

static const struct {
    const char *state, *words;
} words[] = {
    {"late-sender", "late sender"},
    {"late-receiver", "late receiver"},
    {"barrier", "wait at barrier"},
    {"nxn", "wait at N×N"},
    {"late-broadcast", "late broadcast"},
    {"early-reduce", "early reduce"},
    {"early-scan", "early scan"},
    {"fence", "wait at fence"},
    {"rma-sync", "one-sided synchron."},
    {"file", "file collective"},
    {"team-barrier", "barrier of threads"},
    {"lock", "lock"},
    {"join", "join of threads"},
};

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static bool is_type(const json_t *object, const char *type)
{
    return strcmp(text(object, "type"), type) == 0;
}

static const char *state_words(const char *state)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].state, state) == 0) {
            return words[i].words;
        }
    }
    return state;
}

/* Fill up to a width in characters: "×" is one, of two bytes. */
static void put_padded(const char *name, int width)
{
    int length = 0;
    for (const char *c = name; *c; c++) {
        length += ((unsigned char)*c & 0xC0) != 0x80;
    }
    printf("%s%*s", name, width > length ? width - length : 1, "");
}

/* "38.0 % ± 0.8", "~12", "at most 3": half the interval, of the time of all ranks. */
static void put_share(const json_t *object, double rank_time)
{
    const double share = 100 * number(object, "wait_s") / rank_time;
    const double low = 100 * number(object, "wait_low_s") / rank_time;
    const double high = 100 * number(object, "wait_high_s") / rank_time;
    const char *kind = text(object, "kind");
    char cell[40];
    if (strcmp(kind, "at-most") == 0) {
        (void)snprintf(cell, sizeof cell, "at most %.1f %%", high);
    } else if (strcmp(kind, "exact") == 0) {
        (void)snprintf(cell, sizeof cell, "%.1f %%", share);
    } else {
        (void)snprintf(cell, sizeof cell, "%s%.1f %% ± %.1f", strcmp(kind, "about") == 0 ? "~" : "",
                       share, (high - low) / 2);
    }
    put_padded(cell, 16);
}

/* The site that has most of a state. */
static const json_t *worst_site(const json_t *report, const char *state)
{
    const json_t *worst = NULL;
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(report, i, row)
    {
        if (is_type(row, "wait-site") && strcmp(text(row, "state"), state) == 0 &&
            (!worst || number(row, "wait_s") > number(worst, "wait_s"))) {
            worst = row;
        }
    }
    return worst;
}

static const json_t *total_of(const json_t *report, const char *state)
{
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(report, i, row)
    {
        if (is_type(row, "wait-total") && strcmp(text(row, "state"), state) == 0) {
            return row;
        }
    }
    return NULL;
}

/* The last two regions of a path. */
static const char *short_site(const char *site)
{
    const char *last = strrchr(site, '/');
    if (!last) {
        return site;
    }
    while (last > site && last[-1] != '/') {
        last--;
    }
    return last;
}

static void print_state(const json_t *report, const json_t *total, double rank_time)
{
    const char *state = text(total, "state");
    const json_t *site = worst_site(report, state);
    printf("  ");
    put_padded(state_words(state), NAME_WIDTH - 2);
    printf("%9.4g s  ", number(total, "wait_s"));
    put_share(total, rank_time);
    printf("  %s\n", site ? short_site(text(site, "site")) : "");
    if (strcmp(state, "late-sender") == 0) {
        const json_t *wrong = total_of(report, "wrong-order");
        if (wrong) {
            printf("    ");
            put_padded("in the wrong order", NAME_WIDTH - 4);
            printf("%9.4g s  ", number(wrong, "wait_s"));
            put_share(wrong, rank_time);
            printf("\n");
        }
    }
}

/* States, largest first. */
static void print_states(const json_t *report, double rank_time)
{
    double limit = INFINITY;
    for (int shown = 0; shown < STATES_SHOWN; shown++) {
        const json_t *next = NULL;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            const json_t *total = total_of(report, words[i].state);
            if (total && number(total, "wait_s") > 0 && number(total, "wait_s") < limit &&
                (!next || number(total, "wait_s") > number(next, "wait_s"))) {
                next = total;
            }
        }
        if (!next) {
            return;
        }
        limit = number(next, "wait_s");
        print_state(report, next, rank_time);
    }
}

static void print_head(const json_t *whole)
{
    const char *source = text(whole, "sigma_source");
    printf("%s: %.0f ranks, %.0f nodes, %.4g s; ", text(whole, "archive"),
           number(whole, "processes"), number(whole, "nodes"), number(whole, "wall_s"));
    if (strcmp(source, "one-clock") == 0) {
        printf("one clock\n");
    } else if (strcmp(source, "unknown") == 0) {
        printf("clock ± unknown\n");
    } else {
        printf("clock ±%.3g us (95 %%), from the %s\n", 1.96e-3 * number(whole, "clock_sigma_ns"),
               source);
    }
}

static void print_left_out(const json_t *whole)
{
    const json_t *left = json_object_get(whole, "left_out");
    const char *key = NULL;
    json_t *value = NULL;
    bool any = false;
    json_object_foreach((json_t *)left, key, value)
    {
        if (json_integer_value(value) > 0) {
            printf("%s%" JSON_INTEGER_FORMAT " %s",
                   any ? ", " : "left out: ", json_integer_value(value), key);
            any = true;
        }
    }
    printf("%s", any ? "\n" : "");
}

void waits_text_print(const json_t *report)
{
    const json_t *whole = json_array_get(report, 0);
    const double rank_time = number(whole, "rank_time_s");
    print_head(whole);
    put_padded("waiting", NAME_WIDTH);
    printf("%9.4g s  ", number(whole, "wait_s"));
    put_share(whole, rank_time);
    printf("  decidable %.1f %%\n", 100 * number(whole, "decidable"));
    print_states(report, rank_time);
    const json_t *possible = total_of(report, "late-receiver-possible");
    if (possible) {
        printf("  late receiver, possibly: %.4g s more\n", number(possible, "wait_s"));
    }
    if (strcmp(text(whole, "sigma_source"), "unknown") == 0) {
        printf("The clocks' errors are not known: no message goes both ways between them, and the\n"
               "archive does not say; ictus trace records clocks with their errors.\n");
    }
    print_left_out(whole);
}
