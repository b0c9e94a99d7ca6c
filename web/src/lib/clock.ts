// The current time for texts such as "4 min ago": one timer for all of them.

import { makeStore, useStore } from "./store";

const TICK_MS = 5_000;
const now = makeStore(Date.now());
setInterval(() => document.visibilityState === "visible" && now.set(Date.now()), TICK_MS);
document.addEventListener("visibilitychange", () => now.set(Date.now()));

export const useNow = () => useStore(now);
