/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network card that stamps packets by its own clock: found from a socket's address, its clock
 * compared with CLOCK_MONOTONIC_RAW at each exchange, so that its stamps can be moved there.
 */
#ifndef ICTUS_LOCK_CARD_H
#define ICTUS_LOCK_CARD_H

#include "page/timebase.h"
#include "reference_phc.h"

#include <ictus/error.h>

struct card {
    int fd;                   /* of its clock, -1: none */
    int64_t device_minus_raw; /* as compared last */
};

/* The name of the interface that has the socket's own address. @return false when none has */
bool ictusi_card_interface(int socket_fd, char name[16]);

/* Turn stamping on for the interface behind a connected socket and open the card's clock. */
int ictusi_card_open(int socket_fd, struct card *card, struct ictus_why *why);

void ictusi_card_close(struct card *card);

/* Compare the card's clock now. @return ICTUS_OK or ICTUS_ERR_IO */
int ictusi_card_compare(const struct device_calls *calls, struct card *card, struct timebase *base);

/* A stamp of the card's, taken within the last second, as CLOCK_MONOTONIC_RAW. */
static inline int64_t ictusi_card_raw(const struct card *card, int64_t hardware)
{
    return hardware - card->device_minus_raw;
}

#endif
