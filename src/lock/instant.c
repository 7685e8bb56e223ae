/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts a text to an instant. */
#include <ictus/lock_daemon.h>
#include <ictus/text.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t second = ICTUS_NS_PER_S;

/* The last second that is accepted. Rounded up by a day, the longest --align, it still fits an
 * int64_t. */
static const int64_t last_s = INT64_MAX / 1000000000 - 86401;

/* Instants that are further away than this (s) are mistakes. */
static const double far_s = 366.0 * 86400.0;

static int instant_bad(struct ictus_why *why, const char *text)
{
    return ictus_because(why, ICTUS_ERR_SPEC,
                         "'%.60s' is not an instant; write +DURATION, "
                         "YYYY-MM-DDTHH:MM:SS[.FRACTION]Z or @SECONDS[.FRACTION]",
                         text);
}

/*
 * Read ".25" as nanoseconds; an empty text is 0. The digits are added as integers, because strtod()
 * rounds .1 and depends on the locale. Digits after the ninth are worth less than a nanosecond and
 * add 0, because scale is 0 by then. @return false if the text is not a fraction
 */
static bool instant_read_fraction(const char *text, int64_t *ns)
{
    int64_t scale = second;
    *ns = 0;
    if (!text[0]) {
        return true;
    }
    if (text[0] != '.' || !text[1]) {
        return false;
    }
    for (text++; *text; text++) {
        if (*text < '0' || *text > '9') {
            return false;
        }
        scale /= 10;
        *ns += (*text - '0') * scale;
    }
    return true;
}

static int instant_read_epoch(const char *text, int64_t *ns, struct ictus_why *why)
{
    char whole[24];
    const size_t length = strcspn(text, ".");
    int64_t s = 0, rest = 0;
    if (length >= sizeof(whole)) {
        return instant_bad(why, text);
    }
    memcpy(whole, text, length);
    whole[length] = '\0';
    if (ictus_parse_int(whole, &s) || s < 0 || s > last_s ||
        !instant_read_fraction(text + length, &rest)) {
        return instant_bad(why, text);
    }
    *ns = s * second + rest;
    return ICTUS_OK;
}

static int instant_read_date(const char *text, int64_t *ns, struct ictus_why *why)
{
    struct tm utc;
    char copy[64];
    int64_t rest = 0;
    const size_t length = strlen(text);
    if (length < 20 || length >= sizeof(copy) || text[length - 1] != 'Z') {
        return instant_bad(why, text);
    }
    memcpy(copy, text, length - 1);
    copy[length - 1] = '\0';
    memset(&utc, 0, sizeof(utc));
    const char *end = strptime(copy, "%Y-%m-%dT%H:%M:%S", &utc);
    if (!end || end != copy + 19 || !instant_read_fraction(end, &rest)) {
        return instant_bad(why, text);
    }
    const struct tm asked = utc;
    const time_t s = timegm(&utc);
    /* timegm() moves 30 February to March, which the user did not mean. */
    if (utc.tm_mday != asked.tm_mday || utc.tm_hour != asked.tm_hour || s < 0 || s > last_s) {
        return instant_bad(why, text);
    }
    *ns = (int64_t)s * second + rest;
    return ICTUS_OK;
}

/* M00, section 4: activated within a minute, all units are reset at the given second of the next
 * minute with an odd number. The minute of the hour is odd if the minute since 1970 is. */
static int64_t instant_next_odd_minute(int64_t now, int64_t at_second)
{
    const int64_t minute = now / (60 * second);
    const int64_t odd = minute % 2 ? minute + 2 : minute + 1;
    return (odd * 60 + at_second) * second;
}

static int instant_read_when(const char *text, int64_t now, int64_t *ns, struct ictus_why *why)
{
    double seconds = 0.0;
    if (text[0] == '@') {
        return instant_read_epoch(text + 1, ns, why);
    }
    if (text[0] != '+') {
        return instant_read_date(text, ns, why);
    }
    if (ictus_parse_seconds(text + 1, &seconds) || seconds < 0.0 || seconds > far_s) {
        return instant_bad(why, text);
    }
    *ns = now + llround(seconds * 1e9);
    return ICTUS_OK;
}

/*
 * From here on instants are integers of ns, because a double of seconds since 1970 would be off by
 * up to 119 ns. They are aligned to multiples since 1970 and not since now, so that processes which
 * ask at different moments get the same instant. This is the purpose of --align.
 */
static int instant_read(const struct ictus_at_when *when, int64_t now, int64_t *ns,
                        struct ictus_why *why)
{
    if (!when || (when->when != NULL) == (when->odd_minute_s >= 0) || when->odd_minute_s > 59) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "give either --when=INSTANT or --next-odd-minute=SECOND");
    }
    if (when->when) {
        const int err = instant_read_when(when->when, now, ns, why);
        if (err) {
            return err;
        }
    } else {
        *ns = instant_next_odd_minute(now, when->odd_minute_s);
    }
    if (when->align_s > 0.0) {
        /* Round up, so that an aligned start is never before the requested one. */
        const int64_t step = llround(when->align_s * 1e9);
        *ns = step > 0 && *ns % step ? *ns - *ns % step + step : *ns;
    }
    return ICTUS_OK;
}

int ictus_at_check(const struct ictus_at_when *when, struct ictus_why *why)
{
    int64_t ns = 0;
    return instant_read(when, 0, &ns, why);
}

int ictus_at_instant(const struct ictus_at_when *when, struct ictus_time now,
                     struct ictus_time *instant, struct ictus_why *why)
{
    int64_t ns = 0;
    const int err = instant ? instant_read(when, now.ns, &ns, why) : ICTUS_ERR_ARG;
    if (err) {
        return err;
    }
    if (ns < now.ns) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "the instant was %.3f s ago; it must be in the future",
                             (double)(now.ns - ns) / 1e9);
    }
    if ((double)(ns - now.ns) > far_s * 1e9) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "the instant is more than a year away; it must be nearer");
    }
    instant->ns = ns;
    return ICTUS_OK;
}
