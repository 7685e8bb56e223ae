/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a single server: what its text changes, each limit from both sides, and refusals.
 */
#include "lock/server_options.h"

#include "../check.h"

static struct key list[] = {{.id = 3, .length = 16}, {.id = 70000, .length = 32}};
static const struct keys keys = {list, 2};

static const struct ictus_lock_options all = {
    .interleaved = true, .exchanges = 4, .tmin_s = 0.5, .tmax_s = 64.0, .spacing_s = 0.01};

static struct server_options found;

/* @return the error; what the text says is in `found` */
static int read_as(const char *text, const char *says)
{
    struct ictus_why why = {""};
    const int err = ictusi_server_options(text, &all, &list[0], &keys, &found, &why);
    CHECK(err == ICTUS_OK || err == ICTUS_ERR_SPEC);
    CHECK((err == ICTUS_OK) == (says == NULL));
    if (says && !strstr(why.text, says)) {
        check_failures++;
        (void)fprintf(stderr, "'%s' is refused by \"%s\"\n", text, why.text);
    }
    return err;
}

/* What it does not say is as for all servers. */
static void texts_change_what_they_name(void)
{
    CHECK(!read_as("ntp1.example.org:4123", NULL));
    CHECK_STR(found.host, "ntp1.example.org:4123");
    CHECK(found.key == &list[0] && found.interleaved && found.exchanges == 4);
    CHECK(found.tmin_s == 0.5 && found.tmax_s == 64.0 && found.spacing_s == 0.01);
    CHECK(!read_as("[::1]:123/key=70000/basic/exchanges=7/tmin=2s/tmax=3min/spacing=5ms", NULL));
    CHECK_STR(found.host, "[::1]:123");
    CHECK(found.key == &list[1] && !found.interleaved && found.exchanges == 7);
    CHECK(found.tmin_s == 2.0 && found.tmax_s == 180.0);
    CHECK_NEAR(found.spacing_s, 0.005, 1e-12);
}

static void numbers_have_bounds(void)
{
    static const struct {
        const char *good, *bad;
    } cases[] = {{"a/exchanges=1", "a/exchanges=0"},
                 {"a/exchanges=32", "a/exchanges=33"},
                 {"a/key=3", "a/key=4"},
                 {"a/key=70000", "a/key=0"},
                 {"a/key=3", "a/key=4294967299"},
                 {"a/tmin=50ms", "a/tmin=49.999ms"},
                 {"a/tmin=64s", "a/tmin=64.001s"},
                 {"a/tmax=500ms", "a/tmax=499ms"},
                 {"a/tmax=1000000", "a/tmax=1000001"},
                 {"a/spacing=0", "a/spacing=-1us"},
                 {"a/spacing=1000000s", "a/spacing=1000000.1s"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK(!read_as(cases[i].good, NULL));
        CHECK(read_as(cases[i].bad, "a: "));
    }
}

static void nonsense_is_refused(void)
{
    static const char *const bad[] = {"a/",          "a//basic",  "a/basic=1", "a/key",
                                      "a/key=",      "a/key=x",   "a/tmin",    "a/tmin=x",
                                      "a/exchange=", "a/speed=1", "a/tmin=nan"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(read_as(bad[i], "is not valid; write key=ID"));
    }
    CHECK(read_as("", "is not a server"));
    CHECK(read_as("/basic", "is not a server"));
    CHECK(read_as("a/tmin=3s/tmax=2s", "a: tmin must not be larger than tmax"));
}

/* As much as there is room for, and no more. */
static void texts_have_bounds(void)
{
    char text[400];
    for (int length = 254; length < 258; length++) {
        memset(text, 'h', sizeof(text));
        (void)snprintf(text + length, sizeof(text) - (size_t)length, "/basic");
        CHECK(!read_as(text, length < 256 ? NULL : "is not a server") == (length < 256));
        CHECK(length >= 256 || strlen(found.host) == (size_t)length);
    }
    for (int length = 62; length < 66; length++) { /* of an option */
        const int written = snprintf(text, sizeof(text), "a/exchanges=");
        memset(text + written, '0', (size_t)length);
        (void)snprintf(text + length + 1, 8, "9/basic");
        const bool fits = length < 64;
        CHECK(!read_as(text, fits ? NULL : "is not valid") == fits);
        CHECK(!fits || (found.exchanges == 9 && !found.interleaved));
    }
}

int main(void)
{
    texts_change_what_they_name();
    numbers_have_bounds();
    nonsense_is_refused();
    texts_have_bounds();
    return check_result();
}
