/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a correction's report says of the truth, against archives whose times are all known: how far
 * events are off, what no line explains, how much intervals change, and whose error covers it.
 */
#include "../check.h"
#include "written_archive.h"

#include "core/random.h"
#include "correct/truth.h"

#include <ftw.h>
#include <ictus/error.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <sys/stat.h>

enum { LOCATIONS = 3, EVENTS = 40, TICK_NS = 4, BEGIN = 5000000 };
enum { GOOD, IN, OUT, ARCHIVES };

/* The times of an archive, and what it says of itself. */
struct times {
    uint64_t at[LOCATIONS][EVENTS];
    uint32_t locations, events[LOCATIONS];
    uint64_t resolution, ref; /* of the last location */
};

static char root[CHECK_PATH];
static char paths[ARCHIVES][2 * CHECK_PATH];

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static uint64_t location_ref(const struct times *t, uint32_t location)
{
    return location + 1 == t->locations ? t->ref : location;
}

static void archive_write(int which, const struct times *t)
{
    (void)nftw(paths[which], entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    OTF2_Archive *archive = written_archive_open(paths[which], 1 << 18);
    for (uint32_t l = 0; l < t->locations; l++) {
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, location_ref(t, l));
        for (uint32_t i = 0; i < t->events[l]; i++) {
            OTF2_EvtWriter_MpiSend(writer, NULL, t->at[l][i], 0, 0, 0, 0);
        }
        OTF2_Archive_CloseEvtWriter(archive, writer);
    }
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, t->resolution, BEGIN, 1000000000,
                                              OTF2_UNDEFINED_TIMESTAMP);
    OTF2_GlobalDefWriter_WriteString(d, 0, "");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t l = 0; l < t->locations; l++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, l, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocation(d, location_ref(t, l), 0, OTF2_LOCATION_TYPE_CPU_THREAD,
                                           t->events[l], l);
    }
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

/* The next event is at least so much later. */
static struct times times_make(struct rng *rng, uint64_t least)
{
    struct times t = {
        .locations = LOCATIONS, .resolution = 1000000000 / TICK_NS, .ref = LOCATIONS - 1};
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        uint64_t now = BEGIN + 1000 * l;
        t.events[l] = EVENTS - l;
        for (uint32_t i = 0; i < t.events[l]; i++) {
            t.at[l][i] = now;
            now += least + (uint64_t)(ictusi_random_exponential(rng) * 30);
        }
    }
    return t;
}

/* Other times of the same events, in the same order: off by a line, and by a scatter. */
static struct times times_skew(const struct times *good, double offset, double rate, double scatter,
                               struct rng *rng)
{
    struct times t = *good;
    for (uint32_t l = 0; l < t.locations; l++) {
        for (uint32_t i = 0; i < t.events[l]; i++) {
            const double since = (double)(good->at[l][i] - BEGIN);
            t.at[l][i] +=
                (uint64_t)llround(offset + rate * since + scatter * ictusi_random_normal(rng));
            t.at[l][i] = i > 0 && t.at[l][i] < t.at[l][i - 1] ? t.at[l][i - 1] : t.at[l][i];
        }
    }
    return t;
}

static double time_off(const struct times *t, const struct times *good, uint32_t l, uint32_t i)
{
    return (double)(int64_t)(t->at[l][i] - good->at[l][i]);
}

struct distance {
    double count, largest, rms, aligned;
};

/* In two passes: first the means, then the line about them, and what it leaves. */
static struct distance distance_of(const struct times *t, const struct times *good)
{
    struct distance d = {0};
    double time = 0;
    double off = 0;
    double tt = 0;
    double td = 0;
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t l = 0; l < t->locations; l++) {
            for (uint32_t i = 0; i < t->events[l]; i++) {
                const double by = time_off(t, good, l, i);
                const double at = (double)good->at[l][i];
                if (pass == 0) {
                    d.count++;
                    d.largest = fmax(d.largest, fabs(by));
                    d.rms += by * by;
                    time += at;
                    off += by;
                } else if (pass == 1) {
                    tt += (at - time / d.count) * (at - time / d.count);
                    td += (at - time / d.count) * (by - off / d.count);
                } else {
                    const double rest =
                        by - off / d.count - (tt > 0 ? td / tt : 0) * (at - time / d.count);
                    d.aligned += rest * rest / d.count;
                }
            }
        }
    }
    d.rms = d.count > 0 ? sqrt(d.rms / d.count) : 0;
    d.aligned = sqrt(d.aligned);
    return d;
}

/* By how much an interval differs from the true one, ticks. */
static double interval_off(const struct times *t, const struct times *good, uint32_t l, uint32_t i)
{
    return fabs(time_off(t, good, l, i) - time_off(t, good, l, i - 1));
}

/* Errors of so many ticks at the beginning and so many more at the end, of all but one clock. */
struct fit {
    struct clock_fit fit;
    double errors[2 * LOCATIONS];
    uint32_t clocks[LOCATIONS];
};

static void fit_make(struct fit *f, double error, double more)
{
    f->fit = (struct clock_fit){.model = {.clocks = LOCATIONS, .knots = 2, .error = f->errors},
                                .tried = true,
                                .clock_of = f->clocks,
                                .from = BEGIN,
                                .to = BEGIN + 2000,
                                .us_per_tick = TICK_NS * 1e-3};
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        f->clocks[l] = l;
        f->errors[2 * l] = error * f->fit.us_per_tick;
        f->errors[2 * l + 1] = (error + more) * f->fit.us_per_tick;
    }
}

static double told(const json_t *truth, const char *name)
{
    const json_t *value = json_object_get(truth, name);
    return value ? json_number_value(value) : -1;
}

static void report_is(const json_t *truth, const struct times *t, const struct fit *fit)
{
    const struct distance in = distance_of(&t[IN], &t[GOOD]);
    const struct distance out = distance_of(&t[OUT], &t[GOOD]);
    double most = 0;
    double made = 0;
    double declared = 0;
    double covered = 0;
    for (uint32_t l = 0; l < t->locations; l++) {
        for (uint32_t i = 0; i < t->events[l]; i++) {
            const double by = fabs(time_off(&t[OUT], &t[GOOD], l, i));
            const double error = ictusi_clock_fit_error(&fit->fit, l, (int64_t)t[OUT].at[l][i]);
            declared += l > 0;
            covered += l > 0 && by <= error;
            if (i > 0) {
                /* Beyond a tick at either end, relative to its length. */
                const double was = fmax(1, (double)(t[GOOD].at[l][i] - t[GOOD].at[l][i - 1]));
                const double off = interval_off(&t[OUT], &t[GOOD], l, i) - 2;
                most = fmax(most, off / was);
                made = fmax(made, (off - interval_off(&t[IN], &t[GOOD], l, i)) / was);
            }
        }
    }
    CHECK_NEAR(told(truth, "input_max_ns"), in.largest * TICK_NS, 1e-6);
    CHECK_NEAR(told(truth, "input_rms_ns"), in.rms * TICK_NS, 1e-6);
    CHECK_NEAR(told(truth, "input_aligned_rms_ns"), in.aligned * TICK_NS, 1e-3);
    CHECK_NEAR(told(truth, "output_max_ns"), out.largest * TICK_NS, 1e-6);
    CHECK_NEAR(told(truth, "output_rms_ns"), out.rms * TICK_NS, 1e-6);
    CHECK_NEAR(told(truth, "output_aligned_rms_ns"), out.aligned * TICK_NS, 1e-3);
    CHECK_NEAR(told(truth, "ratio_rms"), in.rms > 0 ? out.rms / in.rms : 0, 1e-9);
    CHECK_NEAR(told(truth, "ratio_max"), in.largest > 0 ? out.largest / in.largest : 0, 1e-9);
    CHECK_NEAR(told(truth, "output_interval"), most, 1e-9);
    CHECK_NEAR(told(truth, "made_interval"), made, 1e-9);
    CHECK_NEAR(told(truth, "output_covered"), declared > 0 ? covered / declared : -1, 1e-9);
}

static void archives_compare(const struct times *t, const struct fit *fit)
{
    json_t *report = json_object();
    struct ictus_why why = {""};
    for (int i = 0; i < ARCHIVES; i++) {
        archive_write(i, &t[i]);
    }
    CHECK(!ictusi_truth_check(paths[GOOD], paths[IN], &why));
    REQUIRE(!ictusi_truth_compare(paths[GOOD], paths[IN], paths[OUT], &fit->fit, report, &why));
    report_is(json_object_get(report, "truth"), t, fit);
    json_decref(report);
}

static void distances_are_told(void)
{
    static const double cases[][6] = {{5000, 0.01, 300, 10, 0.001, 30},
                                      {-3000, 0, 0, 100, -0.05, 0},
                                      {0, 0, 0, 0, 0, 8},
                                      {20, 0, 5, 0, 0, 0},
                                      {-400000, 0.3, 2, 7, 0.3, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double *c = cases[i];
        struct rng rng;
        struct times t[ARCHIVES];
        struct fit fit;
        ictusi_random_seed(&rng, i, 0);
        fit_make(&fit, i == 2 ? 0 : 20, i % 2 ? 0 : 10 * (double)i);
        t[GOOD] = times_make(&rng, 0);
        t[IN] = times_skew(&t[GOOD], c[0], c[1], c[2], &rng);
        t[OUT] = times_skew(&t[GOOD], c[3], c[4], c[5], &rng);
        archives_compare(t, &fit);
    }
}

/* What is within the error is covered, and what is a tick more is not; each single event counts. */
static void errors_cover(void)
{
    for (uint64_t by = 19; by <= 21; by++) {
        struct rng rng;
        struct times t[ARCHIVES];
        struct fit fit;
        json_t *report = json_object();
        struct ictus_why why = {""};
        ictusi_random_seed(&rng, by, 0);
        fit_make(&fit, 20.5, 0);
        t[GOOD] = times_make(&rng, 600);
        t[IN] = t[OUT] = t[GOOD];
        t[OUT].at[1][7] -= by;
        t[OUT].at[2][0] += by;
        t[OUT].at[0][3] += 500; /* of the clock that shows the time */
        for (int i = 0; i < ARCHIVES; i++) {
            archive_write(i, &t[i]);
        }
        REQUIRE(!ictusi_truth_compare(paths[GOOD], paths[IN], paths[OUT], &fit.fit, report, &why));
        const double all = 2 * EVENTS - 3;
        CHECK_NEAR(told(json_object_get(report, "truth"), "output_covered"),
                   by > 20 ? (all - 2) / all : 1, 1e-9);
        json_decref(report);
    }
}

/* One event has no line, two leave nothing of it, and events at one instant only a mean. */
static void few_events_are_told(void)
{
    for (uint32_t events = 0; events <= 3; events++) {
        struct times t[ARCHIVES] = {
            {.locations = 1, .resolution = 1000000000 / TICK_NS, .events = {events}}};
        struct fit fit;
        fit_make(&fit, 20, 0);
        for (uint32_t i = 0; i < events; i++) {
            t[GOOD].at[0][i] = BEGIN + (events == 3 ? 0 : i);
        }
        t[IN] = t[OUT] = t[GOOD];
        for (uint32_t i = 0; i < events; i++) {
            t[IN].at[0][i] += 100 * i + 50;
            t[OUT].at[0][i] += 5 * i * i;
        }
        archives_compare(t, &fit);
    }
}

/* Archives of two runs are not compared, and it is said what differs. */
static void other_runs_are_refused(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 1, 0);
    const struct times good = times_make(&rng, 0);
    struct times others[4] = {good, good, good, good};
    others[0].locations--;
    others[0].ref--;
    others[1].resolution++;
    others[2].events[1]--;
    others[3].ref++;
    static const char *const words[] = {"same run", "same run", "location 1", "location 2"};
    struct fit fit;
    fit_make(&fit, 20, 0);
    archive_write(GOOD, &good);
    for (int i = 0; i < 4; i++) {
        for (int which = IN; which < ARCHIVES; which++) {
            json_t *report = json_object();
            struct ictus_why why = {""};
            archive_write(IN, which == IN ? &others[i] : &good);
            archive_write(OUT, which == OUT ? &others[i] : &good);
            CHECK(ictusi_truth_check(paths[GOOD], paths[which], &why) == ICTUS_ERR_ARG);
            CHECK(strstr(why.text, words[i]) && strstr(why.text, paths[which]));
            why.text[0] = '\0';
            CHECK(ictusi_truth_compare(paths[GOOD], paths[IN], paths[OUT], &fit.fit, report,
                                       &why) == ICTUS_ERR_ARG);
            CHECK(strstr(why.text, words[i]) && strstr(why.text, paths[which]));
            CHECK(json_object_size(report) == 0);
            json_decref(report);
        }
    }
    struct ictus_why why = {""};
    CHECK(ictusi_truth_check("/nowhere", paths[GOOD], &why) == ICTUS_ERR_ARG);
    CHECK(ictusi_truth_check(paths[GOOD], "/nowhere", &why) == ICTUS_ERR_ARG);
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(root, "truth")));
    static const char *const names[] = {"good", "in", "out"};
    for (int i = 0; i < ARCHIVES; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/%s", root, names[i]);
    }
    distances_are_told();
    errors_cover();
    few_events_are_told();
    other_runs_are_refused();
    (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    return check_result();
}
