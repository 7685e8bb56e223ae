/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Specifications: "name(child,child):key=value,key=value". This grammar names clocks, algorithms
 * and their parameters, on the command line and in the library. A parameter is a row of data, from
 * which the parser fills the caller's options structure.
 */
#ifndef ICTUS_CORE_SPEC_H
#define ICTUS_CORE_SPEC_H

#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>

enum spec_type {
    SPEC_INT,     /* int64_t */
    SPEC_REAL,    /* double */
    SPEC_SECONDS, /* double, seconds */
    SPEC_RATIO,   /* double, dimensionless */
    SPEC_BOOL,    /* bool: 0, 1, yes, no, true, false, on, off */
    SPEC_CHOICE,  /* int: index into choices */
    SPEC_TEXT     /* struct spec_text: a name or a list that its owner parses */
};

enum { SPEC_TEXT_MAX = 255, SPEC_CHILDREN_MAX = 8 };

struct spec_text {
    char text[SPEC_TEXT_MAX + 1];
};

struct spec_param {
    const char *name;
    enum spec_type type;
    size_t offset;              /* of the member in the options structure */
    const char *fallback;       /* the default, as text */
    double min, max;            /* inclusive; ignored for BOOL, CHOICE and TEXT */
    const char *const *choices; /* for CHOICE, NULL-terminated */
    const char *help;
};

/* A specification split into its parts, whose values are still text. */
struct spec {
    char name[64];
    struct spec_text children[SPEC_CHILDREN_MAX];
    int child_count;
    char options[1024]; /* "key=value,key=value", possibly empty */
};

/* Split a text. Errors: ICTUS_ERR_SPEC. */
int ictusi_spec_split(const char *text, struct spec *spec, struct ictus_why *why);

/*
 * Fill an options structure: first the defaults, and then the given values. params ends with a NULL
 * name. Errors: ICTUS_ERR_SPEC; the reason names the option and its possible values. The structure
 * may then be partly filled.
 */
int ictusi_spec_read(const struct spec *spec, const struct spec_param *params, void *options,
                     struct ictus_why *why);

/* 64-bit FNV-1a of a text, to compare it across processes. 16384 texts collide with a
 * probability of 1e-11. */
uint64_t ictusi_spec_hash(const char *text);

#endif
