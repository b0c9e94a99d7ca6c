// A small coloured label for a state.

export type Tone = "good" | "bad" | "warn" | "busy" | "quiet";

export function Chip({ tone, children }: { tone: Tone; children: string }) {
    return (
        <span class={`chip ${tone}`}>
            <i class="dot" />
            {children}
        </span>
    );
}
