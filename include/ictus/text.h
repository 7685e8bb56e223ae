/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Parsing what users type: quantities with units, and names with a nearest match. Also writing
 * reasons of failures, and waiting until output has been read.
 *
 * Threads: all functions are local and reentrant.
 */
#ifndef ICTUS_TEXT_H
#define ICTUS_TEXT_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>

ICTUS_BEGIN

/**
 * Parse a duration: a number and ns, us, ms, s, min or h ("1.5us"). A bare number is in seconds.
 * @param text         parsed to its end
 * @param[out] seconds set only on success
 * @return ICTUS_OK or ICTUS_ERR_SPEC
 */
ICTUS_API int ictus_parse_seconds(const char *text, double *seconds);

/**
 * Parse a rate: a number and ppm, ppb or % ("12.5ppm"). A bare number is a ratio.
 * @param text       parsed to its end
 * @param[out] ratio dimensionless; set only on success
 * @return ICTUS_OK or ICTUS_ERR_SPEC
 */
ICTUS_API int ictus_parse_ratio(const char *text, double *ratio);

/**
 * Parse a byte count: an integer and k, K, Ki, M, Mi, G, Gi (all powers of 1024), with or without
 * B.
 * @param text       parsed to its end
 * @param[out] bytes set only on success
 * @return ICTUS_OK or ICTUS_ERR_SPEC
 */
ICTUS_API int ictus_parse_bytes(const char *text, uint64_t *bytes);

/** Parse a decimal integer that is the whole text. @return ICTUS_OK or ICTUS_ERR_SPEC */
ICTUS_API int ictus_parse_int(const char *text, int64_t *value);

/** Parse a finite number that is the whole text. @return ICTUS_OK or ICTUS_ERR_SPEC */
ICTUS_API int ictus_parse_real(const char *text, double *value);

/**
 * Find the name that is most similar to a mistyped one.
 * @param word  as typed
 * @param names terminated by NULL
 * @return an element of @p names that is within a third of the word's length in edits, else NULL
 */
ICTUS_API const char *ictus_nearest(const char *word, const char *const *names);

/**
 * Write "unknown <what> '<word>'; did you mean '<nearest>'?", or a list of all names.
 * @param why   may be NULL
 * @param what  the kind of thing, such as "operation"
 * @param word  as typed
 * @param names terminated by NULL
 * @return ICTUS_ERR_UNKNOWN, so that a caller can return it
 */
ICTUS_API int ictus_unknown(struct ictus_why *why, const char *what, const char *word,
                            const char *const *names);

/**
 * Find a variable of the environment whose name begins with ICTUS_ and that ictus does not know, so
 * that it has no effect. No other thread may change the environment meanwhile.
 * @param from 0, or what the previous call returned
 * @param why  may be NULL; a sentence that names the variable, and the most similar one if there is
 *             one
 * @return where to go on, or 0 if there is none
 */
ICTUS_API size_t ictus_variable_unknown(size_t from, struct ictus_why *why);

/**
 * Write a formatted sentence.
 * @param why    may be NULL
 * @param err    the result
 * @param format as for printf(3); a sentence without a full stop
 * @return @p err
 */
ICTUS_API int ictus_because(struct ictus_why *why, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * Take the next specification from a comma-separated list ("hca3:fitpoints=500,exchanges=10,mesh").
 * A piece that begins with a letter and has no '=' before its first ':' or '(' starts a new
 * specification. Any other piece continues the options of the previous one.
 * @param[in,out] list advanced beyond the piece; NULL at the end of the list
 * @param[out] piece   at most @p size bytes, terminated
 * @param size         bytes of @p piece
 * @return ICTUS_OK, ICTUS_ERR_SAMPLES at the end, ICTUS_ERR_SPEC if the piece is empty or too long
 */
ICTUS_API int ictus_next_spec(const char **list, char *piece, size_t size);

/**
 * Find where to break a text so that its beginning fits into a line. The next line begins after the
 * blanks that follow.
 * @param text    words of UTF-8 with blanks between them
 * @param columns number of characters in the line
 * @return the bytes of as many whole words as fit, but at least of the first word; 0 for an empty
 *         text
 */
ICTUS_API size_t ictus_text_fit(const char *text, size_t columns);

/**
 * Wait until what was written to a pipe, terminal or socket has been read, but at most ten seconds.
 * A launcher that is told to end a job drops what it has not read by then, so call this before
 * MPI_Abort() or exit(). There is nothing to wait for with a file. Blocking.
 * @param fd such as STDERR_FILENO
 */
ICTUS_API void ictus_drain(int fd);

ICTUS_END

#endif
