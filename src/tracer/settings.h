/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user's choices for a trace. `ictus trace` passes each option in the variable
 * ICTUS_TRACE_OPTION with the same name.
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
    char sync[512];       /* algorithm for the global clock; empty: the default */
    char clock[512];      /* local time source; empty: the default */
    char filter[1024];    /* functions and groups, see ictusi_filter_apply() */
    char metrics[512];    /* names of counters */
    double metrics_every_s;
    double resync_every_s;   /* 0: only at start and end */
    int64_t resync_barriers; /* after every n-th barrier of MPI_COMM_WORLD; 0: never */
    uint64_t buffer_bytes;   /* memory that the tracer may add to a process */
    uint64_t window_bytes;   /* of each thread; 0: a share of the buffer */
    uint64_t limit_bytes;    /* per thread; 0: none */
    int64_t requests;        /* active at the same time in a process; 0: as the buffer allows */
    bool force;              /* replace an existing archive */
    bool keep;               /* keep the raw files */
    bool defer;              /* keep only the raw files: no archive at the end */
    bool statistics;         /* count arrivals instead of recording events */
    bool off;                /* start switched off, until MPI_Pcontrol(1) */
    bool quiet;
};

/* Whether the environment requests a trace. */
bool ictusi_settings_wanted(void);

/*
 * Read the ICTUS_TRACE_* variables. Errors: ICTUS_ERR_SPEC, with the variable and its valid values.
 */
int ictusi_settings_read(struct trace_settings *settings, struct ictus_why *why);

/*
 * Write the variables that differ from their defaults as lines NAME=VALUE, for the environment of
 * another process. @return the number of bytes needed, without the terminating null byte; if it is
 * not less than room, the text was truncated
 */
size_t ictusi_settings_lines(char *text, size_t room);

/*
 * How the buffer is divided: half for the windows of all threads, a quarter for the table of
 * requests, and the rest for everything else that recording needs. The windows have been released
 * when the archive is written.
 */
uint64_t ictusi_settings_windows(const struct trace_settings *settings);
uint64_t ictusi_settings_table(const struct trace_settings *settings);

/*
 * The window size for one more thread if `left` bytes remain for windows: half of that, if that is
 * not too small.
 */
uint64_t ictusi_settings_window(const struct trace_settings *settings, uint64_t left);

#endif
