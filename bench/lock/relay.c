/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A path between two network namespaces with delay, jitter, asymmetry and loss: Ethernet frames are
 * carried between two TAP devices by this process. Order is kept.
 *   relay NAME_A NAME_B DELAY_AB JITTER_AB DELAY_BA JITTER_BA LOSS SEED
 * Delays and mean exponential jitters in microseconds, loss as a share. Makes the devices, prints
 * "ready", and runs until it is ended; whoever started it moves them into their namespaces.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { QUEUE = 1024, FRAME_BYTES = 2048 };

/* The last part of a wait is spun away: timers are not that exact. */
static const int64_t spin_ns = 60000;

struct frame {
    int64_t due;
    size_t length;
    uint8_t bytes[FRAME_BYTES];
};

struct lane {
    int from, to;
    double delay_ns, jitter_ns, loss;
    int64_t last_due;
    struct frame *queue;
    size_t head, count;
};

struct random {
    uint64_t state;
};

static double uniform(struct random *r)
{
    uint64_t x = r->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((x ^ (x >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int make_tap(const char *name)
{
    struct ifreq request;
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    memset(&request, 0, sizeof(request));
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    (void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0) {
        (void)fprintf(stderr, "relay: %s: %s\n", name, strerror(errno));
        exit(1);
    }
    return fd;
}

static void take(struct lane *lane, struct random *r)
{
    while (lane->count < QUEUE) {
        struct frame *frame = &lane->queue[(lane->head + lane->count) % QUEUE];
        const ssize_t length = read(lane->from, frame->bytes, sizeof(frame->bytes));
        if (length <= 0) {
            return;
        }
        const int64_t now = now_ns();
        if (uniform(r) < lane->loss) {
            continue;
        }
        frame->due = now + llround(lane->delay_ns - lane->jitter_ns * log(uniform(r)));
        if (frame->due < lane->last_due) {
            frame->due = lane->last_due;
        }
        lane->last_due = frame->due;
        frame->length = (size_t)length;
        lane->count++;
    }
}

static void deliver(struct lane *lane)
{
    while (lane->count && lane->queue[lane->head].due <= now_ns()) {
        const struct frame *frame = &lane->queue[lane->head];
        if (write(lane->to, frame->bytes, frame->length) < 0) {
            /* The other end is down: the frame is lost, as on a wire. */
        }
        lane->head = (lane->head + 1) % QUEUE;
        lane->count--;
    }
}

static int64_t next_due(const struct lane lanes[2])
{
    int64_t due = INT64_MAX;
    for (int i = 0; i < 2; i++) {
        if (lanes[i].count && lanes[i].queue[lanes[i].head].due < due) {
            due = lanes[i].queue[lanes[i].head].due;
        }
    }
    return due;
}

_Noreturn static void carry(struct lane lanes[2], struct random *r)
{
    for (;;) {
        const int64_t due = next_due(lanes);
        int64_t left = due == INT64_MAX ? 1000000000 : due - now_ns() - spin_ns;
        if (left < 0) {
            left = 0;
        }
        struct pollfd events[2] = {{.fd = lanes[0].from, .events = POLLIN},
                                   {.fd = lanes[1].from, .events = POLLIN}};
        const struct timespec pause = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        (void)ppoll(events, 2, &pause, NULL);
        for (int i = 0; i < 2; i++) {
            take(&lanes[i], r);
            deliver(&lanes[i]);
        }
    }
}

int main(int argc, char **argv)
{
    double value[5];
    struct lane lanes[2];
    if (argc != 9) {
        (void)fprintf(stderr, "usage: relay A B DELAY_AB JITTER_AB DELAY_BA JITTER_BA LOSS SEED\n");
        return 2;
    }
    for (int i = 0; i < 5; i++) {
        value[i] = strtod(argv[3 + i], NULL);
    }
    memset(lanes, 0, sizeof(lanes));
    struct random r = {.state = strtoull(argv[8], NULL, 10)};
    const int a = make_tap(argv[1]), b = make_tap(argv[2]);
    for (int i = 0; i < 2; i++) {
        lanes[i].from = i ? b : a;
        lanes[i].to = i ? a : b;
        lanes[i].delay_ns = value[2 * i] * 1e3;
        lanes[i].jitter_ns = value[2 * i + 1] * 1e3;
        lanes[i].loss = value[4];
        lanes[i].queue = calloc(QUEUE, sizeof(*lanes[i].queue));
        if (!lanes[i].queue) {
            return 1;
        }
    }
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    printf("ready\n");
    (void)fflush(stdout);
    carry(lanes, &r);
}
