/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of the simulated flavour, which `ictus simulate` runs: MPI alone, nothing else. */
#ifndef ICTUS_TOOLS_COMMANDS_SIMULATED_H
#define ICTUS_TOOLS_COMMANDS_SIMULATED_H

#include "main/command.h"

extern const struct command command_barrier;
extern const struct command command_bench;
extern const struct command command_check_nodes;
extern const struct command command_clocks;
extern const struct command command_drift;
extern const struct command command_guidelines;
extern const struct command command_matrix;
extern const struct command command_rtt;
extern const struct command command_sync;

static const struct command_group command_groups[] = {
    {"measure", {&command_bench, &command_barrier, &command_matrix, &command_guidelines}},
    {"clocks",
     {&command_check_nodes, &command_clocks, &command_rtt, &command_drift, &command_sync}},
    {NULL, {NULL}},
};

#endif
