/* shapes.c - the shapes of second factors. */
#include "features/second_factor/shapes.h"

#include "features/access/users/shapes.h"
#include "shape/table.h"

/* clang-format off */
#define OWNER struct factor_state
SHAPE_BEGIN(factor_state_shape)
    { BOOL(active),             .flags = F_REQUIRED, .doc = "True: sign-in asks for a code." },
    { INT(recovery_codes_left), .flags = F_REQUIRED, .doc = "Recovery codes that were not used yet." },
    { TIME(confirmed_at),       .flags = F_REQUIRED | F_NULL, .doc = "Since when. Null: not active." },
SHAPE_END(factor_state_shape, "SecondFactor", .doc = "Whether a user has a second factor.",
          .example = EXAMPLE({"active": true, "recovery_codes_left": 10}));
#undef OWNER

#define OWNER struct factor_password
SHAPE_BEGIN(factor_password_shape)
    { STR(current_password), .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = "The user's password." },
SHAPE_END(factor_password_shape, "SecondFactorPassword", .doc = "The password of the signed-in user.", .secret = true,
          .example = EXAMPLE({"current_password": "seven green teapots"}));
#undef OWNER

#define OWNER struct factor_begun
SHAPE_BEGIN(factor_begun_shape)
    { STR(secret), .flags = F_REQUIRED, .doc = "The key to type into the authenticator app, in base32. Shown only once." },
    { STR(uri),    .flags = F_REQUIRED, .doc = "The same as an otpauth:// URI, which apps read as a QR code." },
SHAPE_END(factor_begun_shape, "SecondFactorBegun", .doc = "What an authenticator app needs.",
          .example = EXAMPLE({"secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "uri": "otpauth://totp/muster:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=muster"}));
#undef OWNER

#define OWNER struct factor_code
SHAPE_BEGIN(factor_code_shape)
    { STR(code), .max = FACTOR_CODE_MAX, .flags = F_REQUIRED, .doc = "Six digits that the app shows." },
SHAPE_END(factor_code_shape, "SecondFactorCode", .doc = "A code of the authenticator app.", .secret = true,
          .example = EXAMPLE({"code": "287082"}));
#undef OWNER

#define OWNER struct factor_recovery
SHAPE_BEGIN(factor_recovery_shape)
    { LIST_STR(recovery_codes), .flags = F_REQUIRED, .doc = "Ten codes, each of which signs in once without the app. Shown only once." },
SHAPE_END(factor_recovery_shape, "NewRecoveryCodes", .doc = "New recovery codes; earlier ones stop working.",
          .example = EXAMPLE({"recovery_codes": ["k7wq-2mzd-x4pt-9hvc"]}));
#undef OWNER
/* clang-format on */
