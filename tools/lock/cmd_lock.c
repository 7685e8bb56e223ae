/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus lock: keep the network clock, one object a poll; `ictus lock status` is in lock_status.c.
 */
#include "lock/lock_status.h"
#include "main/command.h"
#include "main/header.h"
#include "main/results.h"
#include "main/shared_rows.h"

#include <ictus/lock_daemon.h>
#include <ictus/result.h>
#include <ictus/text.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct lock_options {
    struct ictus_lock_options run;
    struct results_options results;
    int stamps, loop, policy;
    bool basic, quiet;
};

static const char *const stamps[] = {"user", "kernel", "hardware", NULL};
static const char *const loops[] = {"adaptive", "fll", "pll", NULL};
static const char *const policies[] = {"best", "cheapest", "target", "fixed", NULL};

#define AT(member) offsetof(struct lock_options, member)

static const struct option_row rows[] = {
    {"server", 0, OPTION_TEXT, AT(run.servers), NULL, 0, 0, NULL, "HOST[:PORT][/OPTION]...,...",
     "NTP servers to follow"},
    {"pool", 0, OPTION_TEXT, AT(run.pool), NULL, 0, 0, NULL, "NAME[:PORT],...",
     "use four addresses of a name, each as a source"},
    {"reference", 0, OPTION_TEXT, AT(run.reference), NULL, 0, 0, NULL, "SPEC,...",
     "reference clocks: phc:/dev/ptp0 pps:/dev/pps0 shm:N sock:PATH "
     "gpsd[:HOST]"},
    ROW_NAME(AT(run.name)),
    ROW_DIRECTORY(AT(run.directory)),
    {"stamps", 0, OPTION_CHOICE, AT(stamps), "kernel", 0, 0, stamps, "KIND",
     "where packets are time-stamped: user, kernel, hardware"},
    {"basic", 0, OPTION_FLAG, AT(basic), NULL, 0, 0, NULL, NULL, "do not use interleaved mode"},
    ROW_EXCHANGES(AT(run.exchanges), "5", 1, 32, "exchanges in each group"),
    {"keep-first", 0, OPTION_FLAG, AT(run.keep_first), NULL, 0, 0, NULL, NULL,
     "use the first exchange of a group as well"},
    {"spacing", 0, OPTION_SECONDS, AT(run.spacing_s), "1ms", 0, 60, NULL, "TIME",
     "time between the exchanges of a group"},
    {"timeout", 0, OPTION_SECONDS, AT(run.timeout_s), "1s", 1e-4, 60, NULL, "TIME",
     "how long to wait for a reply"},
    {"sigma", 0, OPTION_SECONDS, AT(run.sigma_s), "10us", 0, 10, NULL, "TIME", "accuracy to reach"},
    {"tconf", 0, OPTION_SECONDS, AT(run.tconf_s), "300s", 1, 1e6, NULL, "TIME",
     "time constant of --loop=fll and --loop=pll"},
    {"tmin", 0, OPTION_SECONDS, AT(run.tmin_s), "8s", 0.05, 1e5, NULL, "TIME",
     "shortest time between polls"},
    {"tmax", 0, OPTION_SECONDS, AT(run.tmax_s), "1024s", 0.05, 1e6, NULL, "TIME",
     "longest time between polls"},
    {"policy", 0, OPTION_CHOICE, AT(policy), "best", 0, 0, policies, "NAME",
     "how often to poll: best, cheapest, target, fixed"},
    {"loop", 0, OPTION_CHOICE, AT(loop), "adaptive", 0, 0, loops, "NAME",
     "control loop: adaptive, fll, pll"},
    {"wander", 0, OPTION_RATIO, AT(run.wander), "1ppm", 0, 1e-3, NULL, "RATE",
     "how far the frequency may depart from its mean, for the bound"},
    {"max-distance", 0, OPTION_SECONDS, AT(run.max_distance_s), "3s", 0, 100, NULL, "TIME",
     "refuse servers whose root distance is larger"},
    {"min-sources", 0, OPTION_INT, AT(run.min_sources), "1", 1, 16, NULL, "N",
     "number of sources that must agree"},
    {"makestep", 0, OPTION_SECONDS, AT(run.makestep_s), "10ms", 0, 1e9, NULL, "TIME",
     "step the clock if its error is larger, else slew it"},
    {"maxchange", 0, OPTION_SECONDS, AT(run.maxchange_s), "0s", 0, 1e9, NULL, "TIME",
     "exit rather than change the clock by more; 0 means never"},
    {"drift", 0, OPTION_TEXT, AT(run.drift), NULL, 0, 0, NULL, "FILE",
     "file in which the frequency is kept between runs"},
    {"clockbound", 0, OPTION_TEXT, AT(run.clockbound), NULL, 0, 0, NULL, "FILE",
     "segment in which clients of ClockBound find the bound"},
    ROW_KEYS(AT(run.keys)),
    {"key", 0, OPTION_INT, AT(run.key), "0", 0, 4294967295.0, NULL, "ID",
     "number of the servers' key"},
    ROW_USER(AT(run.user)),
    {"steer", 0, OPTION_FLAG, AT(run.steer), NULL, 0, 0, NULL, NULL,
     "also discipline CLOCK_REALTIME"},
    ROW_PROMETHEUS(AT(run.metrics)),
    {"polls", 0, OPTION_INT, AT(run.polls), "0", 0, 1e9, NULL, "N",
     "stop after this many polls; 0 means never"},
    ROW_DURATION(AT(run.duration_s), "0s", 0, "stop after this time; 0 means never"),
    ROW_FORMAT(AT(results.format), "text", results_formats,
               "format of standard output: text, csv, json"),
    ROW_OUTPUT(AT(results.file), "FILE", "result file to write; an existing one is continued"),
    ROW_QUIET(AT(quiet), "do not print the polls"),
    ROW_END};

static const struct ictus_column columns[] = {
    {"server", "server", ICTUS_COLUMN_TEXT},
    {"event", "event", ICTUS_COLUMN_TEXT},
    {"state", "state", ICTUS_COLUMN_TEXT},
    {"elapsed_s", "after s", ICTUS_COLUMN_NUMBER},
    {"offset_ns", "offset us", ICTUS_COLUMN_NS},
    {"sigma_ns", "sigma us", ICTUS_COLUMN_NS},
    {"bound_ns", "bound us", ICTUS_COLUMN_NS},
    {"interval_s", "next s", ICTUS_COLUMN_NUMBER},
    {NULL, NULL, ICTUS_COLUMN_TEXT},
};

struct log {
    struct ictus_output *output;
    const struct lock_options *options;
    int64_t start;
    bool written; /* at least one poll */
};

/* JSON has no NaN. */
static json_t *json_finite(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void lock_put_real(json_t *object, const char *key, double value)
{
    (void)json_object_set_new(object, key, json_finite(value));
}

static void lock_put_timing(json_t *object, const struct ictus_lock_poll *poll)
{
    lock_put_real(object, "delay_s", poll->delay_ns / 1e9);
    lock_put_real(object, "delay_sd_s", poll->delay_sd_ns / 1e9);
    lock_put_real(object, "send_s", poll->send_ns / 1e9);
    lock_put_real(object, "network_s", poll->network_ns / 1e9);
    lock_put_real(object, "receive_s", poll->receive_ns / 1e9);
    lock_put_real(object, "interval_s", poll->interval_s);
    lock_put_real(object, "sigma_y", poll->sigma_y);
    lock_put_real(object, "tau_s", poll->tau_s);
    lock_put_real(object, "system_offset_ns", poll->raw_offset_ns);
    lock_put_real(object, "clock_minus_system_ns", poll->clock_ns);
}

static void lock_on_poll(const struct ictus_lock_poll *poll, void *context)
{
    struct log *log = context;
    json_t *object = json_object();
    struct timespec now;
    if (!object) {
        return;
    }
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    const int64_t raw = (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
    const char *kind = poll->kernel ? stamps[log->options->stamps] : stamps[0];
    (void)json_object_set_new(object, "type", json_string("lock"));
    (void)json_object_set_new(object, "server", ictus_result_text(poll->source));
    (void)json_object_set_new(object, "stamps", json_string(kind));
    (void)json_object_set_new(object, "interleaved", json_boolean(poll->interleaved));
    (void)json_object_set_new(object, "event", json_string(poll->event));
    lock_put_real(object, "elapsed_s", rint((double)(raw - log->start) / 1e6) / 1e3);
    (void)json_object_set_new(object, "utc_ns", json_integer(poll->utc_ns));
    (void)json_object_set_new(object, "state", json_string(ictus_lock_state_name(poll->state)));
    (void)json_object_set_new(object, "exchanges", json_integer(poll->exchanges));
    (void)json_object_set_new(object, "used", json_integer(poll->used));
    lock_put_real(object, "offset_ns", poll->offset_ns);
    lock_put_real(object, "frequency_ppm", poll->frequency_ppm);
    lock_put_real(object, "skew_ppm", poll->skew_ppm);
    lock_put_real(object, "sigma_ns", poll->estimate_ns);
    lock_put_real(object, "bound_ns", poll->bound_ns);
    lock_put_real(object, "expected_ns", poll->expected_ns);
    lock_put_real(object, "predicted_ns", poll->predicted_ns);
    lock_put_real(object, "measured_ns", poll->measured_ns);
    lock_put_timing(object, poll);
    (void)ictus_output_put(log->output, object);
    log->written = true;
}

static void lock_on_message(const char *text, void *context)
{
    (void)context;
    (void)fprintf(stderr, "ictus lock: %s\n", text);
}

/* An option with an empty value names no source either. */
static bool lock_is_given(const char *list)
{
    return list && list[0];
}

static int lock_run_daemon(const struct lock_options *given)
{
    struct lock_options o = *given;
    struct ictus_why why = {""};
    struct timespec now;
    struct log log = {.options = &o};
    o.run.size = sizeof(o.run);
    o.run.stamps = (enum ictus_lock_stamps)o.stamps;
    o.run.loop = (enum ictus_lock_loop)o.loop;
    o.run.policy = (enum ictus_lock_policy)o.policy;
    o.run.interleaved = !o.basic && o.stamps != ICTUS_STAMPS_USER;
    o.run.on_message = lock_on_message;
    o.run.on_poll = o.quiet && !o.results.file ? NULL : lock_on_poll;
    o.run.context = &log;
    if (!lock_is_given(o.run.servers) && !lock_is_given(o.run.pool) &&
        !lock_is_given(o.run.reference)) {
        (void)ictus_because(&why, ICTUS_ERR_SPEC,
                            "no source was given; use --server=HOST, --pool=NAME or "
                            "--reference=SPEC ('ictus lock status' shows a running clock)");
        return command_fail("lock", ICTUS_ERR_SPEC, &why);
    }
    if (o.quiet && !freopen("/dev/null", "w", stdout)) {
        return command_fail("lock", ICTUS_ERR_IO, NULL);
    }
    const struct header_facts facts = {.command = "lock", .rows = rows, .options = given};
    const bool fresh = o.results.file && access(o.results.file, F_OK) != 0;
    int err = results_continue(&o.results, columns, header_create(&facts), &log.output, &why);
    if (err) {
        return command_fail("lock", err, &why);
    }
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    log.start = (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
    err = ictus_lock_run(&o.run, &why);
    if (err) {
        (void)ictus_output_close(log.output);
        if (fresh && !log.written) {
            (void)unlink(o.results.file); /* nothing was kept, so no empty log is left behind */
        }
        return command_fail("lock", err, &why);
    }
    err = results_close(log.output, o.results.file, ICTUS_OK, &why);
    return err ? command_fail("lock", err, &why) : EXIT_OK;
}

/* A running clock is shown as it is. */
static int lock_run_status(const struct lock_options *o)
{
    static const char *const shown[] = {"name", "directory", "format"};
    struct ictus_why why;
    for (const struct option_row *row = rows; row->name; row++) {
        bool shows = false;
        for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
            shows = shows || strcmp(row->name, shown[i]) == 0;
        }
        if (!shows && options_is_set(row, o)) {
            (void)ictus_because(&why, ICTUS_ERR_SPEC,
                                "--%s has no effect on 'lock status', which shows a running clock",
                                row->name);
            return command_fail("lock", ICTUS_ERR_SPEC, &why);
        }
    }
    return lock_status(o->run.name, o->run.directory, (enum ictus_format)o->results.format);
}

static int lock_run(const void *options, int word_count, char **words)
{
    const struct lock_options *o = options;
    struct ictus_why why;
    const bool status = word_count > 0 && strcmp(words[0], "status") == 0;
    if (status && word_count == 1) {
        return lock_run_status(o);
    }
    if (word_count) {
        (void)ictus_because(&why, ICTUS_ERR_SPEC,
                            "unexpected argument '%.60s'; the only one is 'status'", words[status]);
        return command_fail("lock", ICTUS_ERR_SPEC, &why);
    }
    return lock_run_daemon(o);
}

const struct command command_lock = {
    .name = "lock",
    .summary = "lock a software clock to NTP servers or reference clocks",
    .arguments = "[status]",
    .details = "  ictus lock --server=ntp1,ntp2 --tmin=1s -o lock.jsonl\n"
               "  ictus lock status",
    .options = rows,
    .flags = 0,
    .options_size = sizeof(struct lock_options),
    .run = lock_run,
};
