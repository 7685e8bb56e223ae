/* SPDX-License-Identifier: BSD-3-Clause */
/* Giving up what is no longer needed once everything is open. */
#ifndef ICTUS_LOCK_PRIVILEGE_H
#define ICTUS_LOCK_PRIVILEGE_H

#include <ictus/error.h>
#include <stdbool.h>

/*
 * Become another user and drop all capabilities but CAP_SYS_TIME, if that is kept. user NULL means
 * nobody where we are root, else no change; "root" stays. @return ICTUS_OK, ICTUS_ERR_SPEC (no such
 * user) or ICTUS_ERR_PERMISSION
 */
int ictusi_privilege_drop(const char *user, bool keep_time, struct ictus_why *why);

#endif
