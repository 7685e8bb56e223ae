/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log that accompanies a process's records. Each line is a definition, with fields separated by
 * tabs.
 *
 *     H version table-hash rank size pid     K tick-kind anchor-ticks anchor-ns multiplier
 *     A local-ns realtime-ns                 O host   X program   L clock specification
 *     I ticks (MPI_Init was entered)         S local global slope sigma bound later-sigma
 *     G key side members                     D key key-whose-members-it-has
 *     C number key rank size remote-size     N number name (of a communicator)
 *     W number key communicator              V number name (of a window)
 *     Y number key communicator path (of an open file)
 *     Z number path (of a deleted file)
 *     F function (is called)                 R number name (of a region)
 *     P number name (of an event)            M class position name (of a counter)
 *     U class 0 name unit (of a user's metric)
 *     Q number offset mtime-ns file (of a call site)
 *     J number forking-thread<<32|size region threads (OpenMP teams from this region on)
 *     E lost untracked (MPI_Finalize was reached)
 *
 * A last line without a newline is ignored, because the process was killed while writing it.
 */
#ifndef ICTUS_TRACE_RAWLOG_H
#define ICTUS_TRACE_RAWLOG_H

#include "trace/timeline.h"
#include "tracer/scale.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line about something with a number. Texts point into the log's own copy. */
struct raw_item {
    char kind; /* the line's letter */
    uint32_t number;
    uint64_t key;
    int64_t a, b, c;
    const char *text, *more;
};

struct rawlog {
    char *text;
    uint64_t table_hash;
    int rank, size;
    int64_t pid;
    struct tick_scale scale;
    int64_t local_anchor, realtime_anchor;
    uint64_t init_ticks;
    const char *host, *program, *clock;
    bool ended;
    uint64_t lost, untracked;
    struct raw_item *items; /* lines C D F G J M N P Q R U V W Y Z, in order */
    size_t item_count;
    struct timeline timeline;
};

/* Parse a log; the text is copied. Errors: ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM. */
int ictusi_rawlog_parse(const char *text, size_t size, struct rawlog *log, struct ictus_why *why);

/* Read and parse a file. Errors: as above, and ICTUS_ERR_IO. */
int ictusi_rawlog_read(const char *path, struct rawlog *log, struct ictus_why *why);

/*
 * Read a whole file into memory, with a terminating null byte; the caller frees it. NULL with errno
 * set.
 */
char *ictusi_rawlog_read_file(const char *path, size_t *size);

/*
 * Whether two processes read the same clock: the same machine, the same counter with the same
 * anchor, and lines to the global clock that agree to a nanosecond. Their times then differ by no
 * error. A node may have several clocks (time namespaces), so the lines are compared as well, at an
 * instant where both are known.
 */
bool ictusi_rawlog_share_clock(const struct rawlog *a, const struct rawlog *b);

void ictusi_rawlog_free(struct rawlog *log);

#endif
