/* SPDX-License-Identifier: BSD-3-Clause */
/* The attributes of collectives. A list is cleared when its event is written. */
#ifndef ICTUS_TRACE_CONVERT_COLLECTIVES_H
#define ICTUS_TRACE_CONVERT_COLLECTIVES_H

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>

/* Add the ranks that data came from; record: RECORD_SENDERS or NULL. @return false: no memory */
bool ictusi_convert_senders(OTF2_AttributeList *attributes, const uint64_t *record);

/* Add what the call was given (core/operands.h), if anything is known. @return false: no memory */
bool ictusi_convert_operands(OTF2_AttributeList *attributes, uint32_t operands);

#endif
