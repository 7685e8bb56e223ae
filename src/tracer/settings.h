/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a user may choose about a trace. `ictus trace` hands each option on in the variable
 * ICTUS_TRACE_OPTION of the same name.
 */
#ifndef ICTUS_TRACER_SETTINGS_H
#define ICTUS_TRACER_SETTINGS_H

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_settings {
    char directory[2048]; /* of the archive; empty: do not trace */
    char scratch[2048];   /* of the raw files; empty: in the archive's directory */
    char sync[512];       /* algorithm that makes one clock of many; empty: the default */
    char clock[512];      /* local time source; empty: the default */
    char filter[1024];    /* functions and groups, see ictusi_filter_apply() */
    char metrics[512];    /* names of counters */
    double metrics_every_s;
    double resync_every_s;   /* 0: only at start and end */
    int64_t resync_barriers; /* after every n-th barrier of MPI_COMM_WORLD; 0: never */
    uint64_t buffer_bytes;   /* of memory that the tracer may add to a process */
    uint64_t window_bytes;   /* of each thread; 0: a share of the buffer */
    uint64_t limit_bytes;    /* per thread; 0: none */
    int64_t requests;        /* active at a time in a process; 0: as the buffer allows */
    bool force;              /* replace an archive that is there */
    bool keep;               /* keep the raw files */
    bool defer;              /* leave it at the raw files: no archive at the end */
    bool statistics;         /* count arrivals instead of recording events */
    bool off;                /* start switched off, until MPI_Pcontrol(1) */
    bool quiet;
};

/* Whether the environment asks for a trace. */
bool ictusi_settings_wanted(void);

/*
 * Read the ICTUS_TRACE_* variables.
 * Errors: ICTUS_ERR_SPEC with the variable and what it may be.
 */
int ictusi_settings_read(struct trace_settings *settings, struct ictus_why *why);

/*
 * Write the variables that differ from their defaults as lines of NAME=VALUE, for the environment
 * of another process. @return how many bytes that takes without the closing null; where it is not
 * less than room, the text is cut off
 */
size_t ictusi_settings_lines(char *text, size_t room);

/*
 * How the buffer is shared out: half of it is windows of all threads, a quarter the table of
 * requests, and the rest what else recording takes. When the archive is written the windows have
 * been let go.
 */
uint64_t ictusi_settings_windows(const struct trace_settings *settings);
uint64_t ictusi_settings_table(const struct trace_settings *settings);

/* The window of one more thread when so much is left for windows: half of that, if not tiny. */
uint64_t ictusi_settings_window(const struct trace_settings *settings, uint64_t left);

#endif
