/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a selector: the library's variables, and the communicators with a choice in
 * force. */
#ifndef ICTUS_SELECT_SELECTOR_H
#define ICTUS_SELECT_SELECTOR_H

#include "select/trial.h"
#include "select/variable.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum { OPERATIONS_MAX = 64, OPERATION_NAME_MAX = 48 };

/* The naming scheme of one MPI library's variables. */
struct dialect {
    const char *prefix;
    const char *suffix;
    const char *automatic;  /* the value that leaves the choice to the library */
    const char *permission; /* a switch that a choice requires to be on; NULL: none */
    const char *permission_how;
    const char *fallback; /* decides what happens if a choice does not apply; NULL: none */
    const char *fallback_error;
    const char *device;  /* suffix of the switch that lets a device override; NULL: none */
    const char *devices; /* the switch for the collectives of all devices; NULL: none */
    int devices_always;  /* value of `devices` with which `device` has no effect */
    int devices_off;     /* value that leaves everything to the library */
    int devices_each;    /* value with which `device` decides */
    const char *prefer;  /* info key that makes a communicator prefer a component; NULL: none */
    const char *selects; /* the component that has these algorithms; NULL: the library itself */
    bool at_once;        /* a value acts on all communicators, not only on those made later */
};

struct operation {
    char name[OPERATION_NAME_MAX];
    struct variable variable;
    int automatic;
    int original;
    bool touched; /* by this selector, which restores nothing else */
    struct variable device;
    bool has_device;
    int device_original;
    const char *algorithms[VARIABLE_VALUES_MAX + 1];
};

/* A choice that is in force on one communicator. */
struct forced {
    MPI_Comm comm;  /* the caller's handle */
    MPI_Comm plain; /* has no choice in force; used to agree on errors */
    struct operation *operation;
    int value;
    struct forced *inherited; /* the choice of the communicator from which it was made */
    int heirs;                /* forced communicators that inherit this one */
    bool released;            /* by the caller; kept for its heirs */
    struct forced *next;
};

struct ictus_selector {
    const struct dialect *dialect;
    struct operation *operations[OPERATIONS_MAX];
    const char *names[OPERATIONS_MAX + 1];
    int count;
    struct lent fallback; /* set to "error" while a trial is strict */
    struct lent devices;
    struct forced *first;
    struct reference *references; /* see proof.c */
    char terms[512];              /* the terms under which algorithms are forced, as text */
};

/* Runs a trial while a forced communicator's choices are in force. `context` is the caller's. */
typedef int ictusi_trial_body(struct trial *trial, const struct forced *forced, void *context);

/* Return the forced communicator with this handle, or NULL. */
struct forced *ictusi_select_forced_find(const struct ictus_selector *selector, MPI_Comm comm);

/*
 * Carry out a trial of a message while the choices of `forced` are in force and errors are
 * returned. If `strict`, a silent fallback is an error. All processes get the lowest error code.
 * Collective over the communicator.
 */
int ictusi_select_forced_try(struct ictus_selector *selector, struct forced *forced,
                             struct message message, bool strict, ictusi_trial_body *body,
                             void *context);

/* Return whether the algorithm would abort the program on this number of processes. */
bool ictusi_select_would_crash(const struct ictus_selector *selector,
                               const struct operation *operation, const char *algorithm, int size);

/* Write the terms as text. Local. */
void ictusi_terms_write(struct ictus_selector *selector);

/* Release the references that proofs keep. */
void ictusi_proof_references_free(struct ictus_selector *selector);

#endif
