// A value that components can watch.

import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
    get(): T;
    set(value: T): void;
    watch(then: () => void): () => void;
}

export function makeStore<T>(first: T): Store<T> {
    const watchers = new Set<() => void>();
    let current = first;
    return {
        get: () => current,
        set(value) {
            if (Object.is(value, current)) return;
            current = value;
            for (const then of [...watchers]) then();
        },
        watch(then) {
            watchers.add(then);
            return () => watchers.delete(then);
        },
    };
}

export function useStore<T>(store: Store<T>): T {
    const [value, setValue] = useState(store.get);
    useEffect(() => {
        const take = () => setValue(() => store.get());
        take();
        return store.watch(take);
    }, [store]);
    return value;
}
