/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The header object of a result file: where, when, with what and how something was measured. One
 * function for all commands, so that their files say the same things by the same names.
 */
#ifndef ICTUS_TOOLS_HEADER_H
#define ICTUS_TOOLS_HEADER_H

#include "main/options.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What only the command knows. Zero and NULL leave a member out. */
struct header_facts {
    const char *command;           /* its name */
    const struct option_row *rows; /* its options and ... */
    const void *options;           /* ... their values: the "parameters" */
    const char *clock;             /* local source */
    const char *sync;              /* synchronisation, or a list of them */
    const char *selection;         /* under which terms algorithms are forced */
    bool clock_known;              /* the two below are */
    double clock_sigma_ns;         /* largest over ranks after the first sync */
    double clock_bound_ns;
    bool seeded; /* seed is */
    int64_t seed;
};

/*
 * Collective over MPI_COMM_WORLD where MPI is initialised. Returns the object on rank 0 and NULL
 * elsewhere (and where memory is out: ictus_output_open() then says so).
 */
json_t *header_create(const struct header_facts *facts);

/* Print it as "# ..." lines above a text table. NULL is legal. Call before ictus_output_open(),
 * which takes the header over. */
void header_print(const json_t *header);

#endif
