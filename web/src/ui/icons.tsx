// Line icons of 16 by 16 pixels, inlined.

const PATHS = {
    workflows: "M5.5 2.5h5v3h-5zM2 10.5h4.5v3H2zM9.5 10.5H14v3H9.5zM8 5.5V8M4.2 10.5V8h7.6v2.5",
    overview: "M2.5 8.5L8 3l5.5 5.5M4 7.5v6h8v-6M6.8 13.5v-3.5h2.4v3.5",
    fleet: "M2.5 3.5h4v4h-4zM9.5 3.5h4v4h-4zM2.5 10h4v3h-4zM9.5 10h4v3h-4z",
    runs: "M2.5 4h1M6 4h7.5M2.5 8h1M6 8h7.5M2.5 12h1M6 12h7.5",
    business: "M2.5 13.5v-4M6.2 13.5v-7M9.8 13.5v-5M13.5 13.5v-11",
    cost: "M8 2v12M11 4.8C10.4 3.9 9.3 3.5 8 3.5c-1.7 0-3 .8-3 2.2 0 3.2 6.2 1.4 6.2 4.6 0 1.4-1.4 2.2-3.2 2.2-1.5 0-2.7-.6-3.2-1.6",
    alerts: "M8 2.5a3.8 3.8 0 0 0-3.8 3.8c0 3.6-1.5 4.7-1.5 4.7h10.6s-1.5-1.1-1.5-4.7A3.8 3.8 0 0 0 8 2.5zM6.8 13.5h2.4",
    settings: "M2.5 4.5h6M12 4.5h1.5M2.5 11.5h1.5M7.5 11.5h6M10.2 2.8v3.4M5.8 9.8v3.4",
    platform: "M2.5 13.5h11M4 13.5V5l4-2.5L12 5v8.5M6.5 7h.01M9.5 7h.01M6.5 10h.01M9.5 10h.01",
    search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.2 3.2",
    copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
    check: "M3 8.5l3.2 3.2L13 4.5",
    right: "M6 3.5L10.5 8 6 12.5",
    down: "M3.5 6L8 10.5 12.5 6",
    left: "M10 3.5L5.5 8l4.5 4.5",
    out: "M6.5 2.5h-4v11h4M6 8h7.5M10.5 5l3 3-3 3",
    sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1",
    moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6z",
    system: "M2.5 3h11v7.5h-11zM5.5 13.5h5M8 10.5v3",
    link: "M6.5 9.5l3-3M7 4.8l1.6-1.6a2.7 2.7 0 0 1 3.9 3.9L11 8.7M9 11.2l-1.6 1.6a2.7 2.7 0 0 1-3.9-3.9L5 7.3",
    close: "M4 4l8 8M12 4l-8 8",
    external: "M9 2.5h4.5V7M13.2 2.8L7.5 8.5M6.5 3.5h-3v9h9v-3",
    export: "M8 2.5v7.5M5 7l3 3 3-3M2.5 13.5h11",
    plus: "M8 3v10M3 8h10",
    user: "M8 2.5a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM2.8 13.8c.6-2.7 2.7-4 5.2-4s4.6 1.3 5.2 4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
    return (
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
            <path d={PATHS[name]} />
        </svg>
    );
}

export function IconButton(props: { icon: IconName; label: string; onClick: () => void }) {
    return (
        <button
            type="button"
            class="icon-button"
            title={props.label}
            aria-label={props.label}
            onClick={props.onClick}
        >
            <Icon name={props.icon} />
        </button>
    );
}
