/* SPDX-License-Identifier: BSD-3-Clause */
/* Which MPI library a program uses, and whether a preloaded library was built with the same. */
#ifndef ICTUS_PRELOAD_LIBRARY_H
#define ICTUS_PRELOAD_LIBRARY_H

/*
 * End the process with exit code 2 and one line (of the first process, where the launcher says who
 * that is) when it has loaded another MPI library than `name` was built with: handles and constants
 * of the one would crash in the other. Nothing happens as long as no other is loaded. Local.
 */
void preload_refuse_other(const char *name);

#endif
