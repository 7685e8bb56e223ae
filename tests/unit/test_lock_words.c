/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ictus lock, serve and at: what their options request from the library, and what a poll reports.
 */
#include "../check.h"
#include "lock/lock_status.h"
#include "main/command.h"
#include "main/header.h"
#include "main/results.h"

#include <ictus/lock_daemon.h>
#include <ictus/text.h>
#include <jansson.h>
#include <time.h>
#include <unistd.h>

extern const struct command command_lock, command_serve, command_at;

/* The linker makes the commands run these. */
static struct {
    int run, close, resume; /* return values of the calls */
    int polls, runs, closed, statuses;
    struct ictus_lock_poll poll;
    struct ictus_lock_options lock;
    struct ictus_serve_options serve;
    struct results_options results;
    json_t *told;
} world;
static char failure[400];
const char *const results_formats[] = {"text", "csv", "json", NULL};

int __wrap_ictus_lock_run(const struct ictus_lock_options *options, struct ictus_why *why);
int __wrap_ictus_serve_run(const struct ictus_serve_options *options, struct ictus_why *why);
int __wrap_ictus_output_put(struct ictus_output *out, json_t *object);
int __wrap_ictus_output_close(struct ictus_output *out);

int __wrap_ictus_lock_run(const struct ictus_lock_options *options, struct ictus_why *why)
{
    world.runs++;
    world.lock = *options;
    for (int i = 0; i < world.polls; i++) {
        options->on_poll(&world.poll, options->context);
    }
    return world.run ? ictus_because(why, world.run, "not run") : ICTUS_OK;
}

int __wrap_ictus_serve_run(const struct ictus_serve_options *options, struct ictus_why *why)
{
    world.runs++;
    world.serve = *options;
    return world.run ? ictus_because(why, world.run, "not run") : ICTUS_OK;
}

int __wrap_ictus_output_put(struct ictus_output *out, json_t *object)
{
    (void)out;
    json_decref(world.told);
    world.told = object;
    return ICTUS_OK;
}

int __wrap_ictus_output_close(struct ictus_output *out)
{
    (void)out;
    world.closed++;
    return ICTUS_OK;
}

int results_continue(const struct results_options *options, const struct ictus_column *columns,
                     json_t *header, struct ictus_output **out, struct ictus_why *why)
{
    CHECK(columns && !header);
    world.results = *options;
    *out = NULL;
    FILE *file = options->file ? fopen(options->file, "a") : NULL; /* as the real one does */
    CHECK(!file || !fclose(file));
    return world.resume ? ictus_because(why, world.resume, "not continued") : ICTUS_OK;
}

int results_close(struct ictus_output *out, const char *path, int before, struct ictus_why *why)
{
    CHECK(!out && path == world.results.file && before == ICTUS_OK);
    world.closed++;
    return world.close ? ictus_because(why, world.close, "not written") : ICTUS_OK;
}

json_t *header_create(const struct header_facts *facts)
{
    CHECK_STR(facts->command, "lock");
    CHECK(facts->rows == command_lock.options && facts->options);
    return NULL;
}

int lock_status(const char *name, const char *directory, enum ictus_format format)
{
    CHECK_STR(name, "the-name");
    CHECK_STR(directory, "the-directory");
    CHECK(format == ICTUS_FORMAT_JSON);
    world.statuses++;
    return EXIT_BELOW;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    (void)snprintf(failure, sizeof failure, "%s %d %s", command, err, why ? why->text : "");
    return err == ICTUS_ERR_SPEC ? EXIT_USAGE : EXIT_FAILED;
}

enum { WORDS_MAX = 32 };

/* Set a command's options from a line of words, of which `left` are not options. */
static int words_read(const struct command *command, const char *line, void *options, char **left,
                      int *count)
{
    static char text[1024];
    struct ictus_why why = {""};
    char *end = NULL;
    int n = 1;
    left[0] = "ictus";
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok_r(text, " ", &end); word; word = strtok_r(NULL, " ", &end)) {
        REQUIRE(n < WORDS_MAX);
        left[n++] = word;
    }
    return options_read(command->options, n, left, options, count, &why);
}

static int words_run(const struct command *command, const char *line)
{
    static union {
        char bytes[1024];
        long double aligned;
    } options;
    char *left[WORDS_MAX];
    int count = 0;
    REQUIRE(command->options_size <= sizeof options);
    memset(&options, 0, sizeof options);
    failure[0] = '\0';
    world.runs = world.closed = world.statuses = 0;
    REQUIRE(words_read(command, line, &options, left, &count) == ICTUS_OK);
    return command->run(&options, count, left + 1);
}

/* The smallest and largest value that an option accepts, and the next ones, which it refuses. */
static void limits_hold(void)
{
    static const struct {
        const struct command *command;
        const char *option, *least, *most, *below, *above;
    } limits[] = {
        {&command_lock, "exchanges", "1", "32", "0", "33"},
        {&command_lock, "spacing", "0s", "60s", "-1ns", "60.5s"},
        {&command_lock, "timeout", "100us", "60s", "99us", "60.5s"},
        {&command_lock, "sigma", "0s", "10s", "-1ns", "10.5s"},
        {&command_lock, "tconf", "1s", "1e6s", "0.9s", "1000001s"},
        {&command_lock, "tmin", "50ms", "1e5s", "49ms", "100001s"},
        {&command_lock, "tmax", "50ms", "1e6s", "49ms", "1000001s"},
        {&command_lock, "wander", "0%", "0.1%", "-1ppm", "0.101%"},
        {&command_lock, "max-distance", "0s", "100s", "-1ns", "100.5s"},
        {&command_lock, "min-sources", "1", "16", "0", "17"},
        {&command_lock, "makestep", "0s", "1e9s", "-1ns", "1000000001s"},
        {&command_lock, "maxchange", "0s", "1e9s", "-1ns", "1000000001s"},
        {&command_lock, "key", "0", "4294967295", "-1", "4294967296"},
        {&command_lock, "polls", "0", "1000000000", "-1", "1000000001"},
        {&command_lock, "duration", "0s", "1e9s", "-1ns", "1000000001s"},
        {&command_serve, "port", "1", "65535", "0", "65536"},
        {&command_serve, "rate", "0", "1e6", "-1e-9", "1000001"},
        {&command_serve, "burst", "1", "1000000", "0", "1000001"},
        {&command_serve, "stratum", "1", "15", "0", "16"},
        {&command_at, "next-odd-minute", "0", "59", "-1", "60"},
        {&command_at, "align", "0s", "86400s", "-1ns", "86401s"},
        {&command_at, "tolerance", "0s", "10s", "-1ns", "10.5s"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const char *const values[] = {limits[i].least, limits[i].most, limits[i].below,
                                      limits[i].above};
        for (int k = 0; k < 4; k++) {
            char word[80], options[1024], *left[WORDS_MAX];
            int count = 0;
            (void)snprintf(word, sizeof word, "--%s=%s", limits[i].option, values[k]);
            const int err = words_read(limits[i].command, word, options, left, &count);
            if (err != (k < 2 ? ICTUS_OK : ICTUS_ERR_SPEC)) {
                check_failures++;
                (void)fprintf(stderr, "%s %s: %d\n", limits[i].command->name, word, err);
            }
        }
    }
}

/* The numbers that lock requests, in the order of the lines below. */
enum { NUMBERS = 21 };

static void numbers_are(const double wanted[NUMBERS])
{
    const struct ictus_lock_options *o = &world.lock;
    const double found[NUMBERS] = {o->duration_s,
                                   o->spacing_s,
                                   o->timeout_s,
                                   o->sigma_s,
                                   o->tconf_s,
                                   o->tmin_s,
                                   o->tmax_s,
                                   o->wander,
                                   o->maxchange_s,
                                   o->max_distance_s,
                                   o->makestep_s,
                                   (double)o->key,
                                   (double)o->exchanges,
                                   (double)o->polls,
                                   (double)o->min_sources,
                                   o->stamps,
                                   o->interleaved,
                                   o->keep_first,
                                   o->steer,
                                   o->loop,
                                   o->policy};
    for (int i = 0; i < NUMBERS; i++) {
        if (fabs(found[i] - wanted[i]) > 1e-12 * fabs(wanted[i])) {
            check_failures++;
            (void)fprintf(stderr, "number %d is %g, not %g\n", i, found[i], wanted[i]);
        }
    }
    CHECK(o->size == sizeof *o && o->on_message);
}

static void texts_are(const char *const wanted[11])
{
    const struct ictus_lock_options *o = &world.lock;
    const char *const found[] = {o->servers,   o->pool,       o->reference,      o->name,
                                 o->directory, o->keys,       o->user,           o->metrics,
                                 o->drift,     o->clockbound, world.results.file};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        CHECK_STR(found[i] ? found[i] : "(none)", wanted[i] ? wanted[i] : "(none)");
    }
}

static void usual_values_are_asked_for(void)
{
    CHECK(words_run(&command_lock, "--server=one") == EXIT_OK);
    CHECK(world.runs == 1 && world.closed == 1 && !failure[0]);
    texts_are((const char *const[11]){"one"});
    numbers_are((const double[NUMBERS]){0,
                                        1e-3,
                                        1,
                                        1e-5,
                                        300,
                                        8,
                                        1024,
                                        1e-6,
                                        0,
                                        3,
                                        0.01,
                                        0,
                                        5,
                                        0,
                                        1,
                                        ICTUS_STAMPS_KERNEL,
                                        true,
                                        false,
                                        false,
                                        ICTUS_LOCK_ADAPTIVE,
                                        ICTUS_LOCK_BEST});
    CHECK(world.lock.on_poll && world.results.format == ICTUS_FORMAT_TEXT);
}

static void words_are_passed_on(void)
{
    CHECK(words_run(&command_lock,
                    "--pool=p --stamps=hardware --loop=pll --policy=target --keep-first --steer "
                    "--name=n --directory=d --keys=k --key=7 --user=u --prometheus=9 --drift=f "
                    "--clockbound=c --min-sources=3 --polls=4 --output=/dev/null --quiet") ==
          EXIT_OK);
    texts_are(
        (const char *const[11]){NULL, "p", NULL, "n", "d", "k", "u", "9", "f", "c", "/dev/null"});
    numbers_are((const double[NUMBERS]){0,
                                        1e-3,
                                        1,
                                        1e-5,
                                        300,
                                        8,
                                        1024,
                                        1e-6,
                                        0,
                                        3,
                                        0.01,
                                        7,
                                        5,
                                        4,
                                        3,
                                        ICTUS_STAMPS_HARDWARE,
                                        true,
                                        true,
                                        true,
                                        ICTUS_LOCK_PLL,
                                        ICTUS_LOCK_TARGET});
    CHECK(world.lock.on_poll); /* they are in the file */
    /* A quiet lock without a file reports to nobody; no mode is interleaved without stamps. */
    CHECK(words_run(&command_lock, "--reference=shm:0 --quiet --basic") == EXIT_OK);
    CHECK(!world.lock.on_poll && !world.lock.interleaved);
    CHECK(words_run(&command_lock, "--server=one --stamps=user") == EXIT_OK);
    CHECK(!world.lock.interleaved && world.lock.stamps == ICTUS_STAMPS_USER);
}

static void serving_is_asked_for(void)
{
    const struct ictus_serve_options *s = &world.serve;
    CHECK(words_run(&command_serve, "") == EXIT_OK && world.runs == 1);
    CHECK(s->size == sizeof *s && s->port == 123 && s->stamps == ICTUS_STAMPS_KERNEL);
    CHECK(s->stratum == 10 && s->burst == 64 && !s->address && !s->allow && !s->deny);
    CHECK(!s->require_key && !s->system_clock);
    CHECK_NEAR(s->rate, 20, 0);
    CHECK(words_run(&command_serve, "--allow=a --deny=b --address=c --stamps=user --require-key "
                                    "--system-clock --stratum=3") == EXIT_OK);
    CHECK_STR(s->allow, "a");
    CHECK_STR(s->deny, "b");
    CHECK_STR(s->address, "c");
    CHECK(s->stamps == ICTUS_STAMPS_USER && s->require_key && s->system_clock && s->stratum == 3);
}

/* The daemons' messages go to standard error with their names. */
static void daemons_speak(void)
{
    char said[80] = "";
    FILE *const real = stderr;
    FILE *memory = fmemopen(said, sizeof said - 1, "w");
    REQUIRE(memory);
    stderr = memory;
    world.lock.on_message("one", NULL);
    world.serve.on_message("two", NULL);
    stderr = real;
    (void)fclose(memory);
    CHECK_STR(said, "ictus lock: one\nictus serve: two\n");
}

static void refusals_are_told(void)
{
    static const char *const none[] = {"", "--server= --pool= --reference=", "--quiet"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(words_run(&command_lock, none[i]) == EXIT_USAGE && world.runs == 0);
        CHECK(strstr(failure, "no source was given"));
    }
    CHECK(words_run(&command_lock, "--server=one stray") == EXIT_USAGE && world.runs == 0);
    CHECK(strstr(failure, "'stray'"));
    CHECK(words_run(&command_lock, "status more") == EXIT_USAGE && world.statuses == 0);
    CHECK(strstr(failure, "'more'"));
    /* What steers a daemon does nothing to one that is only looked at. */
    CHECK(words_run(&command_lock, "status --server=there") == EXIT_USAGE && world.statuses == 0);
    CHECK(words_run(&command_lock, "status --quiet") == EXIT_USAGE && world.statuses == 0);
    CHECK(words_run(&command_serve, "stray") == EXIT_USAGE && strstr(failure, "'stray'"));
    CHECK(words_run(&command_lock, "status --name=the-name --directory=the-directory -f json") ==
          EXIT_BELOW);
    CHECK(world.statuses == 1 && world.runs == 0);
    world.run = ICTUS_ERR_TIMEOUT;
    CHECK(words_run(&command_lock, "--server=one") == EXIT_FAILED && world.closed == 1);
    CHECK(strstr(failure, "not run"));
    CHECK(words_run(&command_serve, "") == EXIT_FAILED && strstr(failure, "not run"));
    world.run = ICTUS_OK;
    world.close = ICTUS_ERR_IO;
    CHECK(words_run(&command_lock, "--server=one") == EXIT_FAILED);
    CHECK(strstr(failure, "not written"));
    world.close = ICTUS_OK;
    world.resume = ICTUS_ERR_IO;
    CHECK(words_run(&command_lock, "--server=one") == EXIT_FAILED && world.runs == 0);
    CHECK(strstr(failure, "not continued"));
    world.resume = ICTUS_OK;
}

static void text_is(const char *key, const char *wanted)
{
    const char *value = json_string_value(json_object_get(world.told, key));
    CHECK_STR(value ? value : "(missing)", wanted);
}

/* Every field of a poll is reported under its own name and in the unit of that name. */
static void polls_are_told(void)
{
    static const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"exchanges", 3},     {"used", 2},           {"offset_ns", -101},
        {"skew_ppm", 103},    {"sigma_ns", 104},     {"frequency_ppm", 102},
        {"bound_ns", 105},    {"expected_ns", 106},  {"predicted_ns", 107},
        {"measured_ns", 108}, {"delay_s", 109e-9},   {"delay_sd_s", 110e-9},
        {"send_s", 111e-9},   {"network_s", 112e-9}, {"receive_s", 113e-9},
        {"interval_s", 16},   {"sigma_y", 1e-9},     {"tau_s", 32},
        {"utc_ns", 1795e15},  {"elapsed_s", 0},      {"system_offset_ns", 114},
    };
    world.polls = 1;
    world.poll = (struct ictus_lock_poll){.source = "one",
                                          .event = "first",
                                          .utc_ns = INT64_C(1795000000000000000),
                                          .interval_s = 16,
                                          .exchanges = 3,
                                          .used = 2,
                                          .interleaved = true,
                                          .kernel = true,
                                          .offset_ns = -101,
                                          .frequency_ppm = 102,
                                          .skew_ppm = 103,
                                          .estimate_ns = 104,
                                          .bound_ns = 105,
                                          .expected_ns = 106,
                                          .predicted_ns = 107,
                                          .measured_ns = 108,
                                          .delay_ns = 109,
                                          .delay_sd_ns = 110,
                                          .send_ns = 111,
                                          .network_ns = 112,
                                          .receive_ns = 113,
                                          .sigma_y = 1e-9,
                                          .tau_s = 32,
                                          .raw_offset_ns = 114,
                                          .clock_ns = NAN,
                                          .state = ICTUS_LOCK_LOCKED};
    CHECK(words_run(&command_lock, "--server=one --stamps=hardware") == EXIT_OK);
    REQUIRE(world.told);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const json_t *value = json_object_get(world.told, numbers[i].key);
        const bool elapsed = strcmp(numbers[i].key, "elapsed_s") == 0; /* on a machine that waits */
        const double error = fabs(json_number_value(value) - numbers[i].value);
        if (!json_is_number(value) || error > (elapsed ? 600 : 1e-9 * fabs(numbers[i].value))) {
            check_failures++;
            (void)fprintf(stderr, "%s is %g\n", numbers[i].key, json_number_value(value));
        }
    }
}

/* Values that are not numbers, and what a poll without kernel stamps reports. */
static void polls_have_words(void)
{
    CHECK(json_is_null(json_object_get(world.told, "clock_minus_system_ns")));
    CHECK(json_is_true(json_object_get(world.told, "interleaved")));
    text_is("type", "lock");
    text_is("server", "one");
    text_is("event", "first");
    text_is("state", "locked");
    text_is("stamps", "hardware");
    world.poll.kernel = false;
    CHECK(words_run(&command_lock, "--server=one --stamps=hardware") == EXIT_OK);
    text_is("stamps", "user");
    /* Elapsed time has as many digits as a millisecond needs. */
    const double elapsed_ms = 1e3 * json_number_value(json_object_get(world.told, "elapsed_s"));
    CHECK(elapsed_ms >= 0.0);
    CHECK_NEAR(elapsed_ms, rint(elapsed_ms), 1e-6);
    world.polls = 0;
}

/* A daemon that could not begin leaves no empty log behind, but nobody's log is removed. */
static void no_empty_log_is_left(void)
{
    char path[CHECK_PATH];
    char line[CHECK_PATH + 64];
    const int fd = mkstemp(check_scratch(path, "log"));
    REQUIRE(fd >= 0 && !close(fd));
    (void)snprintf(line, sizeof line, "--server=one --output=%s", path);
    world.run = ICTUS_ERR_TIMEOUT;
    CHECK(words_run(&command_lock, line) == EXIT_FAILED && access(path, F_OK) == 0);
    CHECK(!unlink(path));
    CHECK(words_run(&command_lock, line) == EXIT_FAILED && access(path, F_OK) != 0);
    world.polls = 1;
    CHECK(words_run(&command_lock, line) == EXIT_FAILED && access(path, F_OK) == 0);
    CHECK(!unlink(path));
    world.polls = 0;
    world.run = ICTUS_OK;
    CHECK(words_run(&command_lock, line) == EXIT_OK && access(path, F_OK) == 0);
    CHECK(!unlink(path));
}

int main(void)
{
    limits_hold();
    usual_values_are_asked_for();
    polls_are_told();
    polls_have_words();
    refusals_are_told();
    serving_is_asked_for();
    words_are_passed_on(); /* nothing after it: --quiet leaves standard output to nobody */
    daemons_speak();
    no_empty_log_is_left();
    json_decref(world.told);
    return check_result();
}
