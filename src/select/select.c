/* SPDX-License-Identifier: BSD-3-Clause */
/* Forced communicators, and the values of the MPI library's variables while one is in use. */
#include <ictus/select.h>

#include "select/selector.h"
#include "select/trial.h"
#include "select/variable.h"

#include <ictus/text.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIAL_BYTES = 4096 };

static const struct dialect dialects[] = {
    {.prefix = "coll_tuned_",
     .suffix = "_algorithm",
     .automatic = "ignore",
     .permission = "coll_tuned_use_dynamic_rules",
     .permission_how = "set OMPI_MCA_coll_tuned_use_dynamic_rules=1 before MPI_Init",
     .prefer = "ompi_comm_coll_preference",
     .selects = "tuned"},
    {.prefix = "MPIR_CVAR_",
     .suffix = "_INTRA_ALGORITHM",
     .automatic = "auto",
     .fallback = "MPIR_CVAR_COLLECTIVE_FALLBACK",
     .fallback_error = "error",
     .device = "_DEVICE_COLLECTIVE",
     .devices = "MPIR_CVAR_DEVICE_COLLECTIVES",
     .devices_always = 0,
     .devices_off = 1,
     .devices_each = 2,
     .at_once = true},
};

static bool cvar_name(int index, char *name, int size)
{
    int verbosity = 0;
    int bind = 0;
    int scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    return MPI_T_cvar_get_info(index, name, &size, &verbosity, &type, &names, NULL, NULL, &bind,
                               &scope) == MPI_SUCCESS;
}

/* Take "reduce" from "coll_tuned_reduce_algorithm": remove the dialect's ends, make lower case. */
static bool operation_name(const struct dialect *dialect, const char *variable, char *name)
{
    const size_t prefix = strlen(dialect->prefix);
    const size_t ends = prefix + strlen(dialect->suffix);
    const size_t length = strlen(variable);
    if (length <= ends || length - ends >= OPERATION_NAME_MAX) {
        return false;
    }
    for (size_t i = 0; i < length - ends; i++) {
        name[i] = (char)(tolower)((unsigned char)variable[prefix + i]);
    }
    name[length - ends] = '\0';
    return strncmp(variable, dialect->prefix, prefix) == 0 &&
           strcmp(variable + prefix + length - ends, dialect->suffix) == 0;
}

static bool select_open_one(const struct dialect *dialect, int index, struct operation *operation)
{
    struct variable *v = &operation->variable;
    if (!ictusi_variable_open(index, v)) {
        return false;
    }
    if (!v->is_int || !ictusi_variable_value(v, dialect->automatic, &operation->automatic) ||
        !ictusi_variable_read(v, &operation->original) ||
        !ictusi_variable_write(v, operation->original)) { /* some variables are constants */
        ictusi_variable_close(v);
        return false;
    }
    int kept = 0;
    for (int i = 0; i < v->count; i++) {
        if (v->values[i] != operation->automatic) {
            if (strcmp(v->text[i], ICTUS_ALGORITHM_DEFAULT) == 0) {
                /* Open MPI calls an algorithm of allgatherv so; here it means no choice. */
                (void)snprintf(v->text[i], sizeof(v->text[i]), "basic_default");
            }
            operation->algorithms[kept++] = v->text[i];
        }
    }
    operation->algorithms[kept] = NULL;
    return true;
}

/* Open the switch that lets a device put its own collective before the library's algorithms. */
static void select_open_device(const struct dialect *dialect, struct operation *operation)
{
    char name[VARIABLE_NAME_MAX + OPERATION_NAME_MAX];
    int index = 0;
    if (!dialect->device) {
        return;
    }
    (void)snprintf(name, sizeof(name), "%s%s%s", dialect->prefix, operation->name, dialect->device);
    for (char *at = name; *at; at++) {
        *at = (char)(toupper)((unsigned char)*at);
    }
    if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
        ictusi_variable_open(index, &operation->device)) {
        operation->has_device =
            ictusi_variable_read(&operation->device, &operation->device_original) &&
            ictusi_variable_write(&operation->device, operation->device_original);
        if (!operation->has_device) {
            ictusi_variable_close(&operation->device);
        }
    }
}

static int select_add_operation(struct ictus_selector *s, int index, const char *name)
{
    struct operation *operation = calloc(1, sizeof(*operation));
    if (!operation) {
        return ICTUS_ERR_NOMEM;
    }
    (void)snprintf(operation->name, sizeof(operation->name), "%s", name);
    if (s->count == OPERATIONS_MAX || !select_open_one(s->dialect, index, operation)) {
        free(operation);
        return ICTUS_OK;
    }
    select_open_device(s->dialect, operation);
    int place = s->count++;
    for (; place > 0 && strcmp(s->operations[place - 1]->name, name) > 0; place--) {
        s->operations[place] = s->operations[place - 1];
    }
    s->operations[place] = operation;
    return ICTUS_OK;
}

/* Note the variables that matter besides the choices, and whether choices have an effect at all. */
static void select_look_at(struct ictus_selector *s, int index, const char *name, int *permitted)
{
    const struct dialect *d = s->dialect;
    struct variable variable;
    if (d->permission && strcmp(name, d->permission) == 0 &&
        ictusi_variable_open(index, &variable)) {
        int value = 0;
        *permitted = ictusi_variable_read(&variable, &value) && value != 0;
        ictusi_variable_close(&variable);
    }
    if (d->devices && strcmp(name, d->devices) == 0) {
        (void)ictusi_variable_lent_open(index, &s->devices);
    }
    if (d->fallback && strcmp(name, d->fallback) == 0) {
        (void)ictusi_variable_lent_open(index, &s->fallback);
    }
}

static int selector_scan(struct ictus_selector *s, int *permitted)
{
    int count = 0;
    int err = ICTUS_OK;
    if (MPI_T_cvar_get_num(&count) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    for (int i = 0; i < count && !err; i++) {
        char variable[256];
        char name[OPERATION_NAME_MAX];
        if (!cvar_name(i, variable, (int)sizeof(variable))) {
            continue;
        }
        select_look_at(s, i, variable, permitted);
        if (operation_name(s->dialect, variable, name)) {
            err = select_add_operation(s, i, name);
        }
    }
    return err;
}

static void select_close_operations(struct ictus_selector *s)
{
    for (int i = 0; i < s->count; i++) {
        ictusi_variable_close(&s->operations[i]->variable);
        if (s->operations[i]->has_device) {
            ictusi_variable_close(&s->operations[i]->device);
        }
        free(s->operations[i]);
    }
    s->count = 0;
    ictusi_variable_lent_close(&s->fallback);
    ictusi_variable_lent_close(&s->devices);
}

static int select_find_dialect(struct ictus_selector *s, struct ictus_why *why)
{
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
        int permitted = 1;
        s->dialect = &dialects[i];
        const int err = selector_scan(s, &permitted);
        if (err) {
            return err;
        }
        if (s->count > 0 && !permitted) {
            return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                                 "the MPI library was started without algorithm selection; %s",
                                 s->dialect->permission_how);
        }
        if (s->count > 0) {
            return ICTUS_OK;
        }
        select_close_operations(s);
    }
    return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                         "this MPI library offers no choice of algorithms through MPI_T");
}

const char *ictus_selector_started(const char *operation)
{
    (void)operation; /* every library that is known here can choose at run time */
    return NULL;
}

int ictus_selector_create(struct ictus_selector **selector, struct ictus_why *why)
{
    int level = 0;
    if (!selector) {
        return ICTUS_ERR_ARG;
    }
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &level) != MPI_SUCCESS) {
        return ictus_because(why, ICTUS_ERR_MPI, "MPI_T cannot be initialised");
    }
    struct ictus_selector *s = calloc(1, sizeof(*s));
    const int err = s ? select_find_dialect(s, why) : ICTUS_ERR_NOMEM;
    if (err) {
        ictus_selector_free(s);
        return err;
    }
    for (int i = 0; i < s->count; i++) {
        s->names[i] = s->operations[i]->name;
    }
    ictusi_terms_write(s);
    *selector = s;
    return ICTUS_OK;
}

/* Restore every variable to the value that the selector found. */
static bool selector_restore(struct ictus_selector *s)
{
    bool done = true;
    for (int i = 0; i < s->count; i++) {
        struct operation *o = s->operations[i];
        if (o->touched) {
            done = ictusi_variable_write(&o->variable, o->original) && done;
            if (o->has_device) {
                done = ictusi_variable_write(&o->device, o->device_original) && done;
            }
            o->touched = false;
        }
    }
    done = ictusi_variable_lent_restore(&s->fallback) && done;
    return ictusi_variable_lent_restore(&s->devices) && done;
}

/* Let each operation's own switch decide whether a device comes before the library. */
static bool devices_yield(struct ictus_selector *s)
{
    const struct dialect *d = s->dialect;
    return ictusi_variable_lent_value(&s->devices, d->devices_each) != d->devices_always ||
           ictusi_variable_lent_write(&s->devices, d->devices_each);
}

/* Set the variables for a forced communicator: first the inherited choices, then its own. */
static bool selector_impose(struct ictus_selector *s, const struct forced *chain)
{
    if (!chain) {
        return true;
    }
    if (!selector_impose(s, chain->inherited)) {
        return false;
    }
    struct operation *o = chain->operation;
    if (!o->touched) {
        /* The choice of another selector may be in force. It is kept for that selector. */
        (void)ictusi_variable_read(&o->variable, &o->original);
        if (o->has_device) {
            (void)ictusi_variable_read(&o->device, &o->device_original);
        }
        o->touched = true;
    }
    /* A device's own collective would ignore the choice. */
    const int device = chain->value == o->automatic ? o->device_original : 0;
    if (chain->value != o->automatic && o->has_device && !devices_yield(s)) {
        return false;
    }
    return ictusi_variable_write(&o->variable, chain->value) &&
           (!o->has_device || ictusi_variable_write(&o->device, device));
}

void ictus_selector_free(struct ictus_selector *s)
{
    if (s) {
        (void)selector_restore(s);
        struct forced *next = NULL;
        for (struct forced *f = s->first; f; f = next) {
            next = f->next;
            free(f);
        }
        ictusi_proof_references_free(s);
        select_close_operations(s);
        free(s);
    }
    (void)MPI_T_finalize();
}

const char *ictus_selector_terms(const struct ictus_selector *selector)
{
    return selector->terms;
}

const char *const *ictus_selector_operations(const struct ictus_selector *selector)
{
    return selector->names;
}

static struct operation *select_find_operation(const struct ictus_selector *s, const char *name,
                                               struct ictus_why *why)
{
    for (int i = 0; i < s->count; i++) {
        if (strcmp(s->operations[i]->name, name) == 0) {
            return s->operations[i];
        }
    }
    (void)ictus_unknown(why, "operation with a choice of algorithms", name, s->names);
    return NULL;
}

int ictus_selector_algorithms(const struct ictus_selector *selector, const char *operation,
                              const char *const **names, struct ictus_why *why)
{
    if (!selector || !operation || !names) {
        return ICTUS_ERR_ARG;
    }
    const struct operation *found = select_find_operation(selector, operation, why);
    if (!found) {
        return ICTUS_ERR_UNKNOWN;
    }
    *names = found->algorithms;
    return ICTUS_OK;
}

struct forced *ictusi_select_forced_find(const struct ictus_selector *s, MPI_Comm comm)
{
    struct forced *f = s->first;
    while (f && (f->released || f->comm != comm)) {
        f = f->next;
    }
    return f;
}

/* Set the library's variables after a communicator has been made or released. */
static bool selector_settle(struct ictus_selector *s, const struct forced *wanted)
{
    const bool done = selector_restore(s);
    return s->dialect->at_once ? selector_impose(s, wanted) && done : done;
}

/* Give all processes the lowest error code. No choice is in force during this reduction. */
static int selector_agree(struct ictus_selector *s, MPI_Comm comm, int err,
                          const struct forced *then)
{
    int worst = ICTUS_ERR_MPI;
    (void)selector_restore(s);
    if (MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS) {
        worst = ICTUS_ERR_MPI;
    }
    return selector_settle(s, then) ? worst : ICTUS_ERR_UNSUPPORTED;
}

/*
 * If a choice does not apply, MPICH silently takes another algorithm. It can be made to fail
 * instead, but only for the duration of a trial: its own MPI_Comm_dup would fail as well if the
 * forced algorithm does not suit it.
 */
static void select_be_strict(struct ictus_selector *s)
{
    int error = 0;
    if (s->fallback.open &&
        ictusi_variable_value(&s->fallback.variable, s->dialect->fallback_error, &error)) {
        (void)ictusi_variable_lent_write(&s->fallback, error);
    }
}

int ictusi_select_forced_try(struct ictus_selector *s, struct forced *f, struct message message,
                             bool strict, ictusi_trial_body *body, void *context)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    struct trial *trial = NULL;
    (void)selector_restore(s);
    int err = ictusi_trial_prepare(f->plain, f->operation->name, message, &trial);
    if (err) {
        (void)selector_settle(s, f);
        return err;
    }
    (void)selector_settle(s, f);
    MPI_Comm_get_errhandler(f->comm, &handler);
    MPI_Comm_set_errhandler(f->comm, MPI_ERRORS_RETURN);
    if (strict) {
        select_be_strict(s);
    }
    err = body(trial, f, context);
    MPI_Comm_set_errhandler(f->comm, handler);
    MPI_Errhandler_free(&handler);
    ictusi_trial_free(trial);
    return selector_agree(s, f->plain, err, f);
}

static int select_run_once(struct trial *trial, const struct forced *f, void *context)
{
    (void)context;
    return ictusi_trial_run(trial, f->comm, f->operation->name);
}

/* Return whether any choice of this communicator differs from the library's own. */
static bool select_has_choice(const struct forced *f)
{
    for (; f; f = f->inherited) {
        if (f->value != f->operation->automatic) {
            return true;
        }
    }
    return false;
}

/* Duplicate a communicator so that it prefers the component whose algorithms are chosen. Other
 * components (sm, han, adapt, ...) may have a higher priority, and they ignore the choice. */
static int select_duplicate_preferring(const struct ictus_selector *s, const struct forced *f,
                                       MPI_Comm from, MPI_Comm *to)
{
    MPI_Info info = MPI_INFO_NULL;
    if (!s->dialect->prefer || !select_has_choice(f)) {
        return MPI_Comm_dup(from, to);
    }
    int err = MPI_Comm_get_info(from, &info);
    if (err == MPI_SUCCESS) {
        MPI_Info_set(info, s->dialect->prefer, s->dialect->selects);
        err = MPI_Comm_dup_with_info(from, info, to);
        MPI_Info_free(&info);
    }
    return err;
}

/* Make the duplicate. If choices stay with a communicator, its own are in force meanwhile and no
 * other's. */
static int forced_duplicate(struct ictus_selector *s, struct forced *f, MPI_Comm from)
{
    bool set = selector_restore(s);
    if (MPI_Comm_dup(from, &f->plain) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    MPI_Comm_set_errhandler(f->plain, MPI_ERRORS_RETURN);
    set = set && (s->dialect->at_once || selector_impose(s, f));
    int err = set ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED;
    if (select_duplicate_preferring(s, f, from, &f->comm) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    return selector_agree(s, f->plain, err, f);
}

static void forced_drop(struct ictus_selector *s, struct forced *f)
{
    if (f->comm != MPI_COMM_NULL) {
        MPI_Comm_free(&f->comm);
    }
    if (f->plain != MPI_COMM_NULL) {
        MPI_Comm_free(&f->plain);
    }
    f->released = true;
    /* A choice lives on while a communicator that was made from its own inherits it. */
    for (struct forced **place = &s->first; *place;) {
        struct forced *gone = *place;
        if (!gone->released || gone->heirs > 0) {
            place = &gone->next;
            continue;
        }
        *place = gone->next;
        if (gone->inherited) {
            gone->inherited->heirs--;
        }
        free(gone);
        place = &s->first;
    }
}

static int forced_make(struct ictus_selector *s, MPI_Comm comm, struct operation *operation,
                       int value, struct forced **out)
{
    const struct message message = {.bytes = TRIAL_BYTES, .element = sizeof(int)};
    struct forced *inherited = ictusi_select_forced_find(s, comm);
    (void)selector_restore(s);
    struct forced *f = ictusi_trial_allocate(comm, sizeof(*f));
    if (!f) {
        (void)selector_settle(s, inherited);
        return ICTUS_ERR_NOMEM;
    }
    *f = (struct forced){.comm = MPI_COMM_NULL,
                         .plain = MPI_COMM_NULL,
                         .operation = operation,
                         .value = value,
                         .inherited = inherited,
                         .next = s->first};
    if (f->inherited) {
        f->inherited->heirs++;
    }
    /* It is in the list before it is complete, so that forced_drop() can undo what exists. */
    s->first = f;
    int err = forced_duplicate(s, f, comm);
    if (!err) {
        err = ictusi_select_forced_try(s, f, message, true, select_run_once, NULL);
    }
    if (err) {
        (void)selector_restore(s);
        forced_drop(s, f);
        (void)selector_settle(s, inherited);
        return err;
    }
    *out = f;
    return ICTUS_OK;
}

/* Algorithms that abort the program instead of refusing (MPICH 4.0). "noncommutative" requires a
 * power of two processes. */
bool ictusi_select_would_crash(const struct ictus_selector *s, const struct operation *operation,
                               const char *algorithm, int size)
{
    return s->dialect->at_once && strncmp(operation->name, "reduce_scatter", 14) == 0 &&
           strcmp(algorithm, "noncommutative") == 0 && (size & (size - 1)) != 0;
}

int ictus_selector_force(struct ictus_selector *selector, MPI_Comm comm, const char *operation,
                         const char *algorithm, MPI_Comm *forced, struct ictus_why *why)
{
    int inter = 0;
    int size = 0;
    if (!selector || comm == MPI_COMM_NULL || !operation || !algorithm || !forced) {
        return ICTUS_ERR_ARG;
    }
    MPI_Comm_test_inter(comm, &inter);
    if (inter) {
        return ICTUS_ERR_INTERCOMM;
    }
    struct operation *o = select_find_operation(selector, operation, why);
    if (!o) {
        return ICTUS_ERR_UNKNOWN;
    }
    int value = o->automatic;
    if (strcmp(algorithm, ICTUS_ALGORITHM_DEFAULT) != 0 &&
        !ictusi_variable_value(&o->variable, algorithm, &value)) {
        return ictus_unknown(why, "algorithm", algorithm, o->algorithms);
    }
    struct forced *made = NULL;
    MPI_Comm_size(comm, &size);
    const int err = ictusi_select_would_crash(selector, o, algorithm, size)
                        ? ICTUS_ERR_UNSUPPORTED
                        : forced_make(selector, comm, o, value, &made);
    if (err) {
        return ictus_because(why, err, "algorithm '%s' of %s cannot run on %d processes", algorithm,
                             operation, size);
    }
    *forced = made->comm;
    return ICTUS_OK;
}

int ictus_selector_works(struct ictus_selector *selector, MPI_Comm forced, size_t bytes,
                         size_t element)
{
    const struct message message = {.bytes = bytes, .element = element};
    struct forced *f = selector ? ictusi_select_forced_find(selector, forced) : NULL;
    return f ? ictusi_select_forced_try(selector, f, message, true, select_run_once, NULL)
             : ICTUS_ERR_ARG;
}

int ictus_selector_activate(struct ictus_selector *selector, MPI_Comm forced)
{
    const struct forced *f = selector ? ictusi_select_forced_find(selector, forced) : NULL;
    if (!f) {
        return ICTUS_ERR_ARG;
    }
    return selector_settle(selector, f) ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED;
}

int ictus_selector_release(struct ictus_selector *selector, MPI_Comm *forced)
{
    struct forced *f = selector && forced ? ictusi_select_forced_find(selector, *forced) : NULL;
    if (!f) {
        return ICTUS_ERR_ARG;
    }
    /* An inherited one that was already released is freed with its last heir, so look before. */
    struct forced *inherited = f->inherited && !f->inherited->released ? f->inherited : NULL;
    const bool restored = selector_restore(selector);
    forced_drop(selector, f);
    *forced = MPI_COMM_NULL;
    return selector_settle(selector, inherited) && restored ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED;
}
