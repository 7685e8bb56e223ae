/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference identifier of an upstream server (RFC 5905, 7.3). */
#ifndef ICTUS_LOCK_REFID_H
#define ICTUS_LOCK_REFID_H

#include <stdint.h>
#include <sys/socket.h>

/*
 * Return the number by which a server identifies its source (in host byte order), so that two
 * servers that follow each other detect the loop. It is the IPv4 address itself, or the first four
 * octets of the MD5 digest of an IPv6 address.
 */
uint32_t ictusi_refid_of(const struct sockaddr *address);

#endif
