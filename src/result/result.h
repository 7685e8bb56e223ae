/* SPDX-License-Identifier: BSD-3-Clause */
/* What the writer and the reader of result files share. */
#ifndef ICTUS_RESULT_RESULT_H
#define ICTUS_RESULT_RESULT_H

#include <jansson.h>

#define ICTUSI_RESULT_FAMILY "ictus-result/"
#define ICTUSI_RESULT_SCHEMA "ictus-result/1"

/* Parse the text of one line, which may have NaN in place of numbers. @return NULL if it is none */
json_t *ictusi_reader_parse_line(const char *text, size_t length);

#endif
