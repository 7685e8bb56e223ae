/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of sizes as people type them: "8,1K,64K", "8..64K" (doubling), "8..1M*4" (by factors),
 * "0..100+25" (by steps), in any mixture.
 */
#ifndef ICTUS_TOOLS_SIZES_H
#define ICTUS_TOOLS_SIZES_H

#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>

enum { SIZES_MAX = 4096 };

/*
 * Read the list that an option gives, each size once, where it comes first. *out is allocated on
 * success and belongs to the caller. Errors: ICTUS_ERR_SPEC with the piece that is wrong,
 * ICTUS_ERR_NOMEM.
 */
int sizes_read(const char *option, const char *text, uint64_t **out, size_t *count,
               struct ictus_why *why);

#endif
