// QR codes, read by another program's decoder (jsQR).

import assert from "node:assert/strict";
import { test } from "node:test";

import jsQR from "jsqr";

import { load } from "./bundle.mjs";

const { qrCode } = await load("qr.ts");
const MARGIN = 4;
const SCALE = 2; // pixels of a module
const MOST = 997; // bytes of version 25 at level M

/** What a camera would see: pixels of four bytes. */
function picture(modules) {
    const side = (modules.length + MARGIN * 2) * SCALE;
    const pixels = new Uint8ClampedArray(side * side * 4).fill(255);
    for (let y = 0; y < side; y++)
        for (let x = 0; x < side; x++) {
            const on = modules[Math.floor(y / SCALE) - MARGIN]?.[Math.floor(x / SCALE) - MARGIN];
            if (on) pixels.fill(0, (y * side + x) * 4, (y * side + x) * 4 + 3);
        }
    return { pixels, side };
}

function read(modules) {
    const { pixels, side } = picture(modules);
    return jsQR(pixels, side, side);
}

test("another decoder reads texts of every length that is the most of a version", () => {
    // from the standard's table of capacities: bytes at level M
    const most = [
        14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331, 362, 412, 450, 504, 560, 624, 666,
        711, 779, 857, 911, 997,
    ];
    for (const [i, n] of most.entries()) {
        const text = Array.from({ length: n }, (_, at) => "otpauth:/%?=aZ9"[(at * 7 + n) % 15]);
        const modules = qrCode(text.join(""));
        assert.equal(modules.length, 17 + 4 * (i + 1), `${n} bytes: version ${i + 1}`);
        const found = read(modules);
        assert.equal(found?.data, text.join(""), `${n} bytes`);
        assert.equal(found.version, i + 1);
    }
});

test("a text beyond ASCII is read back, and one that is too long has no code", () => {
    const text = "otpauth://totp/müster:zoë@example.org";
    assert.equal(Buffer.from(read(qrCode(text)).binaryData).toString(), text);
    assert.equal(qrCode("a".repeat(MOST + 1)), null);
});

test("a code with a tenth of its middle covered is still read", () => {
    const text = "otpauth://totp/muster:ada%40example.org?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
    const modules = qrCode(text);
    for (let y = 14; y < 20; y++) for (let x = 14; x < 20; x++) modules[y][x] = true;
    assert.equal(read(modules)?.data, text);
});
