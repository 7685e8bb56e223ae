/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log beside a process's records: one line a definition, fields parted by tabs.
 *
 *   H version table-hash rank size pid     K tick-kind anchor-ticks anchor-ns multiplier
 *   A local-ns realtime-ns                 O host   X program   L clock specification
 *   I ticks (MPI_Init was entered)         S local global slope sigma bound later-sigma
 *   G key side members                     D key key-whose-members-it-has
 *   C number key rank size remote-size     N number name (of a communicator)
 *   W number key communicator              V number name (of a window)
 *   Y number key communicator path (of a file that is open)
 *   Z number path (of one that is deleted)
 *   F function (is called)                 R number name (of a region)
 *   P number name (of an event)            M class position name (of a counter)
 *   U class 0 name unit (of a user's metric)
 *   Q number offset mtime-ns file (of a call site)
 *   J number forking-thread<<32|size region threads (teams of OpenMP from this region on)
 *   E lost untracked (MPI_Finalize was reached)
 *
 * A last line without its newline is left out: the process was killed while it wrote it.
 */
#ifndef ICTUS_TRACE_RAWLOG_H
#define ICTUS_TRACE_RAWLOG_H

#include "trace/timeline.h"
#include "tracer/scale.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line about a numbered thing. Texts point into the log's own copy. */
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

/* Take a log's text apart; the text is copied. Errors: ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM. */
int ictusi_rawlog_parse(const char *text, size_t size, struct rawlog *log, struct ictus_why *why);

/* Read and parse a file. Errors: also ICTUS_ERR_IO. */
int ictusi_rawlog_read(const char *path, struct rawlog *log, struct ictus_why *why);

/* A whole file in memory, terminated; the caller frees it. NULL with errno set. */
char *ictusi_rawlog_read_file(const char *path, size_t *size);

void ictusi_rawlog_free(struct rawlog *log);

#endif
