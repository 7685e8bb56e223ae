/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives up privileges once everything is open. */
#ifndef ICTUS_LOCK_PRIVILEGE_H
#define ICTUS_LOCK_PRIVILEGE_H

#include <ictus/error.h>
#include <stdbool.h>

/*
 * Become another user and drop all capabilities except CAP_SYS_TIME, if that is to be kept. If
 * `user` is NULL, root becomes the user ictus if it exists, else nobody, and other users do not
 * change. "root" keeps root. @return ICTUS_OK, ICTUS_ERR_SPEC (no such user) or
 * ICTUS_ERR_PERMISSION
 */
int ictusi_privilege_drop(const char *user, bool keep_time, struct ictus_why *why);

#endif
