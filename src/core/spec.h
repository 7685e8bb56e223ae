/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Specifications: "name(child,child):key=value,key=value", the one grammar in which clocks,
 * algorithms and their parameters are named, on the command line and in the library alike.
 * A parameter is a row of data; the parser fills the caller's options structure from it.
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
    SPEC_TEXT     /* struct spec_text: a name or a list that the owner reads itself */
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

/* A specification taken apart, its values still text. */
struct spec {
    char name[64];
    struct spec_text children[SPEC_CHILDREN_MAX];
    int child_count;
    char options[1024]; /* "key=value,key=value", possibly empty */
};

/* Take a text apart. Errors: ICTUS_ERR_SPEC. */
int ictusi_spec_split(const char *text, struct spec *spec, struct ictus_why *why);

/*
 * Fill an options structure: defaults first, then the given values. params ends with a NULL name.
 * Errors: ICTUS_ERR_SPEC with the option and what it may be. The structure may be half filled then.
 */
int ictusi_spec_read(const struct spec *spec, const struct spec_param *params, void *options,
                     struct ictus_why *why);

/* 64-bit FNV-1a of a text, to compare it across processes; 16384 texts collide with 1e-11. */
uint64_t ictusi_spec_hash(const char *text);

#endif
