/* feature.c - registers second factors with sign-in. */
#include "engine/feature.h"

#include "features/access/users/second_factor.h"
#include "features/features.h"
#include "features/second_factor/factor.h"
#include "features/second_factor/routes.h"

static int second_factor_open(struct engine *e, void **ret_state, struct error *err)
{
    (void)err;
    *ret_state = NULL;
    access_set_second_factor(e, &factor_hooks);
    return 0;
}

const struct feature second_factor_feature = {
    .name = "second_factor",
    .about = "Codes of authenticator apps at sign-in, and recovery codes.",
    .routes = { factor_routes },
    .commands = { factor_commands },
    .open = second_factor_open,
};
