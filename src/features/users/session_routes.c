/* session_routes.c - sessions: a user lists and ends their own, a platform admin any user's.
 *
 * What a user ends here is in effect before the answer, on other nodes within a second.
 */
#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "features/access/auth.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"
#include "features/users/users.h"

/* A row as an answer. The last use is newer in memory than in the database. */
static struct listed_session listed(const struct api_call *call, const struct session_row *row)
{
    const int64_t used = sessions_last_used(access_sessions(call->api->engine), &row->digest);
    const int64_t last = used > row->last_used_at ? used : row->last_used_at;

    return (struct listed_session){
        .session_id = session_public_id(&row->digest, call->arena),
        .created_at = row->created_at,
        .last_used_at = last,
        .expires_at = sessions_end(row->created_at, last),
        .address = row->address,
        .user_agent = row->user_agent,
        .current =
            call->caller->user != NULL && digest_equal(&call->caller->user->session, &row->digest),
    };
}

/* Those that have not ended. */
static int list_sessions(struct api_call *call, struct db *db, struct str user_id,
                         struct error *err)
{
    struct listing *answer = call->answer;
    const int64_t now = clock_wall_us();
    struct listed_session *items;
    const struct session_row *row;
    struct list rows;
    size_t n = 0;

    ASSERT_ALWAYS(!str_is_null(user_id)); /* null: all users' */
    if (sessions_load(db, user_id, call->arena, &rows, err) != 0)
        return -1;
    row = rows.items;
    items = ARENA_ARRAY(call->arena, struct listed_session, rows.n);
    for (size_t i = 0; i < rows.n; i++) {
        items[n] = listed(call, &row[i]);
        if (items[n].expires_at > now)
            n++;
    }
    answer->list = (struct list){ items, n };
    return 0;
}

/* Ends the session of this user with this public id; ERR_NOT_FOUND. A user has few sessions. */
static int end_one(struct api_call *call, struct db *db, struct str user_id, struct str session_id,
                   struct error *err)
{
    const struct session_row *row;
    struct list rows;

    ASSERT_ALWAYS(!str_is_null(user_id)); /* null: all users' */
    if (sessions_load(db, user_id, call->arena, &rows, err) != 0)
        return -1;
    row = rows.items;
    for (size_t i = 0; i < rows.n; i++)
        if (str_eq(session_public_id(&row[i].digest, call->arena), session_id))
            return session_end(db, &row[i].digest, err);
    return err_set(err, ERR_NOT_FOUND, "There is no session '%.*s'", STR_ARG(session_id));
}

static void name_session(struct api_call *call, struct str email, const char *which)
{
    call->audit_target = email;
    call->audit_detail = arena_printf(call->arena, "{\"ended\":\"%s\"}", which);
}

/* A user's own */

static int list_own_sessions(struct api_call *call, struct db *db, struct error *err)
{
    return list_sessions(call, db, call->caller->user->user_id, err);
}

static int end_own_session(struct api_call *call, struct db *db, struct error *err)
{
    const struct session_path *path = call->params;
    const struct session_user *user = call->caller->user;

    if (end_one(call, db, user->user_id, path->session_id, err) != 0 ||
        list_own_sessions(call, db, err) != 0)
        return -1;
    name_session(call, user->email, "one");
    return accounts_audit(call, db, user, "session.end", err);
}

static int end_other_sessions(struct api_call *call, struct db *db, struct error *err)
{
    const struct session_user *user = call->caller->user;

    if (sessions_end_of(db, user->user_id, &user->session, err) != 0 ||
        list_own_sessions(call, db, err) != 0)
        return -1;
    name_session(call, user->email, "others");
    return accounts_audit(call, db, user, "session.end", err);
}

/* A browser that ended its own session forgets the cookie. */
static void own_session_ended(struct api_call *call, const struct error *err)
{
    const struct session_path *path = call->params;

    if (err == NULL &&
        str_eq(session_public_id(&call->caller->user->session, call->arena), path->session_id))
        session_forget(call);
    call_reply(call, err);
}

static int begin_end_own(struct api_call *call, struct error *err)
{
    (void)err;
    call_change(call, CHANGE_USERS, end_own_session, own_session_ended);
    return 0;
}

static int begin_end_others(struct api_call *call, struct error *err)
{
    (void)err;
    call_change(call, CHANGE_USERS, end_other_sessions, call_reply);
    return 0;
}

/* Any user's */

static int list_user_sessions(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_path *path = call->params;
    struct user_row user;

    if (users_find(db, path->email, call->arena, &user, err) != 0)
        return -1;
    return list_sessions(call, db, user.user_id, err);
}

static int end_user_session(struct api_call *call, struct db *db, struct error *err)
{
    const struct session_user_path *path = call->params;
    struct user_row user;

    name_session(call, path->email, "one");
    if (users_find(db, path->email, call->arena, &user, err) != 0 ||
        end_one(call, db, user.user_id, path->session_id, err) != 0)
        return -1;
    return list_sessions(call, db, user.user_id, err);
}

static int end_user_sessions(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_path *path = call->params;
    struct user_row user;

    name_session(call, path->email, "all");
    if (users_find(db, path->email, call->arena, &user, err) != 0 ||
        sessions_end_of(db, user.user_id, NULL, err) != 0)
        return -1;
    return list_sessions(call, db, user.user_id, err);
}

/* clang-format off */
const struct route session_routes[] = {
    { ROUTE(GET, "/api/v1/auth/sessions", USER, 200), .read = list_own_sessions, .answer = &session_list_shape,
      .id = "list_own_sessions", .summary = "List one's own sessions",
      .description = "Newest first: when and from where the user signed in, and when each session was last used. Personal access tokens are no sessions." },
    { ROUTE(DELETE, "/api/v1/auth/sessions", USER, 200), .handler = begin_end_others, .answer = &session_list_shape,
      .id = "end_other_sessions", .summary = "End all of one's own sessions but this one",
      .description = "In effect at once. The answer lists what is left." },
    { ROUTE(DELETE, "/api/v1/auth/sessions/{session_id}", USER, 200), .handler = begin_end_own, .sends = SENDS_COOKIE, .also = ALSO_NOT_FOUND, .params = &session_path_shape, .answer = &session_list_shape,
      .id = "end_own_session", .summary = "End one of one's own sessions",
      .description = "In effect at once. Ending the current one signs out. The answer lists what is left." },
    { ROUTE(GET, "/api/v1/platform/users/{email}/sessions", PLATFORM, 200), .read = list_user_sessions, .also = ALSO_NOT_FOUND, .params = &user_path_shape, .answer = &session_list_shape,
      .id = "list_user_sessions", .summary = "List a user's sessions",
      .description = "Newest first." },
    { ROUTE(DELETE, "/api/v1/platform/users/{email}/sessions", PLATFORM, 200), .change = end_user_sessions, .topic = CHANGE_USERS, .also = ALSO_NOT_FOUND, .params = &user_path_shape, .answer = &session_list_shape, .audit = "session.end",
      .id = "end_user_sessions", .summary = "End all of a user's sessions",
      .description = "In effect at once: the user has to sign in again. Personal access tokens go on working." },
    { ROUTE(DELETE, "/api/v1/platform/users/{email}/sessions/{session_id}", PLATFORM, 200), .change = end_user_session, .topic = CHANGE_USERS, .also = ALSO_NOT_FOUND, .params = &session_user_path_shape, .answer = &session_list_shape, .audit = "session.end",
      .id = "end_user_session", .summary = "End one of a user's sessions",
      .description = "In effect at once. The answer lists what is left." },
    { 0 },
};
/* clang-format on */
