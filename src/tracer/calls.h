/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that the generated wrappers include. */
#ifndef ICTUS_TRACER_CALLS_H
#define ICTUS_TRACER_CALLS_H

#include "tracer/collective.h"
#include "tracer/files.h"
#include "tracer/neighbors.h"
#include "tracer/p2p.h"
#include "tracer/real.h"
#include "tracer/requests.h"
#include "tracer/rma.h"
#include "tracer/sessions.h"
#include "tracer/spawn.h"
#include "tracer/tracer.h"

#include <ictus/api.h>
#include <mpi.h>
#include <string.h>

#endif
