/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stack frames of code that was compiled without frame pointers: the size of a frame where it calls
 * another function, from the object's own unwind table (.eh_frame: System V ABI, AMD64 supplement
 * 3.7 and 4.2.4; DWARF 5, 6.4). Nothing is unwound. A size found once applies to every call that
 * returns to the same address.
 */
#ifndef ICTUS_TRACER_FRAMES_H
#define ICTUS_TRACER_FRAMES_H

#include <stdint.h>

/*
 * The number of 8-byte words between the stack pointer after a call has returned to an address and
 * the end of the frame that it returned to. The last word is the return address of that frame's
 * function. -1: unknown, or not always the same. Always -1 except on x86-64.
 */
int64_t ictusi_frame_words(uint64_t address);

#endif
