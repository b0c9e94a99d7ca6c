// A value that components can subscribe to.

import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
    get(): T;
    set(value: T): void;
    subscribe(callback: () => void): () => void;
}

export function makeStore<T>(first: T): Store<T> {
    const subscribers = new Set<() => void>();
    let current = first;
    return {
        get: () => current,
        set(value) {
            if (Object.is(value, current)) return;
            current = value;
            for (const callback of [...subscribers]) callback();
        },
        subscribe(callback) {
            subscribers.add(callback);
            return () => subscribers.delete(callback);
        },
    };
}

export function useStore<T>(store: Store<T>): T {
    const [value, setValue] = useState(store.get);
    useEffect(() => {
        const update = () => setValue(() => store.get());
        update();
        return store.subscribe(update);
    }, [store]);
    return value;
}
