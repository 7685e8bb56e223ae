/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network card that stamps packets by its own clock. It is found by a socket's address. Its clock
 * is compared with CLOCK_MONOTONIC_RAW at each exchange, so that its stamps can be converted.
 */
#ifndef ICTUS_LOCK_CARD_H
#define ICTUS_LOCK_CARD_H

#include "page/timebase.h"
#include "reference_phc.h"

#include <ictus/error.h>

struct card {
    int fd;                   /* file descriptor of its clock, or -1 */
    int64_t device_minus_raw; /* from the last comparison */
};

/* Find the interface that has the socket's own address. @return false if there is none */
bool ictusi_card_interface(int socket_fd, char name[16]);

/* Switch on stamping for the interface of a connected socket, and open the card's clock. */
int ictusi_card_open(int socket_fd, struct card *card, struct ictus_why *why);

void ictusi_card_close(struct card *card);

/* Compare the card's clock with the raw clock now. @return ICTUS_OK or ICTUS_ERR_IO */
int ictusi_card_compare(const struct device_calls *calls, struct card *card, struct timebase *base);

/* Convert a stamp of the card, taken within the last second, to CLOCK_MONOTONIC_RAW. */
static inline int64_t ictusi_card_raw(const struct card *card, int64_t hardware)
{
    return hardware - card->device_minus_raw;
}

#endif
