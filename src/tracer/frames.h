/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stack frames of code that was compiled without frame pointers: how large a frame is where it
 * calls another function, as the object's own table for unwinding says (.eh_frame: System V ABI,
 * AMD64 supplement 3.7 and 4.2.4; DWARF 5, 6.4). Nothing is unwound: what is found once holds for
 * each call that returns to the same address.
 */
#ifndef ICTUS_TRACER_FRAMES_H
#define ICTUS_TRACER_FRAMES_H

#include <stdint.h>

/*
 * How many words of 8 bytes lie between the stack pointer, when a call has returned to an address,
 * and the end of the frame that it returned to; the last of them is the address to which that
 * frame's function returns. -1: not known, or not the same each time. Always -1 but on x86-64.
 */
int64_t ictusi_frame_words(uint64_t address);

#endif
