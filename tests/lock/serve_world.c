/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The system calls of a server that lives in a simulated world. They are defined in the program
 * itself, so the linker takes them before the C library's. Without a world, and for descriptors
 * that are not sockets of the world, each call goes to the kernel.
 */
#include "serve_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct scene *scene_here;

static const int64_t second = 1000000000;
static const int64_t read_ns = 25; /* what reading a clock takes */

void scene_init(struct scene *s, uint64_t seed)
{
    memset(s, 0, sizeof(*s));
    ictusi_random_seed(&s->rng, seed, 20260);
    s->epoch = INT64_C(1780000000) * second; /* 2026-05-28T20:26:40Z */
    s->signals = -1;
    s->next_event = INT64_MAX;
}

double scene_chance(struct scene *s)
{
    return ictusi_random_uniform(&s->rng);
}

int64_t scene_utc(const struct scene *s, int64_t at)
{
    return s->epoch + at;
}

int64_t scene_raw(const struct scene *s, int64_t at)
{
    return INT64_C(5000) * second + at + llround(s->raw_rate * (double)at);
}

int64_t scene_real(const struct scene *s, int64_t at)
{
    return s->epoch + at + llround(s->real_offset + s->real_rate * (double)(at - s->real_at));
}

void scene_step(struct scene *s, double by_ns)
{
    s->real_offset += s->real_rate * (double)(s->now - s->real_at) + by_ns;
    s->real_steps += by_ns;
    s->real_at = s->now;
}

void scene_launch(struct scene *s, const struct scene_flight *flight)
{
    if (s->flight_count < SCENE_FLIGHTS) {
        s->flights[s->flight_count++] = *flight;
    }
}

void scene_client(int family, int client, struct sockaddr_storage *to, socklen_t *length)
{
    memset(to, 0, sizeof(*to));
    if (family == AF_INET) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(40000)};
        at.sin_addr.s_addr = htonl(0x0a000100U + (uint32_t)client);
        memcpy(to, &at, sizeof(at));
        *length = sizeof(at);
    } else {
        struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(40000)};
        at.sin6_addr.s6_addr[0] = 0xfd;
        at.sin6_addr.s6_addr[6] = (uint8_t)client; /* a network of its own: limits are by /64 */
        at.sin6_addr.s6_addr[15] = 1;
        memcpy(to, &at, sizeof(at));
        *length = sizeof(at);
    }
}

static void scene_deliver(struct scene *s)
{
    for (int i = 0; i < s->flight_count; i++) {
        if (s->flights[i].at <= s->now) {
            struct scene_socket *socket = &s->sockets[s->flights[i].socket];
            const int room = (int)(sizeof(socket->inbox) / sizeof(socket->inbox[0]));
            if (socket->open && socket->inbox_count < room) {
                s->flights[i].real = scene_chance(s) < s->stampless ? 0 : scene_real(s, s->now);
                socket->inbox[socket->inbox_count++] = s->flights[i];
            }
            s->flights[i--] = s->flights[--s->flight_count];
        }
    }
}

/* When something happens next without the server. */
static int64_t scene_next(const struct scene *s)
{
    int64_t next = s->next_event;
    for (int i = 0; i < s->flight_count; i++) {
        next = s->flights[i].at < next ? s->flights[i].at : next;
    }
    for (int k = 0; k < SCENE_SOCKETS; k++) {
        for (int i = 0; i < s->sockets[k].stamp_count; i++) {
            const int64_t at = s->sockets[k].stamps[i].at;
            next = at > s->now && at < next ? at : next;
        }
    }
    return next;
}

static void scene_advance(struct scene *s, int64_t to)
{
    for (int64_t next = scene_next(s); next <= to; next = scene_next(s)) {
        s->now = next > s->now ? next : s->now;
        scene_deliver(s);
        if (s->now >= s->next_event) {
            s->happen(s);
        }
    }
    s->now = to > s->now ? to : s->now;
}

static struct timespec spec_of(int64_t ns)
{
    const struct timespec t = {.tv_sec = ns / second, .tv_nsec = ns % second};
    return t;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    struct scene *s = scene_here;
    if (!s) {
        return (int)syscall(SYS_clock_gettime, id, t);
    }
    scene_advance(s, s->now + read_ns);
    if (id == CLOCK_REALTIME) {
        *t = spec_of(scene_real(s, s->now));
    } else if (id == CLOCK_MONOTONIC_RAW) {
        *t = spec_of(scene_raw(s, s->now));
    } else {
        *t = spec_of(scene_real(s, s->now) - llround(s->real_steps) - s->epoch + 7000 * second);
    }
    return 0;
}

static struct scene_socket *scene_socket(int fd)
{
    struct scene *s = scene_here;
    return s && fd >= 0 && fd < SCENE_DESCRIPTORS && s->socket_of[fd]
               ? &s->sockets[s->socket_of[fd] - 1]
               : NULL;
}

/* The stamp that a look at the error queue finds, or -1. */
static int stamp_waiting(const struct scene_socket *socket)
{
    for (int i = 0; i < socket->stamp_count; i++) {
        if (socket->stamps[i].at <= scene_here->now) {
            return i;
        }
    }
    return -1;
}

static int scene_look(struct pollfd *events, nfds_t count)
{
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        const struct scene_socket *socket = scene_socket(events[i].fd);
        events[i].revents = 0;
        if (socket) {
            events[i].revents = (short)((socket->inbox_count ? POLLIN : 0) |
                                        (stamp_waiting(socket) >= 0 ? POLLERR : 0));
        } else if (events[i].fd >= 0 && events[i].fd == scene_here->signals) {
            events[i].revents = (short)(scene_here->now >= scene_here->end ? POLLIN : 0);
        }
        ready += events[i].revents != 0;
    }
    return ready;
}

int poll(struct pollfd *events, nfds_t count, int timeout)
{
    struct scene *s = scene_here;
    if (!s) {
        return (int)syscall(SYS_poll, events, count, timeout);
    }
    s->taken(s, NULL);
    const int64_t end = s->now + timeout * INT64_C(1000000);
    if (scene_chance(s) < 0.001) {
        errno = EINTR;
        return -1;
    }
    for (;;) {
        const int ready = scene_look(events, count);
        if (ready || s->now >= end) {
            /* Waking up takes a while. */
            scene_advance(s, s->now + (int64_t)(1e4 * ictusi_random_exponential(&s->rng)));
            return ready;
        }
        int64_t next = scene_next(s);
        next = next < end ? next : end;
        scene_advance(s, next < s->end || s->now >= s->end ? next : s->end);
    }
}

int __poll_chk(struct pollfd *events, nfds_t count, int timeout, size_t size);
int __poll_chk(struct pollfd *events, nfds_t count, int timeout, size_t size)
{
    (void)size;
    return poll(events, count, timeout);
}

int socket(int family, int type, int protocol)
{
    struct scene *s = scene_here;
    if (!s || (type & 0xf) != SOCK_DGRAM) {
        return (int)syscall(SYS_socket, family, type, protocol);
    }
    const int which = family == AF_INET ? 0 : 1;
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || fd >= SCENE_DESCRIPTORS || s->sockets[which].open) {
        abort();
    }
    s->socket_of[fd] = which + 1;
    s->sockets[which].open = true;
    s->sockets[which].family = family;
    return fd;
}

int close(int fd)
{
    struct scene_socket *socket = scene_socket(fd);
    if (socket) {
        socket->open = false;
        scene_here->socket_of[fd] = 0;
    }
    return (int)syscall(SYS_close, fd);
}

int bind(int fd, __CONST_SOCKADDR_ARG to, socklen_t length)
{
    return scene_socket(fd) ? 0 : (int)syscall(SYS_bind, fd, to, length);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    return scene_socket(fd) ? 0 : (int)syscall(SYS_setsockopt, fd, level, name, value, length);
}

int signalfd(int fd, const sigset_t *mask, int flags)
{
    struct scene *s = scene_here;
    if (!s || fd >= 0) {
        return (int)syscall(SYS_signalfd4, fd, mask, 8, flags);
    }
    s->signals = open("/dev/null", O_RDWR | O_CLOEXEC);
    return s->signals;
}

/* To which of the server's addresses an answer says that it belongs. */
static int scene_own(const struct msghdr *message)
{
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head;
         head = CMSG_NXTHDR((struct msghdr *)(uintptr_t)message, head)) {
        if (head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(head), sizeof(info));
            return (int)(ntohl(info.ipi_spec_dst.s_addr) & 0xff);
        }
        if (head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, CMSG_DATA(head), sizeof(info));
            return info.ipi6_addr.s6_addr[15];
        }
    }
    return -1;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct scene *s = scene_here;
    struct scene_socket *socket = scene_socket(fd);
    if (!socket) {
        return syscall(SYS_sendmsg, fd, message, flags);
    }
    if (scene_chance(s) < s->send_fails) {
        errno = ENOBUFS;
        *s->send_failed = true;
        return -1;
    }
    scene_advance(s, s->now + (int64_t)(2e3 + 1e3 * ictusi_random_exponential(&s->rng)));
    s->answered(s, s->socket_of[fd] - 1, message->msg_name, scene_own(message),
                message->msg_iov->iov_base, message->msg_iov->iov_len, s->now);
    const int room = (int)(sizeof(socket->stamps) / sizeof(socket->stamps[0]));
    if (socket->stamp_count < room && scene_chance(s) >= s->stamp_loss) {
        const double late = scene_chance(s) < s->stamp_late ? 5e6 : 1e3;
        socket->stamps[socket->stamp_count++] = (struct scene_stamp){
            .id = socket->sent,
            .real = scene_real(s, s->now),
            .at = s->now + (int64_t)(late * ictusi_random_exponential(&s->rng))};
    }
    socket->sent++;
    return (ssize_t)message->msg_iov->iov_len;
}

/* Put a control message; @return where the next one goes */
static struct cmsghdr *scene_put(struct msghdr *message, struct cmsghdr *head, int level, int type,
                                 const void *data, size_t size)
{
    head->cmsg_level = level;
    head->cmsg_type = type;
    head->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(head), data, size);
    return CMSG_NXTHDR(message, head);
}

/* What the kernel stamped: CLOCK_REALTIME, as it was at that instant. Whoever set it since has
 * changed what is read now, not the stamp. */
static struct scm_timestamping scene_stamp_of(int64_t real)
{
    struct scm_timestamping stamps;
    memset(&stamps, 0, sizeof(stamps));
    stamps.ts[0] = spec_of(real);
    return stamps;
}

static ssize_t scene_receive_stamp(struct scene_socket *socket, struct msghdr *message)
{
    struct sock_extended_err record;
    const int which = stamp_waiting(socket);
    if (which < 0) {
        errno = EAGAIN;
        return -1;
    }
    const struct scene_stamp stamp = socket->stamps[which];
    socket->stamps[which] = socket->stamps[--socket->stamp_count];
    memset(message->msg_control, 0, message->msg_controllen);
    memset(&record, 0, sizeof(record));
    const struct scm_timestamping stamps = scene_stamp_of(stamp.real);
    record.ee_origin = SO_EE_ORIGIN_TIMESTAMPING;
    record.ee_info = SCM_TSTAMP_SND;
    record.ee_data = stamp.id;
    struct cmsghdr *next = scene_put(message, CMSG_FIRSTHDR(message), SOL_SOCKET, SCM_TIMESTAMPING,
                                     &stamps, sizeof(stamps));
    if (socket->family == AF_INET) {
        (void)scene_put(message, next, IPPROTO_IP, IP_RECVERR, &record, sizeof(record));
    } else {
        (void)scene_put(message, next, IPPROTO_IPV6, IPV6_RECVERR, &record, sizeof(record));
    }
    message->msg_controllen = CMSG_SPACE(sizeof(stamps)) + CMSG_SPACE(sizeof(record));
    return 0;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    struct scene *s = scene_here;
    struct scene_socket *socket = scene_socket(fd);
    if (!socket) {
        return syscall(SYS_recvmsg, fd, message, flags);
    }
    if (flags & MSG_ERRQUEUE) {
        return scene_receive_stamp(socket, message);
    }
    s->taken(s, NULL);
    if (!socket->inbox_count) {
        errno = EAGAIN;
        return -1;
    }
    const struct scene_flight flight = socket->inbox[0];
    socket->inbox_count--;
    memmove(socket->inbox, socket->inbox + 1,
            sizeof(socket->inbox[0]) * (size_t)socket->inbox_count);
    const size_t room = message->msg_iov->iov_len;
    memcpy(message->msg_iov->iov_base, flight.bytes, flight.length < room ? flight.length : room);
    struct sockaddr_storage from;
    scene_client(socket->family, flight.client, &from, &message->msg_namelen);
    memcpy(message->msg_name, &from, message->msg_namelen);
    memset(message->msg_control, 0, message->msg_controllen);
    struct cmsghdr *head = CMSG_FIRSTHDR(message);
    size_t used = 0;
    if (flight.real) {
        const struct scm_timestamping stamps = scene_stamp_of(flight.real);
        head = scene_put(message, head, SOL_SOCKET, SCM_TIMESTAMPING, &stamps, sizeof(stamps));
        used += CMSG_SPACE(sizeof(stamps));
    }
    if (socket->family == AF_INET) {
        struct in_pktinfo info = {.ipi_ifindex = 1};
        info.ipi_addr.s_addr = htonl(0x0a000000U + (uint32_t)flight.address);
        (void)scene_put(message, head, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
        used += CMSG_SPACE(sizeof(info));
    } else {
        struct in6_pktinfo info = {.ipi6_ifindex = 1};
        info.ipi6_addr.s6_addr[0] = 0xfd;
        info.ipi6_addr.s6_addr[15] = (uint8_t)flight.address;
        (void)scene_put(message, head, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
        used += CMSG_SPACE(sizeof(info));
    }
    message->msg_controllen = used;
    s->taken(s, &flight);
    return (ssize_t)flight.length;
}

ssize_t getrandom(void *bytes, size_t length, unsigned flags)
{
    struct scene *s = scene_here;
    if (!s) {
        return syscall(SYS_getrandom, bytes, length, flags);
    }
    for (size_t i = 0; i < length; i++) {
        ((uint8_t *)bytes)[i] = (uint8_t)ictusi_random_next(&s->rng);
    }
    return (ssize_t)length;
}
