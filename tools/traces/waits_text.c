/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of ictus_waits() as a table: states with their worst call, then what caused them. */
#include "traces/waits_text.h"

#include "main/member.h"
#include "main/text_table.h"

#include <ictus/text.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_WIDTH = 23,
    SHARE_WIDTH = 16,
    SITE_WIDTH = 26,
    STATES_SHOWN = 6,
    CAUSES_SHOWN = 3,
    SITES_SHOWN = 3,
    TOGETHER_SHOWN = 8
};

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
    {"rma-sync", "one-sided sync."},
    {"late-post", "late post"},
    {"early-wait", "early wait"},
    {"rma-lock", "lock of a window"},
    {"file", "file collective"},
    {"team-barrier", "barrier of threads"},
    {"lock", "lock"},
    {"join", "join of threads"},
};

static double text_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool waits_text_is_type(const json_t *object, const char *type)
{
    return strcmp(member_text(object, "type"), type) == 0;
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

/* Where the character of this number begins ("×" is one, of two bytes). */
static const char *text_at(const char *text, int number)
{
    while (*text && number > 0) {
        text++;
        number -= ((unsigned char)*text & 0xC0) != 0x80;
    }
    return text;
}

/* Print a name in less than a width of characters. The middle of a longer one gives way, since it
 * ends with the line of a call. Returns what is left of the width. */
static int waits_text_put_cut(const char *name, int width)
{
    const int length = text_table_width(name);
    if (length < width) {
        printf("%s", name);
        return width - length;
    }
    const int begin = (width - 2) / 2;
    printf("%.*s…%s", (int)(text_at(name, begin) - name), name,
           text_at(name, length - (width - 2 - begin)));
    return 1;
}

static void waits_text_put_padded(const char *name, int width)
{
    printf("%*s", waits_text_put_cut(name, width), "");
}

/* How many decimals a share needs: one, or two for the smallest. */
static int percent_decimals(double percent)
{
    return percent > 0 && percent < 0.095 ? 2 : 1;
}

/* A share that is too small for its decimals is not shown as nothing. */
static void percent_write(char *cell, size_t size, double percent, const char *before)
{
    const bool tiny = percent > 0 && percent < 0.005;
    (void)snprintf(cell, size, "%s%s%.*f %%", before, tiny ? "<" : "", percent_decimals(percent),
                   tiny ? 0.01 : percent);
}

/* " ± 0.8", " ± <0.1" instead of ± 0.0, and nothing if there is no interval. */
static void half_write(char *text, size_t size, double half, int decimals)
{
    const double least = pow(10, -decimals);
    const bool tiny = half < least / 2;
    *text = '\0';
    if (half > 0) {
        (void)snprintf(text, size, " ± %s%.*f", tiny ? "<" : "", decimals, tiny ? least : half);
    }
}

/*
 * The interval of a row's share as its half, or as " (1 to 99)" if the share lies near one end: ±
 * would then say as much on the other side.
 */
static void text_write_interval(const json_t *row, const char *const keys[3], char *text,
                                size_t size, int decimals)
{
    const double share = 100 * text_number(row, keys[0]);
    const double low = 100 * text_number(row, keys[1]);
    const double high = 100 * text_number(row, keys[2]);
    const double half = (high - low) / 2;
    if (half > 1 && fabs(share - low - half) > 0.9 * half) {
        (void)snprintf(text, size, " (%.0f to %.0f)", low, high);
    } else {
        half_write(text, size, half, decimals);
    }
}

/* "38.0 % ± 0.8", "~12", "at most 3": half the interval, of the time of all locations. */
static void waits_text_put_share(const json_t *object, double rank_time)
{
    const double percent = rank_time > 0 ? 100 / rank_time : 0; /* an archive without events */
    const double share = percent * text_number(object, "wait_s");
    const double low = percent * text_number(object, "wait_low_s");
    const double high = percent * text_number(object, "wait_high_s");
    const char *kind = member_text(object, "kind");
    char cell[40];
    if (json_is_null(json_object_get(object, "wait_high_s"))) {
        (void)snprintf(cell, sizeof cell, "undecidable");
    } else if (strcmp(kind, "at-most") == 0) { /* not more, and so not rounded down */
        const double step = percent_decimals(high) == 2 ? 0.01 : 0.1;
        percent_write(cell, sizeof cell, step * ceil(high / step - 1e-9), "at most ");
    } else {
        percent_write(cell, sizeof cell, share, strcmp(kind, "about") == 0 ? "~" : "");
        if (strcmp(kind, "exact") != 0 && *cell != '<') {
            const size_t used = strlen(cell);
            half_write(cell + used, sizeof cell - used, (high - low) / 2, percent_decimals(share));
        }
    }
    waits_text_put_padded(cell, SHARE_WIDTH);
}

/* The site that has most of a state. */
static const json_t *waits_text_worst_site(const json_t *report, const char *state)
{
    const json_t *worst = NULL;
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(report, i, row)
    {
        if (waits_text_is_type(row, "wait-site") && strcmp(member_text(row, "state"), state) == 0 &&
            (!worst || text_number(row, "wait_s") > text_number(worst, "wait_s"))) {
            worst = row;
        }
    }
    return worst;
}

static const json_t *waits_text_total_of(const json_t *report, const char *state)
{
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(report, i, row)
    {
        if (waits_text_is_type(row, "wait-total") &&
            strcmp(member_text(row, "state"), state) == 0) {
            return row;
        }
    }
    return NULL;
}

/* The last two regions of a path. */
static const char *waits_text_short_site(const char *site)
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

static void waits_text_print_state(const json_t *report, const json_t *total, double rank_time)
{
    const char *state = member_text(total, "state");
    const json_t *site = waits_text_worst_site(report, state);
    printf("  ");
    waits_text_put_padded(state_words(state), NAME_WIDTH - 2);
    printf("%9.4g s  ", text_number(total, "wait_s"));
    waits_text_put_share(total, rank_time);
    if (site) {
        printf("  ");
        (void)waits_text_put_cut(waits_text_short_site(member_text(site, "site")), SITE_WIDTH);
    }
    printf("\n");
    if (strcmp(state, "late-sender") == 0) {
        const json_t *wrong = waits_text_total_of(report, "wrong-order");
        if (wrong) {
            printf("    ");
            waits_text_put_padded("in the wrong order", NAME_WIDTH - 4);
            printf("%9.4g s  ", text_number(wrong, "wait_s"));
            waits_text_put_share(wrong, rank_time);
            printf("\n");
        }
    }
}

/* What a table shows of the rows of one type: the largest, in the order of the report where equal.
 */
struct row_list {
    const json_t *rows[STATES_SHOWN > SITES_SHOWN ? STATES_SHOWN : SITES_SHOWN];
    size_t count, most;
};

/* Insert a row among the largest of a list. Equal rows keep the report's order. */
static void rows_keep(struct row_list *list, const json_t *row, const char *key)
{
    size_t at = list->count < list->most ? list->count++ : list->most;
    while (at > 0 && text_number(list->rows[at - 1], key) < text_number(row, key)) {
        at--;
        if (at + 1 < list->count) {
            list->rows[at + 1] = list->rows[at];
        }
    }
    if (at < list->count) {
        list->rows[at] = row;
    }
}

/* States, largest first. */
static void waits_text_print_states(const json_t *report, double rank_time)
{
    struct row_list list = {.most = STATES_SHOWN};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const json_t *total = waits_text_total_of(report, words[i].state);
        if (total && text_number(total, "wait_s") > 0) {
            rows_keep(&list, total, "wait_s");
        }
    }
    for (size_t i = 0; i < list.count; i++) {
        waits_text_print_state(report, list.rows[i], rank_time);
    }
}

/* A sentence in as many lines as a terminal needs for it. */
static void text_put_wrapped(const char *text)
{
    size_t room = SCREEN_COLUMNS;
    while (*text) {
        const size_t length = ictus_text_fit(text, room);
        printf("%.*s\n", (int)length, text);
        text += length + strspn(text + length, " ");
        if (*text) {
            printf("  ");
        }
        room = SCREEN_COLUMNS - 2;
    }
}

/* How well the clocks are known. */
static void waits_text_write_clock(const json_t *whole, char *text, size_t size)
{
    const char *source = member_text(whole, "sigma_source");
    const double error_us = 1.96e-3 * text_number(whole, "clock_sigma_ns");
    if (strcmp(source, "unknown") == 0) {
        (void)snprintf(text, size, "clock ± unknown");
    } else if (strcmp(source, "one-clock") == 0) {
        (void)snprintf(text, size, "one clock");
    } else {
        (void)snprintf(text, size, "clock %s%.3g us (95 %%), from the %s",
                       error_us < 0.001 ? "within ±" : "±", fmax(error_us, 0.001), source);
    }
}

/* In one line if there is room; else what is said of the clock has a line of its own. */
static void waits_text_print_head(const json_t *whole)
{
    const double ranks = text_number(whole, "processes");
    const double nodes = text_number(whole, "nodes");
    const double locations = text_number(whole, "locations");
    char threads[40] = "";
    char clock[120];
    char head[1024];
    char line[1200];
    if (locations > ranks) {
        (void)snprintf(threads, sizeof threads, ", %.0f locations", locations);
    }
    waits_text_write_clock(whole, clock, sizeof clock);
    (void)snprintf(
        head, sizeof head, "%.512s: %.0f rank%s%s, %.0f node%s, %.4g s (together %.4g s);",
        member_text(whole, "archive"), ranks, ranks == 1 ? "" : "s", threads, nodes,
        nodes == 1 ? "" : "s", text_number(whole, "wall_s"), text_number(whole, "rank_time_s"));
    (void)snprintf(line, sizeof line, "%s %s", head, clock);
    if (ictus_text_fit(line, SCREEN_COLUMNS) == strlen(line)) {
        printf("%s\n", line);
    } else {
        text_put_wrapped(head);
        printf("  %s\n", clock);
    }
}

static const json_t *waits_text_nth_of(const json_t *report, const char *type, size_t n)
{
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(report, i, row)
    {
        if (waits_text_is_type(row, type) && n-- == 0) {
            return row;
        }
    }
    return NULL;
}

/* "rank 5", and the thread where it is not the process's first. */
static void waits_text_write_place(const json_t *row, char *text, size_t size)
{
    const char *thread = member_text(row, "thread");
    (void)snprintf(text, size, "rank %.0f%s%.24s", text_number(row, "rank"), *thread ? ", " : "",
                   thread);
}

/* "rank 5  smooth". If there is too little room, the call gives way. */
static void waits_text_put_cause(const json_t *row, int width)
{
    char place[48];
    waits_text_write_place(row, place, sizeof place);
    printf("%s  ", place);
    waits_text_put_padded(waits_text_short_site(member_text(row, "site")),
                          width - text_table_width(place) - 2);
}

static const char *const share_keys[3] = {"share", "share_low", "share_high"};
static const char *const skew_keys[3] = {"skew_share", "skew_low", "skew_high"};

static void waits_text_print_causes(const json_t *report, const json_t *whole)
{
    enum { WIDTH = 42 };
    const double wait = text_number(whole, "wait_raw_s");
    for (size_t i = 0; i < CAUSES_SHOWN; i++) {
        const json_t *row = waits_text_nth_of(report, "wait-cause", i);
        if (!row) {
            break;
        }
        if (i == 0) {
            waits_text_put_padded("caused by", WIDTH);
            printf("    direct   passed on  of waiting\n");
        }
        printf("  ");
        waits_text_put_cause(row, WIDTH - 2);
        char interval[40];
        text_write_interval(row, share_keys, interval, sizeof interval, 1);
        printf("%8.3g s  %8.3g s  %5.1f %%%s\n", text_number(row, "direct_s"),
               text_number(row, "indirect_s"), 100 * text_number(row, "share"), interval);
    }
    const json_t *first = waits_text_nth_of(report, "wait-cause", 0);
    if (first && text_number(first, "first_draws") < text_number(first, "draws")) {
        printf("  The first of these is not certain to have caused most.\n");
    }
    if (text_number(whole, "unattributed_s") > 0.0005 * wait) {
        printf("  unattributed  %.3g s  (%.1f %%)\n", text_number(whole, "unattributed_s"),
               100 * text_number(whole, "unattributed_s") / wait);
    }
}

/* The row of the critical path with the largest share. */
static const json_t *text_longest(const json_t *report, const char *of)
{
    const json_t *best = NULL;
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(report, i, row)
    {
        if (waits_text_is_type(row, "critical-path") && strcmp(member_text(row, "of"), of) == 0 &&
            (!best || text_number(row, "share") > text_number(best, "share"))) {
            best = row;
        }
    }
    return best;
}

static void waits_text_print_critical(const json_t *report)
{
    const json_t *rank = text_longest(report, "rank");
    const json_t *site = text_longest(report, "site");
    if (rank && site) {
        char place[48];
        waits_text_write_place(rank, place, sizeof place);
        char interval[40];
        text_write_interval(rank, share_keys, interval, sizeof interval, 0);
        printf("critical path: %s %.0f %%%s; %.0f %% in ", place, 100 * text_number(rank, "share"),
               interval, 100 * text_number(site, "share"));
        (void)waits_text_put_cut(waits_text_short_site(member_text(site, "site")),
                                 35 - text_table_width(place) - text_table_width(interval));
        printf(", imb. %.2g s\n", text_number(site, "imbalance_s"));
    }
}

static void waits_text_print_site(const json_t *row)
{
    printf("  ");
    waits_text_put_padded(waits_text_short_site(member_text(row, "site")), 32);
    char interval[40];
    text_write_interval(row, skew_keys, interval, sizeof interval, 0);
    printf("%8.3g s  %3.0f %%", text_number(row, "time_s"), 100 * text_number(row, "skew_share"));
    waits_text_put_padded(interval, 13);
    printf("%s\n", member_text(row, "verdict"));
}

/* Collectives by the time that they took, the longest first. */
static void waits_text_print_sites(const json_t *report)
{
    struct row_list list = {.most = SITES_SHOWN};
    size_t at = 0;
    json_t *row = NULL;
    json_array_foreach(report, at, row)
    {
        if (waits_text_is_type(row, "collective-site")) {
            rows_keep(&list, row, "time_s");
        }
    }
    if (list.count > 0) {
        waits_text_put_padded("collective", 34);
        printf("      time   skew            verdict\n");
    }
    for (size_t i = 0; i < list.count; i++) {
        waits_text_print_site(list.rows[i]);
    }
}

/* "8.85", and "-" for what was not measured. */
static void text_put_micros(struct text_table *table, const json_t *row, const char *key)
{
    const double seconds = member_number(row, key);
    text_table_cell(table, isnan(seconds) ? "-" : "%.3f", 1e6 * seconds);
}

static void text_put_ratio(struct text_table *table, const json_t *row, const char *key)
{
    const double ratio = member_number(row, key);
    text_table_cell(table, isnan(ratio) ? "-" : "%.3g", ratio);
}

static void together_put_titles(struct text_table *table, bool replayed)
{
    text_table_init(table, 1);
    text_table_column(table, "call site", true);
    text_table_column(table, "operation", true);
    text_table_column(table, "bytes", false);
    text_table_column(table, "here us", false);
    text_table_column(table, "together us", false);
    text_table_column(table, "ratio", false);
    text_table_column(table, "95% lo", false);
    text_table_column(table, "95% hi", false);
    if (replayed) {
        text_table_column(table, "replayed us", false);
    }
}

/* Collectives as they were called, and in a benchmark where all processes start together. */
static void waits_text_print_together(const json_t *report)
{
    struct text_table table;
    size_t at = 0;
    size_t count = 0;
    bool replayed = false;
    json_t *row = NULL;
    json_array_foreach(report, at, row)
    {
        replayed = replayed || isfinite(member_number(row, "replayed_s"));
    }
    together_put_titles(&table, replayed);
    json_array_foreach(report, at, row)
    {
        if (!waits_text_is_type(row, "collective-together") || count++ >= TOGETHER_SHOWN) {
            continue;
        }
        text_table_cell(&table, "%s", member_text(row, "site"));
        text_table_cell(&table, "%s", member_text(row, "operation"));
        text_table_cell(&table, "%.0f", text_number(row, "bytes"));
        text_put_micros(&table, row, "program_s");
        text_put_micros(&table, row, "together_s");
        text_put_ratio(&table, row, "ratio");
        text_put_ratio(&table, row, "ratio_low");
        text_put_ratio(&table, row, "ratio_high");
        if (replayed) {
            text_put_micros(&table, row, "replayed_s");
        }
    }
    if (count == 0) {
        text_table_fini(&table);
        return;
    }
    (void)text_table_print(&table, "", stdout);
    if (count > TOGETHER_SHOWN) {
        printf("and %zu more in the result file\n", count - TOGETHER_SHOWN);
    }
}

/* What an analysis leaves out, as it is counted, for one and for several. */
static const struct {
    const char *key, *one, *several;
} left_words[] = {
    {"unmatched_sends", "send without its receive", "sends without their receives"},
    {"unmatched_receives", "receive without its send", "receives without their sends"},
    {"incomplete_collectives", "incomplete collective", "incomplete collectives"},
    {"muted_waits", "wait while recording was off", "waits while recording was off"},
    {"calls_cut", "call that did not return", "calls that did not return"},
    {"without_region", "event outside of any call", "events outside of any call"},
    {"cyclic_waits", "wait in a circle", "waits in a circle"},
};

/* What a number of a key is called; the key itself if there is no word for it. */
static const char *left_word(const char *key, json_int_t count)
{
    for (size_t i = 0; i < sizeof left_words / sizeof *left_words; i++) {
        if (strcmp(left_words[i].key, key) == 0) {
            return count == 1 ? left_words[i].one : left_words[i].several;
        }
    }
    return key;
}

static void waits_print_left_out(const json_t *whole)
{
    const json_t *left = json_object_get(whole, "left_out");
    const char *key = NULL;
    json_t *value = NULL;
    char text[1024] = "";
    size_t used = 0;
    json_object_foreach((json_t *)left, key, value)
    {
        const json_int_t count = json_integer_value(value);
        if (count > 0 && used < sizeof text) {
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%" JSON_INTEGER_FORMAT " %s",
                                 used ? ", " : "left out: ", count, left_word(key, count));
        }
    }
    text_put_wrapped(text);
}

void waits_text_print(const json_t *report)
{
    const json_t *whole = json_array_get(report, 0);
    const double rank_time = text_number(whole, "rank_time_s");
    waits_text_print_head(whole);
    waits_text_put_padded("waiting", NAME_WIDTH);
    printf("%9.4g s  ", text_number(whole, "wait_s"));
    waits_text_put_share(whole, rank_time);
    printf("  decidable %.1f %%\n", 100 * text_number(whole, "decidable"));
    waits_text_print_states(report, rank_time);
    const json_t *possible = waits_text_total_of(report, "late-receiver-possible");
    if (possible) {
        printf("  late receiver, possibly: %.4g s more\n", text_number(possible, "wait_s"));
    }
    if (strcmp(member_text(whole, "sigma_source"), "unknown") == 0) {
        printf("The clocks' errors are not known: no messages go both ways between them, and\n"
               "the archive does not state the errors; 'ictus trace' records clocks with\n"
               "their errors.\n");
    } else {
        waits_text_print_causes(report, whole);
        waits_text_print_critical(report);
        waits_text_print_sites(report);
        waits_text_print_together(report);
    }
    waits_print_left_out(whole);
}
