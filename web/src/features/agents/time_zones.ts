// Names of time zones to choose from.

/** Those that the browser knows, UTC first; any other that the service knows may be typed. */
export const TIME_ZONES: readonly string[] = [
    "UTC",
    ...Intl.supportedValuesOf("timeZone").filter((one) => one !== "UTC"),
];

/** Of this browser. */
export const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
