/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts in reports: JSON is UTF-8, which paths need not be. */
#ifndef ICTUS_CORRECT_REPORT_TEXT_H
#define ICTUS_CORRECT_REPORT_TEXT_H

#include <jansson.h>

/* A text for a report, in which bytes that are not UTF-8 are '?'. NULL: no memory. */
json_t *ictusi_report_text(const char *text);

#endif
