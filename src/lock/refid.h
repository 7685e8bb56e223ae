/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference identifier of an upstream server (RFC 5905, 7.3). */
#ifndef ICTUS_LOCK_REFID_H
#define ICTUS_LOCK_REFID_H

#include <stdint.h>
#include <sys/socket.h>

/*
 * A server names its own source by this number, so that two servers that follow each other notice
 * the loop. It is an IPv4 address itself, or the first four octets of the MD5 of an IPv6 address.
 * @return in host byte order
 */
uint32_t ictusi_refid_of(const struct sockaddr *address);

#endif
