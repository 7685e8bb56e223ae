/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus lock --status: every field of a daemon's status is reported under its own name. */
#include "lock/lock_status.h"

#include "../check.h"
#include "main/command.h"

#include <ictus/lock.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The linker makes the command read this status. */
static struct ictus_lock_status account;
static int open_code, status_code, closed;
int __wrap_ictus_lock_open_guarded(const char *name, const char *directory,
                                   struct ictus_lock **lock, struct ictus_why *why);
int __wrap_ictus_lock_status(const struct ictus_lock *lock, struct ictus_lock_status *status);
void __wrap_ictus_lock_close(struct ictus_lock *lock);

int __wrap_ictus_lock_open_guarded(const char *name, const char *directory,
                                   struct ictus_lock **lock, struct ictus_why *why)
{
    CHECK_STR(name, "the-name");
    CHECK_STR(directory, "the-directory");
    (void)why;
    *lock = NULL;
    return open_code;
}

int __wrap_ictus_lock_status(const struct ictus_lock *lock, struct ictus_lock_status *status)
{
    (void)lock;
    *status = account;
    return status_code;
}

void __wrap_ictus_lock_close(struct ictus_lock *lock)
{
    (void)lock;
    closed++;
}

static char failure[400];

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    CHECK_STR(command, "lock");
    CHECK(err == (status_code ? status_code : open_code));
    (void)snprintf(failure, sizeof(failure), "%s", why->text);
    return EXIT_FAILED;
}

static int64_t raw_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct ictus_lock_source_status source_of(const char *name)
{
    struct ictus_lock_source_status s = {
        .reference_id = "GPS",
        .selection = ICTUS_SOURCE_SELECTED,
        .stratum = 1,
        .reach = 0375,
        .stamps = 2,
        .leap = 1,
        .last_raw_ns = raw_clock() - 5000000000,
        .interval_s = 16,
        .offset_ns = -101,
        .frequency_ppm = 102,
        .skew_ppm = 103,
        .sigma_ns = 1040,
        .bound_ns = 105000,
        .expected_ns = 106,
        .predicted_ns = 107,
        .measured_ns = 108,
        .delay_ns = 109000000,
        .delay_sd_ns = 110,
        .send_ns = 111,
        .network_ns = 112,
        .receive_ns = 113,
        .root_delay_ns = 114,
        .root_dispersion_ns = 115,
        .walk = 116,
        .noise_ns = 117,
        .allan_tau_s = {0.5, 4},
        .allan = {1e-9, 2e-9},
        .sent = 118,
        .received = 119,
        .lost = 120,
        .refused = 121,
        .accepted = 122,
        .glitches = 123,
        .steps = 124,
        .missing_stamps = 125,
        .falseticks = 126,
        .turns = 127,
    };
    (void)snprintf(s.name, sizeof(s.name), "%s", name);
    return s;
}

static void account_fill(void)
{
    account = (struct ictus_lock_status){
        .now = {.time = {1795000000000000123},
                .sigma_ns = 999.4,
                .bound_ns = 1234567,
                .state = ICTUS_LOCK_LOCKED,
                .epoch = 3},
        .pid = 4321,
        .updated_raw_ns = raw_clock() - 2000000000,
        .alive = 1,
        .stratum = 2,
        .leap = 1,
        .source_count = 4,
        .voters = 4,
        .agreeing = 3,
        .liars = 1,
        .steer = 1,
        .reference = "one",
        .frequency_ppm = -12.3456789,
        .skew_ppm = 0.25,
        .root_delay_ns = 201,
        .root_dispersion_ns = 202,
        .expected_ns = 203,
        .predicted_ns = 204,
        .measured_ns = 1.5e9,
        .system_offset_ns = -205,
        .steps = 206,
        .suspends = 207,
        .system_steps = 208,
    };
    static const char *const names[] = {"one", "two", "three", "four"};
    for (int i = 0; i < 4; i++) {
        account.sources[i] = source_of(names[i]);
        account.sources[i].stamps = 2 - i; /* the last one is a reference clock */
    }
    account.sources[1].interleaved = 1;
    account.sources[1].selection = ICTUS_SOURCE_FALSETICKER;
    account.sources[2].last_raw_ns = 0;
    for (int k = 0; k < ICTUS_LOCK_ALLAN_MAX; k++) { /* no room for another */
        account.sources[2].allan_tau_s[k] = k + 1;
        account.sources[2].allan[k] = 1e-9;
    }
}

static char *printed;

/* What is written to standard output meanwhile, and the exit code. */
static int status_print(enum ictus_format format)
{
    size_t size = 0;
    FILE *const real = stdout;
    free(printed);
    FILE *memory = open_memstream(&printed, &size);
    REQUIRE(memory);
    stdout = memory;
    const int code = lock_status("the-name", "the-directory", format);
    stdout = real;
    (void)fclose(memory);
    return code;
}

static void text_has_every_line(void)
{
    static const char *const lines[] = {
        "State         : locked\n",
        "Reference     : one, stratum 2\n",
        "Time          : 2026-11-18T11:06:40.000000123Z\n",
        "Accuracy      : 999 ns standard deviation, 1.23 ms hard bound\n",
        "Expected      : 203 ns, predicted 204 ns, measured 1.500 s\n",
        "Frequency     : -12.345679 ppm +- 0.250000\n",
        "System clock  : 205 ns behind this clock (steered)\n",
        "Root          : delay 201 ns, dispersion 202 ns, leap 1\n",
        "Agreement     : 3 of 4 sources; the bound holds while at most 1 are wrong\n",
        "Steps         : 206, suspends 207, system clock set 208\n",
        "\nSource   Selection St Reach Interval  Offset   Sigma     Bound     Delay\n",
        "\none       selected  1   375     16 s -101 ns 1.04 us 105.00 us 109.00 ms\n",
        "\ntwo    falseticker  1   375     16 s -101 ns 1.04 us 105.00 us 109.00 ms\n",
        "\nSource      Stamps   Send Network Receive Delay sd  Noise Glitch Lost\n",
        "\none       hardware 111 ns  112 ns  113 ns   110 ns 117 ns    123  120\n",
        "\ntwo    interleaved 111 ns",
        "\nthree         user 111 ns",
        "\nfour     reference 111 ns",
    };
    account_fill();
    CHECK(status_print(ICTUS_FORMAT_TEXT) == EXIT_OK);
    /* A paragraph about the whole, and two tables with a line per source. */
    int count = 0, empty = 0;
    for (const char *c = printed; *c; c++) {
        count += *c == '\n';
        empty += c[0] == '\n' && c[1] == '\n';
    }
    CHECK(count == 10 + 1 + 5 + 1 + 5 && empty == 2);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (!strstr(printed, lines[i])) {
            check_failures++;
            (void)fprintf(stderr, "no line '%s' in:\n%s", lines[i], printed);
        }
    }
}

/* Nothing has been measured, no server is running, or the daemon has ended. */
static void other_states_are_told(void)
{
    account_fill();
    account.now.time.ns = 0;
    account.now.state = ICTUS_LOCK_HOLDOVER;
    account.alive = 0;
    account.reference[0] = '\0';
    account.steer = 0;
    account.system_offset_ns = 1e6;
    account.measured_ns = 999.9e6;
    account.expected_ns = 1e3;
    account.predicted_ns = 1e9;
    account.sources[1].stamps = 3;
    account.sources[1].interleaved = 0;
    CHECK(status_print(ICTUS_FORMAT_TEXT) == EXIT_BELOW);
    CHECK(strstr(printed, "State         : holdover (the daemon is gone)\n"));
    CHECK(strstr(printed, "Reference     : none, stratum 2\n"));
    CHECK(!strstr(printed, "Time") && !strstr(printed, "Accuracy"));
    CHECK(strstr(printed, "System clock  : 1.00 ms ahead of this clock\n"));
    CHECK(strstr(printed, "Expected      : 1.00 us, predicted 1.000 s, measured 999.90 ms\n"));
    CHECK(strstr(printed, "\ntwo    reference 111 ns"));
    account.system_offset_ns = 0;
    CHECK(status_print(ICTUS_FORMAT_TEXT) == EXIT_BELOW);
    CHECK(strstr(printed, "System clock  : 0 ns ahead of this clock\n"));
    CHECK(status_print(ICTUS_FORMAT_JSON) == EXIT_BELOW);
}

static void member_is(const json_t *object, const char *key, double wanted)
{
    const json_t *value = json_object_get(object, key);
    const double got = json_is_number(value) ? json_number_value(value)
                       : json_is_true(value) ? 1.0
                                             : 0.0;
    if (!value || fabs(got - wanted) > 1e-9 * fabs(wanted)) {
        check_failures++;
        (void)fprintf(stderr, "%s is %.12g, not %.12g\n", key, got, wanted);
    }
}

static void text_is(const json_t *object, const char *key, const char *wanted)
{
    const char *value = json_string_value(json_object_get(object, key));
    CHECK_STR(value ? value : "(missing)", wanted);
}

/* From 101 on, except where odd[] has another value. */
static const char *const source[] = {
    "offset_ns",       "frequency_ppm", "skew_ppm",    "sigma_ns",      "bound_ns",
    "expected_ns",     "predicted_ns",  "measured_ns", "delay_ns",      "delay_sd_ns",
    "send_ns",         "network_ns",    "receive_ns",  "root_delay_ns", "root_dispersion_ns",
    "walk_per_sqrt_s", "noise_ns",      "sent",        "received",      "lost",
    "refused",         "accepted",      "glitches",    "steps",         "missing_stamps",
    "falseticks",      "turns"};

static const struct {
    const char *key;
    double value;
} numbers[] = {{"alive", 1},
               {"pid", 4321},
               {"utc_ns", 1795000000000000123.0},
               {"sigma_ns", 999.4},
               {"bound_ns", 1234567},
               {"epoch", 3},
               {"stratum", 2},
               {"leap", 1},
               {"frequency_ppm", -12.3456789},
               {"skew_ppm", 0.25},
               {"voters", 4},
               {"agreeing", 3},
               {"liars", 1},
               {"expected_ns", 203},
               {"predicted_ns", 204},
               {"measured_ns", 1.5e9},
               {"root_delay_ns", 201},
               {"root_dispersion_ns", 202},
               {"system_offset_ns", -205},
               {"steps", 206},
               {"suspends", 207},
               {"system_steps", 208}};

/* Seconds since an instant that lay so far back when the account was filled in. */
static void age_is(const json_t *object, const char *key, double then_s, int64_t filled)
{
    const double age_s = json_number_value(json_object_get(object, key));
    CHECK(age_s >= then_s && age_s <= then_s + (double)(raw_clock() - filled) * 1e-9);
}

static void sources_have_every_member(const json_t *sources, int64_t filled)
{
    REQUIRE(json_array_size(sources) == 4);
    const json_t *first = json_array_get(sources, 0);
    static const double odd[] = {-101, 102, 103, 1040, 105000, 106, 107, 108, 109000000};
    for (int i = 0; i < (int)(sizeof(source) / sizeof(source[0])); i++) {
        member_is(first, source[i], i < 9 ? odd[i] : 101 + i);
    }
    text_is(first, "name", "one");
    text_is(first, "reference_id", "GPS");
    text_is(first, "selection", "selected");
    text_is(first, "stamps", "hardware");
    member_is(first, "stratum", 1);
    member_is(first, "reach", 0375);
    member_is(first, "leap", 1);
    member_is(first, "interval_s", 16);
    member_is(first, "interleaved", 0);
    age_is(first, "last_s", 5, filled);
    const json_t *allan = json_object_get(first, "allan");
    CHECK(json_array_size(allan) == 2);
    member_is(json_array_get(allan, 0), "tau_s", 0.5);
    member_is(json_array_get(allan, 1), "tau_s", 4);
    member_is(json_array_get(allan, 1), "sigma_y", 2e-9);
    const json_t *longest = json_object_get(json_array_get(sources, 2), "allan");
    CHECK(json_array_size(longest) == ICTUS_LOCK_ALLAN_MAX);
    member_is(json_array_get(longest, ICTUS_LOCK_ALLAN_MAX - 1), "tau_s", ICTUS_LOCK_ALLAN_MAX);
    member_is(json_array_get(sources, 1), "interleaved", 1);
    member_is(json_array_get(sources, 2), "last_s", -1);
    text_is(json_array_get(sources, 1), "stamps", "kernel");
    text_is(json_array_get(sources, 3), "stamps", "reference");
}

static void json_has_every_member(void)
{
    const int64_t filled = raw_clock();
    account_fill();
    CHECK(status_print(ICTUS_FORMAT_JSON) == EXIT_OK);
    json_t *o = json_loads(printed, 0, NULL);
    REQUIRE(o && strchr(printed, '\n') == printed + strlen(printed) - 1);
    text_is(o, "type", "lock-status");
    text_is(o, "state", "locked");
    text_is(o, "reference", "one");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        member_is(o, numbers[i].key, numbers[i].value);
    }
    age_is(o, "updated_s", 2, filled);
    sources_have_every_member(json_object_get(o, "sources"), filled);
    json_decref(o);
}

int main(void)
{
    text_has_every_line();
    other_states_are_told();
    json_has_every_member();
    CHECK(closed == 5);
    status_code = ICTUS_ERR_CLOCK;
    CHECK(status_print(ICTUS_FORMAT_TEXT) == EXIT_FAILED && closed == 6 && !printed[0]);
    CHECK_STR(failure, "");
    status_code = ICTUS_ERR_SAMPLES;
    CHECK(status_print(ICTUS_FORMAT_TEXT) == EXIT_FAILED && closed == 7 && !printed[0]);
    CHECK_STR(failure, "the clock has not been locked yet; is 'ictus lock' running?");
    status_code = ICTUS_OK;
    open_code = ICTUS_ERR_CLOCK;
    CHECK(status_print(ICTUS_FORMAT_TEXT) == EXIT_FAILED && closed == 7 && !printed[0]);
    free(printed);
    return check_result();
}
