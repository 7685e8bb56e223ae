/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/convert_collectives.h"

#include "trace/convert.h"
#include "tracer/record.h"

/* 64 ranks each; attributes without any rank are left out, except the first. */
bool ictusi_convert_senders(OTF2_AttributeList *attributes, const uint64_t *record)
{
    bool added = true;
    const unsigned words = record ? record_words(*record) - 1 : 0;
    for (unsigned i = 0; i < words && i < SENDERS_WORDS_MAX; i++) {
        OTF2_AttributeValue value;
        value.uint64 = record[1 + i];
        if (i == 0 || value.uint64) {
            added &= OTF2_AttributeList_AddAttribute(attributes, ATTRIBUTE_SENDERS + i,
                                                     OTF2_TYPE_UINT64, value) == OTF2_SUCCESS;
        }
    }
    return added;
}

bool ictusi_convert_operands(OTF2_AttributeList *attributes, uint32_t operands)
{
    OTF2_AttributeValue value;
    value.uint32 = operands;
    return operands == 0 ||
           OTF2_AttributeList_AddAttribute(attributes, ATTRIBUTE_OPERANDS, OTF2_TYPE_UINT32,
                                           value) == OTF2_SUCCESS;
}
