/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the ICTUS_TRACE_* variables. */
#include "tracer/settings.h"

#include <ictus/text.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum setting_type { SETTING_TEXT, SETTING_SECONDS, SETTING_INT, SETTING_BYTES, SETTING_FLAG };

struct setting_row {
    const char *variable;
    enum setting_type type;
    size_t offset, room; /* room: of a text */
    const char *fallback;
    double min, max;
};

#define AT(member) offsetof(struct trace_settings, member)
#define TEXT(variable, member)                                                                     \
    {                                                                                              \
        variable, SETTING_TEXT, AT(member), sizeof(((struct trace_settings *)NULL)->member), "",   \
            0.0, 0.0                                                                               \
    }

static const struct setting_row rows[] = {
    TEXT("ICTUS_TRACE_OUTPUT", directory),
    TEXT("ICTUS_TRACE_SCRATCH", scratch),
    TEXT("ICTUS_TRACE_SYNC", sync),
    TEXT("ICTUS_TRACE_CLOCK", clock),
    TEXT("ICTUS_TRACE_FILTER", filter),
    TEXT("ICTUS_TRACE_METRICS", metrics),
    {"ICTUS_TRACE_METRICS_EVERY", SETTING_SECONDS, AT(metrics_every_s), 0, "1ms", 0.0, 3600.0},
    {"ICTUS_TRACE_RESYNC_EVERY", SETTING_SECONDS, AT(resync_every_s), 0, "0", 0.0, 1e6},
    {"ICTUS_TRACE_RESYNC_BARRIERS", SETTING_INT, AT(resync_barriers), 0, "0", 0.0, 1e9},
    {"ICTUS_TRACE_BUFFER", SETTING_BYTES, AT(buffer_bytes), 0, "16M", 8388608.0, 1e12},
    {"ICTUS_TRACE_WINDOW", SETTING_BYTES, AT(window_bytes), 0, "0", 0.0, 1e12},
    {"ICTUS_TRACE_LIMIT", SETTING_BYTES, AT(limit_bytes), 0, "0", 0.0, 1e18},
    {"ICTUS_TRACE_REQUESTS", SETTING_INT, AT(requests), 0, "0", 0.0, 1e9},
    {"ICTUS_TRACE_FORCE", SETTING_FLAG, AT(force), 0, "0", 0.0, 1.0},
    {"ICTUS_TRACE_KEEP", SETTING_FLAG, AT(keep), 0, "0", 0.0, 1.0},
    {"ICTUS_TRACE_DEFER", SETTING_FLAG, AT(defer), 0, "0", 0.0, 1.0},
    {"ICTUS_TRACE_STATISTICS", SETTING_FLAG, AT(statistics), 0, "0", 0.0, 1.0},
    {"ICTUS_TRACE_OFF", SETTING_FLAG, AT(off), 0, "0", 0.0, 1.0},
    {"ICTUS_TRACE_QUIET", SETTING_FLAG, AT(quiet), 0, "0", 0.0, 1.0},
};

bool ictusi_settings_wanted(void)
{
    const char *directory = getenv("ICTUS_TRACE_OUTPUT");
    return directory && directory[0];
}

static int setting_read(const struct setting_row *row, const char *text, char *member,
                        struct ictus_why *why)
{
    if (strlen(text) >= row->room) {
        return ictus_because(why, ICTUS_ERR_SPEC, "%s is longer than %zu bytes", row->variable,
                             row->room - 1);
    }
    memcpy(member, text, strlen(text) + 1);
    return ICTUS_OK;
}

/* @param value: becomes the member's value, whatever its type */
static int settings_read_number(const struct setting_row *row, const char *text, void *member,
                                double *value)
{
    double real = 0.0;
    int64_t integer = 0;
    uint64_t bytes = 0;
    int err = 0;
    switch (row->type) {
    case SETTING_SECONDS:
        err = ictus_parse_seconds(text, &real);
        *(double *)member = real;
        break;
    case SETTING_BYTES:
        err = ictus_parse_bytes(text, &bytes);
        real = (double)bytes;
        *(uint64_t *)member = bytes;
        break;
    case SETTING_FLAG:
        err = ictus_parse_int(text, &integer);
        real = (double)integer;
        *(bool *)member = integer != 0;
        break;
    default:
        err = ictus_parse_int(text, &integer);
        real = (double)integer;
        *(int64_t *)member = integer;
        break;
    }
    *value = real;
    return err || real < row->min || real > row->max ? ICTUS_ERR_SPEC : ICTUS_OK;
}

int ictusi_settings_read(struct trace_settings *settings, struct ictus_why *why)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct setting_row *row = &rows[i];
        const char *given = getenv(row->variable);
        const char *text = given && given[0] ? given : row->fallback;
        void *member = (char *)settings + row->offset;
        double value = 0.0;
        if (row->type == SETTING_TEXT) {
            const int err = setting_read(row, text, member, why);
            if (err) {
                return err;
            }
        } else if (settings_read_number(row, text, member, &value)) {
            return ictus_because(why, ICTUS_ERR_SPEC, "%s=%.80s: must be between %g and %g",
                                 row->variable, text, row->min, row->max);
        }
    }
    return ICTUS_OK;
}

/*
 * Whether a setting has its default: `ictus trace` sets every numeric variable, even without the
 * option.
 */
static bool setting_is_default(const struct setting_row *row, const char *given)
{
    struct trace_settings scratch;
    double values[2];
    if (!given || !given[0] || row->type == SETTING_TEXT) {
        return !given || !given[0];
    }
    void *member = (char *)&scratch + row->offset;
    return !settings_read_number(row, given, member, &values[0]) &&
           !settings_read_number(row, row->fallback, member, &values[1]) &&
           !(values[0] < values[1]) && !(values[0] > values[1]);
}

size_t ictusi_settings_lines(char *text, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *given = getenv(rows[i].variable);
        if (!setting_is_default(&rows[i], given)) {
            const int length =
                snprintf(used < room ? text + used : NULL, used < room ? room - used : 0, "%s%s=%s",
                         used > 0 ? "\n" : "", rows[i].variable, given);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    return used;
}

/*
 * Windows are mapped, so they are whole pages, and large enough that a thread does not map all the
 * time.
 */
enum { WINDOW_STEP = 65536 };

uint64_t ictusi_settings_windows(const struct trace_settings *settings)
{
    return settings->buffer_bytes / 2;
}

uint64_t ictusi_settings_window(const struct trace_settings *settings, uint64_t left)
{
    if (settings->window_bytes > 0) {
        return (settings->window_bytes + WINDOW_STEP - 1) / WINDOW_STEP * WINDOW_STEP;
    }
    const uint64_t half = left / 2 / WINDOW_STEP * WINDOW_STEP;
    return half > WINDOW_STEP ? half : WINDOW_STEP;
}

uint64_t ictusi_settings_table(const struct trace_settings *settings)
{
    return settings->buffer_bytes / 4;
}
