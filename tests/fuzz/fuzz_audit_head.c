/* fuzz_audit_head.c - any bytes as a kept head of an audit log: what is accepted is what was read.
 */
#include "features/audit/audit.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_from((const char *)data, size);
    struct kept_head kept;

    if (!audit_head_read(input, &kept))
        return 0;
    FUZZ_CHECK(kept.text.data == input.data && kept.seq >= 0 && kept.tenant_id >= 0);
    FUZZ_CHECK(kept.text.len + 1 + kept.signature.len == input.len);
    return 0;
}
