/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes that form characters: RFC 3629, section 4. */
#include "core/utf8.h"

#include <stdbool.h>
#include <stddef.h>

/* Return how many bytes follow the first one of a character, or -1 if no character begins with
 * it. */
static int utf8_following(unsigned char first)
{
    if (first < 0x80) {
        return 0;
    }
    if (first < 0xC2 || first > 0xF4) {
        return -1;
    }
    return first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
}

/* Return whether the encoding is longer than necessary, half of a surrogate pair, or beyond
 * U+10FFFF. All three follow from the first two bytes. */
static bool utf8_is_refused(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xE0:
        return second < 0xA0;
    case 0xED:
        return second >= 0xA0;
    case 0xF0:
        return second < 0x90;
    case 0xF4:
        return second >= 0x90;
    default:
        return false;
    }
}

/* Return the number of bytes of the character that begins here, or 0 if none does. The
 * terminating zero never continues a character. */
static size_t utf8_character(const unsigned char *text)
{
    const int following = utf8_following(text[0]);
    for (int i = 1; i <= following; i++) {
        if ((text[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    const bool refused = following > 0 && utf8_is_refused(text[0], text[1]);
    return following < 0 || refused ? 0 : (size_t)following + 1;
}

void ictusi_utf8_mend(char *text)
{
    for (size_t i = 0; text[i];) {
        const size_t length = utf8_character((const unsigned char *)&text[i]);
        if (length == 0) {
            text[i] = '?';
        }
        i += length ? length : 1;
    }
}
