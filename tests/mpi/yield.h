/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface between the parts of MPICH's preloaded library. */
#ifndef ICTUS_TEST_YIELD_H
#define ICTUS_TEST_YIELD_H

#include <stdbool.h>

/* Poll again the worker that was polled last. @return false if there was none */
bool test_poll_again(void);

#endif
