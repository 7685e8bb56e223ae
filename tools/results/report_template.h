/* SPDX-License-Identifier: BSD-3-Clause */
/* The page that report/ builds, put into the program; size 0 where it could not be built. */
#ifndef ICTUS_TOOLS_REPORT_TEMPLATE_H
#define ICTUS_TOOLS_REPORT_TEMPLATE_H

#include <stddef.h>

extern const unsigned char report_template[];
extern const size_t report_template_size;
extern const char report_template_why[]; /* why it is missing, or empty */

#endif
