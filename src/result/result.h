/* SPDX-License-Identifier: BSD-3-Clause */
/* What the writer and the reader of result files share. */
#ifndef ICTUS_RESULT_RESULT_H
#define ICTUS_RESULT_RESULT_H

#define ICTUSI_RESULT_FAMILY "ictus-result/"
#define ICTUSI_RESULT_SCHEMA "ictus-result/1"

#endif
