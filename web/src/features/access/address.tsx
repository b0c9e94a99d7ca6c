// A user's e-mail address in a list.

import { Chip } from "../../ui";

interface Props {
    user: { email: string; email_confirmed: boolean };
}

/** Says when the account may be another person's. */
export function Address({ user }: Props) {
    return (
        <>
            {user.email} {!user.email_confirmed && <Chip tone="quiet">not confirmed</Chip>}
        </>
    );
}
