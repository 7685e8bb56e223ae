/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The result file `ictus-result/1`: JSON lines, first a header object, then one object a
 * measurement, each written and flushed as soon as it exists. The same objects make the text, CSV
 * and JSON on standard output (without the header object there: one line a result). Objects are
 * jansson's. For the tools of ictus: not yet stable.
 *
 * Local; a writer belongs to one thread. In an MPI job only rank 0 opens one.
 */
#ifndef ICTUS_RESULT_H
#define ICTUS_RESULT_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <jansson.h>

ICTUS_BEGIN

/** What goes to standard output. */
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
 * One column of the text table: which member of the object, under which title. A title padded with
 * spaces makes its column wider. A member that is absent or null shows as "-".
 */
struct ictus_column {
    const char *key;             /**< member of the object */
    const char *title;           /**< over the column */
    enum ictus_column_kind kind; /**< how it is shown */
};

struct ictus_output;

/** A number for a result object: JSON has no NaN and no infinity, they become null. */
ICTUS_API json_t *ictus_result_real(double value);

/**
 * A text for a result object. JSON is UTF-8, which paths, host names and words of a command line
 * need not be: each byte that belongs to no character becomes '?'.
 * @param text terminated
 * @return a new reference, or NULL if memory is exhausted
 */
ICTUS_API json_t *ictus_result_text(const char *text);

/**
 * Open standard output in a format and, if @p path is not NULL, a result file beside it, which
 * replaces one that exists. The text table's titles are printed before its first row, so a command
 * may print context lines ("# ...") between. CSV has one row an object, one column a member (nested
 * objects as "outer.inner", arrays as JSON text), and a line of names before the first of each
 * type.
 * @param format   what goes to standard output
 * @param columns  of the text table, ended by a NULL key; NULL prints objects as JSON lines; must
 *                 outlive the output
 * @param path     of the result file; NULL: none
 * @param header   the header object; stolen, also on failure. Gets "type": "header" and "schema":
 *                 "ictus-result/1", and is written at once.
 * @param[out] out set only on success
 * @param[out] why says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_IO (the reason names path), ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_output_open(enum ictus_format format, const struct ictus_column *columns,
                                const char *path, json_t *header, struct ictus_output **out,
                                struct ictus_why *why);

/**
 * As ictus_output_open(), but go on with a result file that a killed run left: what follows its
 * last whole line is cut off, no header is written. The file must exist and be a result file.
 * @return also ICTUS_ERR_FORMAT where it is none
 */
ICTUS_API int ictus_output_resume(enum ictus_format format, const struct ictus_column *columns,
                                  const char *path, struct ictus_output **out,
                                  struct ictus_why *why);

/**
 * Write one object to the file and to standard output. Keys that begin with "raw" go only to the
 * file.
 * @param out    from ictus_output_open()
 * @param object stolen, also on failure; must have a string "type"
 * @return ICTUS_OK, ICTUS_ERR_ARG (no type), or ICTUS_ERR_IO; the file then ends with its last
 *         whole line and takes no more. Where there is a file, standard output that takes nothing
 *         (its reader went away, its disk is full) is not an error here, but ferror() tells
 */
ICTUS_API int ictus_output_put(struct ictus_output *out, json_t *object);

/** As ictus_output_put(), to the file alone: single results under a table that sums them up. */
ICTUS_API int ictus_output_keep(struct ictus_output *out, json_t *object);

/** As ictus_output_put(), to standard output alone. */
ICTUS_API int ictus_output_show(struct ictus_output *out, json_t *object);

/** Finish and free; says ICTUS_ERR_IO if anything was not written. @param out NULL is legal */
ICTUS_API int ictus_output_close(struct ictus_output *out);

/**
 * Read a result file, or several written one after the other. Unknown types and members are kept;
 * a truncated last line and foreign lines are skipped; the bare words NaN and Infinity, which other
 * writers leave behind, are read as null.
 * @param path         of the file
 * @param[out] objects a JSON array, a header first (an empty one where the file has none), each
 *                     later header in its place; released with json_decref()
 * @param[out] skipped lines that were neither blank nor objects with a type; may be NULL
 * @param[out] why     says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM, ICTUS_ERR_IO, ICTUS_ERR_FORMAT (the reason
 *         names file and line: no such object at all, or one of a later major schema)
 */
ICTUS_API int ictus_result_read(const char *path, json_t **objects, int *skipped,
                                struct ictus_why *why);

ICTUS_END

#endif
