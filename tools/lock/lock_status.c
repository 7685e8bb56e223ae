/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus lock status: tracking, sources and their statistics in one answer. */
#include "lock/lock_status.h"

#include "main/command.h"
#include "main/text_table.h"

#include <ictus/lock.h>
#include <ictus/result.h>
#include <ictus/text.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const stamp_names[] = {"user", "kernel", "hardware"};

static const char *stamps_of(const struct ictus_lock_source_status *s)
{
    return s->stamps >= 0 && s->stamps <= 2 ? stamp_names[s->stamps] : "reference";
}

static int64_t lock_status_raw_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * ICTUS_NS_PER_S + t.tv_nsec;
}

/* A duration with three digits and the unit that suits it. */
static const char *status_duration(double ns, char text[24])
{
    const double size = fabs(ns);
    if (size < 1e3) {
        (void)snprintf(text, 24, "%.0f ns", ns);
    } else if (size < 1e6) {
        (void)snprintf(text, 24, "%.2f us", ns / 1e3);
    } else if (size < 1e9) {
        (void)snprintf(text, 24, "%.2f ms", ns / 1e6);
    } else {
        (void)snprintf(text, 24, "%.3f s", ns / 1e9);
    }
    return text;
}

static void lock_status_print_time(const struct ictus_lock_reading *now)
{
    const time_t seconds = (time_t)(now->time.ns / ICTUS_NS_PER_S);
    struct tm utc;
    char text[32] = "";
    if (gmtime_r(&seconds, &utc)) {
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    }
    printf("Time          : %s.%09" PRId64 "Z\n", text, now->time.ns % ICTUS_NS_PER_S);
}

static void lock_status_print_head(const struct ictus_lock_status *s)
{
    char a[24], b[24], c[24];
    printf("State         : %s%s\n", ictus_lock_state_name(s->now.state),
           s->alive ? "" : " (the daemon is gone)");
    printf("Reference     : %s, stratum %" PRId32 "\n", s->reference[0] ? s->reference : "none",
           s->stratum);
    if (s->now.time.ns) {
        lock_status_print_time(&s->now);
        printf("Accuracy      : %s standard deviation, %s hard bound\n",
               status_duration(s->now.sigma_ns, a), status_duration(s->now.bound_ns, b));
    }
    printf("Expected      : %s, predicted %s, measured %s\n", status_duration(s->expected_ns, a),
           status_duration(s->predicted_ns, b), status_duration(s->measured_ns, c));
    printf("Frequency     : %+.6f ppm +- %.6f\n", s->frequency_ppm, s->skew_ppm);
    printf("System clock  : %s %s this clock%s\n", status_duration(fabs(s->system_offset_ns), a),
           s->system_offset_ns < 0 ? "behind" : "ahead of", s->steer ? " (steered)" : "");
    printf("Root          : delay %s, dispersion %s, leap %" PRId32 "\n",
           status_duration(s->root_delay_ns, a), status_duration(s->root_dispersion_ns, b),
           s->leap);
    printf("Agreement     : %" PRId32 " of %" PRId32
           " sources; the bound holds while at most %" PRId32 " are wrong\n",
           s->agreeing, s->voters, s->liars);
    printf("Steps         : %" PRIu64 ", suspends %" PRIu64 ", system clock set %" PRIu64 "\n\n",
           s->steps, s->suspends, s->system_steps);
}

static void lock_status_put_columns(struct text_table *table, const char *const *titles)
{
    text_table_init(table, 1);
    text_table_column(table, "Source", true);
    for (; *titles; titles++) {
        text_table_column(table, *titles, false);
    }
}

/* What the sources say, then how well each can be heard. */
static int lock_status_print_sources(const struct ictus_lock_status *s)
{
    static const char *const answers[] = {"Selection", "St",    "Reach", "Interval", "Offset",
                                          "Sigma",     "Bound", "Delay", NULL};
    static const char *const paths[] = {"Stamps", "Send",   "Network", "Receive", "Delay sd",
                                        "Noise",  "Glitch", "Lost",    NULL};
    struct text_table table;
    char text[24];
    lock_status_put_columns(&table, answers);
    for (int i = 0; i < s->source_count; i++) {
        const struct ictus_lock_source_status *r = &s->sources[i];
        text_table_cell(&table, "%s", r->name);
        text_table_cell(&table, "%s",
                        ictus_lock_selection_name((enum ictus_lock_selection)r->selection));
        text_table_cell(&table, "%" PRId32, r->stratum);
        text_table_cell(&table, "%03" PRIo32, (uint32_t)r->reach);
        text_table_cell(&table, "%.4g s", r->interval_s);
        text_table_cell(&table, "%s", status_duration(r->offset_ns, text));
        text_table_cell(&table, "%s", status_duration(r->sigma_ns, text));
        text_table_cell(&table, "%s", status_duration(r->bound_ns, text));
        text_table_cell(&table, "%s", status_duration(r->delay_ns, text));
    }
    const int err = text_table_print(&table, "", stdout);
    printf("\n");
    lock_status_put_columns(&table, paths);
    for (int i = 0; i < s->source_count; i++) {
        const struct ictus_lock_source_status *r = &s->sources[i];
        text_table_cell(&table, "%s", r->name);
        text_table_cell(&table, "%s", r->interleaved ? "interleaved" : stamps_of(r));
        text_table_cell(&table, "%s", status_duration(r->send_ns, text));
        text_table_cell(&table, "%s", status_duration(r->network_ns, text));
        text_table_cell(&table, "%s", status_duration(r->receive_ns, text));
        text_table_cell(&table, "%s", status_duration(r->delay_sd_ns, text));
        text_table_cell(&table, "%s", status_duration(r->noise_ns, text));
        text_table_cell(&table, "%" PRIu64, r->glitches);
        text_table_cell(&table, "%" PRIu64, r->lost);
    }
    const int failed = text_table_print(&table, "", stdout);
    return err ? err : failed;
}

static json_t *source_object(const struct ictus_lock_source_status *r)
{
    json_t *o = json_pack(
        "{s:o, s:s, s:s, s:i, s:i, s:s, s:b, s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "name",
        ictus_result_text(r->name), "reference_id", r->reference_id, "selection",
        ictus_lock_selection_name((enum ictus_lock_selection)r->selection), "stratum", r->stratum,
        "reach", r->reach, "stamps", stamps_of(r), "interleaved", r->interleaved, "leap", r->leap,
        "last_s", r->last_raw_ns ? (double)(lock_status_raw_now() - r->last_raw_ns) / 1e9 : -1.0,
        "interval_s", r->interval_s, "offset_ns", r->offset_ns, "frequency_ppm", r->frequency_ppm,
        "skew_ppm", r->skew_ppm, "sigma_ns", r->sigma_ns);
    json_t *more =
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "bound_ns",
                  r->bound_ns, "expected_ns", r->expected_ns, "predicted_ns", r->predicted_ns,
                  "measured_ns", r->measured_ns, "delay_ns", r->delay_ns, "delay_sd_ns",
                  r->delay_sd_ns, "send_ns", r->send_ns, "network_ns", r->network_ns, "receive_ns",
                  r->receive_ns, "root_delay_ns", r->root_delay_ns, "root_dispersion_ns",
                  r->root_dispersion_ns, "walk_per_sqrt_s", r->walk, "noise_ns", r->noise_ns);
    json_t *counts =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "sent", (json_int_t)r->sent,
                  "received", (json_int_t)r->received, "lost", (json_int_t)r->lost, "refused",
                  (json_int_t)r->refused, "accepted", (json_int_t)r->accepted, "glitches",
                  (json_int_t)r->glitches, "steps", (json_int_t)r->steps, "missing_stamps",
                  (json_int_t)r->missing_stamps, "falseticks", (json_int_t)r->falseticks, "turns",
                  (json_int_t)r->turns);
    json_t *allan = json_array();
    for (int i = 0; i < ICTUS_LOCK_ALLAN_MAX && r->allan_tau_s[i] > 0.0; i++) {
        (void)json_array_append_new(
            allan, json_pack("{s:f, s:f}", "tau_s", r->allan_tau_s[i], "sigma_y", r->allan[i]));
    }
    (void)json_object_update_new(o, more);
    (void)json_object_update_new(o, counts);
    (void)json_object_set_new(o, "allan", allan);
    return o;
}

static int lock_status_print_json(const struct ictus_lock_status *s)
{
    json_t *sources = json_array();
    for (int i = 0; i < s->source_count; i++) {
        (void)json_array_append_new(sources, source_object(&s->sources[i]));
    }
    json_t *o =
        json_pack("{s:s, s:s, s:b, s:I, s:I, s:f, s:f, s:I, s:s, s:i, s:i, s:f, s:f, s:o}", "type",
                  "lock-status", "state", ictus_lock_state_name(s->now.state), "alive", s->alive,
                  "pid", (json_int_t)s->pid, "utc_ns", (json_int_t)s->now.time.ns, "sigma_ns",
                  s->now.sigma_ns, "bound_ns", s->now.bound_ns, "epoch", (json_int_t)s->now.epoch,
                  "reference", s->reference, "stratum", s->stratum, "leap", s->leap,
                  "frequency_ppm", s->frequency_ppm, "skew_ppm", s->skew_ppm, "sources", sources);
    json_t *more =
        json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:f}", "voters",
                  s->voters, "agreeing", s->agreeing, "liars", s->liars, "expected_ns",
                  s->expected_ns, "predicted_ns", s->predicted_ns, "measured_ns", s->measured_ns,
                  "root_delay_ns", s->root_delay_ns, "root_dispersion_ns", s->root_dispersion_ns,
                  "system_offset_ns", s->system_offset_ns, "steps", (json_int_t)s->steps,
                  "suspends", (json_int_t)s->suspends, "system_steps", (json_int_t)s->system_steps,
                  "updated_s", (double)(lock_status_raw_now() - s->updated_raw_ns) / 1e9);
    (void)json_object_update_new(o, more);
    const int bad = !o || json_dumpf(o, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12)) < 0;
    printf("\n");
    json_decref(o);
    return bad ? EXIT_FAILED : EXIT_OK;
}

int lock_status(const char *name, const char *directory, enum ictus_format format)
{
    struct ictus_lock_status status;
    struct ictus_lock *lock = NULL;
    struct ictus_why why = {""};
    int err = ictus_lock_open_guarded(name, directory, &lock, &why);
    if (!err) {
        err = ictus_lock_status(lock, &status);
        ictus_lock_close(lock);
        if (err == ICTUS_ERR_SAMPLES) {
            (void)ictus_because(&why, err,
                                "the clock has not been locked yet; is 'ictus lock' running?");
        }
    }
    if (err) {
        return command_fail("lock", err, &why);
    }
    if (format != ICTUS_FORMAT_TEXT) {
        const int bad = lock_status_print_json(&status);
        return bad != EXIT_OK || status.alive ? bad : EXIT_BELOW;
    }
    lock_status_print_head(&status);
    err = lock_status_print_sources(&status);
    return err ? command_fail("lock", err, NULL) : status.alive ? EXIT_OK : EXIT_BELOW;
}
