/* routes.h - the routes of this feature, for its feature.c. */
#pragma once
#include "api/route.h"

extern const struct route agent_routes[];
extern const struct route config_routes[];
extern const struct route directive_routes[];
extern const struct route document_routes[];
extern const struct route heartbeat_routes[];
extern const struct route register_routes[];
extern const struct route schedule_routes[];
extern const struct route value_routes[];
