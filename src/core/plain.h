/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers as text with a decimal point, whatever the surrounding program sets by setlocale(),
 * because other programs must be able to read what is written. The locale of the calling thread,
 * and not of the whole program, is changed temporarily.
 */
#ifndef ICTUS_CORE_PLAIN_H
#define ICTUS_CORE_PLAIN_H

#include <locale.h>
#include <stdlib.h>

struct plain {
    locale_t before, plain; /* 0 if it could not be created */
};

static inline struct plain plain_begin(void)
{
    struct plain p = {(locale_t)0, newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (p.plain) {
        p.before = uselocale(p.plain);
    }
    return p;
}

static inline void plain_end(const struct plain *p)
{
    if (p->plain) {
        (void)uselocale(p->before);
        freelocale(p->plain);
    }
}

/* strtod() with a decimal point. */
static inline double plain_strtod(const char *text, char **end)
{
    const struct plain p = plain_begin();
    const double number = strtod(text, end);
    plain_end(&p);
    return number;
}

#endif
