/* shapes.c - the shapes of second factors. */
#include "features/users/second_factor/shapes.h"

#include "features/users/shapes.h"
#include "shape/table.h"

/* clang-format off */
SHAPE(factor_state, "SecondFactor", (.doc = "Whether a user has a second factor.",
      .example = EXAMPLE({"active": true, "recovery_codes_left": 10})),
    BOOL(active,             .flags = F_REQUIRED, .doc = "True: sign-in asks for a code."),
    INT(recovery_codes_left, .flags = F_REQUIRED, .doc = "Recovery codes that were not used yet."),
    TIME(confirmed_at,       .flags = F_REQUIRED | F_NULL, .doc = "Since when. Null: not active."));

SHAPE(factor_password, "SecondFactorPassword", (.doc = "The password of the signed-in user.", .secret = true,
      .example = EXAMPLE({"current_password": "seven green teapots"})),
    STR(current_password, .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = "The user's password."));

SHAPE(factor_begun, "SecondFactorBegun", (.doc = "What an authenticator app needs.",
      .example = EXAMPLE({"secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "uri": "otpauth://totp/muster:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=muster"})),
    STR(secret, .flags = F_REQUIRED, .doc = "The key to type into the authenticator app, in base32. Shown only once."),
    STR(uri,    .flags = F_REQUIRED, .doc = "The same as an otpauth:// URI, which apps read as a QR code."));

SHAPE(factor_code, "SecondFactorCode", (.doc = "A code of the authenticator app.", .secret = true,
      .example = EXAMPLE({"code": "287082"})),
    STR(code, .max = FACTOR_CODE_MAX, .flags = F_REQUIRED, .doc = "Six digits that the app shows."));

SHAPE(factor_recovery, "NewRecoveryCodes", (.doc = "New recovery codes; earlier ones stop working.",
      .example = EXAMPLE({"recovery_codes": ["k7wq-2mzd-x4pt-9hvc"]})),
    LIST_STR(recovery_codes, .flags = F_REQUIRED, .doc = "Ten codes, each of which signs in once without the app. Shown only once."));
/* clang-format on */
