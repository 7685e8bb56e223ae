/* SPDX-License-Identifier: BSD-3-Clause */
/* Read before each source by scripts/check-tidy: what the analyzer cannot see from another file. */
#include <ictus/text.h>
/* Both return an error, never ICTUS_OK. */
#define ictus_unknown(...) (ictus_unknown(__VA_ARGS__), ICTUS_ERR_UNKNOWN)
#define ictus_because(why, err, ...) (ictus_because(why, err, __VA_ARGS__), (err))
/* Never better than the own error. Only where its header is read anyway. */
#if __has_include(<mpi.h>) && __has_include("sync/sync.h")
#include "sync/sync.h"
#define ictusi_sync_agree(comm, err, why) (ictusi_sync_agree(comm, err, why), (err))
#endif
