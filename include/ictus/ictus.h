/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Everything a program that wants the common clock and the common start needs.
 */
#ifndef ICTUS_ICTUS_H
#define ICTUS_ICTUS_H

#include <ictus/clock.h>
#include <ictus/error.h>
#include <ictus/harmonize.h>
#include <ictus/time.h>

#endif
