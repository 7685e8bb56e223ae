/* SPDX-License-Identifier: BSD-3-Clause */
/* Timestamped datagram sockets. */
#include "stamp.h"

#include "page/timebase.h"

#include <errno.h>
#include <ictus/text.h>
#include <linux/errqueue.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

enum { CONTROL_BYTES = 512, SENT_BYTES = 256 };

/* Room for control messages, aligned for their header. */
union control {
    char bytes[CONTROL_BYTES];
    struct cmsghdr header;
};

/* OPT_ID numbers the transmit stamps, because they return later and in any order. OPT_TSONLY
 * leaves the bytes of the packet out of the error queue, where they would need room. */
static int flags_of(enum stamp_mode mode)
{
    int flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
                SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
                SOF_TIMESTAMPING_OPT_TSONLY;
    if (mode == STAMP_HARDWARE) {
        flags |= SOF_TIMESTAMPING_RAW_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
                 SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_OPT_TX_SWHW;
    }
    return flags;
}

/*
 * Hardware stamps are free of the kernel's delays, the kernel's stamps are free of the scheduler's,
 * and user stamps have both. The best mode that the system permits is used. Modes are numbered by
 * increasing accuracy, so mode-- is the next best.
 */
enum stamp_mode ictusi_stamp_enable(struct stamp_socket *socket, enum stamp_mode wanted,
                                    struct ictus_why *why)
{
    socket->mode = STAMP_USER;
    socket->sent = 0;
    for (enum stamp_mode mode = wanted; mode != STAMP_USER; mode--) {
        const int flags = flags_of(mode);
        if (setsockopt(socket->fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) == 0) {
            socket->mode = mode;
            break;
        }
        (void)ictus_because(why, ICTUS_ERR_PERMISSION,
                            "the system refuses %s time stamps (%s); using less accurate ones",
                            mode == STAMP_HARDWARE ? "hardware" : "kernel", strerror(errno));
    }
    return socket->mode;
}

void ictusi_stamp_want_own(const struct stamp_socket *socket, int family)
{
    const int on = 1;
    if (family == AF_INET) {
        (void)setsockopt(socket->fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
    } else {
        (void)setsockopt(socket->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
    }
}

/*
 * Send an answer from the address to which the request was sent. Otherwise the routing table
 * chooses, and on a machine with several addresses the client drops an answer from an address that
 * it did not ask.
 */
static void stamp_put_own(struct msghdr *message, union control *control,
                          const struct sockaddr *own)
{
    memset(control, 0, sizeof(*control));
    message->msg_control = control->bytes;
    if (own->sa_family == AF_INET) {
        struct in_pktinfo info = {.ipi_ifindex = 0};
        info.ipi_spec_dst = ((const struct sockaddr_in *)(const void *)own)->sin_addr;
        message->msg_controllen = CMSG_SPACE(sizeof(info));
        struct cmsghdr *head = CMSG_FIRSTHDR(message);
        head->cmsg_level = IPPROTO_IP;
        head->cmsg_type = IP_PKTINFO;
        head->cmsg_len = CMSG_LEN(sizeof(info));
        memcpy(CMSG_DATA(head), &info, sizeof(info));
    } else {
        struct in6_pktinfo info = {.ipi6_ifindex = 0};
        info.ipi6_addr = ((const struct sockaddr_in6 *)(const void *)own)->sin6_addr;
        message->msg_controllen = CMSG_SPACE(sizeof(info));
        struct cmsghdr *head = CMSG_FIRSTHDR(message);
        head->cmsg_level = IPPROTO_IPV6;
        head->cmsg_type = IPV6_PKTINFO;
        head->cmsg_len = CMSG_LEN(sizeof(info));
        memcpy(CMSG_DATA(head), &info, sizeof(info));
    }
}

/* *user is CLOCK_REALTIME in ns before the call. It is the least accurate of the stamps and the
 * only one that is always available. */
int ictusi_stamp_send(struct stamp_socket *socket, const void *bytes, size_t length,
                      const struct stamp_datagram *answer, int64_t *user)
{
    union control control;
    struct sockaddr_storage peer;
    struct iovec io = {.iov_len = length};
    struct msghdr message = {.msg_iov = &io, .msg_iovlen = 1};
    memcpy(&io.iov_base, &bytes,
           sizeof(bytes)); /* sendmsg() does not write to it, whatever the type says */
    if (answer) {
        peer = answer->peer;
        message.msg_name = &peer;
        message.msg_namelen = answer->peer_length;
        if (answer->own.ss_family == AF_INET || answer->own.ss_family == AF_INET6) {
            stamp_put_own(&message, &control, (const struct sockaddr *)&answer->own);
        }
    }
    *user = ictusi_timebase_real_now();
    if (sendmsg(socket->fd, &message, 0) < 0) {
        return ICTUS_ERR_IO;
    }
    socket->sent++;
    return ICTUS_OK;
}

static int64_t ns_of(const struct timespec *t)
{
    return (int64_t)t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
}

/* scm_timestamping has three: [0] is the kernel's, [1] is no longer used, [2] is the card's. */
static void stamps_take(const struct cmsghdr *head, struct stamps *stamps)
{
    struct scm_timestamping found;
    memcpy(&found, CMSG_DATA(head), sizeof(found));
    if (ns_of(&found.ts[0])) {
        stamps->kernel = ns_of(&found.ts[0]);
    }
    if (ns_of(&found.ts[2])) {
        stamps->hardware = ns_of(&found.ts[2]);
    }
}

static bool stamp_is_stamp(const struct cmsghdr *head)
{
    return head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_TIMESTAMPING;
}

/*
 * Read the number of a transmit stamp's packet from the error record next to it. ee_data counts the
 * datagrams of this socket from 0, starting when stamps were enabled. SCM_TSTAMP_SND is the time at
 * which the packet left. SCM_TSTAMP_SCHED, which is earlier by the queueing time, is not requested.
 */
static bool stamp_take_number(const struct cmsghdr *head, uint32_t *id)
{
    const bool v4 = head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_RECVERR;
    const bool v6 = head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_RECVERR;
    struct sock_extended_err record;
    if (!v4 && !v6) {
        return false;
    }
    memcpy(&record, CMSG_DATA(head), sizeof(record));
    if (record.ee_origin != SO_EE_ORIGIN_TIMESTAMPING || record.ee_info != SCM_TSTAMP_SND) {
        return false;
    }
    *id = record.ee_data;
    return true;
}

/* The stamp of a packet arrives in the error queue after the packet has left. Records of other
 * origin, such as ICMP errors, are skipped. */
int ictusi_stamp_sent(const struct stamp_socket *socket, uint32_t *id, struct stamps *stamps)
{
    for (;;) {
        union control control;
        uint8_t bytes[SENT_BYTES];
        struct iovec io = {.iov_base = bytes, .iov_len = sizeof(bytes)};
        struct msghdr message = {.msg_iov = &io,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof(control.bytes)};
        bool numbered = false;
        if (recvmsg(socket->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            return ICTUS_ERR_SAMPLES;
        }
        memset(stamps, 0, sizeof(*stamps));
        for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head;
             head = CMSG_NXTHDR(&message, head)) {
            if (stamp_is_stamp(head)) {
                stamps_take(head, stamps);
            } else {
                numbered = stamp_take_number(head, id) || numbered;
            }
        }
        if (numbered && (stamps->kernel || stamps->hardware)) {
            return ICTUS_OK;
        }
    }
}

/* Note to which of the machine's addresses the datagram was sent. */
static void stamp_take_own(const struct cmsghdr *head, struct sockaddr_storage *own)
{
    if (head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_PKTINFO) {
        struct in_pktinfo info;
        struct sockaddr_in *address = (struct sockaddr_in *)(void *)own;
        memcpy(&info, CMSG_DATA(head), sizeof(info));
        address->sin_family = AF_INET;
        address->sin_addr = info.ipi_addr;
    } else if (head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_PKTINFO) {
        struct in6_pktinfo info;
        struct sockaddr_in6 *address = (struct sockaddr_in6 *)(void *)own;
        memcpy(&info, CMSG_DATA(head), sizeof(info));
        address->sin6_family = AF_INET6;
        address->sin6_addr = info.ipi6_addr;
    }
}

/*
 * Receive a datagram and the kernel's stamps. With MSG_TRUNC the length is reported even if the
 * datagram does not fit. The user stamp is taken after the call, so it is late by the scheduler's
 * delay. The kernel's stamp of the same datagram is not.
 */
int ictusi_stamp_receive(const struct stamp_socket *socket, struct stamp_datagram *datagram)
{
    union control control;
    struct iovec io = {.iov_base = datagram->bytes, .iov_len = datagram->size};
    struct msghdr message = {.msg_name = &datagram->peer,
                             .msg_namelen = sizeof(datagram->peer),
                             .msg_iov = &io,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    const ssize_t length = recvmsg(socket->fd, &message, MSG_DONTWAIT | MSG_TRUNC);
    memset(&datagram->stamps, 0, sizeof(datagram->stamps));
    datagram->stamps.user = ictusi_timebase_real_now();
    if (length < 0) {
        return errno == EAGAIN || errno == EINTR ? ICTUS_ERR_SAMPLES : ICTUS_ERR_IO;
    }
    datagram->length = (size_t)length;
    datagram->peer_length = message.msg_namelen;
    datagram->own.ss_family = AF_UNSPEC;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
        if (stamp_is_stamp(head)) {
            stamps_take(head, &datagram->stamps);
        } else {
            stamp_take_own(head, &datagram->own);
        }
    }
    return ICTUS_OK;
}

/* The card stamps all packets (FILTER_ALL), because filters for PTP would not match NTP packets. */
int ictusi_stamp_hardware(int fd, const char *interface, int *phc, struct ictus_why *why)
{
    struct ifreq request;
    struct ethtool_ts_info info = {.cmd = ETHTOOL_GET_TS_INFO};
    struct hwtstamp_config config = {.tx_type = HWTSTAMP_TX_ON, .rx_filter = HWTSTAMP_FILTER_ALL};
    memset(&request, 0, sizeof(request));
    (void)strncpy(request.ifr_name, interface, sizeof(request.ifr_name) - 1);
    request.ifr_data = (char *)&info;
    if (ioctl(fd, SIOCETHTOOL, &request) < 0 || info.phc_index < 0) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED, "the interface %s has no clock of its own",
                             interface);
    }
    const int phc_index = info.phc_index;
    request.ifr_data = (char *)&config;
    if (ioctl(fd, SIOCSHWTSTAMP, &request) < 0) {
        return ictus_because(why, errno == EPERM ? ICTUS_ERR_PERMISSION : ICTUS_ERR_UNSUPPORTED,
                             "the interface %s cannot time-stamp packets: %s", interface,
                             strerror(errno));
    }
    *phc = phc_index;
    return ICTUS_OK;
}
