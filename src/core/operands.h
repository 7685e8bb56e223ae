/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a collective was given besides its count: the datatype, the operator of a reduction, and
 * whether a buffer was MPI_IN_PLACE. Libraries choose algorithms by these and compute at different
 * speeds, so whoever repeats a call needs them. They fit into a number, in which 0 means "not
 * known" for each part:
 *
 *     bits 0-7 datatype, 8-15 operator, 16-17 in place (1: no, 2: yes)
 *
 * The numbers are in archives, so they never change their meaning.
 */
#ifndef ICTUS_CORE_OPERANDS_H
#define ICTUS_CORE_OPERANDS_H

#include <stdint.h>

/* Predefined datatypes, under the names that ictus bench has for them. */
enum operands_type {
    OPERANDS_TYPE_UNKNOWN,
    OPERANDS_CHAR,
    OPERANDS_BYTE,
    OPERANDS_INT8,
    OPERANDS_UINT8,
    OPERANDS_INT16,
    OPERANDS_UINT16,
    OPERANDS_INT32,
    OPERANDS_INT,
    OPERANDS_UINT32,
    OPERANDS_INT64,
    OPERANDS_UINT64,
    OPERANDS_FLOAT,
    OPERANDS_DOUBLE,
    OPERANDS_LONG_DOUBLE,
    OPERANDS_FLOAT_COMPLEX,
    OPERANDS_COMPLEX,
    OPERANDS_BOOL,
    OPERANDS_2INT,
    OPERANDS_LONG_INT,
    OPERANDS_FLOAT_INT,
    OPERANDS_DOUBLE_INT,
    OPERANDS_TYPES
};

/* MPI's own operators; those of programs are not known. */
enum operands_reduction {
    OPERANDS_REDUCTION_UNKNOWN,
    OPERANDS_SUM,
    OPERANDS_PROD,
    OPERANDS_MAX,
    OPERANDS_MIN,
    OPERANDS_LAND,
    OPERANDS_LOR,
    OPERANDS_LXOR,
    OPERANDS_BAND,
    OPERANDS_BOR,
    OPERANDS_BXOR,
    OPERANDS_MINLOC,
    OPERANDS_MAXLOC,
    OPERANDS_REDUCTIONS
};

enum operands_place { OPERANDS_PLACE_UNKNOWN, OPERANDS_APART, OPERANDS_IN_PLACE };

static inline uint32_t operands_make(enum operands_type type, enum operands_reduction reduction,
                                     enum operands_place place)
{
    return (uint32_t)type | (uint32_t)reduction << 8 | (uint32_t)place << 16;
}

static inline enum operands_place operands_place(uint32_t operands)
{
    return (enum operands_place)(operands >> 16 & 3);
}

/* The names; NULL: not known. Static. */
const char *ictusi_operands_datatype(uint32_t operands);
const char *ictusi_operands_reduction(uint32_t operands);

/* The number of a call with these names; a part without a name, or with an unknown one, is 0. */
uint32_t ictusi_operands_named(const char *datatype, const char *reduction);

/* The parts that both have; what differs becomes unknown. */
uint32_t ictusi_operands_common(uint32_t a, uint32_t b);

/*
 * Those of a call, from two of its members: as above, but a call is in place if any member's is,
 * since only the root's is in rooted operations.
 */
uint32_t ictusi_operands_join(uint32_t a, uint32_t b);

#endif
