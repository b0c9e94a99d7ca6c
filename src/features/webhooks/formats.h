/* formats.h - a notice as it is sent: the JSON that each service documents, or a mail; and signed.
 *
 * What agents wrote is never markup: it goes into fields that the service shows
 * as they are, or is escaped. Sizes stay below the service's limits, which the
 * functions name.
 *
 * Thread-safe: pure functions. Results are in the arena.
 */
#pragma once
#include "base/arena.h"

struct notice;

/* The JSON of the Standard Webhooks form: type, timestamp, data. To the data it adds workspace,
 * link and next_step. */
struct str format_standard(const struct notice *notice, struct arena *arena);

/* Slack's blocks, with `text` for notifications and for services that know no blocks. A section's
 * text has 3,000 characters at most, a field 2,000. */
struct str format_slack(const struct notice *notice, struct arena *arena);

/* A message with an adaptive card, as Microsoft Teams' workflows take it: 28 KB at most. */
struct str format_teams(const struct notice *notice, struct arena *arena);

/* A message with one embed, without mentions: title 256 characters, description 4,096, a field's
 * value 1,024, all together 6,000. */
struct str format_discord(const struct notice *notice, struct arena *arena);

/* An event of PagerDuty's Events API v2 for the integration `routing_key`: summary 1,024
 * characters, dedup_key 255. The end of an alert resolves what its beginning triggered. */
struct str format_pagerduty(const struct notice *notice, struct str routing_key,
                            struct arena *arena);

/* One alert of Alertmanager's API v2. It fires until the message that it is over; what has no such
 * message ends after Alertmanager's resolve_timeout. */
struct str format_alertmanager(const struct notice *notice, struct arena *arena);

/* The routing key in a webhook's URL, "…?routing_key=<32 letters and digits>"; STR_NULL: none. */
struct str format_routing_key(struct str url);

/* The URL without its query. */
struct str format_url_plain(struct str url);

/* A mail to a person. */
struct letter {
    struct str to, subject, text, message_id;
    int64_t at;
};

/* A mail with its headers; lines end in CR LF. */
struct str format_letter(const struct letter *letter, struct str from, struct arena *arena);
struct str format_mail(const struct notice *notice, struct str from, struct str to,
                       struct arena *arena);

/* "whsec_" and the base64 of a fresh random key, NUL-terminated. */
enum { WEBHOOK_SECRET_LEN = 6 + 32 };
void webhook_secret_make(char ret[WEBHOOK_SECRET_LEN + 1]);

/* The value of webhook-signature: one per secret ("whsec_…"), separated by spaces. STR_NULL when a
 * secret is malformed: nothing must be sent with a signature that others could make. */
struct str webhook_signature(const struct str *secrets, size_t n, struct str message_id,
                             int64_t timestamp_s, struct str body, struct arena *arena);
