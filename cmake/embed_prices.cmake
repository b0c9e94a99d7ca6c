# Writes OUTPUT: the price list in FILE as a C string.
file(READ ${FILE} text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE ${OUTPUT}
"/* Made from share/prices.json by cmake/embed_prices.cmake. */
extern const char built_in_prices_text[];

const char built_in_prices_text[] =
    \"${text}\";
")
