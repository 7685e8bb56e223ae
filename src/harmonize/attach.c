/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicator attributes, and the list of those that MPI_Finalize must release. */
#include "harmonize/attach.h"

#include <ictus/error.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * MPI identifies attributes by keys that a process creates once. These keys are the only state here
 * that cannot be part of a handle. They never change after the first call. Everything else belongs
 * to communicators. The list of live objects is an attribute of MPI_COMM_SELF, which MPI_Finalize
 * deletes first, while communicators can still be freed. A program that only uses sessions has no
 * MPI_COMM_SELF. Its objects are released with their communicators only.
 */
static pthread_once_t keys_once = PTHREAD_ONCE_INIT;
static int state_key[ATTACH_KINDS] = {MPI_KEYVAL_INVALID, MPI_KEYVAL_INVALID};
static int list_key = MPI_KEYVAL_INVALID;
static int hint_key = MPI_KEYVAL_INVALID;

/* MPI may call delete functions from any thread that frees a communicator. */
struct live_list {
    pthread_mutex_t lock;
    struct attached *first;
};

static bool world_is_up(void)
{
    int up = 0;
    PMPI_Initialized(&up);
    return up != 0;
}

static struct live_list *attach_find_list(void)
{
    struct live_list *list = NULL;
    int found = 0;
    if (world_is_up()) {
        PMPI_Comm_get_attr(MPI_COMM_SELF, list_key, (void *)&list, &found);
    }
    return found ? list : NULL;
}

/* The search is linear, but few communicators of a program have harmonised starts. */
static void list_remove(struct attached *attached)
{
    struct live_list *list = attach_find_list();
    if (!list) {
        return;
    }
    (void)pthread_mutex_lock(&list->lock);
    struct attached **place = &list->first;
    while (*place && *place != attached) {
        place = &(*place)->next;
    }
    if (*place) {
        *place = attached->next;
    }
    (void)pthread_mutex_unlock(&list->lock);
}

static void attach_list_add(struct attached *attached)
{
    struct live_list *list = attach_find_list();
    if (list) {
        (void)pthread_mutex_lock(&list->lock);
        attached->next = list->first;
        list->first = attached;
        (void)pthread_mutex_unlock(&list->lock);
    }
}

/* The object leaves the list first, so that MPI_Finalize cannot release it a second time. */
static int attach_delete_attached(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    struct attached *attached = value;
    list_remove(attached);
    attached->release(attached);
    return MPI_SUCCESS;
}

/* Objects are taken one at a time, and the lock is not held in between, because an object that
 * is released removes itself from the list. */
static struct attached *list_pop(struct live_list *list)
{
    (void)pthread_mutex_lock(&list->lock);
    struct attached *attached = list->first;
    list->first = attached ? attached->next : NULL;
    (void)pthread_mutex_unlock(&list->lock);
    return attached;
}

/* Called in MPI_Finalize. The key of the list comes last. MPI keeps a key until no attribute
 * uses it. */
static void attach_free_keys(void)
{
    const int keys[] = {state_key[ATTACH_HARMONIZE], state_key[ATTACH_BARRIER], hint_key, list_key};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        int key = keys[i]; /* MPI sets it to MPI_KEYVAL_INVALID; the static keys never change */
        if (key != MPI_KEYVAL_INVALID) {
            PMPI_Comm_free_keyval(&key);
        }
    }
}

static int attach_delete_list(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    struct live_list *list = value;
    struct attached *attached = list_pop(list);
    while (attached) {
        PMPI_Comm_delete_attr(attached->owner, state_key[attached->kind]);
        attached = list_pop(list);
    }
    (void)pthread_mutex_destroy(&list->lock);
    free(list);
    attach_free_keys();
    return MPI_SUCCESS;
}

/* MPI_Comm_dup copies only the text. A duplicate creates its own state at its first start. */
static int attach_copy_hint(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    char *text = strdup(value);
    *(char **)copy = text;
    *flag = text != NULL;
    return MPI_SUCCESS;
}

static int attach_delete_hint(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    free(value);
    return MPI_SUCCESS;
}

static void attach_create_keys(void)
{
    for (int i = 0; i < ATTACH_KINDS; i++) {
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, attach_delete_attached, &state_key[i], NULL);
    }
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, attach_delete_list, &list_key, NULL);
    PMPI_Comm_create_keyval(attach_copy_hint, attach_delete_hint, &hint_key, NULL);
    struct live_list *list = world_is_up() ? calloc(1, sizeof(*list)) : NULL;
    if (list) {
        (void)pthread_mutex_init(&list->lock, NULL);
        PMPI_Comm_set_attr(MPI_COMM_SELF, list_key, list);
    }
}

struct attached *ictusi_harmonize_attached(MPI_Comm comm, enum attach_kind kind)
{
    struct attached *attached = NULL;
    int found = 0;
    (void)pthread_once(&keys_once, attach_create_keys);
    PMPI_Comm_get_attr(comm, state_key[kind], (void *)&attached, &found);
    return found ? attached : NULL;
}

/* The object is on the list before MPI has it, so that a failure in between leaves nothing
 * unreleased. */
int ictusi_attach(MPI_Comm comm, enum attach_kind kind, struct attached *attached)
{
    if (ictusi_harmonize_attached(comm, kind)) {
        PMPI_Comm_delete_attr(comm, state_key[kind]);
    }
    attached->owner = comm;
    attached->kind = kind;
    attach_list_add(attached);
    if (PMPI_Comm_set_attr(comm, state_key[kind], attached) != MPI_SUCCESS) {
        list_remove(attached);
        attached->release(attached);
        return ICTUS_ERR_MPI;
    }
    return ICTUS_OK;
}

int ictusi_attach_hint(MPI_Comm comm, const char *text)
{
    (void)pthread_once(&keys_once, attach_create_keys);
    if (ictusi_harmonize_attached_hint(comm)) {
        PMPI_Comm_delete_attr(comm, hint_key);
    }
    if (!text) {
        return ICTUS_OK;
    }
    char *copy = strdup(text);
    if (!copy) {
        return ICTUS_ERR_NOMEM;
    }
    if (PMPI_Comm_set_attr(comm, hint_key, copy) != MPI_SUCCESS) {
        free(copy);
        return ICTUS_ERR_MPI;
    }
    return ICTUS_OK;
}

const char *ictusi_harmonize_attached_hint(MPI_Comm comm)
{
    const char *text = NULL;
    int found = 0;
    (void)pthread_once(&keys_once, attach_create_keys);
    PMPI_Comm_get_attr(comm, hint_key, (void *)&text, &found);
    return found ? text : NULL;
}
