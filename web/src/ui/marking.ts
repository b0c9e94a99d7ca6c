// A part of a chart that a person marks, by dragging a mouse or a finger or with the keyboard.

import { useRef, useState } from "preact/hooks";

import { endOf, type Mark, markOf } from "../lib/scale";

/** Called with a part that was marked, in seconds since 1970. */
export type OnZoom = (from: number, to: number) => void;

/** Where a key leads from a place; null: it is not one of a chart's keys. */
function moved(key: string, from: number | null, last: number): number | null {
    if (key === "Home") return 0;
    if (key === "End") return last;
    if (key === "ArrowLeft") return from === null ? last : Math.max(0, from - 1);
    if (key === "ArrowRight") return from === null ? 0 : Math.min(last, from + 1);
    return null;
}

const DRAG_MIN_PX = 8; // less is a click

/** By time: a live chart gets a new period at its end and loses one at its beginning, and a place
 * would then be another period. */
interface Ends {
    from: number; // in seconds, the beginning of a period
    at: number; // the same, where the person is
    downX: number | null; // where a pointer went down that is still down
    dragged: boolean; // it has moved since
}

/** In a reference besides the state: a finger moves faster than a page is drawn. */
export function useMarking(times: readonly number[], bucket: string, onZoom: OnZoom | undefined) {
    const ends = useRef<Ends | null>(null);
    const [, draw] = useState<Ends | null>(null);
    const set = (to: Ends | null) => {
        ends.current = to;
        draw(to);
    };
    const clear = () => set(null);
    const timeAt = (place: number) => times[place] ?? 0;
    const current = () => ends.current && markOf(times, ends.current.from, ends.current.at, bucket);
    const show = (mark: Mark) => {
        if (onZoom === undefined) return;
        clear();
        onZoom(timeAt(mark.first), endOf(timeAt(mark.last), bucket));
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (event.altKey || event.ctrlKey || event.metaKey) return; // the browser's own
        const mark = current();
        const to = moved(event.key, mark && mark.at, times.length - 1);
        if (to !== null) {
            const from = event.shiftKey && ends.current ? ends.current.from : timeAt(to);
            set({ from, at: timeAt(to), downX: null, dragged: false });
        } else if (event.key === "Enter" && mark) show(mark);
        else if (event.key === "Escape" && mark) clear();
        else return;
        event.preventDefault();
    };
    return {
        mark: current(),
        onKeyDown,
        clear,
        /** The pointer went down, at a place and a number of pixels from the left. */
        begin: (at: number, downX: number) =>
            set({ from: timeAt(at), at: timeAt(at), downX, dragged: false }),
        extend: (at: number, x: number) => {
            const now = ends.current;
            if (now === null || now.downX === null) return;
            const dragged = now.dragged || Math.abs(x - now.downX) >= DRAG_MIN_PX;
            set({ ...now, at: dragged ? timeAt(at) : now.from, dragged });
        },
        /** What was tapped rather than marked is not shown. */
        end: () => {
            if (ends.current === null || ends.current.downX === null) return;
            const mark = ends.current.dragged ? current() : null;
            clear();
            if (mark !== null) show(mark);
        },
        /** The pointer is gone, but what the keyboard marked stays. */
        cancel: () => ends.current?.downX != null && clear(),
    };
}
