// Dark or light: as the system says, unless somebody chose.

import { makeStore } from "./store";

export type Theme = "system" | "light" | "dark";
const KEY = "muster.theme";

function remembered(): Theme {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
}

export const theme = makeStore<Theme>(remembered());

function apply() {
    const chosen = theme.get();
    if (chosen === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = chosen;
}

export function setTheme(to: Theme) {
    localStorage.setItem(KEY, to);
    theme.set(to);
}

theme.watch(apply);
apply();

/** Calls back when colours change, by choice or by the system. */
export function whenColoursChange(then: () => void): () => void {
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", then);
    const stop = theme.watch(then);
    return () => {
        system.removeEventListener("change", then);
        stop();
    };
}
