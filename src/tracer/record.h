/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of a raw event file, in 64-bit words of the machine that wrote them. The head word is
 *
 *       bits 0-7 kind, 8-15 length in words, 16-31 small (a number of the kind), 32-63 value
 *
 * Timed records have ticks in their second word, and never go back in time within a file. The
 * others belong to the call of the last timed record: "pre" kinds happened when it was entered,
 * "post" kinds when it was left. A call is written when it is entered (RECORD_OPEN). That is after
 * its "pre" records, so that the tracer's work for them is not part of the call's time. It is
 * closed in place by a single store of its head (RECORD_CALL, value = duration in ticks), or by
 * RECORD_LEAVE if other records came in between. A head of zero ends a window. Heads are stored
 * last, so a process that is killed leaves complete records only.
 */
#ifndef ICTUS_TRACER_RECORD_H
#define ICTUS_TRACER_RECORD_H

#include <stdint.h>

enum record_kind {
    RECORD_END = 0,
    RECORD_OPEN,    /* timed; small = region */
    RECORD_CALL,    /* timed; small = region, value = duration */
    RECORD_LEAVE,   /* timed; small = region */
    RECORD_EVENT,   /* timed; small = event name; word 2 = value */
    RECORD_METRIC,  /* timed; small = metric class; words 2.. = values */
    RECORD_FLUSH,   /* timed; word 2 = duration in ticks */
    RECORD_ON,      /* timed; recording was switched on */
    RECORD_OFF,     /* timed; recording was switched off; small = enum off_reason */
    RECORD_REFUSED, /* as CALL; MPI refused it, so what its "pre" records describe did not happen */
    RECORD_TIMED,   /* end of the timed kinds */
    /* pre */
    RECORD_SEND,  /* value = peer; word 1 = comm << 32 | tag; word 2 = bytes */
    RECORD_ISEND, /* as SEND; word 3 = request */
    /* small = op, value = root; word 1 = operands << 32 | comm; 2 = sent; 3 = received */
    RECORD_COLL,
    RECORD_RMA_PUT,    /* small = window, value = target; word 1 = bytes; 2 = match */
    RECORD_RMA_GET,    /* the same */
    RECORD_RMA_ATOMIC, /* small = window, value = target; 1 = type << 32; 2 = sent; 3 = got; 4 =
                          match */
    RECORD_RMA_FENCE,  /* small = window */
    RECORD_RMA_GIVEN,  /* small = window, value = target: notification that the epoch has ended */
    /* before COLL or ICOLL: words 1.. = a bit for each rank that data comes from */
    RECORD_SENDERS,
    RECORD_ICOLL,    /* word 1 = request: a nonblocking collective begins */
    RECORD_IO_BEGIN, /* small = enum record_io, value = file; word 1 = bytes; 2 = operation; 3 =
                        offset */
    RECORD_PRE,      /* end of the "pre" kinds */
    /* post */
    RECORD_IRECV,      /* word 1 = request: the request was posted */
    RECORD_RECV,       /* value = peer; word 1 = comm << 32 | tag; word 2 = bytes */
    RECORD_IRECV_DONE, /* as RECV; word 3 = request */
    RECORD_ISEND_DONE, /* word 1 = request */
    RECORD_TESTED,     /* word 1 = request */
    RECORD_CANCELLED,  /* word 1 = request */
    RECORD_ICOLL_DONE, /* as COLL; word 4 = request */
    RECORD_RMA_DONE,   /* small = window; word 1 = match */
    RECORD_RMA_LOCK,   /* small = window, value = target; word 1 = 1 exclusive, 0 shared */
    RECORD_RMA_UNLOCK, /* small = window, value = target */
    RECORD_RMA_CREATE, /* small = window */
    RECORD_RMA_FREE,   /* small = window */
    RECORD_RMA_SYNC,   /* small = window, value = peer; word 1 = enum record_sync */
    /* of files, consecutive */
    RECORD_FILE_OPEN,   /* value = file; word 1 = enum record_open */
    RECORD_FILE_CLOSE,  /* value = file */
    RECORD_FILE_DELETE, /* value = file */
    RECORD_FILE_SEEK,   /* small = enum record_seek, value = file; word 1 = requested; 2 = offset */
    RECORD_IO_ISSUED,   /* value = file; word 1 = operation */
    RECORD_IO_DONE,     /* value = file; word 1 = operation; 2 = bytes */
    RECORD_IO_TESTED,   /* value = file; word 1 = operation */
    /*
     * of OpenMP teams, timed, consecutive: word 2 of the last two = forking thread << 32 | size;
     * word 3 = number of the region among those of the forking thread
     */
    RECORD_FORK, /* word 2 = requested number of threads */
    RECORD_JOIN,
    RECORD_TEAM_BEGIN,
    RECORD_TEAM_END,
    RECORD_KINDS
};

/*
 * SYNC_GOT: a notification that an epoch has ended has arrived. SYNC_POSTED: an exposure to one of
 * its origins has begun.
 */
enum record_sync { SYNC_GOT, SYNC_POSTED, RECORD_SYNCS };

/* What an operation on a file does, and how. Neither read nor write: what was written is synced. */
enum record_io { IO_READ = 1, IO_WRITE = 2, IO_NONBLOCKING = 4, IO_COLLECTIVE = 8 };

enum record_open {
    FILE_READ = 1,
    FILE_WRITE = 2,
    FILE_CREATE = 4,
    FILE_EXCLUSIVE = 8,
    FILE_APPEND = 16,
    FILE_DELETE_ON_CLOSE = 32
};

enum record_seek { SEEK_FROM_START, SEEK_FROM_HERE, SEEK_FROM_END };

/* No file, and an unknown offset. */
#define FILE_NONE UINT32_MAX
#define OFFSET_NONE UINT64_MAX

enum off_reason { OFF_ASKED, OFF_NO_SPACE, OFF_LIMIT };

/* Regions below this number are MPI functions from the table; the others are the user's. */
enum { REGION_USER = 2048, REGION_MAX = 65535 };

/* The numbers of metric classes in the records. */
enum { METRIC_CLASS_CLOCK = 0, METRIC_CLASS_COUNTERS = 1, METRIC_CLASS_USER = 16 };

/*
 * The tag of messages of neighborhood collectives. Those of a communicator's n-th persistent one
 * have the n-th tag after it. All are beyond the tags that MPI allows.
 */
#define NEIGHBOR_TAG UINT32_C(0x80000000)

/* The name of the region in which the tracer itself synchronises. */
#define TRACE_REGION_SYNC "ictus synchronises clocks"

/* In larger communicators, it is not recorded who exchanged data with whom. */
enum { SENDERS_RANKS_MAX = 2048, SENDERS_WORDS_MAX = SENDERS_RANKS_MAX / 64 };

/* All processes: the target of lock_all. */
#define RMA_ALL UINT32_C(0xffffffff)

enum { RECORD_WORDS_MAX = 40 };

static inline uint64_t record_head(enum record_kind kind, unsigned words, unsigned small,
                                   uint32_t value)
{
    return (uint64_t)kind | (uint64_t)words << 8 | (uint64_t)small << 16 | (uint64_t)value << 32;
}

static inline unsigned record_kind(uint64_t head)
{
    return (unsigned)(head & 0xff);
}

static inline unsigned record_words(uint64_t head)
{
    return (unsigned)(head >> 8 & 0xff);
}

static inline unsigned record_small(uint64_t head)
{
    return (unsigned)(head >> 16 & 0xffff);
}

static inline uint32_t record_value(uint64_t head)
{
    return (uint32_t)(head >> 32);
}

/* Raw event files begin with this header of one page; windows of window_bytes follow. */
enum { RAW_HEADER_BYTES = 4096 };

#define RAW_MAGIC "ictusev3"

struct raw_header {
    char magic[8];
    uint64_t table_hash; /* of the table that numbers the regions */
    uint64_t window_bytes;
    uint32_t rank;
    uint32_t thread;
    uint64_t pid;
};

#endif
