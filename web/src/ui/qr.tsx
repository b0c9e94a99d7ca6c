// A QR code: dark on white in both themes, because many readers know nothing else.

import { useMemo } from "preact/hooks";

import { qrCode } from "../lib/qr";

const MARGIN = 4; // modules; readers need it

/** Nothing when the text is too long for one. */
export function QrCode({ text, label }: { text: string; label: string }) {
    const modules = useMemo(() => qrCode(text), [text]);
    if (modules === null) return null;
    const size = modules.length + MARGIN * 2;
    const path = modules
        .flatMap((line, y) =>
            line.map((on, x) => (on ? `M${x + MARGIN} ${y + MARGIN}h1v1h-1z` : "")),
        )
        .join("");
    return (
        <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
            <rect width={size} height={size} fill="white" />
            <path d={path} fill="black" shape-rendering="crispEdges" />
        </svg>
    );
}
