/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/events/commands.h"
#include "features/features.h"

const struct feature events_feature = {
    .name = "events",
    .commands = { event_commands },
};
