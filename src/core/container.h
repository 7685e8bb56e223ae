/* SPDX-License-Identifier: BSD-3-Clause */
/* From an embedded base to the structure around it: the only downcast in the house. */
#ifndef ICTUS_CORE_CONTAINER_H
#define ICTUS_CORE_CONTAINER_H

#include <stddef.h>

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
