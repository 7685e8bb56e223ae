/* SPDX-License-Identifier: BSD-3-Clause */
#include "correct/report_text.h"

#include "core/utf8.h"

#include <stdlib.h>
#include <string.h>

json_t *ictusi_report_text(const char *text)
{
    char *copy = strdup(text);
    if (!copy) {
        return NULL;
    }
    ictusi_utf8_mend(copy);
    json_t *string = json_string(copy);
    free(copy);
    return string;
}
