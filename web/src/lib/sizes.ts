// How many bytes the requests of one load took, so that a page that is left open stays light.

const HEAD_BYTES = 600; // of a request and its answer, without bodies

const taken = new WeakMap<AbortSignal, number>();

/** Counts an answer for the load that the signal belongs to. */
export function countBytes(signal: AbortSignal | undefined, reply: Response) {
    if (signal === undefined) return;
    const body = Number(reply.headers.get("Content-Length") ?? 0);
    taken.set(signal, (taken.get(signal) ?? 0) + HEAD_BYTES + body);
}

export const bytesOf = (signal: AbortSignal) => taken.get(signal) ?? 0;
