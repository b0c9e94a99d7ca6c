// Sign-in by the identity provider: the browser goes there, and comes back to CALLBACK.

import { ApiError, asApiError, call } from "../../lib/api";
import { session, setSignedIn } from "./session";

export const CALLBACK = "/oidc/callback";
const WAY_BACK = "muster.signin.hash"; // the page that was asked for, while the browser is away

/** The provider's own words are in the URL, where anyone can put them: only known ones are shown,
 * in ours. */
const REASONS: Record<string, string> = {
    access_denied: "The identity provider did not let you sign in, or you cancelled.",
    login_required: "The identity provider wants you to sign in there first.",
    temporarily_unavailable: "The identity provider is not available. Try again in a minute.",
    server_error: "The identity provider has failed. Try again in a minute.",
};
const OTHER_REASON =
    "The identity provider refused the request. Ask the operator of this service to check its settings.";

export async function goToProvider() {
    const { url } = await call("POST /api/v1/auth/oidc/begin", {});
    sessionStorage.setItem(WAY_BACK, location.hash);
    location.assign(url);
}

/** Leaves the callback's address, so that a reload does not send the code again. */
function leaveCallback() {
    const hash = sessionStorage.getItem(WAY_BACK) ?? "";
    sessionStorage.removeItem(WAY_BACK);
    history.replaceState(null, "", "/");
    if (hash.startsWith("#/")) location.replace(hash);
}

function setFailed(problem: ApiError) {
    session.set({ state: "out", expired: false, setup: false, problem });
}

/** Finishes the sign-in with what the provider put into the URL. */
export async function returnFromProvider() {
    const given = new URLSearchParams(location.search);
    const code = given.get("code");
    leaveCallback();
    if (code === null) {
        setFailed(new ApiError(0, REASONS[given.get("error") ?? ""] ?? OTHER_REASON));
        return;
    }
    const body = { code, state: given.get("state") ?? "", iss: given.get("iss") };
    try {
        setSignedIn(await call("POST /api/v1/auth/oidc/complete", { body }));
    } catch (problem) {
        setFailed(asApiError(problem));
    }
}
