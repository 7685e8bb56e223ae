/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus_check(): open, connect, count twice. */
#include "correct/session.h"

#include <ictus/correct.h>
#include <ictus/result.h>

static int report_check_both(struct session *s, json_t *object)
{
    struct check_stats raw;
    struct check_stats own;
    int err = ictusi_session_check(s, s->history.points.time, &raw);
    if (err) {
        return err;
    }
    ictusi_check_json(&raw, object, "raw_", true);
    ictusi_check_fini(&raw);
    err = ictusi_session_presync(s, PRESYNC_ARCHIVE);
    if (!err) {
        err = ictusi_session_check(s, s->history.points.time, &own);
    }
    if (err) {
        return err;
    }
    ictusi_check_json(&own, object, "", true);
    ictusi_check_fini(&own);
    return ictusi_session_json(s, object);
}

int ictus_check(const char *in, json_t **report, struct ictus_why *why)
{
    struct session session;
    if (!in || !report) {
        return ICTUS_ERR_ARG;
    }
    int err = ictusi_session_open(&session, in, NULL, why);
    err = err ? err : ictusi_session_read(&session, NULL);
    json_t *object =
        err ? NULL : json_pack("{s:s, s:o}", "type", "check", "archive", ictus_result_text(in));
    if (!err) {
        err = object ? report_check_both(&session, object) : ICTUS_ERR_NOMEM;
    }
    ictusi_session_close(&session);
    if (err) {
        json_decref(object);
        return err;
    }
    *report = object;
    return ICTUS_OK;
}
