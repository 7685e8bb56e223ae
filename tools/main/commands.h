/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of commands, in the order of ictus help. */
#ifndef ICTUS_TOOLS_COMMANDS_H
#define ICTUS_TOOLS_COMMANDS_H

#include "main/command.h"

extern const struct command command_bench;
extern const struct command command_barrier;
extern const struct command command_matrix;
extern const struct command command_guidelines;
extern const struct command command_overlap;
extern const struct command command_check_nodes;
extern const struct command command_clocks;
extern const struct command command_rtt;
extern const struct command command_drift;
extern const struct command command_sync;
extern const struct command command_compare;
extern const struct command command_merge;
extern const struct command command_tune;
extern const struct command command_report;
extern const struct command command_simulate;
extern const struct command command_lock;
extern const struct command command_serve;
extern const struct command command_at;
#ifdef ICTUS_WITH_OTF2
extern const struct command command_trace;
extern const struct command command_check;
extern const struct command command_correct;
extern const struct command command_waits;
extern const struct command command_arrivals;
extern const struct command command_export;
extern const struct command command_profile;
extern const struct command command_recover;
extern const struct command command_trace_skew;
#endif

/* Groups by what they are about; one command a line. */
/* clang-format off */
static const struct command_group command_groups[] = {
    {"measure", {
        &command_bench,
        &command_barrier,
        &command_matrix,
        &command_guidelines,
        &command_overlap,
    }},
    {"clocks", {
        &command_check_nodes,
        &command_clocks,
        &command_rtt,
        &command_drift,
        &command_sync,
    }},
    {"results", {
        &command_report,
        &command_compare,
        &command_merge,
        &command_tune,
    }},
#ifdef ICTUS_WITH_OTF2
    {"traces", {
        &command_trace,
        &command_recover,
        &command_profile,
        &command_export,
        &command_check,
        &command_correct,
        &command_waits,
        &command_arrivals,
        &command_trace_skew,
    }},
#endif
    {"network clock", {
        &command_lock,
        &command_serve,
        &command_at,
    }},
    {"simulation", {
        &command_simulate,
    }},
    {NULL, {NULL}},
};
/* clang-format on */

#endif
