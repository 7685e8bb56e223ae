/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An event file is a row of chunks of one size, the last one cut short:
 *
 *   chunk   head {3, byte order, first event, last event: 8 bytes each}, items, 0 or (the last) 2
 *   item    stamp {5, 8 bytes}, attributes {6, n, n bytes} or record {type from 10 on, n, n bytes}
 *
 * A record's time is that of the stamp before it in its chunk; records of equal times share one. A
 * record of 255 bytes and more has another n, and so has a number that is not defined: neither is
 * understood here.
 */
#include "archive/restamp.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/error.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ITEM_CHUNK_END = 0,
    ITEM_FILE_END = 2,
    ITEM_HEAD = 3,
    ITEM_STAMP = 5,
    ITEM_ATTRIBUTES = 6,
    ITEM_RECORDS = 10, /* and all above */
    ITEM_FLUSH = 10    /* a record that holds a second stamp */
};
enum {
    BYTES_STAMP = 8,
    BYTES_HEAD = 2 + 2 * BYTES_STAMP,
    BYTES_LONG = 255, /* as n: its record is longer */
    ORDER_LITTLE = 'B'
};

struct restamping {
    const struct restamp *job;
    int in, out;
    uint8_t *chunk;
    size_t size;     /* bytes of the chunk that were read */
    uint64_t events; /* so far */
    bool ended;      /* the file's last item was met */
};

/* The stamp that the next records have. */
struct stamp_place {
    uint8_t *at; /* NULL: none yet in this chunk */
    uint64_t old, moved;
    bool used; /* by a record */
};

/* Stamps lie at any byte, where some processors cannot read numbers: hence memcpy(). */
static uint64_t stamp_get(const uint8_t *at)
{
    uint64_t value = 0;
    memcpy(&value, at, sizeof value);
    return value;
}

static void stamp_put(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* Numbers are taken as they lie in the file, so that machine and file must have the same order. */
static bool order_is_little(void)
{
    const uint16_t one = 1;
    uint8_t first = 0;
    memcpy(&first, &one, sizeof first);
    return first == 1;
}

/*
 * Read as much as there is, up to a chunk. A file that cannot be read is left to the OTF2 library,
 * which says what is wrong with it.
 */
static int chunk_read(struct restamping *r)
{
    r->size = 0;
    while (r->size < r->job->chunk) {
        const ssize_t got = read(r->in, r->chunk + r->size, r->job->chunk - r->size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? ICTUS_ERR_UNSUPPORTED : ICTUS_OK;
        }
        r->size += (size_t)got;
    }
    return ICTUS_OK;
}

static int chunk_write(const struct restamping *r)
{
    for (size_t done = 0; done < r->size;) {
        const ssize_t put = write(r->out, r->chunk + done, r->size - done);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return ICTUS_ERR_IO;
        }
        done += (size_t)put;
    }
    return ICTUS_OK;
}

/*
 * A record of n bytes: all that share a stamp must have the same time afterwards as well. Each
 * record asks the clock, which goes from event to event and must see all of them; the first one
 * writes the stamp. The stamp's old value is asked for each record that shares it: a clock that
 * moves two of them to different times (a jump between them) cannot be expressed by one stamp, and
 * the file is left to the OTF2 library.
 */
static bool record_move(struct restamping *r, uint8_t *item, size_t n, struct stamp_place *stamp)
{
    const struct copy_clock *clock = r->job->clock;
    if (!stamp->at) {
        return false;
    }
    const uint64_t moved = clock->event(r->job->walk, stamp->old);
    if (stamp->used && moved != stamp->moved) {
        return false;
    }
    if (!stamp->used) {
        stamp_put(stamp->at, moved);
        stamp->moved = moved;
        stamp->used = true;
    }
    if (item[0] == ITEM_FLUSH) {
        if (n != BYTES_STAMP) {
            return false;
        }
        stamp_put(item + 2, clock->other(r->job->walk, stamp_get(item + 2)));
    }
    r->events++;
    return true;
}

/*
 * The item at *at, of so many bytes at most; *at passes it. False: it is not understood. Lengths
 * are held against what is left before *at moves, so that a damaged file leads nowhere. A stamp
 * that no record used would stay what it was, and is refused.
 */
static bool item_move(struct restamping *r, uint8_t **at, size_t left, struct stamp_place *stamp)
{
    uint8_t *item = *at;
    if (item[0] == ITEM_STAMP) {
        if (left <= BYTES_STAMP || (stamp->at && !stamp->used)) {
            return false;
        }
        *stamp = (struct stamp_place){.at = item + 1, .old = stamp_get(item + 1)};
        *at += 1 + BYTES_STAMP;
        return true;
    }
    if (left < 2 || item[1] == BYTES_LONG || left - 2 < item[1]) {
        return false;
    }
    *at += 2 + item[1];
    return item[0] == ITEM_ATTRIBUTES ||
           (item[0] >= ITEM_RECORDS && record_move(r, item, item[1], stamp));
}

/* The head says which events it has: a chunk that is missing or out of order is noticed here. */
static bool head_fits(const struct restamping *r, uint64_t *last)
{
    if (r->size < BYTES_HEAD || r->chunk[0] != ITEM_HEAD || r->chunk[1] != ORDER_LITTLE ||
        stamp_get(r->chunk + 2) != r->events + 1) {
        return false;
    }
    *last = stamp_get(r->chunk + 2 + BYTES_STAMP);
    return true;
}

/*
 * Move all stamps of the chunk that was read. False: it is not understood. A stamp holds until the
 * next one or the end of its chunk. All chunks but the last are whole. r->events counts records
 * from the file's beginning, so that it must agree with the head's last event.
 */
static bool chunk_move(struct restamping *r)
{
    struct stamp_place stamp = {.at = NULL};
    uint64_t last = 0;
    uint8_t *at = r->chunk + BYTES_HEAD;
    const uint8_t *end = r->chunk + r->size;
    if (!head_fits(r, &last)) {
        return false;
    }
    while (at < end && at[0] != ITEM_CHUNK_END && at[0] != ITEM_FILE_END) {
        if (!item_move(r, &at, (size_t)(end - at), &stamp)) {
            return false;
        }
    }
    if (at == end || (stamp.at && !stamp.used) || r->events != last) {
        return false;
    }
    r->ended = at[0] == ITEM_FILE_END;
    return r->ended || r->size == r->job->chunk;
}

/* What was written before something is not understood is removed in the end by restamp_close(). */
static int file_move(struct restamping *r)
{
    while (!r->ended) {
        int err = chunk_read(r);
        if (!err && !chunk_move(r)) {
            err = ICTUS_ERR_UNSUPPORTED;
        }
        err = err ? err : chunk_write(r);
        if (err) {
            return err;
        }
    }
    const int err = chunk_read(r); /* there must be no more */
    return !err && (r->size > 0 || r->events != r->job->events) ? ICTUS_ERR_UNSUPPORTED : err;
}

/* errno stays what it was when the output failed. */
static int restamp_close(struct restamping *r, int err)
{
    int reason = errno;
    free(r->chunk);
    (void)close(r->in);
    if (r->out >= 0 && close(r->out) && !err) {
        err = ICTUS_ERR_IO;
        reason = errno;
    }
    if (err && r->out >= 0) {
        (void)unlink(r->job->out);
    }
    errno = reason;
    return err;
}

int ictusi_restamp_run(const struct restamp *job)
{
    if (!order_is_little() || job->chunk < BYTES_HEAD) {
        return ICTUS_ERR_UNSUPPORTED;
    }
    struct restamping r = {.job = job, .in = open(job->in, O_RDONLY | O_CLOEXEC)};
    if (r.in < 0) {
        return ICTUS_ERR_UNSUPPORTED;
    }
    r.chunk = malloc(job->chunk);
    r.out = open(job->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const int err = r.out < 0 ? ICTUS_ERR_IO : r.chunk ? ICTUS_OK : ICTUS_ERR_NOMEM;
    return restamp_close(&r, err ? err : file_move(&r));
}
