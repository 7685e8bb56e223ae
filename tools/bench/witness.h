/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A witness for ictus_selector_prove(): a second thread interrupts the calling one every quarter of
 * a millisecond, and the signal's handler notes the stack. Nothing is left behind between watches:
 * no thread, no handler.
 */
#ifndef ICTUS_TOOLS_WITNESS_H
#define ICTUS_TOOLS_WITNESS_H

#include <ictus/select.h>

struct witness_record;

/* A witness without memory for its stacks sees nothing; release with witness_free(). Local. */
struct ictus_witness witness_create(void);

void witness_free(struct ictus_witness *witness);

#endif
