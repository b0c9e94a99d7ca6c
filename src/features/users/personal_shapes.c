/* personal_shapes.c - the shapes of personal access tokens. */
#include "features/users/personal_shapes.h"

#include "features/users/shapes.h"
#include "shape/table.h"

#define ROLE_DOC                                                                                   \
    "What the token allows at most, in every workspace of the user: admin changes settings and "   \
    "keys, member reads; platform_admin allows all that the user may do."

/* clang-format off */
SHAPE(personal_create, "PersonalTokenCreate", (.doc = "A personal access token to create.", .secret = true,
      .example = EXAMPLE({"name": "laptop", "role": "admin", "expires_in_days": 30})),
    STR(name,            .min = 1, .max = 128, .flags = F_REQUIRED, .doc = "What the token is for."),
    ENUM(role,           .absent = "\"member\"", .choices = token_role_names, .doc = ROLE_DOC),
    INT(expires_in_days, .least = 1, .most = 366, .absent = "90", .doc = "Days until it stops working."),
    STR(current_password, .max = PASSWORD_MAX, .flags = F_NULL, .doc = "The user's password; needed when the user signed in more than ten minutes ago."),
    STR(code,            .max = 64, .flags = F_NULL, .doc = "Beside the password, of a user with a second factor: the six digits that the app shows, or a recovery code."));

SHAPE(personal_token, "PersonalToken", (.doc = "A personal access token, without the token itself.",
      .example = EXAMPLE({"token_id": "pat_8sYt0KcPq2mWx4Zb", "name": "laptop", "role": "admin"})),
    STR(token_id,    .flags = F_REQUIRED, .doc = "Identifies the token."),
    STR(name,        .flags = F_REQUIRED, .doc = "What the token is for."),
    STR(role,        .flags = F_REQUIRED, .choices = token_role_names, .doc = ROLE_DOC),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When it was created."),
    TIME(expires_at, .flags = F_REQUIRED, .doc = "When it stops working."));

SHAPE(personal_created, "PersonalTokenCreated", (.doc = "A new personal access token.",
      .example = EXAMPLE({"token_id": "pat_8sYt0KcPq2mWx4Zb", "token": "mst_pat_…", "name": "laptop", "role": "admin"})),
    STR(token_id,    .flags = F_REQUIRED, .doc = "Identifies the token."),
    STR(token,       .flags = F_REQUIRED, .doc = "Shown only once."),
    STR(name,        .flags = F_REQUIRED, .doc = "What the token is for."),
    STR(role,        .flags = F_REQUIRED, .choices = token_role_names, .doc = ROLE_DOC),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When it was created."),
    TIME(expires_at, .flags = F_REQUIRED, .doc = "When it stops working."));

LIST_SHAPE(personal_list, "PersonalTokenList", (.doc = "The personal access tokens of a user."),
    ITEMS("tokens", personal_token_shape, .flags = F_REQUIRED, .doc = "The tokens, oldest first."));

SHAPE(personal_path, "PersonalTokenPath", (.example = EXAMPLE({"token_id": "pat_8sYt0KcPq2mWx4Zb"})),
    STR(token_id, .flags = F_REQUIRED, .doc = "Identifies the token."));

SHAPE(personal_user_path, "PersonalTokenUserPath", (.row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com", "token_id": "pat_8sYt0KcPq2mWx4Zb"})),
    STR(email,    .rule = user_rule_normal_email, .flags = F_REQUIRED, .doc = "E-mail address of the user."),
    STR(token_id, .flags = F_REQUIRED, .doc = "Identifies the token."));
/* clang-format on */
