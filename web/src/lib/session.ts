// Who is signed in.

import { ApiError, call, setCsrf, whenSignedOut } from "./api";
import { forgetAll } from "./query";
import { makeStore } from "./store";

export interface Me {
    email: string;
    role: "platform_admin" | null;
    tenants: { slug: string; name: string; role: string }[];
    csrf_token: string;
}

export type Session =
    | { state: "asking" }
    | { state: "out"; expired: boolean; setup: boolean } // setup: there is no user yet
    | { state: "in"; me: Me }
    | { state: "failed"; error: ApiError };

export const session = makeStore<Session>({ state: "asking" });

export function enter(me: Me) {
    setCsrf(me.csrf_token);
    session.set({ state: "in", me });
}

function leave(expired: boolean, setup: boolean) {
    setCsrf(null);
    session.set({ state: "out", expired, setup });
}

whenSignedOut(() => {
    if (session.get().state === "in") leave(true, false);
});

/** Asks the service who we are; when we are nobody, whether anybody is. */
export async function ask() {
    session.set({ state: "asking" });
    try {
        enter((await call("GET /api/v1/auth/me" as never, {} as never)) as Me);
    } catch (problem) {
        const error = problem instanceof ApiError ? problem : new ApiError(0, String(problem));
        if (error.status !== 401) return session.set({ state: "failed", error });
        const { needed } = (await call("GET /api/v1/auth/setup" as never, {} as never)) as {
            needed: boolean;
        };
        leave(false, needed);
    }
}

export async function logIn(email: string, password: string) {
    enter(
        (await call(
            "POST /api/v1/auth/login" as never,
            { body: { email, password } } as never,
        )) as Me,
    );
}

export async function setUp(code: string, email: string, password: string) {
    enter(
        (await call(
            "POST /api/v1/auth/setup" as never,
            { body: { code, email, password } } as never,
        )) as Me,
    );
}

export async function logOut() {
    await call("POST /api/v1/auth/logout" as never, {} as never);
    forgetAll();
    leave(false, false);
}

export const isPlatformAdmin = (me: Me) => me.role === "platform_admin";

/** May the person change things in this tenant? */
export function isAdmin(me: Me, slug: string): boolean {
    return (
        isPlatformAdmin(me) || me.tenants.some((one) => one.slug === slug && one.role === "admin")
    );
}
