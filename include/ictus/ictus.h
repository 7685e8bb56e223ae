/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Includes everything that a program needs for the common clock and the common start.
 */
#ifndef ICTUS_ICTUS_H
#define ICTUS_ICTUS_H

#include <ictus/clock.h>
#include <ictus/error.h>
#include <ictus/harmonize.h>
#include <ictus/time.h>

#endif
