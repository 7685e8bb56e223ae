/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the error codes. */
#include <ictus/error.h>

#include <stddef.h>

static const char *const names[] = {
    [-ICTUS_OK] = "success",
    [-ICTUS_ERR_ARG] = "invalid argument",
    [-ICTUS_ERR_NOMEM] = "out of memory",
    [-ICTUS_ERR_MPI] = "an MPI call failed",
    [-ICTUS_ERR_SPEC] = "malformed specification",
    [-ICTUS_ERR_UNKNOWN] = "unknown name",
    [-ICTUS_ERR_UNSUPPORTED] = "not supported here",
    [-ICTUS_ERR_INTERCOMM] = "an inter-communicator cannot be used",
    [-ICTUS_ERR_NOT_SHARED] = "the processes do not share one time source",
    [-ICTUS_ERR_IO] = "input or output failed",
    [-ICTUS_ERR_FORMAT] = "the format is not as expected",
    [-ICTUS_ERR_CLOCK] = "a time source stepped or ran backwards",
    [-ICTUS_ERR_SAMPLES] = "too few samples",
    [-ICTUS_ERR_TOLERANCE] = "the requested tolerance was not reached",
    [-ICTUS_ERR_TIMEOUT] = "a deadline passed",
    [-ICTUS_ERR_THREAD] = "the MPI thread level is too low",
    [-ICTUS_ERR_EXISTS] = "the output exists already",
    [-ICTUS_ERR_PERMISSION] = "permission denied",
    [-ICTUS_ERR_CORRUPT] = "the data is inconsistent",
};

const char *ictus_strerror(int err)
{
    const int count = (int)(sizeof(names) / sizeof(names[0]));
    if (err > 0 || err <= -count) {
        return "unknown error";
    }
    return names[-err];
}
