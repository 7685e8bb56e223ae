/* SPDX-License-Identifier: BSD-3-Clause */
/* --sync and --clock as the library takes them: one text, "SYNC@SOURCE". */
#ifndef ICTUS_TOOLS_CLOCK_SPEC_H
#define ICTUS_TOOLS_CLOCK_SPEC_H

enum { CLOCK_SPEC_MAX = 2048 };

struct clock_spec {
    char text[CLOCK_SPEC_MAX];
};

/* Join what was asked for; NULL stands for the default. Returns the text, NULL where both are. */
const char *clock_spec_join(struct clock_spec *spec, const char *sync, const char *clock);

#endif
