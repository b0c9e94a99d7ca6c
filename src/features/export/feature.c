/* feature.c - the threads of exports. */
#include "engine/feature.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "features/export/commands.h"
#include "features/export/exports.h"
#include "features/export/routes.h"
#include "features/features.h"

struct export_state {
    struct exports *exports;
};

struct exports *export_exports(const struct engine *e)
{
    const struct export_state *state = engine_state(e, &export_feature);

    return state->exports;
}

static int export_open(struct engine *e, void **ret_state, struct error *err)
{
    struct export_state *state = NEW(struct export_state);

    (void)err;
    state->exports = exports_new(engine_database(e));
    *ret_state = state;
    return 0;
}

/* Those that run are ended before they are whole. */
static void export_stop(struct engine *e)
{
    struct export_state *state = engine_state(e, &export_feature);

    exports_free(state->exports);
    state->exports = NULL;
}

static void export_close(void *state)
{
    struct export_state *export = state;

    if (export == NULL)
        return;
    exports_free(export->exports);
    free(export);
}

const struct feature export_feature = {
    .name = "export",
    .routes = { export_routes },
    .commands = { export_commands },
    .open = export_open,
    .stop = export_stop,
    .close = export_close,
};
