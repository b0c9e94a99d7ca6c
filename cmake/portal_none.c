/* portal_none.c - stands in for the portal in a build without Node.js. */
#include "features/portal/portal.h"

const struct portal_file portal_files[1] = { { 0 } };
const size_t n_portal_files = 0;
