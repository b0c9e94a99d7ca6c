// QR codes as ISO/IEC 18004 has them: of bytes, with error correction level M, up to version 25.

/** For versions from 1, at level M: how many check bytes a block has, and how many blocks there are. */
const CHECKS = [
    10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28,
];
const BLOCKS = [
    1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21,
];

/** Rows of modules; undefined is where data goes. True is dark. */
type Grid = (boolean | undefined)[][];
export type Modules = boolean[][];

/** The remainder of a polynomial over GF(2), appended to it: format and version information. */
function withRemainder(value: number, divisor: number, bits: number) {
    let rest = value << bits;
    for (let at = 31 - Math.clz32(rest); at >= bits; at = 31 - Math.clz32(rest))
        rest ^= divisor << (at - bits);
    return (value << bits) | rest;
}

/** Where the centres of alignment patterns are, in either direction. */
function centres(version: number) {
    if (version === 1) return [];
    const gaps = Math.floor(version / 7) + 1;
    const last = version * 4 + 10;
    const step = Math.ceil((last - 6) / gaps / 2) * 2;
    return [6, ...Array.from({ length: gaps }, (_, i) => last - (gaps - 1 - i) * step)];
}

/** A square of rings around a centre: dark, except for the rings that are named. */
function rings(grid: Grid, row: number, column: number, light: number[], reach: number) {
    for (let y = -reach; y <= reach; y++)
        for (let x = -reach; x <= reach; x++) {
            const line = grid[row + y];
            if (line && column + x >= 0 && column + x < grid.length)
                line[column + x] = !light.includes(Math.max(Math.abs(x), Math.abs(y)));
        }
}

function drawFormat(grid: Grid, mask: number) {
    const size = grid.length;
    const bits = withRemainder(mask, 0x537, 10) ^ 0x5412; // level M is 00
    for (let i = 0; i < 15; i++) {
        const on = ((bits >> i) & 1) === 1;
        const skip = i < 6 ? i : i + 1; // the timing pattern
        if (i < 8) grid[skip]![8] = on;
        else grid[8]![i === 8 ? 7 : 14 - i] = on;
        if (i < 8) grid[8]![size - 1 - i] = on;
        else grid[size - 15 + i]![8] = on;
    }
    grid[size - 8]![8] = true;
}

function drawVersion(grid: Grid, version: number) {
    const bits = withRemainder(version, 0x1f25, 12);
    for (let i = 0; version >= 7 && i < 18; i++) {
        const far = grid.length - 11 + (i % 3);
        const near = Math.floor(i / 3);
        grid[far]![near] = grid[near]![far] = ((bits >> i) & 1) === 1;
    }
}

/** A grid with all that is the same for any data. */
function blank(version: number): Grid {
    const size = version * 4 + 17;
    const grid: Grid = Array.from({ length: size }, () => Array(size).fill(undefined));
    for (let i = 0; i < size; i++) grid[6]![i] = grid[i]![6] = i % 2 === 0;
    const at = centres(version);
    const isFinder = (one: number, other: number) =>
        (one === 6 && (other === 6 || other === size - 7)) || (one === size - 7 && other === 6);
    for (const row of at)
        for (const column of at) if (!isFinder(row, column)) rings(grid, row, column, [1], 2);
    rings(grid, 3, 3, [2, 4], 4);
    rings(grid, 3, size - 4, [2, 4], 4);
    rings(grid, size - 4, 3, [2, 4], 4);
    drawFormat(grid, 0);
    drawVersion(grid, version);
    return grid;
}

// Arithmetic in GF(256), by logarithms; the field's polynomial is 0x11d.
const POWERS: number[] = [];
const LOGS: number[] = [];
for (let i = 0, value = 1; i < 255; i++) {
    POWERS[i] = value;
    LOGS[value] = i;
    value = value < 128 ? value * 2 : (value * 2) ^ 0x11d;
}
const times = (a: number, b: number) => (a && b ? POWERS[(LOGS[a]! + LOGS[b]!) % 255]! : 0);

/** The check bytes of a block: Reed-Solomon. */
function checksOf(data: number[], n: number) {
    let divisor = [1]; // (x - 1)(x - 2)(x - 4)…
    for (let i = 0; i < n; i++) {
        const next = [...divisor, 0];
        divisor.forEach((term, at) => (next[at + 1]! ^= times(term, POWERS[i]!)));
        divisor = next;
    }
    const rest = [...data, ...Array<number>(n).fill(0)];
    data.forEach((_, at) => {
        const lead = rest[at]!;
        divisor.forEach((term, i) => (rest[at + i]! ^= times(term, lead)));
    });
    return rest.slice(data.length);
}

/** Mode, length, the bytes, and padding up to `capacity`. */
function frame(bytes: Uint8Array, version: number, capacity: number) {
    const bits = [0, 1, 0, 0];
    const add = (value: number, n: number) => {
        for (let i = n - 1; i >= 0; i--) bits.push((value >> i) & 1);
    };
    add(bytes.length, version < 10 ? 8 : 16);
    bytes.forEach((byte) => add(byte, 8));
    add(0, Math.min(4, capacity * 8 - bits.length));
    while (bits.length % 8 !== 0) bits.push(0);
    for (let pad = 0xec; bits.length < capacity * 8; pad ^= 0xec ^ 0x11) add(pad, 8);
    return Array.from({ length: capacity }, (_, i) =>
        bits.slice(i * 8, i * 8 + 8).reduce((byte, bit) => byte * 2 + bit, 0),
    );
}

/** Data and check bytes in their order: the first of every block, then the second… */
function interleave(data: number[], total: number, version: number) {
    const blocks = BLOCKS[version - 1]!;
    const checks = CHECKS[version - 1]!;
    const short = Math.floor(total / blocks) - checks;
    const parts: number[][] = [];
    for (let i = 0, from = 0; i < blocks; i++) {
        const n = short + (i >= blocks - (total % blocks) ? 1 : 0);
        parts.push(data.slice(from, (from += n)));
    }
    const column = (lists: number[][], n: number) =>
        Array.from({ length: n }, (_, i) => lists.flatMap((one) => one[i] ?? [])).flat();
    const ends = parts.map((part) => checksOf(part, checks));
    return [...column(parts, short + 1), ...column(ends, checks)];
}

/** Where data goes, in its order: columns in pairs from the right, up and down in turns. */
function places(grid: Grid) {
    const size = grid.length;
    const found: [number, number][] = [];
    let up = true;
    for (let right = size - 1; right > 0; right -= 2) {
        if (right === 6) right = 5; // the timing pattern
        for (let i = 0; i < size; i++)
            for (const column of [right, right - 1]) {
                const row = up ? size - 1 - i : i;
                if (grid[row]![column] === undefined) found.push([row, column]);
            }
        up = !up;
    }
    return found;
}

const MASKS: ((i: number, j: number) => number)[] = [
    (i, j) => (i + j) % 2,
    (i) => i % 2,
    (_, j) => j % 3,
    (i, j) => (i + j) % 3,
    (i, j) => (Math.floor(i / 2) + Math.floor(j / 3)) % 2,
    (i, j) => ((i * j) % 2) + ((i * j) % 3),
    (i, j) => (((i * j) % 2) + ((i * j) % 3)) % 2,
    (i, j) => (((i + j) % 2) + ((i * j) % 3)) % 2,
];

/** How hard a line is to read: long runs, and what looks like a finder pattern. */
function linePenalty(line: boolean[]) {
    const text = line.map((on) => (on ? "1" : "0")).join("");
    const runs = (text.match(/0{5,}|1{5,}/g) ?? []).reduce((sum, run) => sum + run.length - 2, 0);
    const finders = text.match(/(?=00001011101|10111010000)/g)?.length ?? 0;
    return runs + finders * 40;
}

function penalty(modules: Modules) {
    let sum = 0;
    let dark = 0;
    modules.forEach((line, y) => {
        sum += linePenalty(line) + linePenalty(modules.map((other) => other[y]!));
        line.forEach((on, x) => {
            dark += Number(on);
            const below = modules[y + 1];
            if (below && x + 1 < line.length)
                if (on === line[x + 1] && on === below[x] && on === below[x + 1]) sum += 3;
        });
    });
    return sum + Math.floor(Math.abs(dark / modules.length ** 2 - 0.5) * 20) * 10;
}

function masked(grid: Grid, at: [number, number][], bytes: number[], mask: number): Modules {
    const out = grid.map((line) => line.map((on) => on ?? false));
    at.forEach(([row, column], i) => {
        const bit = ((bytes[i >> 3] ?? 0) >> (7 - (i & 7))) & 1; // a few places are left over
        out[row]![column] = (bit === 1) !== (MASKS[mask]!(row, column) === 0);
    });
    drawFormat(out, mask);
    return out;
}

/** The smallest QR code of a text, without its margin; null when it is too long. */
export function qrCode(text: string): Modules | null {
    const bytes = new TextEncoder().encode(text);
    for (let version = 1; version <= BLOCKS.length; version++) {
        const grid = blank(version);
        const at = places(grid);
        const total = at.length >> 3;
        const capacity = total - BLOCKS[version - 1]! * CHECKS[version - 1]!;
        if (bytes.length + (version < 10 ? 2 : 3) > capacity) continue;
        const words = interleave(frame(bytes, version, capacity), total, version);
        return MASKS.map((_, mask) => masked(grid, at, words, mask)).reduce((best, one) =>
            penalty(one) < penalty(best) ? one : best,
        );
    }
    return null;
}
