/* SPDX-License-Identifier: BSD-3-Clause */
/* An option that would silently do nothing is refused, by a message that names what it needs; with
 * that, or of another command, it is not. */
#include "../check.h"
#include "main/effect.h"

#include <ictus/text.h>
#include <stdint.h>
#include <string.h>

enum { MOST = 64 };

static const char *const formats[] = {"page", "text", "json", "csv", NULL};
static const char *const policies[] = {"best", "fixed", NULL};

/* Texts but for these; slot i holds the value of row i. */
#define TEXT(name)                                                                                 \
    {                                                                                              \
        name, 0, OPTION_TEXT, 0, NULL, 0, 0, NULL, "FILE", ""                                      \
    }
static struct option_row rows[MOST] = {
    {"format", 0, OPTION_CHOICE, 0, "page", 0, 0, formats, "F", ""},
    {"policy", 0, OPTION_CHOICE, 0, "best", 0, 0, policies, "P", ""},
    {"rounds", 0, OPTION_INT, 0, "1", 1, 99, NULL, "N", ""},
    {"span", 0, OPTION_SECONDS, 0, "5s", 0, 99, NULL, "TIME", ""},
    TEXT("seed"),
    TEXT("shuffle"),
    TEXT("placement"),
    TEXT("processes"),
    TEXT("metrics-every"),
    TEXT("metrics"),
    TEXT("every"),
    TEXT("follow"),
    TEXT("force"),
    TEXT("report"),
    TEXT("columns"),
    TEXT("tconf"),
    TEXT("loop"),
    TEXT("stratum"),
    TEXT("system-clock"),
    TEXT("limit"),
    TEXT("statistics"),
    TEXT("window"),
    TEXT("buffer"),
    TEXT("requests"),
    TEXT("keep"),
    TEXT("defer"),
    TEXT("instances"),
    TEXT("plugin"),
    TEXT("list-algorithms"),
    TEXT("resume"),
    TEXT("template"),
    TEXT("tmax"),
    TEXT("progress"),
    TEXT("quiet"),
    TEXT("verbose"),
    TEXT("list"),
    TEXT("ops"),
    TEXT("kinds"),
    TEXT("output"),
    TEXT("han"),
    TEXT("raw"),
    TEXT("raw-ranks"),
    {NULL, 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}};

static union {
    const char *text;
    int choice;
    int64_t count;
    double seconds;
} slots[MOST];

static size_t row_of(const char *name, size_t length)
{
    for (size_t i = 0; rows[i].name; i++) {
        rows[i].offset = i * sizeof slots[0];
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0) {
            return i;
        }
    }
    CHECK_STR(name, "an option of the table");
    return 0;
}

/* Set options, separated by blanks: NAME, or NAME=WORD of a choice. */
static void set(const char *typed)
{
    memset(slots, 0, sizeof slots);
    (void)row_of("raw-ranks", 9); /* all have their places */
    slots[2].count = 1;
    slots[3].seconds = 5;
    while (*typed) {
        const size_t length = strcspn(typed, " "), name = strcspn(typed, "= ");
        const size_t i = row_of(typed, name);
        if (rows[i].type == OPTION_CHOICE) {
            for (int c = 0; rows[i].choices[c]; c++) {
                const size_t word = strlen(rows[i].choices[c]);
                if (name + 1 + word == length &&
                    strncmp(typed + name + 1, rows[i].choices[c], word) == 0) {
                    slots[i].choice = c;
                }
            }
        } else {
            slots[i].text = "given";
        }
        typed += length + strspn(typed + length, " ");
    }
}

static void allowed(const char *command, const char *typed)
{
    struct ictus_why why = {""};
    set(typed);
    if (effect_check(command, rows, slots, &why) != ICTUS_OK) {
        CHECK_STR(why.text, typed);
    }
}

static void refused(const char *command, const char *typed, const char *wanted)
{
    struct ictus_why why = {""};
    set(typed);
    CHECK(effect_check(command, rows, slots, &why) == ICTUS_ERR_SPEC);
    CHECK_STR(why.text, wanted);
}

static void some_need_others(void)
{
    static const char *const cases[][3] = {{"bench", "seed", "shuffle"},
                                           {"bench", "placement", "processes"},
                                           {"overlap", "placement", "processes"},
                                           {"trace", "metrics-every", "metrics"},
                                           {"arrivals", "every", "follow"},
                                           {"report", "columns", "format=text"},
                                           {"lock", "tconf", "loop"},
                                           {"serve", "stratum", "system-clock"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char both[80], why[80];
        (void)snprintf(both, sizeof both, "%s %s", cases[i][1], cases[i][2]);
        (void)snprintf(why, sizeof why, "--%s has an effect only with --%s", cases[i][1],
                       cases[i][2]);
        refused(cases[i][0], cases[i][1], why);
        allowed(cases[i][0], both);
        allowed(cases[i][0], cases[i][2]);
        allowed("drift", cases[i][1]);
    }
    refused("correct", "force", "--force has an effect only with --report");
    allowed("correct", "force report");
    refused("report", "columns format=json", "--columns has an effect only with --format=text");
}

static void some_exclude_others(void)
{
    static const char *const cases[][4] = {
        {"trace", "limit", "statistics", "which records no events"},
        {"trace", "window", "statistics", "which records no events"},
        {"trace", "buffer", "statistics", "which records no events"},
        {"trace", "requests", "statistics", "which records no events"},
        {"trace", "keep", "defer", "which keeps the raw files anyway"},
        {"arrivals", "instances", "follow", "which shows the latest calls"},
        {"bench", "plugin", "list-algorithms", "which lists those of the library"},
        {"report", "template", "format=text", "which makes no page"},
        {"lock", "tmax", "policy=fixed", "which always polls after --tmin"},
        {"drift", "progress", "quiet", "which reports nothing"},
        {"bench", "verbose", "quiet", "which reports nothing"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char both[80], why[160];
        (void)snprintf(both, sizeof both, "%s %s", cases[i][1], cases[i][2]);
        (void)snprintf(why, sizeof why, "--%s has no effect with --%s, %s; leave one of them out",
                       cases[i][1], cases[i][2], cases[i][3]);
        refused(cases[i][0], both, why);
        allowed(cases[i][0], cases[i][1]);
        allowed(cases[i][0], cases[i][2]);
    }
    refused("bench", "force resume output",
            "--force has no effect with --resume, which continues the file; leave one of them out");
    allowed("drift", "limit statistics");
    allowed("lock", "tmax policy=best");
}

/* Beside a list stand only what it reads, and what is about reporting. */
static void lists_measure_nothing(void)
{
    allowed("bench", "list");
    allowed("bench", "list plugin");
    allowed("guidelines", "list ops kinds");
    allowed("sync", "list quiet");
    allowed("sync", "list progress verbose");
    allowed("bench", "list list-algorithms");
    refused("sync", "list ops", "--ops has no effect with --list, which measures nothing");
    refused("bench", "list-algorithms ops",
            "--ops has no effect with --list-algorithms, which measures nothing");
    refused("guidelines", "list plugin",
            "--plugin has no effect with --list, which measures nothing");
    refused("bench", "list output", "--output has no effect with --list, which measures nothing");
}

static void outputs_are_for_something(void)
{
    static const char *const kept[] = {"raw", "raw-ranks"};
    for (size_t i = 0; i < 2; i++) {
        char typed[40], why[100];
        (void)snprintf(why, sizeof why,
                       "--%s has an effect only with --output=FILE or --format=json", kept[i]);
        refused("bench", kept[i], why);
        (void)snprintf(typed, sizeof typed, "%s output", kept[i]);
        allowed("bench", typed);
        (void)snprintf(typed, sizeof typed, "%s format=json", kept[i]);
        allowed("bench", typed);
        (void)snprintf(typed, sizeof typed, "%s format=csv", kept[i]);
        refused("bench", typed, why);
    }
    refused("bench", "force", "--force has an effect only with --output=FILE");
    allowed("bench", "force output");
    allowed("tune", "force han");
    allowed("recover", "force");
    allowed("report", "force");
    refused(
        "report", "force format=text",
        "--force has no effect with --format=text, which writes no file; leave one of them out");
}

/* A distance between rounds, of which there is but one. */
static void spans_need_rounds(void)
{
    struct ictus_why why = {""};
    set("");
    slots[3].seconds = 6;
    CHECK(effect_check("bench", rows, slots, &why) == ICTUS_ERR_SPEC);
    CHECK_STR(why.text, "--span has an effect only with --rounds of 2 or more");
    slots[2].count = 2;
    CHECK(effect_check("bench", rows, slots, &why) == ICTUS_OK);
    slots[2].count = 1;
    slots[3].seconds = 0; /* asks for none */
    CHECK(effect_check("bench", rows, slots, &why) == ICTUS_OK);
    slots[3].seconds = 5; /* nobody asked */
    CHECK(effect_check("bench", rows, slots, &why) == ICTUS_OK);
    CHECK(effect_check("bench", rows + 3, slots, &why) == ICTUS_OK); /* a command without rounds */
}

int main(void)
{
    some_need_others();
    some_exclude_others();
    lists_measure_nothing();
    outputs_are_for_something();
    spans_need_rounds();
    return check_result();
}
