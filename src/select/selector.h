/* SPDX-License-Identifier: BSD-3-Clause */
/* What a selector holds: the library's variables, and the communicators with a choice in force. */
#ifndef ICTUS_SELECT_SELECTOR_H
#define ICTUS_SELECT_SELECTOR_H

#include "select/trial.h"
#include "select/variable.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum { OPERATIONS_MAX = 64, OPERATION_NAME_MAX = 48 };

/* How one MPI library names its variables. */
struct dialect {
    const char *prefix;
    const char *suffix;
    const char *automatic;  /* the value that leaves the choice to the library */
    const char *permission; /* must be on, or selecting has no effect; NULL: none */
    const char *permission_how;
    const char *fallback; /* what to do where a choice does not apply; NULL: none */
    const char *fallback_error;
    const char *device;  /* suffix of the switch that lets a device override; NULL: none */
    const char *devices; /* the switch of all devices' collectives at once; NULL: none */
    int devices_always;  /* its value under which `device` has no effect */
    int devices_off;     /* that leaves all to the library */
    int devices_each;    /* under which `device` decides */
    const char *prefer;  /* info key by which a communicator prefers a component; NULL: none */
    const char *selects; /* the component whose algorithms these are; NULL: the library itself */
    bool at_once;        /* a value acts on all communicators, else on those made while it holds */
};

struct operation {
    char name[OPERATION_NAME_MAX];
    struct variable variable;
    int automatic;
    int original;
    bool touched; /* by this selector: it restores nothing else */
    struct variable device;
    bool has_device;
    int device_original;
    const char *algorithms[VARIABLE_VALUES_MAX + 1];
};

/* One choice in force on one communicator. */
struct forced {
    MPI_Comm comm;  /* what the caller has */
    MPI_Comm plain; /* without any choice, to agree on errors */
    struct operation *operation;
    int value;
    struct forced *inherited; /* the choice of the communicator it was made from */
    int heirs;
    bool released;
    struct forced *next;
};

struct ictus_selector {
    const struct dialect *dialect;
    struct operation *operations[OPERATIONS_MAX];
    const char *names[OPERATIONS_MAX + 1];
    int count;
    struct lent fallback; /* changed to fail while a trial is strict */
    struct lent devices;
    struct forced *first;
    struct reference *references; /* see proof.c */
    char terms[512];              /* under which algorithms are forced */
};

/* Runs a trial under a forced communicator's choices; `context` is the caller's. */
typedef int ictusi_trial_body(struct trial *trial, const struct forced *forced, void *context);

/* The forced communicator of that handle, or NULL. */
struct forced *ictusi_select_forced_find(const struct ictus_selector *selector, MPI_Comm comm);

/*
 * Carry out a trial of a message while the choices of `forced` hold and errors return, silent
 * fallbacks being errors if `strict`. All processes get the least error. Collective over it.
 */
int ictusi_select_forced_try(struct ictus_selector *selector, struct forced *forced,
                             struct message message, bool strict, ictusi_trial_body *body,
                             void *context);

/* Whether the algorithm would end the program instead of failing on so many processes. */
bool ictusi_select_would_crash(const struct ictus_selector *selector,
                               const struct operation *operation, const char *algorithm, int size);

/* Put the terms into words. Local. */
void ictusi_terms_write(struct ictus_selector *selector);

/* Release what proofs remember. */
void ictusi_proof_references_free(struct ictus_selector *selector);

#endif
