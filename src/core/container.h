/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts a pointer to an embedded base to the enclosing structure: the only downcast of the
 * project. */
#ifndef ICTUS_CORE_CONTAINER_H
#define ICTUS_CORE_CONTAINER_H

#include <stddef.h>

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
