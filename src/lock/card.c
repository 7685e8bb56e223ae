/* SPDX-License-Identifier: BSD-3-Clause */
/* Network cards with clocks of their own. */
#include "card.h"

#include "stamp.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool card_same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (!a || a->sa_family != b->sa_family) {
        return false;
    }
    if (a->sa_family == AF_INET) {
        return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
                      &((const struct sockaddr_in *)(const void *)b)->sin_addr,
                      sizeof(struct in_addr)) == 0;
    }
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

bool ictusi_card_interface(int socket_fd, char name[16])
{
    struct sockaddr_storage own;
    socklen_t length = sizeof(own);
    struct ifaddrs *list = NULL;
    bool found = false;
    memset(&own, 0, sizeof(own));
    if (getsockname(socket_fd, (struct sockaddr *)&own, &length) < 0 || getifaddrs(&list) < 0) {
        return false;
    }
    for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
        if (card_same_address(i->ifa_addr, (const struct sockaddr *)&own)) {
            (void)snprintf(name, 16, "%s", i->ifa_name);
            found = true;
        }
    }
    freeifaddrs(list);
    return found;
}

/*
 * The driver's own number of the clock (phc_index of ETHTOOL_GET_TS_INFO) identifies the device. A
 * machine with several cards has several clocks, and another card's clock would be off by an
 * arbitrary amount.
 */
int ictusi_card_open(int socket_fd, struct card *card, struct ictus_why *why)
{
    char interface[16];
    char path[32];
    int index = -1;
    card->fd = -1;
    if (!ictusi_card_interface(socket_fd, interface)) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "no interface has the socket's address; using kernel time stamps");
    }
    const int err = ictusi_stamp_hardware(socket_fd, interface, &index, why);
    if (err) {
        return err;
    }
    (void)snprintf(path, sizeof(path), "/dev/ptp%d", index);
    card->fd = open(path, O_RDWR | O_CLOEXEC);
    return card->fd >= 0 ? ICTUS_OK
                         : ictus_because(why, ICTUS_ERR_PERMISSION, "cannot open %s: %s", path,
                                         strerror(errno));
}

void ictusi_card_close(struct card *card)
{
    if (card->fd >= 0) {
        (void)close(card->fd);
    }
    card->fd = -1;
}

/* Measure the card's clock minus the raw clock in ns. Both run freely, so the difference holds
 * only for stamps of nearly the same time and is measured again for each exchange. */
int ictusi_card_compare(const struct device_calls *calls, struct card *card, struct timebase *base)
{
    struct sample sample;
    /* Only the difference matters, so the time scale of the card is irrelevant. */
    const int got = ictusi_phc_read(calls, card->fd, base, 0, &sample);
    if (got < 0) {
        return got;
    }
    card->device_minus_raw = sample.offset_ns;
    return ICTUS_OK;
}
