/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An event file is a sequence of chunks of one size, of which the last one may be shorter:
 *
 *     chunk   head {3, byte order, first event, last event: 8 bytes each}, items, 0 or (the last) 2
 *     item    stamp {5, 8 bytes}, attributes {6, n, n bytes} or record {type from 10 on, n, n
 * bytes}
 *
 * The time of a record is that of the last stamp before it in its chunk; records with equal times
 * share one stamp. Records of 255 bytes or more encode n differently, as do numbers that are
 * undefined. Neither is supported here.
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
    ITEM_RECORDS = 10, /* and all larger values */
    ITEM_FLUSH = 10    /* a record that contains a second stamp */
};
enum {
    BYTES_STAMP = 8,
    BYTES_HEAD = 2 + 2 * BYTES_STAMP,
    BYTES_LONG = 255, /* as n: the record is longer than 254 bytes */
    ORDER_LITTLE = 'B'
};

struct restamping {
    const struct restamp *job;
    int in, out;
    uint8_t *chunk;
    size_t size;     /* bytes of the chunk that were read */
    uint64_t events; /* so far */
    bool ended;      /* the file's last item has been seen */
};

/* The stamp that applies to the next records. */
struct stamp_place {
    uint8_t *at; /* NULL: none yet in this chunk */
    uint64_t old, moved;
    bool used; /* by a record */
};

/* Stamps are not aligned, and some processors cannot read unaligned numbers, hence memcpy(). */
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

/* Numbers are used as they are in the file, so machine and file must have the same byte order. */
static bool order_is_little(void)
{
    const uint16_t one = 1;
    uint8_t first = 0;
    memcpy(&first, &one, sizeof first);
    return first == 1;
}

/*
 * Read up to one chunk. A file that cannot be read is left to the OTF2 library, which reports what
 * is wrong with it.
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
 * Move a record of n bytes. All records that share a stamp must also have the same time afterwards.
 * Each record asks the clock, because the clock follows the events in order and must see all of
 * them; the first record writes the stamp. A clock that moves two records with one stamp to
 * different times (with a jump between them) cannot be represented by one stamp, so the file is
 * left to the OTF2 library.
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
 * Process the item at *at, which has at most `left` bytes, and advance *at. Returns false if it is
 * not supported. Lengths are compared with the remaining bytes before *at is advanced, so a damaged
 * file cannot cause an access outside the chunk. A stamp that no record uses would stay unchanged,
 * so it is refused.
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

/*
 * The head states which events the chunk contains, so a missing or misplaced chunk is noticed here.
 */
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
 * Move all stamps of the chunk. Returns false if it is not supported. A stamp applies until the
 * next one or the end of its chunk. All chunks but the last have full size. r->events counts the
 * records from the beginning of the file, and must agree with the last event in the head.
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

/* If something unsupported follows, restamp_close() removes what has been written. */
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
    const int err = chunk_read(r); /* nothing may follow */
    return !err && (r->size > 0 || r->events != r->job->events) ? ICTUS_ERR_UNSUPPORTED : err;
}

/* Preserves errno from the time the output failed. */
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
