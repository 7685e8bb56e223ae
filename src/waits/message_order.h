/* SPDX-License-Identifier: BSD-3-Clause */
/* Which messages came in the wrong order, and how many waits each pair of locations has. */
#ifndef ICTUS_WAITS_MESSAGE_ORDER_H
#define ICTUS_WAITS_MESSAGE_ORDER_H

#include "waits/partners.h"

/*
 * Set wrong_order of all partners, and count the waits of each pair in partners->lower. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_message_order_find(struct partners *partners, const struct analysis *analysis);

#endif
