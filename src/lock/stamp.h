/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram sockets whose packets have timestamps: taken by the application, by the kernel (M00's
 * revised exchange, figure 3, by SO_TIMESTAMPING), or by the network card. All stamps here are
 * CLOCK_REALTIME in ns, or 0 if there is none. Hardware stamps are by the card's own clock.
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
    enum stamp_mode mode; /* the mode in use, which may be less accurate than requested */
    uint32_t sent;        /* packets sent; the kernel numbers them in the same way */
};

/* The stamps of one packet. */
struct stamps {
    int64_t user;
    int64_t kernel;
    int64_t hardware;
};

struct stamp_datagram {
    uint8_t *bytes;
    size_t size;
    size_t length; /* as received; larger than size if truncated */
    struct sockaddr_storage peer;
    socklen_t peer_length;
    struct sockaddr_storage
        own; /* the server's address that it was sent to; ss_family 0: unknown */
    struct stamps stamps;
};

/* Enable timestamps for a bound or connected socket. If the system refuses them, the next less
 * accurate kind is used and `why` gives the reason. @return the mode in use */
enum stamp_mode ictusi_stamp_enable(struct stamp_socket *socket, enum stamp_mode wanted,
                                    struct ictus_why *why);

/* Request the destination address of each packet, so that answers can be sent from it. */
void ictusi_stamp_want_own(const struct stamp_socket *socket, int family);

/*
 * Send a datagram. `answer` is the datagram that it answers, or NULL on a connected socket. *user
 * is the time just before the system call. @return ICTUS_OK, or ICTUS_ERR_IO with errno set
 */
int ictusi_stamp_send(struct stamp_socket *socket, const void *bytes, size_t length,
                      const struct stamp_datagram *answer, int64_t *user);

/* Fetch one waiting transmit stamp. *id is the number of its packet. @return ICTUS_OK, or
 * ICTUS_ERR_SAMPLES if none is waiting */
int ictusi_stamp_sent(const struct stamp_socket *socket, uint32_t *id, struct stamps *stamps);

/* Receive one datagram without waiting. @return ICTUS_OK, ICTUS_ERR_SAMPLES (none) or
 * ICTUS_ERR_IO */
int ictusi_stamp_receive(const struct stamp_socket *socket, struct stamp_datagram *datagram);

/* Make a network card stamp all packets (SIOCSHWTSTAMP). *phc is the index of its clock. @return
 * ICTUS_OK, ICTUS_ERR_UNSUPPORTED or ICTUS_ERR_PERMISSION */
int ictusi_stamp_hardware(int fd, const char *interface, int *phc, struct ictus_why *why);

#endif
