/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts from programs, archives and paths, which need not be UTF-8. */
#ifndef ICTUS_CORE_UTF8_H
#define ICTUS_CORE_UTF8_H

/* Make a text UTF-8 in place: each byte that does not belong to a character (RFC 3629) becomes
 * '?'. */
void ictusi_utf8_mend(char *text);

#endif
