/* shapes.c - the shapes of the audit log. */
#include "features/audit/shapes.h"

#include "shape/table.h"
#include "shape/timerange.h"

static void check_audit(void *value, struct arena *arena, struct problems *problems)
{
    struct audit_query *q = value;

    rule_check_since_until(problems, arena, q->since, q->until, &q->range);
    q->before = INT64_MAX;
    if (!str_is_null(q->cursor) && (!str_to_int(q->cursor, &q->before) || q->before < 1))
        rule_refuse_text(problems, arena, "cursor", q->cursor,
                         "Should be the unchanged next of a page of entries");
}

static void check_verify(void *value, struct arena *arena, struct problems *problems)
{
    struct audit_verify_query *q = value;

    if (!str_is_null(q->head) && !audit_head_read(q->head, &q->kept))
        rule_refuse_text(problems, arena, "head", q->head,
                         "Should be the unchanged head of an audit log");
}

/* clang-format off */
SHAPE(audit_query, "AuditQuery", (.rules = check_audit),
    INT(limit,  .absent = "50", .least = 1, .most = 1000, .doc = "How many items a page has at most."),
    STR(cursor, .pattern = "^0*[1-9][0-9]*$", .flags = F_NULL, .doc = "The next of the previous page."),
    STR(action, .flags = F_NULL, .doc = "A noun and a verb, such as key.add."),
    STR(actor,  .flags = F_NULL, .doc = "operator, person:<e-mail> (with a session or a personal access token), person:<e-mail> token:<token_id>, or key:<key_id>."),
    STR(since,  .pattern = MOMENT_PATTERN, .flags = F_NULL, .doc = "Entries at or after this: a date-time, or a span back from now (90m, 24h, 7d, 4w)."),
    STR(until,  .pattern = MOMENT_PATTERN, .flags = F_NULL, .doc = "Entries before this: a date-time, or a span back from now."));

SHAPE(audit_item, "AuditEntry", (.doc = "One action: who did what to what, when and from where.",
      .example = EXAMPLE({"seq": 18, "actor": "person:ada@example.com", "action": "key.add", "target": "k_7Q2M", "origin": "192.0.2.10", "detail": {"label": "billing"}, "hash": "9f2c4d1b7a60e8355c1f0a2b9d8e7f66"})),
    INT(seq,       .flags = F_REQUIRED, .doc = "1, 2, 3 … without gaps."),
    TIME(at,       .flags = F_REQUIRED, .doc = "When it happened."),
    STR(actor,     .flags = F_REQUIRED, .doc = "operator, person:<e-mail>, the same with token:<token_id> after it for a personal access token, or key:<key_id>."),
    STR(action,    .flags = F_REQUIRED, .doc = "A noun and a verb, such as key.add."),
    STR(target,    .flags = F_REQUIRED, .doc = "What was changed."),
    STR(origin,    .flags = F_REQUIRED, .doc = "Address that the request came from."),
    OBJECT(detail, .flags = F_REQUIRED | F_NULL, .doc = "Further facts; never a secret. Null: none."),
    STR(hash,      .flags = F_REQUIRED, .doc = "SHA-256 of the entry and the previous entry's hash."));

LIST_SHAPE(audit_page, "AuditPage", (.doc = "Entries of the audit log, newest first."),
    ITEMS("entries", audit_item_shape, .flags = F_REQUIRED, .doc = "The entries."),
    STR(next,                       .flags = F_REQUIRED | F_NULL, .doc = "Cursor of the next page. Null: last page."));

SHAPE(audit_verdict, "AuditVerdict", (.doc = "Result of checking the hash chain of an audit log.",
      .example = EXAMPLE({"ok": true, "entries": 18, "signed_to": 18, "unsigned_entries": 0})),
    BOOL(ok,      .flags = F_REQUIRED, .doc = "Whether the chain is unbroken."),
    INT(entries,  .flags = F_REQUIRED, .doc = "Number of valid entries before the first problem."),
    STR(problem,  .flags = F_REQUIRED | F_NULL, .doc = "What is wrong, as a sentence. Null: nothing."),
    OPT_INT(seq,  .flags = F_REQUIRED | F_NULL, .doc = "seq of the entry with the problem."),
    OPT_INT(signed_to, .flags = F_REQUIRED | F_NULL, .doc = "The log is signed up to this entry. Null: the signature was not checked, or there is a problem."),
    INT(unsigned_entries, .flags = F_REQUIRED, .doc = "Entries that were written before the log was signed, or without the master key."),
    OPT_INT(reset_seq, .flags = F_REQUIRED | F_NULL, .doc = "seq of the latest entry `vault.reset`: the master key was lost, and no signature proves what is before. Null: none."));

SHAPE(audit_verify_query, "AuditVerifyQuery", (.rules = check_verify),
    STR(head, .pattern = "^mh1[.][0-9]+[.][0-9]+[.][0-9a-f]{64}[.]-?[0-9]+[.].{86}$", .flags = F_NULL, .doc = "A head that was kept: the log must still contain it."));

SHAPE_TABLE(, audit_head_shape, struct audit_head_answer, "AuditHead", (.doc = "The signed end of an audit log.",
      .example = EXAMPLE({"seq": 18, "unsigned_entries": 0, "head": "mh1.acme.18.nyxNG3pg.0.c2lnbmF0dXJl", "public_key": "3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})),
    INT(seq,              .flags = F_REQUIRED, .doc = "Number of entries."),
    INT(unsigned_entries, .flags = F_REQUIRED, .doc = "Entries that were written before the log was signed, or without the master key."),
    STR(head,             .flags = F_REQUIRED, .doc = "To be kept elsewhere: mh1.TENANT.SEQ.HASH.UNSIGNED.SIGNATURE, the signature over what is before it."),
    STR(public_key,       .flags = F_REQUIRED, .doc = "Ed25519, base64url: checks the signature."));
/* clang-format on */
