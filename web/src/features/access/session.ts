// Who is signed in.

import type { Session as Me } from "api";

import { ApiError, asApiError, call, setCsrf, setOnSignedOut } from "../../lib/api";
import { clearCache } from "../../lib/query";
import { makeStore, useStore } from "../../lib/store";

export type { Me };

export type Session =
    | { state: "loading" }
    // setup: there is no user yet; problem: why a sign-in by the identity provider failed
    | { state: "out"; expired: boolean; setup: boolean; problem?: ApiError }
    | { state: "in"; me: Me }
    | { state: "failed"; error: ApiError };

export const session = makeStore<Session>({ state: "loading" });

export function setSignedIn(me: Me) {
    setCsrf(me.csrf_token);
    session.set({ state: "in", me });
}

function setSignedOut(expired: boolean, setup: boolean) {
    setCsrf(null);
    clearCache(); // the next person may be another one
    session.set({ state: "out", expired, setup });
}

setOnSignedOut(() => {
    if (session.get().state === "in") setSignedOut(true, false);
});

/** Loads the current session; without one, whether the service still has to be set up. */
export async function loadSession() {
    session.set({ state: "loading" });
    try {
        setSignedIn(await call("GET /api/v1/auth/me", {}));
    } catch (problem) {
        if (problem instanceof ApiError && problem.status === 401) await loadSetUp();
        else fail(problem);
    }
}

async function loadSetUp() {
    try {
        setSignedOut(false, (await call("GET /api/v1/auth/setup", {})).needed);
    } catch (problem) {
        fail(problem);
    }
}

function fail(problem: unknown) {
    session.set({ state: "failed", error: asApiError(problem) });
}

/** `code`: of the second factor; "": none. */
export async function signIn(email: string, password: string, code = "") {
    const body = { email, password, code: code || null };
    setSignedIn(await call("POST /api/v1/auth/login", { body }));
}

export async function setUp(code: string, email: string, password: string) {
    setSignedIn(await call("POST /api/v1/auth/setup", { body: { code, email, password } }));
}

/** How long the identity provider may keep a person from signing out here. */
const PROVIDER_MS = 5000;

/** Where the browser signs out of the identity provider; null: nowhere, or that is not known. */
async function providerSignOut(): Promise<string | null> {
    try {
        const signal = AbortSignal.timeout(PROVIDER_MS);
        return (await call("GET /api/v1/auth/oidc/sign-out", { signal })).url;
    } catch {
        return null;
    }
}

/** Ends the session, and where the identity provider opened it also the one there: else the next
 * sign-in would ask the next person nothing. */
export async function signOut() {
    const elsewhere = await providerSignOut(); // asked with the session
    try {
        await call("POST /api/v1/auth/logout", {});
    } catch (problem) {
        if (!(problem instanceof ApiError && problem.status === 401)) throw problem;
    }
    setSignedOut(false, false);
    if (elsewhere !== null) location.assign(elsewhere);
}

export const isPlatformAdmin = (me: Me) => me.role === "platform_admin";

/** Is the person an admin of this tenant? */
export function isAdmin(me: Me, slug: string): boolean {
    return (
        isPlatformAdmin(me) || me.tenants.some((one) => one.slug === slug && one.role === "admin")
    );
}

/** Whether the person is an admin of this tenant, and of the platform. */
export function useRoles(slug: string): { admin: boolean; platform: boolean } {
    const now = useStore(session);
    if (now.state !== "in") return { admin: false, platform: false };
    return { admin: isAdmin(now.me, slug), platform: isPlatformAdmin(now.me) };
}
