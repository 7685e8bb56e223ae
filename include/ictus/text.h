/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Reading what people type: quantities with units, names with a nearest match; and last words.
 * Local, reentrant.
 */
#ifndef ICTUS_TEXT_H
#define ICTUS_TEXT_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>

ICTUS_BEGIN

/**
 * Read a duration: a number and ns, us, ms, s, min or h ("1.5us"; a bare number means seconds).
 * @param text         all of it is read
 * @param[out] seconds set only on success
 * @return ICTUS_OK or ICTUS_ERR_SPEC
 */
ICTUS_API int ictus_parse_seconds(const char *text, double *seconds);

/**
 * Read a rate: a number and ppm, ppb or % ("12.5ppm"; a bare number is a plain ratio).
 * @param text       all of it is read
 * @param[out] ratio dimensionless, set only on success
 * @return ICTUS_OK or ICTUS_ERR_SPEC
 */
ICTUS_API int ictus_parse_ratio(const char *text, double *ratio);

/**
 * Read a byte count: an integer and k, K, Ki, M, Mi, G, Gi (all powers of 1024) with or without B.
 * @param text       all of it is read
 * @param[out] bytes set only on success
 * @return ICTUS_OK or ICTUS_ERR_SPEC
 */
ICTUS_API int ictus_parse_bytes(const char *text, uint64_t *bytes);

/** Read a decimal integer that fills the whole text. @return ICTUS_OK or ICTUS_ERR_SPEC */
ICTUS_API int ictus_parse_int(const char *text, int64_t *value);

/** Read a finite number that fills the whole text. @return ICTUS_OK or ICTUS_ERR_SPEC */
ICTUS_API int ictus_parse_real(const char *text, double *value);

/**
 * Find the name that is most like a mistyped one.
 * @param word  as it was typed
 * @param names a NULL-terminated list
 * @return an element of @p names within a third of the word's length in edits, else NULL
 */
ICTUS_API const char *ictus_nearest(const char *word, const char *const *names);

/**
 * Write "unknown <what> '<word>'; did you mean '<nearest>'?" or a list of all names.
 * @param why   may be NULL
 * @param what  kind of thing, as "operation"
 * @param word  as it was typed
 * @param names a NULL-terminated list
 * @return ICTUS_ERR_UNKNOWN, so that a caller can return it
 */
ICTUS_API int ictus_unknown(struct ictus_why *why, const char *what, const char *word,
                            const char *const *names);

/**
 * Write a formatted sentence.
 * @param why    may be NULL
 * @param err    what to return
 * @param format as for printf(3); a sentence without a full stop
 * @return @p err
 */
ICTUS_API int ictus_because(struct ictus_why *why, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * Cut the next specification off a comma-separated list ("hca3:fitpoints=500,exchanges=10,mesh").
 * A piece that begins with a letter and holds no '=' before its first ':' or '(' starts a new
 * specification; any other piece continues the options of the one before.
 * @param[in,out] list advanced after the piece; NULL at the end of the list
 * @param[out] piece   at most @p size bytes, terminated
 * @param size         bytes of @p piece
 * @return ICTUS_OK, ICTUS_ERR_SAMPLES when nothing is left, ICTUS_ERR_SPEC when empty or too long
 */
ICTUS_API int ictus_next_spec(const char **list, char *piece, size_t size);

/**
 * Where to break a text so that its beginning fits into a line. The next line begins after the
 * blanks that follow.
 * @param text    words of UTF-8 with blanks between them
 * @param columns characters that the line has room for
 * @return bytes of as many whole words as fit, of the first word at least; 0 for an empty text
 */
ICTUS_API size_t ictus_text_fit(const char *text, size_t columns);

/**
 * Wait until what was written to a pipe, terminal or socket has been read, at most ten seconds. A
 * launcher that is told to end a job drops what it has not read by then: so wait after the last
 * words, before MPI_Abort() or exit(). Nothing to wait for with a file.
 * @param fd as STDERR_FILENO
 */
ICTUS_API void ictus_drain(int fd);

ICTUS_END

#endif
