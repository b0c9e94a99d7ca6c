// The logo.

export function Mark() {
    const squares = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    return (
        <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
            {squares.map((i) => (
                <rect
                    key={i}
                    x={4 + (i % 3) * 9}
                    y={4 + Math.floor(i / 3) * 9}
                    width="6"
                    height="6"
                    rx="1.5"
                    class={i === 4 ? "on" : i === 8 ? "off" : ""}
                />
            ))}
        </svg>
    );
}
