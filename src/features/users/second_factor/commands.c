/* commands.c - second factors, on the command line. */
#include "features/users/routes.h"
#include "features/users/second_factor/shapes.h"

#define FACTOR    "/api/v1/platform/users/{email}/second-factor"
#define EMAIL_ARG { "email", OPTION_NAME, "EMAIL", .help = "e-mail address of the user" }

/* clang-format off */
const struct command factor_commands[] = {
    { "second-factor", "show", .args = { EMAIL_ARG },
      .help = "show whether a user has a second factor",
      .examples = "muster second-factor show ada@example.com",
      .method = METHOD_GET, .path = FACTOR, .answer = &factor_state_shape,
      .line = "{active?active since {confirmed_at}, {recovery_codes_left} recovery codes left|none}" },
    { "second-factor", "delete", .args = { EMAIL_ARG },
      .help = "remove the second factor of a user who lost the app and the recovery codes",
      .examples = "muster second-factor delete ada@example.com",
      .method = METHOD_DELETE, .path = FACTOR,
      .line = "'{email}' has no second factor now; sign-in asks for the password alone" },
    { 0 },
};
/* clang-format on */
