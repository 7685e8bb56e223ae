/* SPDX-License-Identifier: BSD-3-Clause */
/* SimGrid's settings, of which its C interface tells no texts. */
#ifndef ICTUS_SIMULATE_SIMGRID_SETTINGS_H
#define ICTUS_SIMULATE_SIMGRID_SETTINGS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a setting that is a text; NULL: there is no such setting. Owned by SimGrid. */
const char *ictusi_simgrid_setting(const char *name);

#ifdef __cplusplus
}
#endif

#endif
