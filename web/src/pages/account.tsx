// The person who is signed in: password, second factor, sessions, tokens, and how times and colours are
// shown.

import { PasswordCard } from "../features/access/password";
import { SecondFactorCard } from "../features/access/second_factor";
import { SessionsCard } from "../features/access/sessions";
import { TokensCard } from "../features/access/tokens";
import { useStore } from "../lib/store";
import { setTheme, theme, type Theme } from "../lib/theme";
import { exactTimes, setExactTimes, setZone, zone, type Zone, zoneName } from "../lib/zone";
import { Card, ChoiceField, Heading } from "../ui";

const THEMES: { value: Theme; label: string }[] = [
    { value: "system", label: "As the system" },
    { value: "light", label: "Light" },
    { value: "dark", label: "Dark" },
];
const ZONES = (["local", "utc"] as Zone[]).map((value) => ({ value, label: zoneName(value) }));
const TIMES = [
    { value: "relative", label: "From now: 4 min ago" },
    { value: "exact", label: "Exact, with the time zone" },
];

function Display() {
    return (
        <Card title="Display">
            <div class="stack">
                <ChoiceField
                    label="Times"
                    choices={TIMES}
                    value={useStore(exactTimes) ? "exact" : "relative"}
                    onInput={(to) => setExactTimes(to === "exact")}
                />
                <ChoiceField
                    label="Time zone"
                    hint="Days and months of totals and budgets are always in UTC."
                    choices={ZONES}
                    value={useStore(zone)}
                    onInput={(to) => setZone(to as Zone)}
                />
                <ChoiceField
                    label="Colours"
                    choices={THEMES}
                    value={useStore(theme)}
                    onInput={(to) => setTheme(to as Theme)}
                />
            </div>
        </Card>
    );
}

export default function Account() {
    return (
        <>
            <Heading title="Your account" />
            <div class="packed">
                <PasswordCard />
                <SecondFactorCard />
                <Display />
            </div>
            <SessionsCard />
            <TokensCard />
        </>
    );
}
