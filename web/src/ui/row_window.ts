// The rows of a long list that are near the window. The others are empty room of the same height,
// so that a list of thousands is drawn and scrolled like a short one.

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

const STEP = 15; // rows; the window moves in steps, because each is a request
const ROW_GUESS_PX = 33; // until rows have been measured

export interface RowWindow {
    first: number; // the index of its first row
    limit: number; // rows at the most
    rowPx: number; // the height of a row, on average
}

function windowAt(holder: HTMLElement | null, rowPx: number): Omit<RowWindow, "rowPx"> {
    const above = Math.max(0, -(holder?.getBoundingClientRect().top ?? 0));
    const visible = Math.ceil(innerHeight / rowPx / STEP);
    const first = Math.max(0, Math.floor(above / rowPx / STEP) - 1) * STEP;
    return { first, limit: (visible + 3) * STEP };
}

/** The height of the rows that are drawn, and how many they are. */
type Measure = (holder: HTMLElement) => { px: number; rows: number };

function ofTable(holder: HTMLElement): { px: number; rows: number } {
    const body = holder.querySelector<HTMLTableSectionElement>("tbody:not(.gap)");
    return { px: body?.offsetHeight ?? 0, rows: body?.rows.length ?? 0 };
}

/** `holder` is around the rows, which are a table's unless they are measured otherwise. */
export function useRowWindow(
    holder: RefObject<HTMLElement | null>,
    measure: Measure = ofTable,
): RowWindow {
    const [rowPx, setRowPx] = useState(ROW_GUESS_PX);
    const [at, setAt] = useState(() => windowAt(null, ROW_GUESS_PX));

    useLayoutEffect(() => {
        const drawn = holder.current ? measure(holder.current) : { px: 0, rows: 0 };
        const px = drawn.rows > 0 ? drawn.px / drawn.rows : rowPx;
        if (Math.abs(px - rowPx) > 1) setRowPx(px);
    });
    useEffect(() => {
        let frame = 0;
        const look = () => {
            frame = 0;
            const next = windowAt(holder.current, rowPx);
            setAt((was) => (was.first === next.first && was.limit === next.limit ? was : next));
        };
        const later = () => (frame ||= requestAnimationFrame(look));
        look();
        addEventListener("scroll", later, { passive: true });
        addEventListener("resize", later);
        return () => {
            cancelAnimationFrame(frame);
            removeEventListener("scroll", later);
            removeEventListener("resize", later);
        };
    }, [holder, rowPx]);
    return { ...at, rowPx };
}
