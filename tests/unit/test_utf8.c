/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that may not be UTF-8, compared with the judgement of a JSON library. */
#include "../check.h"

#include "arrival/pattern.h"
#include "core/utf8.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* JSON accepts any text after the repair, and what it accepts already is unchanged. */
static void texts_are_mended(void)
{
    static const char *const bytes[] = {"a",    "\x7f", "\x80", "\x8f", "\x90", "\x9f",
                                        "\xa0", "\xbf", "\xc1", "\xc2", "\xdf", "\xe0",
                                        "\xed", "\xef", "\xf0", "\xf4", "\xf5", "\xff"};
    enum { KINDS = sizeof bytes / sizeof *bytes };
    for (int i = 0; i < KINDS * KINDS * KINDS * KINDS; i++) {
        char text[8];
        char mended[8];
        (void)snprintf(text, sizeof text, "%s%s%s%s", bytes[i % KINDS], bytes[i / KINDS % KINDS],
                       bytes[i / KINDS / KINDS % KINDS], bytes[i / KINDS / KINDS / KINDS]);
        memcpy(mended, text, sizeof text);
        ictusi_utf8_mend(mended);
        json_t *before = json_string(text);
        json_t *after = json_string(mended);
        CHECK(after && strlen(mended) == strlen(text));
        CHECK(!before || strcmp(mended, text) == 0);
        json_decref(before);
        json_decref(after);
    }
    char mixed[] = "caf\xc3\xa9 caf\xe9 \xed\xa0\x80 \xf0\x9f\x8e\xb5";
    ictusi_utf8_mend(mixed);
    CHECK_STR(mixed, "caf\xc3\xa9 caf? ??? \xf0\x9f\x8e\xb5");
}

/* Programs name communicators as they like, and what is written about them is readable. */
static void names_are_mended(void)
{
    struct ictus_arrivals a = {.ranks = 0};
    ictusi_pattern_describe(&a, "caf\xe9.c:12", "MPI_Bcast", COLLECTIVE_BCAST, "r\xe9seau");
    CHECK_STR(a.site, "caf?.c:12");
    CHECK_STR(a.call, "MPI_Bcast");
    CHECK_STR(a.operation, "bcast");
    CHECK_STR(a.comm, "r?seau");
    ictusi_pattern_describe(&a, "x", "MPI_Bcast", COLLECTIVE_BCAST, "");
    CHECK_STR(a.comm, "(unnamed)");
}

int main(void)
{
    texts_are_mended();
    names_are_mended();
    return check_result();
}
