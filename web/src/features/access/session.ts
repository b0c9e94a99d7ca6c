// Who is signed in.

import type { Session as Me } from "api";

import { ApiError, call, setCsrf, whenSignedOut } from "../../lib/api";
import { forgetAll } from "../../lib/query";
import { makeStore, useStore } from "../../lib/store";

export type { Me };

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
    forgetAll(); // whoever comes next may be somebody else
    session.set({ state: "out", expired, setup });
}

whenSignedOut(() => {
    if (session.get().state === "in") leave(true, false);
});

/** Asks the service who we are; when we are nobody, whether anybody is. */
export async function ask() {
    session.set({ state: "asking" });
    try {
        enter(await call("GET /api/v1/auth/me", {}));
    } catch (problem) {
        if (problem instanceof ApiError && problem.status === 401) await askForSetUp();
        else fail(problem);
    }
}

async function askForSetUp() {
    try {
        leave(false, (await call("GET /api/v1/auth/setup", {})).needed);
    } catch (problem) {
        fail(problem);
    }
}

function fail(problem: unknown) {
    const error = problem instanceof ApiError ? problem : new ApiError(0, String(problem));
    session.set({ state: "failed", error });
}

export async function logIn(email: string, password: string) {
    enter(await call("POST /api/v1/auth/login", { body: { email, password } }));
}

export async function setUp(code: string, email: string, password: string) {
    enter(await call("POST /api/v1/auth/setup", { body: { code, email, password } }));
}

export async function logOut() {
    try {
        await call("POST /api/v1/auth/logout", {});
    } catch (problem) {
        if (!(problem instanceof ApiError && problem.status === 401)) throw problem;
    }
    leave(false, false);
}

export const isPlatformAdmin = (me: Me) => me.role === "platform_admin";

/** May the person change things in this tenant? */
export function isAdmin(me: Me, slug: string): boolean {
    return (
        isPlatformAdmin(me) || me.tenants.some((one) => one.slug === slug && one.role === "admin")
    );
}

/** What the person may change: in this tenant, and of the platform. */
export function useMay(slug: string): { admin: boolean; platform: boolean } {
    const now = useStore(session);
    if (now.state !== "in") return { admin: false, platform: false };
    return { admin: isAdmin(now.me, slug), platform: isPlatformAdmin(now.me) };
}
