/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the terms under which algorithms are forced: what was set for it, and which components
 * take precedence by their priority. */
#include "select/selector.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256 };

/* Take "han" from "coll_han_priority". */
static bool terms_component(const char *variable, char *component, size_t size)
{
    static const char prefix[] = "coll_";
    static const char suffix[] = "_priority";
    const size_t ends = sizeof(prefix) + sizeof(suffix) - 2;
    const size_t length = strlen(variable);
    if (length <= ends || length - ends >= size ||
        strncmp(variable, prefix, sizeof(prefix) - 1) != 0 ||
        strcmp(variable + length - (sizeof(suffix) - 1), suffix) != 0) {
        return false;
    }
    memcpy(component, variable + sizeof(prefix) - 1, length - ends);
    component[length - ends] = '\0';
    return true;
}

/* Read the priority of a component from control variable `index`. False if it is another
 * variable. */
static bool terms_priority(int index, char *component, size_t size, int *priority)
{
    char name[NAME_BYTES];
    int length = (int)sizeof(name);
    int verbosity = 0;
    int bind = 0;
    int scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    struct variable variable;
    if (MPI_T_cvar_get_info(index, name, &length, &verbosity, &type, &names, NULL, NULL, &bind,
                            &scope) != MPI_SUCCESS ||
        !terms_component(name, component, size) || !ictusi_variable_open(index, &variable)) {
        return false;
    }
    const bool read = variable.is_int && ictusi_variable_read(&variable, priority);
    ictusi_variable_close(&variable);
    return read;
}

static void terms_add(struct ictus_selector *s, const char *text)
{
    const size_t used = strlen(s->terms);
    (void)snprintf(s->terms + used, sizeof(s->terms) - used, "%s%s", used ? ", " : "", text);
}

/* Add the components that Open MPI would ask before the one whose algorithms are chosen. They
 * decide on communicators that are not forced. */
static void terms_of_components(struct ictus_selector *s)
{
    char component[NAME_BYTES];
    char text[2 * NAME_BYTES];
    int count = 0;
    int own = 0;
    int priority = 0;
    (void)MPI_T_cvar_get_num(&count);
    /* There are two passes, because the priorities of the others are compared with that of the own
     * component, which may come last. */
    for (int i = 0; i < count; i++) {
        if (terms_priority(i, component, sizeof(component), &priority) &&
            strcmp(component, s->dialect->selects) == 0) {
            own = priority;
        }
    }
    for (int i = 0; i < count; i++) {
        /* self serves single processes, inter serves intercommunicators, and sync only adds
         * barriers. None of them has algorithms to choose from. */
        if (terms_priority(i, component, sizeof(component), &priority) && priority >= own &&
            strcmp(component, s->dialect->selects) != 0 && strcmp(component, "self") != 0 &&
            strcmp(component, "inter") != 0 && strcmp(component, "sync") != 0) {
            (void)snprintf(text, sizeof(text),
                           "%s (priority %d) precedes %s (%d) on other communicators", component,
                           priority, s->dialect->selects, own);
            terms_add(s, text);
        }
    }
}

void ictusi_terms_write(struct ictus_selector *s)
{
    const struct dialect *d = s->dialect;
    char text[NAME_BYTES];
    s->terms[0] = '\0';
    if (d->permission) {
        (void)snprintf(text, sizeof(text), "%s=1 before MPI_Init", d->permission);
        terms_add(s, text);
    }
    if (d->prefer) {
        (void)snprintf(text, sizeof(text), "%s=%s on forced communicators", d->prefer, d->selects);
        terms_add(s, text);
        terms_of_components(s);
    }
    if (d->device) {
        (void)snprintf(text, sizeof(text), "%sOPERATION%s=0 while forced", d->prefix, d->device);
        terms_add(s, text);
    }
}
