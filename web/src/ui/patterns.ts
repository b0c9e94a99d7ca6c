// Where the system forces its colours, the lines of a chart differ by pattern as well: as dashes, as
// the filling of bars, and as the same filling in the legend.

const TILE_PX = 8;

export const forcedColours = () => matchMedia("(forced-colors: active)").matches;

/** Of the n-th line. */
const DASHES = [[], [10, 4], [2, 3], [10, 3, 2, 3], [5, 5], [14, 6], [2, 8], [14, 3, 2, 3, 2, 3]];

export const dashOf = (n: number): number[] => DASHES[n % DASHES.length] ?? [];

/** Stripes: their direction in degrees, their distance and their width in pixels; 0: filled. */
const STRIPES = [
    { turn: 0, every: 0, width: 0 },
    { turn: 45, every: 6, width: 3 },
    { turn: 90, every: 4, width: 2 },
    { turn: 135, every: 6, width: 3 },
    { turn: 0, every: 4, width: 2 },
    { turn: 45, every: 8, width: 2 },
    { turn: 90, every: 8, width: 2 },
    { turn: 0, every: 8, width: 2 },
];

const stripesOf = (n: number) => STRIPES[n % STRIPES.length] ?? { turn: 0, every: 0, width: 0 };

/** As the background of a swatch in the legend. */
export function swatchOf(n: number, colour: string): string {
    const { turn, every, width } = stripesOf(n);
    if (every === 0) return colour;
    return `repeating-linear-gradient(${turn}deg, ${colour} 0 ${width}px, Canvas ${width}px ${every}px)`;
}

/** As the filling of bars on a canvas. */
export function fillOf(n: number, colour: string): CanvasPattern | string {
    const { turn, every, width } = stripesOf(n);
    const tile = document.createElement("canvas");
    const side = every === 0 ? TILE_PX : every * 2;
    tile.width = tile.height = side;
    const ctx = tile.getContext("2d");
    if (every === 0 || ctx === null) return colour;
    ctx.fillStyle = "Canvas"; // of stacked bars, each is drawn over the next
    ctx.fillRect(0, 0, side, side);
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.translate(side / 2, side / 2);
    ctx.rotate((turn * Math.PI) / 180);
    const step = turn % 90 === 0 ? every : side / Math.SQRT2; // diagonal ones must meet at the edges
    for (let y = -2 * step; y <= 2 * step; y += step) {
        ctx.moveTo(-side, y);
        ctx.lineTo(side, y);
    }
    ctx.stroke();
    return ctx.createPattern(tile, "repeat") ?? colour;
}
