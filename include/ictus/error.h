/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The error codes of all ictus functions, and the sentence that explains a particular failure.
 */
#ifndef ICTUS_ERROR_H
#define ICTUS_ERROR_H

#include <ictus/api.h>

ICTUS_BEGIN

/** The result of a function: 0 for success, a negative code for a failure. */
enum ictus_error {
    ICTUS_OK = 0,
    ICTUS_ERR_ARG = -1,         /**< an argument is NULL or out of range */
    ICTUS_ERR_NOMEM = -2,       /**< out of memory */
    ICTUS_ERR_MPI = -3,         /**< an MPI call failed */
    ICTUS_ERR_SPEC = -4,        /**< a specification text is malformed */
    ICTUS_ERR_UNKNOWN = -5,     /**< there is no algorithm, clock, operation, ... of this name */
    ICTUS_ERR_UNSUPPORTED = -6, /**< this machine, MPI library or build does not support it */
    ICTUS_ERR_INTERCOMM = -7,   /**< an intra-communicator is required */
    ICTUS_ERR_NOT_SHARED = -8,  /**< processes do not share a time source although they should */
    ICTUS_ERR_IO = -9,          /**< a file or socket could not be read or written */
    ICTUS_ERR_FORMAT = -10,     /**< a file or packet does not have the expected format */
    ICTUS_ERR_CLOCK = -11,      /**< a time source stepped or ran backwards */
    ICTUS_ERR_SAMPLES = -12,    /**< too few samples for an estimate */
    ICTUS_ERR_TOLERANCE = -13,  /**< the requested tolerance was not reached */
    ICTUS_ERR_TIMEOUT = -14,    /**< a deadline passed */
    ICTUS_ERR_THREAD = -15,     /**< MPI's thread level is too low */
    ICTUS_ERR_EXISTS = -16,     /**< the output already exists */
    ICTUS_ERR_PERMISSION = -17, /**< the system denied permission */
    ICTUS_ERR_CORRUPT = -18     /**< data contradicts itself */
};

/** Room for one sentence that says what was wrong and what would be right. */
struct ictus_why {
    char text[320]; /**< without a full stop or a line end */
};

/**
 * Return the meaning of an error code. Local; reentrant.
 * @param err any value; an unknown one gives "unknown error"
 * @return a static string without a full stop; never NULL
 */
ICTUS_API const char *ictus_strerror(int err);

ICTUS_END

#endif
