/* SPDX-License-Identifier: BSD-3-Clause */
/* Values as a terminal shows them: with units, as distributions and bars, cut and wrapped to what
 * fits. */
#ifndef ICTUS_TOOLS_REPORT_CELLS_H
#define ICTUS_TOOLS_REPORT_CELLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { CELL = 96 };

enum look { TEXT, COUNT, SECONDS, NS, BYTES, SHARE, NUMBER, SPARKLINE, BAR };

/* A value into a cell of CELL bytes. Without UTF-8, distributions are drawn in ASCII. */
void cell_format(enum look look, const json_t *value, bool utf8, char *cell);

/* Columns that a text takes: UTF-8 continuation bytes take none. */
int cell_columns(const char *text);

enum side { SIDE_LEFT, SIDE_RIGHT, SIDE_LAST }; /* the last cell of a line is not filled up */

/* Two blanks and a text, filled up to its width or cut to it. */
void cell_put(const char *text, int width, enum side side);

/* Two blanks and a bar over a share of a width. */
void cell_put_bar(double share, int width, bool utf8);

/* A line and its continuations, these indented; the first one's indentation stands already. */
void cell_put_wrapped(const char *text, int indent, int width);

/* Whether the terminal's locale, as the environment names it, is one of UTF-8. */
bool cell_utf8(void);

#endif
