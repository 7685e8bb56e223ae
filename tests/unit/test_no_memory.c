/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading archives without enough memory: whichever of its own allocations fails, an operation
 * reports an error and leaves neither files nor memory behind.
 */
#include "../check.h"

#include "scarce.h"

#include <dirent.h>
#include <ftw.h>
#include <ictus/correct.h>
#include <ictus/error.h>
#include <ictus/timeline.h>
#include <ictus/trace.h>
#include <ictus/waits.h>
#include <stdbool.h>
#include <unistd.h>

enum { DENSE = CHECK_SANITIZED ? 5 : 16 };

int make_random(int argc, char **argv);

static char root[CHECK_PATH];
static char archive[128], skewed[128], bare[128], out[128];

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

/* Files that Score-P leaves beside an archive belong to it. */
static void companion_put(const char *path)
{
    char name[192];
    (void)snprintf(name, sizeof name, "%s/scorep.cfg", path);
    FILE *file = fopen(name, "we");
    REQUIRE(file && fclose(file) == 0);
}

static bool companion_is_there(const char *path)
{
    char name[192];
    (void)snprintf(name, sizeof name, "%s/scorep.cfg", path);
    return access(name, F_OK) == 0;
}

static int entries(const char *path)
{
    int count = 0;
    DIR *dir = opendir(path);
    REQUIRE(dir);
    while (readdir(dir)) {
        count++;
    }
    (void)closedir(dir);
    return count;
}

static json_t *whole; /* what the operation reports with enough memory */

/* Without some of it, it reports the same or nothing. */
static int report_drop(int err, json_t *report)
{
    if (!err && whole) {
        CHECK(json_equal(whole, report));
        json_decref(report);
    } else if (!err) {
        whole = report;
    }
    return err;
}

static int run_check(struct ictus_why *why)
{
    json_t *report = NULL;
    const int err = ictus_check(skewed, &report, why);
    return report_drop(err, report);
}

static int correct_with(const char *in, enum ictus_presync presync, struct ictus_why *why)
{
    struct ictus_correct_options options;
    json_t *report = NULL;
    ictus_correct_defaults(&options);
    options.in = in;
    options.out = out;
    options.presync = presync;
    const int err = ictus_correct(&options, &report, why);
    return report_drop(err, report);
}

static int run_correct(struct ictus_why *why)
{
    return correct_with(skewed, ICTUS_PRESYNC_AUTO, why);
}

/* Where an archive states no offsets, clocks are found from messages. */
static int run_correct_bare(struct ictus_why *why)
{
    return correct_with(bare, ICTUS_PRESYNC_AUTO, why);
}

static int run_waits_bare(struct ictus_why *why)
{
    json_t *report = NULL;
    const int err = ictus_waits(bare, &report, why);
    return report_drop(err, report);
}

static int run_correct_alone(struct ictus_why *why)
{
    return correct_with(skewed, ICTUS_PRESYNC_NONE, why);
}

static int run_skew(struct ictus_why *why)
{
    json_t *report = NULL;
    const int err =
        ictus_trace_skew(archive, out, "offset=1ms,drift=50ppm,walk=100ppm,seed=3", &report, why);
    return report_drop(err, report);
}

static int run_waits(struct ictus_why *why)
{
    json_t *report = NULL;
    const int err = ictus_waits(skewed, &report, why);
    return report_drop(err, report);
}

static int run_arrivals(struct ictus_why *why)
{
    struct ictus_arrivals_list list = {.at = NULL};
    const int err = ictus_arrivals_extract(skewed, 0, &list, NULL, why);
    ictus_arrivals_list_free(&list);
    return err;
}

static int run_timeline(struct ictus_why *why)
{
    json_t *report = NULL;
    const int err = ictus_timeline_read(skewed, 50, &report, why);
    return report_drop(err, report);
}

static int shown(int (*show)(FILE *nowhere, struct ictus_why *why), struct ictus_why *why)
{
    FILE *nowhere = fopen("/dev/null", "we");
    REQUIRE(nowhere);
    const int err = show(nowhere, why);
    (void)fclose(nowhere);
    return err;
}

static int show_perfetto(FILE *nowhere, struct ictus_why *why)
{
    return ictus_trace_export_perfetto(skewed, NULL, nowhere, why);
}

static int show_profile(FILE *nowhere, struct ictus_why *why)
{
    return ictus_trace_print_profile(skewed, nowhere, why);
}

static int run_perfetto(struct ictus_why *why)
{
    return shown(show_perfetto, why);
}

static int run_profile(struct ictus_why *why)
{
    return shown(show_profile, why);
}

/*
 * Fail each of the first allocations, and then fewer and fewer, because most belong to one loop.
 * Where other runs test the same ones, begin elsewhere.
 */
static void memory_ends(const char *name, int (*run)(struct ictus_why *why))
{
    static long phase;
    struct ictus_why why = {""};
    asked = refused = 0;
    CHECK(run(&why) == ICTUS_OK);
    const long most = asked;
    (void)nftw(out, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    const int before = entries(root);
    CHECK(most > DENSE);
    phase = (phase + 5) % DENSE;
    for (long at = 1; at <= most; at += at < DENSE ? 1 : (at + phase) / DENSE) {
        asked = 0;
        refused = at;
        why.text[0] = '\0';
        const int err = run(&why);
        refused = 0;
        /*
         * Some allocations are optional. The OTF2 library reports failures of its own chunks, and
         * one that it cannot write is missing in the end.
         */
        const bool said = !err || err == ICTUS_ERR_NOMEM || strstr(why.text, "the given memory") ||
                          strstr(why.text, "was not written completely");
        if (!said) {
            (void)fprintf(stderr, "%s: allocation %ld of %ld: %d, %s\n", name, at, most, err,
                          why.text);
        }
        CHECK(said);
        CHECK(entries(root) == before + !access(out, F_OK));
        CHECK(err == ICTUS_OK || access(out, F_OK) != 0);
        CHECK(access(out, F_OK) != 0 || companion_is_there(out));
        (void)nftw(out, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    }
    json_decref(whole);
    whole = NULL;
}

int main(void)
{
    json_t *report = NULL;
    struct ictus_why why = {""};
    REQUIRE(mkdtemp(check_scratch(root, "memory")));
    (void)snprintf(archive, sizeof archive, "%s/good", root);
    (void)snprintf(skewed, sizeof skewed, "%s/bad", root);
    (void)snprintf(bare, sizeof bare, "%s/bare", root);
    (void)snprintf(out, sizeof out, "%s/out", root);
    char program[] = "make_random", seed[] = "2";
    char *words[] = {program, archive, seed};
    REQUIRE(make_random(3, words) == 0);
    companion_put(archive);
    REQUIRE(!ictus_trace_skew(archive, skewed,
                              "offset=1ms,drift=50ppm,walk=100ppm,scope=process,offsets=both",
                              &report, &why));
    json_decref(report);
    REQUIRE(!ictus_trace_skew(archive, bare, "offset=1ms,drift=50ppm,scope=process,offsets=drop",
                              &report, &why));
    json_decref(report);
    memory_ends("check", run_check);
    memory_ends("correct, no offsets", run_correct_bare);
    memory_ends("waits, no offsets", run_waits_bare);
    memory_ends("correct", run_correct);
    memory_ends("correct, no presync", run_correct_alone);
    memory_ends("skew", run_skew);
    memory_ends("waits", run_waits);
    memory_ends("arrivals", run_arrivals);
    memory_ends("timeline", run_timeline);
    memory_ends("perfetto", run_perfetto);
    memory_ends("profile", run_profile);
    (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    return check_result();
}
