/* SPDX-License-Identifier: BSD-3-Clause */
/* The operation tables of all algorithms. Each is defined in a file of its own. */
#ifndef ICTUS_SYNC_ALGORITHMS_H
#define ICTUS_SYNC_ALGORITHMS_H

#include "sync/sync.h"

extern const struct sync_ops ictusi_sync_hca;
extern const struct sync_ops ictusi_sync_hca2;
extern const struct sync_ops ictusi_sync_hca3;
extern const struct sync_ops ictusi_sync_hca3_offset;
extern const struct sync_ops ictusi_sync_hierarchy;
extern const struct sync_ops ictusi_sync_jk;
extern const struct sync_ops ictusi_sync_mesh;
extern const struct sync_ops ictusi_sync_netgauge;
extern const struct sync_ops ictusi_sync_propagate;
extern const struct sync_ops ictusi_sync_skampi;

#endif
