// Codes of an authenticator app.

import { createHmac } from "node:crypto";

/** The code that it shows for a key in base32 (RFC 6238). */
export function codeOf(key, step) {
    const digits = [...key].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c));
    const bits = digits.map((n) => n.toString(2).padStart(5, "0")).join("");
    const bytes = Buffer.from(bits.match(/.{8}/g).map((one) => parseInt(one, 2)));
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(BigInt(step));
    const mac = createHmac("sha1", bytes).update(counter).digest();
    const number = mac.readUInt32BE(mac[19] & 15) & 0x7fffffff;
    return String(number % 1_000_000).padStart(6, "0");
}
