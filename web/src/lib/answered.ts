// When the service answered the requests of one load, by its own clock: its ranges end at its time,
// and the browser's clock may be wrong.

const times = new WeakMap<AbortSignal, number>();

/** Notes an answer for the load that the signal belongs to. */
export function noteTime(signal: AbortSignal | undefined, reply: Response) {
    const at = Date.parse(reply.headers.get("Date") ?? "");
    if (signal !== undefined && !Number.isNaN(at)) times.set(signal, at);
}

/** In milliseconds; by the browser's clock if no answer has said it. */
export const answeredAt = (signal: AbortSignal) => times.get(signal) ?? Date.now();
