/* portal.c - serves the portal's files from the binary. */
#include "features/portal/portal.h"

#include "api/call.h"
#include "engine/feature.h"
#include "features/features.h"
#include "http/parser.h"

static const struct portal_file *find_file(struct str path)
{
    for (size_t i = 0; i < n_portal_files; i++)
        if (str_eq_c(path, portal_files[i].path))
            return &portal_files[i];
    return NULL;
}

/* For the rare client that does not accept gzip. */
static void reply_inflated(struct api_call *call, struct call_file *reply,
                           const struct portal_file *file)
{
    struct buf out;

    buf_init(&out, file->len);
    (void)http_inflate(reply->bytes, &out, NULL);
    reply->bytes = buf_str(&out);
    reply->bytes_take = out.data;
    call_reply_file(call, reply);
}

static void reply_with(struct api_call *call, const struct portal_file *file, bool hashed)
{
    struct call_file reply = { .type = file->type,
                               .tag = str_of(file->tag),
                               .bytes = str_from((const char *)file->gzip, file->gzip_len),
                               .gzip = http_accepts_gzip(&call->exchange->request),
                               .keep = hashed };

    if (reply.gzip)
        call_reply_file(call, &reply);
    else
        reply_inflated(call, &reply, file);
}

static int send_page(struct api_call *call, struct error *err)
{
    static const struct call_file none = {
        .type = "text/plain; charset=utf-8",
        .bytes = STR_INIT("This is muster. This build has no portal: it was made with PORTAL=0 or "
                          "without Node.js.\nThe API is at /api/v1, its description at "
                          "/openapi.json.\n"),
    };
    const struct portal_file *page = find_file(call->exchange->request.path);

    (void)err;
    if (page == NULL)
        call_reply_file(call, &none);
    else
        reply_with(call, page, false);
    return 0;
}

/* Where the identity provider sends the browser back to: the portal reads the rest of the URL. */
static int send_callback(struct api_call *call, struct error *err)
{
    const struct portal_file *page = find_file(STR_LIT("/"));

    if (page == NULL)
        return send_page(call, err);
    reply_with(call, page, false);
    return 0;
}

static int send_docs(struct api_call *call, struct error *err)
{
    const struct portal_file *page = find_file(STR_LIT("/docs"));

    if (page == NULL)
        return send_page(call, err);
    reply_with(call, page, false);
    return 0;
}

static int send_file(struct api_call *call, struct error *err)
{
    const struct portal_file *file = find_file(call->exchange->request.path);

    if (file == NULL)
        return call_refuse(call, err, 404, "Not Found");
    reply_with(call, file, str_starts(call->exchange->request.path, STR_LIT("/assets/")));
    return 0;
}

/* clang-format off */
static const struct route portal_routes[] = {
    { ROUTE(GET, "/", OPEN, 200), .handler = send_page, .page = true,
      .summary = "Get the portal" },
    { ROUTE(GET, "/docs", OPEN, 200), .handler = send_docs, .page = true,
      .summary = "Get the page that shows the API and tries it" },
    { ROUTE(GET, "/docs/", OPEN, 200), .handler = send_docs, .page = true,
      .summary = "Get the same page" },
    { ROUTE(GET, "/oidc/callback", OPEN, 200), .handler = send_callback, .page = true,
      .summary = "Get the portal, after signing in by the identity provider" },
    { ROUTE(GET, "/assets/{name}", OPEN, 200), .handler = send_file, .page = true,
      .summary = "Get a file of the portal" },
    { ROUTE(GET, "/sdk/{name}", OPEN, 200), .handler = send_file, .page = true,
      .summary = "Get a library for agents, as pip and npm install it" },
    { 0 },
};
/* clang-format on */

const struct feature portal_feature = {
    .name = "portal",
    .routes = { portal_routes },
};
