/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the log that accompanies a process's records. */
#include "trace/rawlog.h"

#include "core/plain.h"

#include <ictus/text.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 8, PROCESSES_MAX = 1 << 24 };

char *ictusi_rawlog_read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    size_t room = 65536;
    *size = 0;
    if (!file) {
        return NULL;
    }
    char *text = malloc(room + 1);
    while (text) {
        *size += fread(text + *size, 1, room - *size, file);
        if (*size < room) {
            text[*size] = '\0';
            break;
        }
        room *= 2;
        char *wider = realloc(text, room + 1);
        if (!wider) {
            free(text);
        }
        text = wider;
    }
    (void)fclose(file);
    return text;
}

/* Split a line at its tabs. @return the number of fields after the letter */
static int line_split(char *line, char **fields)
{
    int count = 0;
    char *at = line + 1;
    while (*at == '\t' && count < FIELDS_MAX) {
        *at++ = '\0';
        fields[count++] = at;
        at += strcspn(at, "\t");
    }
    for (int i = count; i < FIELDS_MAX; i++) {
        fields[i] = at + strlen(at);
    }
    return count;
}

static int64_t field_integer(const char *text)
{
    return strtoll(text, NULL, 10);
}

static uint64_t field_natural(const char *text, int base)
{
    return strtoull(text, NULL, base);
}

/* Without memory the point is left out, as if the clock had not been synchronised then. */
static void rawlog_take_point(struct rawlog *log, char **f)
{
    struct timeline *t = &log->timeline;
    struct timeline_point *more = realloc(t->points, (size_t)(t->count + 1) * sizeof(*more));
    if (more) {
        t->points = more;
        more[t->count++] = (struct timeline_point){
            .local = field_integer(f[0]),
            .global = field_integer(f[1]),
            .slope = plain_strtod(f[2], NULL),
            .sigma_ns = plain_strtod(f[3], NULL),
            .bound_ns = plain_strtod(f[4], NULL),
            .later_sigma_ns = plain_strtod(f[5], NULL),
        };
    }
}

/* Process a line of a kind that occurs once per process. @return whether it was one */
static bool rawlog_take_single(struct rawlog *log, char kind, char **f)
{
    switch (kind) {
    case 'H':
        log->table_hash = field_natural(f[1], 10);
        log->rank = (int)field_integer(f[2]);
        log->size = (int)field_integer(f[3]);
        log->pid = field_integer(f[4]);
        return true;
    case 'K':
        log->scale =
            (struct tick_scale){(enum tick_kind)field_integer(f[0]), field_natural(f[1], 10),
                                field_integer(f[2]), field_natural(f[3], 10)};
        return true;
    case 'A':
        log->local_anchor = field_integer(f[0]);
        log->realtime_anchor = field_integer(f[1]);
        return true;
    case 'O':
        log->host = f[0];
        return true;
    case 'X':
        log->program = f[0];
        return true;
    case 'L':
        log->clock = f[0];
        return true;
    case 'I':
        log->init_ticks = field_natural(f[0], 10);
        return true;
    case 'S':
        rawlog_take_point(log, f);
        return true;
    case 'E':
        log->ended = true;
        log->lost = field_natural(f[0], 10);
        log->untracked = field_natural(f[1], 10);
        return true;
    default:
        return false;
    }
}

static struct raw_item item_of(char kind, char **f)
{
    struct raw_item item = {.kind = kind, .text = "", .more = ""};
    switch (kind) {
    case 'G':
        item.key = field_natural(f[0], 16);
        item.a = (unsigned char)f[1][0];
        item.text = f[2];
        break;
    case 'D':
        item.key = field_natural(f[0], 16);
        item.a = (int64_t)field_natural(f[1], 16);
        break;
    case 'C':
        item.number = (uint32_t)field_natural(f[0], 10);
        item.key = field_natural(f[1], 16);
        item.a = field_integer(f[2]);
        item.b = field_integer(f[3]);
        item.c = field_integer(f[4]);
        break;
    case 'W':
        item.number = (uint32_t)field_natural(f[0], 10);
        item.key = field_natural(f[1], 16);
        item.a = field_integer(f[2]);
        break;
    case 'Y':
    case 'Q':
    case 'J':
        item.number = (uint32_t)field_natural(f[0], 10);
        item.key = field_natural(f[1], 16);
        item.a = field_integer(f[2]);
        item.text = f[3];
        break;
    case 'M':
    case 'U':
        item.number = (uint32_t)field_natural(f[0], 10);
        item.a = field_integer(f[1]);
        item.text = f[2];
        item.more = f[3];
        break;
    default: /* N V R P Z */
        item.number = (uint32_t)field_natural(f[0], 10);
        item.text = f[1];
        break;
    }
    return item;
}

static int rawlog_take_line(struct rawlog *log, char *line, size_t *room)
{
    char *fields[FIELDS_MAX];
    const char kind = line[0];
    (void)line_split(line, fields);
    if (rawlog_take_single(log, kind, fields) || !strchr("GDCFWMUNVRPQYZJ", kind) || !kind) {
        return ICTUS_OK;
    }
    if (log->item_count == *room) {
        *room = *room ? *room * 2 : 64;
        struct raw_item *items = realloc(log->items, *room * sizeof(*items));
        if (!items) {
            return ICTUS_ERR_NOMEM;
        }
        log->items = items;
    }
    log->items[log->item_count++] = item_of(kind, fields);
    return ICTUS_OK;
}

/*
 * The text is copied, and items point into the copy. Whatever follows the last newline was cut off
 * and is ignored.
 */
int ictusi_rawlog_parse(const char *text, size_t size, struct rawlog *log, struct ictus_why *why)
{
    size_t room = 0;
    int err = ICTUS_OK;
    *log = (struct rawlog){.rank = -1, .host = "", .program = "", .clock = ""};
    log->text = malloc(size + 1);
    if (!log->text) {
        return ICTUS_ERR_NOMEM;
    }
    memcpy(log->text, text, size);
    log->text[size] = '\0';
    char *line = log->text;
    for (char *end = strchr(line, '\n'); end && !err; end = strchr(line, '\n')) {
        *end = '\0';
        err = rawlog_take_line(log, line, &room);
        line = end + 1;
    }
    log->timeline = ictusi_timeline_make(log->timeline.points, log->timeline.count);
    if (!err && (log->rank < 0 || log->size <= log->rank || log->size > PROCESSES_MAX ||
                 log->timeline.count == 0)) {
        err = ictus_because(why, ICTUS_ERR_FORMAT,
                            "a raw log ends before its clock was synchronised");
    }
    if (err) {
        ictusi_rawlog_free(log);
    }
    return err;
}

int ictusi_rawlog_read(const char *path, struct rawlog *log, struct ictus_why *why)
{
    size_t size = 0;
    char *text = ictusi_rawlog_read_file(path, &size);
    if (!text) {
        return ictus_because(why, ICTUS_ERR_IO, "%.200s: %s", path, strerror(errno));
    }
    const int err = ictusi_rawlog_parse(text, size, log, why);
    free(text);
    return err;
}

void ictusi_rawlog_free(struct rawlog *log)
{
    free(log->text);
    free(log->items);
    ictusi_timeline_free(&log->timeline);
    log->text = NULL;
    log->items = NULL;
}

bool ictusi_rawlog_share_clock(const struct rawlog *a, const struct rawlog *b)
{
    struct timeline of_a = a->timeline; /* copies, because a search keeps its place in them */
    struct timeline of_b = b->timeline;
    const int64_t at = of_a.points[0].local;
    const int64_t first = ictusi_timeline_map(&of_a, at);
    const int64_t second = ictusi_timeline_map(&of_b, at);
    /* Unsigned: the instants of a damaged log may be farther apart than an instant can tell. */
    const uint64_t apart =
        first > second ? (uint64_t)first - (uint64_t)second : (uint64_t)second - (uint64_t)first;
    return strcmp(a->host, b->host) == 0 && a->scale.kind == b->scale.kind &&
           a->scale.anchor_ticks == b->scale.anchor_ticks && apart <= 1;
}
