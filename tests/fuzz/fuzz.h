/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the fuzz targets share. A target is one file fuzz_NAME.c with LLVMFuzzerTestOneInput(); its
 * seeds are in seeds/NAME. Targets need no MPI launcher: nothing here initialises MPI.
 */
#ifndef ICTUS_TESTS_FUZZ_H
#define ICTUS_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t length, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t room, unsigned seed);

/* The input as a text: a copy that ends with NUL; free it. Never NULL. */
char *fuzz_text(const uint8_t *bytes, size_t length);

/* A file that holds the input, in memory; the name is good until the next call. Never NULL. */
const char *fuzz_file(const uint8_t *bytes, size_t length);

/*
 * Several files in one input: a letter that names the file (see fuzz_unpack()), three bytes of
 * length, the first lowest, the file's bytes; again. A length beyond the end is cut.
 */
struct fuzz_part {
    char letter;
    const uint8_t *bytes;
    size_t length;
};

enum { FUZZ_PARTS_MAX = 32 };

/* @return how many parts */
size_t fuzz_parts(const uint8_t *bytes, size_t length, struct fuzz_part *parts);

/*
 * A directory of this process alone, in memory where there is such a place, gone at the end. Never
 * NULL.
 */
const char *fuzz_directory(void);

/* Write directory/name. */
void fuzz_put(const char *directory, const char *name, const void *bytes, size_t length);

/* Remove everything in a directory, not itself. */
void fuzz_empty(const char *directory);

/* A mutator that changes one part and leaves the frame around it whole. */
size_t fuzz_mutate_parts(uint8_t *bytes, size_t length, size_t room, unsigned seed);

/* End the run: something is not as it must be. */
void fuzz_require(bool good);

#endif
