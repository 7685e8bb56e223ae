/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Under which settings launches were measured: MPI library, processor, nodes, and the variables
 * that steer MPI. Launches of one experiment should agree in them.
 */
#ifndef ICTUS_TOOLS_SETTINGS_H
#define ICTUS_TOOLS_SETTINGS_H

#include <jansson.h>

/*
 * Add the settings of each launch that a file holds to an array. Launches that were simulated have
 * none, nor have tables of other programs. NULL settings: nothing is added.
 */
void settings_add(json_t *settings, const char *path, const json_t *objects);

/* Say on standard error, in a few lines, in what settings the launches of an array differ. */
void settings_tell(const char *command, const json_t *settings);

#endif
