/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining a clock algorithm and a time source. */
#include "main/clock_spec.h"

#include <stdio.h>

const char *clock_spec_join(struct clock_spec *spec, const char *sync, const char *clock)
{
    (void)snprintf(spec->text, sizeof(spec->text), "%s%s%s", sync ? sync : "", clock ? "@" : "",
                   clock ? clock : "");
    return spec->text[0] ? spec->text : NULL;
}
