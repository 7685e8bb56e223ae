/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of programs, archives and paths, of which nobody says that they are UTF-8. */
#ifndef ICTUS_CORE_UTF8_H
#define ICTUS_CORE_UTF8_H

/* Make a text UTF-8 in place: each byte that belongs to no character (RFC 3629) becomes '?'. */
void ictusi_utf8_mend(char *text);

#endif
