// What exports share: their formats, and how a file is saved.

export const FORMATS = [
    { value: "csv", label: "CSV" },
    { value: "ndjson", label: "JSON lines" },
];

/** Saves the file as the browser saves a download. */
export function save(file: Blob, name: string) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
