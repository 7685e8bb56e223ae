/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of MPICH's preload know of each other. */
#ifndef ICTUS_TEST_YIELD_H
#define ICTUS_TEST_YIELD_H

#include <stdbool.h>

/* Poll the worker that was polled last. @return false if there was none */
bool test_poll_again(void);

#endif
