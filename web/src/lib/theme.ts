// Dark or light: the system's choice until a person chooses.

import { makeStore } from "./store";

export type Theme = "system" | "light" | "dark";
const KEY = "muster.theme";

function stored(): Theme {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
}

export const theme = makeStore<Theme>(stored());

function apply() {
    const chosen = theme.get();
    if (chosen === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = chosen;
}

export function setTheme(to: Theme) {
    localStorage.setItem(KEY, to);
    theme.set(to);
}

theme.subscribe(apply);
apply();

/** Calls back when the colours change, by choice or by the system. */
export function onColoursChange(callback: () => void): () => void {
    const queries = ["(prefers-color-scheme: dark)", "(forced-colors: active)"].map((query) =>
        matchMedia(query),
    );
    for (const one of queries) one.addEventListener("change", callback);
    const stop = theme.subscribe(callback);
    return () => {
        for (const one of queries) one.removeEventListener("change", callback);
        stop();
    };
}
