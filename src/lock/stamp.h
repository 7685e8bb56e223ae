/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram sockets whose packets carry timestamps: taken by the application, by the kernel (M00's
 * revised exchange, figure 3, through SO_TIMESTAMPING), or by the network card. All stamps here are
 * CLOCK_REALTIME nanoseconds, 0 where there is none; hardware stamps are the card's own clock.
 */
#ifndef ICTUS_LOCK_STAMP_H
#define ICTUS_LOCK_STAMP_H

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum stamp_mode { STAMP_USER, STAMP_KERNEL, STAMP_HARDWARE };

struct stamp_socket {
    int fd;
    enum stamp_mode mode; /* what is in force, perhaps less than what was asked */
    uint32_t sent;        /* the kernel numbers packets so */
};

/* What the kernel and the card say of one packet. */
struct stamps {
    int64_t user;
    int64_t kernel;
    int64_t hardware;
};

struct stamp_datagram {
    uint8_t *bytes;
    size_t size;
    size_t length; /* as received; may be above size when truncated */
    struct sockaddr_storage peer;
    socklen_t peer_length;
    struct sockaddr_storage own; /* the address it came to, for servers; ss_family 0: unknown */
    struct stamps stamps;
};

/*
 * Turn timestamps on for a bound or connected socket. When the system refuses them the next lower
 * kind is taken and the reason written to why. @return the mode in force
 */
enum stamp_mode ictusi_stamp_enable(struct stamp_socket *socket, enum stamp_mode wanted,
                                    struct ictus_why *why);

/* Ask for the destination address of each packet, so that replies leave from it. */
void ictusi_stamp_want_own(const struct stamp_socket *socket, int family);

/*
 * Send a datagram; to may be NULL on a connected socket, own may be NULL. user gets the time just
 * before the system call. @return ICTUS_OK or ICTUS_ERR_IO with errno set
 */
int ictusi_stamp_send(struct stamp_socket *socket, const void *bytes, size_t length,
                      const struct stamp_datagram *answer, int64_t *user);

/*
 * Fetch one transmit stamp that is waiting. id gets the packet's number.
 * @return ICTUS_OK, or ICTUS_ERR_SAMPLES when none is waiting
 */
int ictusi_stamp_sent(const struct stamp_socket *socket, uint32_t *id, struct stamps *stamps);

/* Receive one datagram without waiting. @return ICTUS_OK, ICTUS_ERR_SAMPLES (none) or ICTUS_ERR_IO
 */
int ictusi_stamp_receive(const struct stamp_socket *socket, struct stamp_datagram *datagram);

/*
 * Make a network card stamp packets (SIOCSHWTSTAMP); all is needed by servers, which see requests
 * of any kind. phc gets the index of its clock. @return ICTUS_OK, ICTUS_ERR_UNSUPPORTED or
 * ICTUS_ERR_PERMISSION
 */
int ictusi_stamp_hardware(int fd, const char *interface, int *phc, struct ictus_why *why);

#endif
