/* SPDX-License-Identifier: BSD-3-Clause */
/* What the generated wrappers use. */
#ifndef ICTUS_TRACE_CALLS_H
#define ICTUS_TRACE_CALLS_H

#include "real.h"
#include "trace/collective.h"
#include "trace/p2p.h"
#include "trace/requests.h"
#include "trace/rma.h"
#include "trace/tracer.h"

#include <ictus/api.h>
#include <mpi.h>
#include <string.h>

#endif
