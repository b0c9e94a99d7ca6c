// A part of a chart that a person marks, by dragging a mouse or a finger or with the keyboard.

import { useRef, useState } from "preact/hooks";

import { stepOf } from "../lib/scale";

/** Called with a part that was marked, in seconds since 1970. */
export type OnZoom = (from: number, to: number) => void;

/** Periods by their places: from the first to the last; `at` is where the person is. */
export interface Mark {
    first: number;
    last: number;
    at: number;
}

/** Where a key leads from a place; null: it is not one of a chart's keys. */
function moved(key: string, from: number | null, last: number): number | null {
    if (key === "Home") return 0;
    if (key === "End") return last;
    if (key === "ArrowLeft") return from === null ? last : Math.max(0, from - 1);
    if (key === "ArrowRight") return from === null ? 0 : Math.min(last, from + 1);
    return null;
}

interface Ends {
    from: number;
    at: number;
    dragged: boolean; // by a pointer that is down
}

/** In a reference besides the state: a finger moves faster than a page is drawn. */
export function useMarking(times: readonly number[], onZoom: OnZoom | undefined) {
    const ends = useRef<Ends | null>(null);
    const [, draw] = useState<Ends | null>(null);
    const set = (to: Ends | null) => {
        ends.current = to;
        draw(to);
    };
    const clear = () => set(null);
    const markOf = (of: Ends | null): Mark | null =>
        of && Math.max(of.from, of.at) < times.length
            ? { first: Math.min(of.from, of.at), last: Math.max(of.from, of.at), at: of.at }
            : null;
    const show = (mark: Mark) => {
        if (onZoom === undefined) return;
        clear();
        onZoom(times[mark.first] ?? 0, (times[mark.last] ?? 0) + stepOf(times));
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (event.altKey || event.ctrlKey || event.metaKey) return; // the browser's own
        const mark = markOf(ends.current);
        const to = moved(event.key, mark && mark.at, times.length - 1);
        const from = event.shiftKey && ends.current ? ends.current.from : to;
        if (to !== null && from !== null) set({ from, at: to, dragged: false });
        else if (event.key === "Enter" && mark) show(mark);
        else if (event.key === "Escape" && mark) clear();
        else return;
        event.preventDefault();
    };
    return {
        mark: markOf(ends.current),
        onKeyDown,
        clear,
        begin: (at: number) => set({ from: at, at, dragged: true }),
        extend: (at: number) => ends.current?.dragged && set({ ...ends.current, at }),
        /** One period alone was tapped rather than marked. */
        end: () => {
            const mark = ends.current?.dragged ? markOf(ends.current) : null;
            if (mark === null) return;
            if (mark.last > mark.first) show(mark);
            clear();
        },
    };
}
