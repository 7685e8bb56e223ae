/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The system calls of a process that lives in a simulated world. They are defined in the program
 * itself, so the linker takes them before the C library's. Without a world each behaves as if there
 * were no network and no time; sockets are descriptors of /dev/null, so that closing them is real.
 */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

/* What reading a clock takes, and how late a process wakes up. */
static const int64_t read_ns = 25;
static const double wake_ns = 1e4;
static const int64_t second = 1000000000;

static struct timespec spec_of(int64_t ns)
{
    const struct timespec t = {.tv_sec = ns / second, .tv_nsec = ns % second};
    return t;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    struct world *w = world_here;
    if (!w) {
        return (int)syscall(SYS_clock_gettime, id, t);
    }
    world_advance(w, w->now + read_ns);
    if (id == CLOCK_REALTIME) {
        *t = spec_of(w->epoch + (int64_t)llround(world_real(w)));
    } else if (id == CLOCK_MONOTONIC_RAW) {
        *t = spec_of((int64_t)llround(world_raw(w)));
    } else {
        /* CLOCK_MONOTONIC and CLOCK_BOOTTIME follow what the kernel was told, never its steps. */
        *t = spec_of((int64_t)llround(5e12 + world_real(w) - w->real_steps));
    }
    return 0;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *t, struct timespec *left)
{
    struct world *w = world_here;
    if (!w) {
        return (int)-syscall(SYS_clock_nanosleep, id, flags, t, left);
    }
    world_advance(w, w->now + t->tv_sec * second + t->tv_nsec);
    return 0;
}

static struct world_socket *socket_of(int fd)
{
    return world_here && fd >= 0 && fd < WORLD_SOCKETS && world_here->sockets[fd].open
               ? &world_here->sockets[fd]
               : NULL;
}

/* @return how many descriptors have something */
static int look(struct pollfd *events, nfds_t count)
{
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        const struct world_socket *s = socket_of(events[i].fd);
        events[i].revents = 0;
        if (s) {
            events[i].revents =
                (short)((s->inbox_count ? POLLIN : 0) | (s->stamp_count ? POLLERR : 0));
        }
        ready += events[i].revents != 0;
    }
    return ready;
}

int ppoll(struct pollfd *events, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    struct world *w = world_here;
    if (!w) {
        return (int)syscall(SYS_ppoll, events, count, timeout, mask, 8);
    }
    const int64_t end = timeout ? w->now + timeout->tv_sec * second + timeout->tv_nsec : INT64_MAX;
    for (;;) {
        const int ready = look(events, count);
        if (ready || w->now >= end) {
            /* Waking up takes a while: the application's stamps are that late. */
            world_advance(w, w->now + (int64_t)(wake_ns * ictusi_random_exponential(&w->rng)));
            return ready;
        }
        const int64_t next = world_next(w);
        world_advance(w, next < end ? next : end);
    }
}

int __ppoll_chk(struct pollfd *events, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t size);
int __ppoll_chk(struct pollfd *events, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t size)
{
    (void)size;
    return ppoll(events, count, timeout, mask);
}

int socket(int family, int type, int protocol)
{
    struct world *w = world_here;
    if (!w || (type & 0xf) != SOCK_DGRAM) {
        return (int)syscall(SYS_socket, family, type, protocol);
    }
    if (family != AF_INET) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fd < WORLD_SOCKETS) {
        memset(&w->sockets[fd], 0, sizeof(w->sockets[fd]));
        w->sockets[fd].open = true;
    }
    return fd;
}

int close(int fd)
{
    if (world_here && fd >= 0 && fd < WORLD_SOCKETS) {
        world_here->sockets[fd].open = false;
    }
    return (int)syscall(SYS_close, fd);
}

int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t length)
{
    struct world_socket *s = socket_of(fd);
    struct sockaddr_in at;
    if (!s) {
        return (int)syscall(SYS_connect, fd, to, length);
    }
    const struct sockaddr *plain = NULL;
    memcpy(&plain, &to, sizeof(plain));
    memcpy(&at, plain, sizeof(at));
    s->peer = ntohl(at.sin_addr.s_addr);
    s->port = ntohs(at.sin_port);
    return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    struct world_socket *s = socket_of(fd);
    if (!s) {
        return (int)syscall(SYS_setsockopt, fd, level, name, value, length);
    }
    s->stamps = s->stamps || (level == SOL_SOCKET && name == SO_TIMESTAMPING);
    return 0;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct world *w = world_here;
    struct world_socket *s = socket_of(fd);
    if (!s) {
        return syscall(SYS_sendmsg, fd, message, flags);
    }
    world_advance(w, w->now + (int64_t)(2e3 + 1e3 * ictusi_random_exponential(&w->rng)));
    world_send(w, fd, message->msg_iov->iov_base, message->msg_iov->iov_len);
    if (s->stamps && s->stamp_count < 8) {
        s->stamped[s->stamp_count].id = s->sent;
        s->stamped[s->stamp_count++].at = w->now;
    }
    s->sent++;
    return (ssize_t)message->msg_iov->iov_len;
}

/* Put a control message; @return where the next one goes */
static struct cmsghdr *put(struct msghdr *message, struct cmsghdr *head, int level, int type,
                           const void *data, size_t size)
{
    head->cmsg_level = level;
    head->cmsg_type = type;
    head->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(head), data, size);
    return CMSG_NXTHDR(message, head);
}

/* A kernel stamp of a true instant: CLOCK_REALTIME then. */
static struct scm_timestamping stamp_of(int64_t at)
{
    struct world *w = world_here;
    struct scm_timestamping stamps;
    const double age = (double)(w->now - at);
    memset(&stamps, 0, sizeof(stamps));
    /* The recent past lies in the same segment or just before it: linear is exact enough. */
    const double rate = 1.0 + 1e-9 * (w->frequency + w->kernel_frequency);
    stamps.ts[0] = spec_of(w->epoch + (int64_t)llround(world_real(w) - age * rate));
    return stamps;
}

static ssize_t receive_stamp(struct world_socket *s, struct msghdr *message)
{
    struct sock_extended_err record;
    if (!s->stamp_count) {
        errno = EAGAIN;
        return -1;
    }
    memset(message->msg_control, 0, message->msg_controllen);
    memset(&record, 0, sizeof(record));
    const struct scm_timestamping stamps = stamp_of(s->stamped[0].at);
    record.ee_origin = SO_EE_ORIGIN_TIMESTAMPING;
    record.ee_info = SCM_TSTAMP_SND;
    record.ee_data = s->stamped[0].id;
    struct cmsghdr *next =
        put(message, CMSG_FIRSTHDR(message), SOL_SOCKET, SCM_TIMESTAMPING, &stamps, sizeof(stamps));
    (void)put(message, next, IPPROTO_IP, IP_RECVERR, &record, sizeof(record));
    s->stamp_count--;
    memmove(s->stamped, s->stamped + 1, sizeof(s->stamped[0]) * (size_t)s->stamp_count);
    message->msg_controllen = CMSG_SPACE(sizeof(stamps)) + CMSG_SPACE(sizeof(record));
    return 0;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    struct world_socket *s = socket_of(fd);
    if (!s) {
        return syscall(SYS_recvmsg, fd, message, flags);
    }
    if (flags & MSG_ERRQUEUE) {
        return receive_stamp(s, message);
    }
    if (!s->inbox_count) {
        errno = EAGAIN;
        return -1;
    }
    const struct flight flight = s->inbox[0];
    s->inbox_count--;
    memmove(s->inbox, s->inbox + 1, sizeof(s->inbox[0]) * (size_t)s->inbox_count);
    const size_t room = message->msg_iov->iov_len;
    memcpy(message->msg_iov->iov_base, flight.bytes, flight.length < room ? flight.length : room);
    message->msg_namelen = 0;
    message->msg_controllen = s->stamps ? message->msg_controllen : 0;
    if (s->stamps) {
        const struct scm_timestamping stamps = stamp_of(flight.at);
        memset(message->msg_control, 0, message->msg_controllen);
        (void)put(message, CMSG_FIRSTHDR(message), SOL_SOCKET, SCM_TIMESTAMPING, &stamps,
                  sizeof(stamps));
        message->msg_controllen = CMSG_SPACE(sizeof(stamps));
    }
    return (ssize_t)flight.length;
}

ssize_t getrandom(void *bytes, size_t length, unsigned flags)
{
    struct world *w = world_here;
    if (!w) {
        return syscall(SYS_getrandom, bytes, length, flags);
    }
    for (size_t i = 0; i < length; i++) {
        ((uint8_t *)bytes)[i] = (uint8_t)ictusi_random_next(&w->rng);
    }
    return (ssize_t)length;
}

/* Steering sets the world's own CLOCK_REALTIME, never this machine's. */
int clock_adjtime(clockid_t id, struct timex *request)
{
    struct world *w = world_here;
    if (!w || id != CLOCK_REALTIME) {
        errno = EINVAL;
        return -1;
    }
    const bool single = (request->modes & ADJ_OFFSET_SINGLESHOT) == ADJ_OFFSET_SINGLESHOT;
    if (request->modes && !w->may_adjust && request->modes != ADJ_OFFSET_SS_READ) {
        errno = EPERM;
        return -1;
    }
    world_advance(w, w->now);
    const double before = world_real(w);
    w->real = before - (world_raw(w) - 5e12);
    w->slew_left = copysign(
        fmax(0.0, fabs(w->slew_left) - 5e5 * (double)(w->now - w->real_at) * 1e-9), w->slew_left);
    w->real_at = w->now;
    w->adjusted += request->modes != 0;
    if (single) {
        w->slew_left = (double)request->offset * 1e3;
        return TIME_OK;
    }
    if (request->modes & ADJ_FREQUENCY) {
        w->kernel_frequency = (double)request->freq / 65536.0 * 1e3;
    }
    if (request->modes & ADJ_SETOFFSET) {
        const double step = (double)request->time.tv_sec * 1e9 + (double)request->time.tv_usec;
        w->real += step;
        w->real_steps += step;
    }
    request->freq = lround(w->kernel_frequency * 65.536);
    return TIME_OK;
}

static int lookup(const char *node, uint32_t *addresses, int max)
{
    struct in_addr numeric;
    struct world *w = world_here;
    if (inet_pton(AF_INET, node, &numeric) == 1) {
        addresses[0] = ntohl(numeric.s_addr);
        return 1;
    }
    if (w->names_fail) {
        return 0;
    }
    /* "pool.test" is all servers, "one.test" the first that lives. */
    int count = 0;
    for (int i = 0; i < w->server_count && count < max; i++) {
        if (!w->servers[i].dead && (strncmp(node, "pool", 4) == 0 || count == 0)) {
            addresses[count++] = 0x0a000001 + (uint32_t)i;
        }
    }
    return count;
}

struct answer {
    struct addrinfo info;
    struct sockaddr_in at;
};

static int resolve(const char *node, const char *service, struct addrinfo **list)
{
    uint32_t addresses[WORLD_SERVERS];
    const int count = lookup(node, addresses, WORLD_SERVERS);
    struct addrinfo *head = NULL;
    if (!count) {
        return EAI_NONAME;
    }
    for (int i = count - 1; i >= 0; i--) {
        struct answer *a = calloc(1, sizeof(*a));
        if (!a) {
            abort();
        }
        a->at.sin_family = AF_INET;
        a->at.sin_port = htons((uint16_t)strtol(service, NULL, 10));
        a->at.sin_addr.s_addr = htonl(addresses[i]);
        a->info = (struct addrinfo){.ai_family = AF_INET,
                                    .ai_socktype = SOCK_DGRAM,
                                    .ai_addrlen = sizeof(a->at),
                                    .ai_addr = (struct sockaddr *)(void *)&a->at,
                                    .ai_next = head};
        head = &a->info;
    }
    *list = head;
    return 0;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    struct in_addr numeric;
    if (hints && (hints->ai_flags & AI_NUMERICHOST) && inet_pton(AF_INET, node, &numeric) != 1) {
        return EAI_NONAME;
    }
    return world_here ? resolve(node, service, list) : EAI_NONAME;
}

int getaddrinfo_a(int mode, struct gaicb *requests[], int count, struct sigevent *event)
{
    (void)mode;
    (void)event;
    for (int i = 0; i < count; i++) {
        requests[i]->__return =
            resolve(requests[i]->ar_name, requests[i]->ar_service, &requests[i]->ar_result);
    }
    return 0;
}

int gai_error(struct gaicb *request)
{
    return request->__return;
}

int gai_cancel(struct gaicb *request)
{
    (void)request;
    return EAI_ALLDONE;
}

void freeaddrinfo(struct addrinfo *list)
{
    while (list) {
        struct addrinfo *next = list->ai_next;
        free(list);
        list = next;
    }
}
