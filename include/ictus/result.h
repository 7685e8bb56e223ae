/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The result file `ictus-result/1`. It consists of JSON lines: first a header object, and then one
 * object for each measurement, which is written and flushed as soon as it exists. The same objects
 * are printed as text, CSV or JSON to standard output (where the header object is left out).
 * Objects are jansson's. The interface serves the tools of ictus and is not yet stable.
 *
 * Threads: all functions are local. A writer belongs to one thread. In an MPI job only rank 0 opens
 * one.
 */
#ifndef ICTUS_RESULT_H
#define ICTUS_RESULT_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <jansson.h>

ICTUS_BEGIN

/** The format of standard output. */
enum ictus_format { ICTUS_FORMAT_TEXT, ICTUS_FORMAT_CSV, ICTUS_FORMAT_JSON };

/** How a column of the text table shows its value. */
enum ictus_column_kind {
    ICTUS_COLUMN_TEXT,    /**< string, left-aligned */
    ICTUS_COLUMN_COUNT,   /**< integer */
    ICTUS_COLUMN_SECONDS, /**< seconds, shown in microseconds */
    ICTUS_COLUMN_NS,      /**< nanoseconds, shown in microseconds */
    ICTUS_COLUMN_NUMBER   /**< plain number */
};

/**
 * A column of the text table. A title that is padded with spaces widens its column. A member that
 * is absent or null is shown as "-".
 */
struct ictus_column {
    const char *key;             /**< member of the object */
    const char *title;           /**< heading of the column */
    enum ictus_column_kind kind; /**< how it is shown */
};

struct ictus_output;

/**
 * Return a number for a result object, as a new reference. JSON has no NaN and no infinity, so they
 * become null. Local; reentrant.
 */
ICTUS_API json_t *ictus_result_real(double value);

/**
 * Return a text for a result object. JSON is UTF-8, which paths, host names and command lines need
 * not be. Each byte that does not belong to a character becomes '?'. Local; reentrant.
 * @param text terminated
 * @return a new reference, or NULL if memory runs out
 */
ICTUS_API json_t *ictus_result_text(const char *text);

/**
 * Open standard output in a format and, if @p path is not NULL, also a result file, which replaces
 * an existing one. The titles of the text table are printed before its first row, so that a command
 * can print context lines ("# ...") before. CSV has a row for each object and a column for each
 * member, with nested objects as "outer.inner" and arrays as JSON text. A line of names precedes
 * the first object of each type. Local.
 * @param format   of standard output
 * @param columns  of the text table, terminated by a NULL key; NULL prints objects as JSON lines;
 *                 must outlive the output
 * @param path     of the result file; NULL: none
 * @param header   the header object, whose reference is taken, also on failure. Gets "type":
 *                 "header" and "schema": "ictus-result/1", and is written immediately.
 * @param[out] out set only on success
 * @param[out] why the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_IO (the reason names the path), ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_output_open(enum ictus_format format, const struct ictus_column *columns,
                                const char *path, json_t *header, struct ictus_output **out,
                                struct ictus_why *why);

/**
 * Like ictus_output_open(), but continue a result file that a killed run left. What follows its
 * last complete line is cut off, and no header is written. The file must exist and be a result
 * file. Local.
 * @return as ictus_output_open(), and ICTUS_ERR_FORMAT if it is not a result file
 */
ICTUS_API int ictus_output_resume(enum ictus_format format, const struct ictus_column *columns,
                                  const char *path, struct ictus_output **out,
                                  struct ictus_why *why);

/**
 * Write an object to the file and to standard output. Members that begin with "raw" go only to the
 * file. Local.
 * @param out    from ictus_output_open()
 * @param object its reference is taken, also on failure; must have a string "type"
 * @return ICTUS_OK, ICTUS_ERR_ARG (no type), or ICTUS_ERR_IO. In the latter case the file ends with
 *         its last complete line and takes no more. If there is a file, a failure of standard
 *         output (its reader has gone, its disk is full) is not an error here, but ferror() reports
 *         it.
 */
ICTUS_API int ictus_output_put(struct ictus_output *out, json_t *object);

/**
 * Like ictus_output_put(), but to the file only: single results below a table that summarises them.
 * Local.
 */
ICTUS_API int ictus_output_keep(struct ictus_output *out, json_t *object);

/** Like ictus_output_put(), but to standard output only. Local. */
ICTUS_API int ictus_output_show(struct ictus_output *out, json_t *object);

/**
 * Close the output and release it. Local.
 * @param out NULL is allowed
 * @return ICTUS_OK, or the first error of writing
 */
ICTUS_API int ictus_output_close(struct ictus_output *out);

/**
 * Read a result file, or several that were written one after the other. Unknown types and members
 * are kept. A truncated last line and foreign lines are skipped. The bare words NaN and Infinity,
 * which other programs write, are read as null. Local; reentrant.
 * @param path         of the file
 * @param[out] objects a JSON array that begins with a header (an empty one if the file has none),
 *                     with each later header in its place; released with json_decref()
 * @param[out] skipped number of lines that are neither blank nor objects with a type; may be NULL
 * @param[out] why     the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM, ICTUS_ERR_IO, ICTUS_ERR_FORMAT (no such object,
 *         or one of another major schema; in the latter case the reason names file and line)
 */
ICTUS_API int ictus_result_read(const char *path, json_t **objects, int *skipped,
                                struct ictus_why *why);

ICTUS_END

#endif
