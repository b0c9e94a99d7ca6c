// The fields of forms about a person.

import { ChoiceField, TextField } from "../../ui";
import { PASSWORD_MIN } from "./password";

interface Props {
    value: string;
    onInput: (to: string) => void;
}

export function EmailField({ autoComplete, ...props }: Props & { autoComplete?: string }) {
    const auto = autoComplete === undefined ? {} : { autoComplete };
    return <TextField label="E-mail" name="email" kind="email" required focus {...auto} {...props} />;
}

/** Said wherever a role is chosen, and to whom it is given; its label has less room. */
export const MEMBER_MAY = "can view, acknowledge, mute and plan maintenance";

interface RoleFieldProps<Role extends string> {
    roles: readonly { value: Role; label: string }[];
    value: Role;
    onInput: (to: Role) => void;
}

export function RoleField<Role extends string>({ roles, value, onInput }: RoleFieldProps<Role>) {
    return (
        <ChoiceField
            label="Role"
            choices={roles}
            hint={
                value === "member"
                    ? `Members ${MEMBER_MAY}, and set the configuration values that admins open to them.`
                    : ""
            }
            value={value}
            onInput={(to) => onInput(to as Role)}
        />
    );
}

interface PasswordFieldProps extends Props {
    label: string;
    name?: string;
    more?: string; // after the hint
    required?: boolean;
}

/** A password that an admin sets for another person. */
export function PasswordField({ more = "", ...props }: PasswordFieldProps) {
    const hint = `At least ${PASSWORD_MIN} characters. Pass it on yourself; they can change it.`;
    return (
        <TextField
            kind="password"
            autoComplete="new-password"
            hint={`${hint} ${more}`}
            {...props}
        />
    );
}
