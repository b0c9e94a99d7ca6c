/* session_shapes.c - the shapes of sessions. */
#include "features/users/session_shapes.h"

#include "features/users/shapes.h"
#include "shape/table.h"

enum { ID_DIGITS = 16 };

struct str session_public_id(const struct sha256 *digest, struct arena *arena)
{
    char text[sizeof("session:") - 1 + SHA256_BYTES] = "session:";
    char encoded[BASE64URL_LEN + 1];
    struct sha256 id;

    memcpy(text + sizeof("session:") - 1, digest->bytes, SHA256_BYTES);
    id = digest_sha256(str_from(text, sizeof(text)));
    digest_base64url(id.bytes, encoded);
    return arena_printf(arena, "ses_%.*s", ID_DIGITS, encoded);
}

/* clang-format off */
STATIC_SHAPE(listed_session, "ListedSession", (.doc = "A session of a user.",
      .example = EXAMPLE({"session_id": "ses_8sYt0KcPq2mWx4Zb", "address": "192.0.2.7", "user_agent": "Mozilla/5.0 (X11; Linux x86_64)", "current": true})),
    STR(session_id,    .flags = F_REQUIRED, .doc = "Identifies the session."),
    TIME(created_at,   .flags = F_REQUIRED, .doc = "When the user signed in."),
    TIME(last_used_at, .flags = F_REQUIRED, .doc = "When it was last used."),
    TIME(expires_at,   .flags = F_REQUIRED, .doc = "When it ends unless it is used again."),
    STR(address,       .flags = F_REQUIRED, .doc = "The IP address from which the user signed in. Empty: not known."),
    STR(user_agent,    .flags = F_REQUIRED, .doc = "The first 200 characters of the browser's `User-Agent` at sign-in; characters outside of printable ASCII are shown as `?`."),
    BOOL(current,      .flags = F_REQUIRED, .doc = "True: this request was made with it."));

LIST_SHAPE(session_list, "SessionList", (.doc = "The sessions of a user."),
    ITEMS("sessions", listed_session_shape, .flags = F_REQUIRED, .doc = "The sessions, newest first."));

SHAPE(session_path, "SessionPath", (.example = EXAMPLE({"session_id": "ses_8sYt0KcPq2mWx4Zb"})),
    STR(session_id, .flags = F_REQUIRED, .doc = "Identifies the session."));

SHAPE(session_user_path, "SessionUserPath", (.row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com", "session_id": "ses_8sYt0KcPq2mWx4Zb"})),
    STR(email,      .rule = user_rule_normal_email, .flags = F_REQUIRED, .doc = "E-mail address of the user."),
    STR(session_id, .flags = F_REQUIRED, .doc = "Identifies the session."));
/* clang-format on */
