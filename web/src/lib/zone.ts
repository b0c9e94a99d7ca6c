// How times are written: in the browser's zone or in UTC, from now or exact. Kept in the browser.

import { makeStore } from "./store";

export type Zone = "local" | "utc";

const [ZONE, EXACT] = ["muster.zone", "muster.exact"];

function kept(name: string): string | null {
    try {
        return localStorage.getItem(name);
    } catch {
        return null; // storage is blocked
    }
}

function keep(name: string, value: string) {
    try {
        localStorage.setItem(name, value);
    } catch {
        // it holds until the page is closed
    }
}

export const zone = makeStore<Zone>(kept(ZONE) === "utc" ? "utc" : "local");
export const exactTimes = makeStore(kept(EXACT) === "yes");

export function setZone(to: Zone) {
    keep(ZONE, to);
    zone.set(to);
}

export function setExactTimes(to: boolean) {
    keep(EXACT, to ? "yes" : "no");
    exactTimes.set(to);
}

/** "Europe/Berlin", or UTC. */
export const zoneName = (of: Zone) =>
    of === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
