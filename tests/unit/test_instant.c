/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instant that a user means; a job that starts at another one would start apart from all
 * others.
 */
#include <ictus/lock_daemon.h>

#include "../check.h"

static const int64_t second = 1000000000;

/* The instant that a text means at 1000.25 s since 1970; -1: invalid. */
static int64_t instant_at(const char *text, int64_t odd_minute_s, double align_s, int64_t now_ns)
{
    const struct ictus_at_when when = {text, odd_minute_s, align_s};
    const struct ictus_time now = {now_ns};
    struct ictus_time instant = {-7};
    struct ictus_why why = {""};
    const int err = ictus_at_instant(&when, now, &instant, &why);
    CHECK(err == ICTUS_OK || (err == ICTUS_ERR_SPEC && instant.ns == -7 && why.text[0]));
    return err ? -1 : instant.ns;
}

static void texts_are_read(void)
{
    static const struct {
        const char *text;
        int64_t ns; /* -1: not an instant, or not a possible one */
    } cases[] = {
        {"+0", 1000250000000},
        {"+1.5", 1001750000000},
        {"+2min", 1120250000000},
        {"+366d", -1},
        {"+31622400", 1000250000000 + 31622400000000000},
        {"+31622401", -1},
        {"+-1", -1},
        {"+", -1},
        {"+soon", -1},
        {"@2000", 2000000000000},
        {"@2000.5", 2000500000000},
        {"@2000.000000001", 2000000000001},
        {"@2000.0000000019", 2000000000001},
        {"@1000.25", 1000250000000},
        {"@1000.249999999", -1}, /* it has passed */
        {"@999", -1},
        {"@-1", -1},
        {"@2000.", -1},
        {"@2000.5s", -1},
        {"@2000.5.5", -1},
        {"@", -1},
        {"@00000000000000000002000", 2000000000000}, /* 23 digits */
        {"@000000000000000000002000", -1},
        {"@9223286000", -1}, /* more than a year away, but parsed */
        {"@9999999999999", -1},
        {"1970-01-01T00:20:00Z", 1200000000000},
        {"1970-01-01T00:20:01.5Z", 1201500000000},
        {"1970-12-31T23:59:59.25Z", 31535999250000000},
        {"1970-01-01T00:20:00", -1},
        {"1970-01-01 00:20:00Z", -1},
        {"1970-01-01T00:20Z", -1},
        {"1970-1-01T00:20:00.0Z", -1},
        {"1970-02-30T00:00:00Z", -1},
        {"1970-13-01T00:00:00Z", -1},
        {"1970-01-01T24:20:00Z", -1},
        {"1970-01-01T00:20:00.Z", -1},
        {"1970-01-01T00:20:00,5Z", -1},
        {"1970-01-01T00:20:00xZ", -1},
        {"1970-01-01T00:20:00.000000000000000000000000000000000000000000Z", 1200000000000},
        {"1970-01-01T00:20:00.0000000000000000000000000000000000000000000Z", -1},
        {"1960-01-01T00:20:00Z", -1},
        {"Z", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int64_t found = instant_at(cases[i].text, -1, 0.0, 1000250000000);
        if (found != cases[i].ns) {
            check_failures++;
            (void)fprintf(stderr, "'%s' is %lld, wanted %lld\n", cases[i].text, (long long)found,
                          (long long)cases[i].ns);
        }
    }
}

/* What can be checked before any clock is read, including past and distant instants. */
static void texts_are_checked(void)
{
    static const struct {
        struct ictus_at_when when;
        const char *says; /* NULL: nothing */
    } cases[] = {
        {{"@5", -1, 0}, NULL},
        {{"@9223285635", -1, 0}, NULL},
        {{"@9223285636", -1, 0}, "'9223285636' is not an instant; write +DURATION, "},
        {{"2030-05-06T07:08:09Z", -1, 0}, NULL},
        {{"2030-05-06", -1, 0}, "'2030-05-06' is not an instant; write +DURATION, "},
        {{NULL, 0, 0}, NULL},
        {{NULL, 59, 0}, NULL},
        {{NULL, 60, 0}, "give either --when=INSTANT or --next-odd-minute=SECOND"},
        {{NULL, -1, 0}, "give either --when=INSTANT or --next-odd-minute=SECOND"},
        {{"+1", 0, 0}, "give either --when=INSTANT or --next-odd-minute=SECOND"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ictus_why why = {""};
        const int err = ictus_at_check(&cases[i].when, &why);
        CHECK(err == (cases[i].says ? ICTUS_ERR_SPEC : ICTUS_OK));
        CHECK(strncmp(why.text, cases[i].says ? cases[i].says : "",
                      cases[i].says ? strlen(cases[i].says) : 1) == 0);
    }
    CHECK(ictus_at_check(NULL, NULL) == ICTUS_ERR_SPEC);
    const struct ictus_at_when when = {"+1", -1, 0};
    CHECK(ictus_at_instant(&when, (struct ictus_time){0}, NULL, NULL) == ICTUS_ERR_ARG);
    struct ictus_why why = {""};
    struct ictus_time instant = {0};
    const struct ictus_at_when past = {"@5.5", -1, 0};
    CHECK(ictus_at_instant(&past, (struct ictus_time){7 * second}, &instant, &why) != ICTUS_OK);
    CHECK_STR(why.text, "the instant was 1.500 s ago; it must be in the future");
    CHECK(ictus_at_instant(&past, (struct ictus_time){-31622395 * second}, &instant, &why) !=
          ICTUS_OK);
    CHECK_STR(why.text, "the instant is more than a year away; it must be nearer");
}

/* The clock of a machine that does not know the time begins with the first second of 1970. */
static void the_first_second_has_instants(void)
{
    CHECK(instant_at("@0.5", -1, 0.0, 0) == second / 2);
    CHECK(instant_at("@0", -1, 0.0, 0) == 0);
    CHECK(instant_at("1970-01-01T00:00:00.25Z", -1, 0.0, 0) == second / 4);
    CHECK(instant_at("1969-12-31T23:59:59Z", -1, 0.0, -5 * second) == -1);
}

/* Always ahead: by at least one minute if this one is odd, and by at most two. */
static void minutes_are_odd(void)
{
    for (int64_t now = 0; now < 300; now++) {
        for (int64_t at = 0; at < 60; at += 59) {
            const int64_t found = instant_at(NULL, at, 0.0, now * second + 1) / second;
            CHECK(found / 60 % 2 == 1 && found % 60 == at);
            CHECK(found / 60 > now / 60 && found / 60 <= now / 60 + 2);
        }
    }
}

/* Rounded up to the next multiple, and never before the requested instant. */
static void instants_are_aligned(void)
{
    CHECK(instant_at("@2000.5", -1, 1.0, 0) == 2001 * second);
    CHECK(instant_at("@2001", -1, 1.0, 0) == 2001 * second);
    CHECK(instant_at("@2000.000000001", -1, 60.0, 0) == 2040 * second);
    CHECK(instant_at("@2000.1", -1, 0.25, 0) == 2000 * second + second / 4);
    CHECK(instant_at("@2000.1", -1, 1e-12, 0) == 2000 * second + second / 10);
    CHECK(instant_at("@2000.1", -1, -1.0, 0) == 2000 * second + second / 10);
    CHECK(instant_at(NULL, 30, 3600.0, 0) == 3600 * second);
}

int main(void)
{
    texts_are_read();
    texts_are_checked();
    the_first_second_has_instants();
    minutes_are_odd();
    instants_are_aligned();
    return check_result();
}
