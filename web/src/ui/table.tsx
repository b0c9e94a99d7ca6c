// Tables, and the card around a list that is loaded.

import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { Loaded } from "../lib/query";
import { Card, type CardProps } from "./card";
import { LoadState } from "./feedback";

export interface Column<Row> {
    title: string;
    cell: (row: Row) => ComponentChildren;
    /** fit: as narrow as its content; grow: long text wraps; number: to the right; wide: left out
     * on a narrow screen. */
    class?: string;
    label?: string; // before the value on a telephone, where a row has no headings
}

const AGENTS_TEXT = /words|grow/; // columns with what agents sent, in any script

const CARDS_BELOW = 540; // pixels; in less room, more than FEW columns are too dense to read
const FEW = 3;

/** A table that has not enough room becomes a list of cards. Whether it has is measured, because no
 * fixed width holds for what agents send; and once it is cards it stays so until its room changes,
 * so that live values do not make it switch forth and back. */
function useCards(holder: RefObject<HTMLDivElement | null>) {
    const cardsAt = useRef(-1); // the room in which it became cards
    const measure = () => {
        const table = holder.current?.firstElementChild;
        const room = holder.current?.clientWidth ?? 0;
        if (!(table instanceof HTMLTableElement) || room === 0 || room === cardsAt.current) return;
        table.classList.remove("cards");
        const dense = room < CARDS_BELOW && (table.rows[0]?.cells.length ?? 0) > FEW;
        const cards = dense || table.offsetWidth > room;
        table.classList.toggle("cards", cards);
        cardsAt.current = cards ? room : -1;
    };
    useLayoutEffect(measure);
    useLayoutEffect(() => {
        const size = new ResizeObserver(measure);
        if (holder.current) size.observe(holder.current);
        return () => size.disconnect();
    }, []);
}

interface TableProps<Row> {
    columns: readonly Column<Row>[];
    buttons?: ((row: Row) => ComponentChildren) | false; // a last column; false: for other people
    rows: readonly Row[];
    keyOf: (row: Row) => string | number;
    rowClass?: ((row: Row) => string) | undefined;
    class?: string | undefined; // flat: without a frame, inside a card
    part?: Part | undefined; // the rows are only a part of a longer list
}

/** Where rows lie in a list of `total`, each about `rowPx` high. */
export interface Part {
    first: number;
    total: number;
    rowPx: number;
}

/** The room of rows that are not drawn. */
function Gap({ rows, rowPx, columns }: { rows: number; rowPx: number; columns: number }) {
    if (rows <= 0) return null;
    return (
        <tbody class="gap" aria-hidden="true">
            <tr style={{ height: `${Math.round(rows * rowPx)}px` }}>
                <td colSpan={columns} />
            </tr>
        </tbody>
    );
}

export function Table<Row>(props: TableProps<Row>) {
    const { columns, buttons, rows, keyOf, rowClass, part } = props;
    const width = columns.length + (buttons ? 1 : 0);
    const holder = useRef<HTMLDivElement>(null);
    useCards(holder);
    return (
        <div class="table" ref={holder}>
            <table
                class={`list ${props.class ?? ""}`}
                aria-rowcount={part && part.total + 1} // with the headings
            >
                <thead>
                    <tr>
                        {columns.map(({ title, class: name }) => (
                            <th key={title} class={name}>
                                {title}
                            </th>
                        ))}
                        {buttons && (
                            <th>
                                <span class="visually-hidden">Actions</span>
                            </th>
                        )}
                    </tr>
                </thead>
                {part && <Gap rows={part.first} rowPx={part.rowPx} columns={width} />}
                <tbody>
                    {rows.map((row, i) => (
                        <tr
                            key={keyOf(row)}
                            class={rowClass?.(row)}
                            aria-rowindex={part && part.first + i + 2}
                        >
                            {columns.map(({ title, cell, label, class: name }) => (
                                <td
                                    key={title}
                                    class={name}
                                    data-label={label}
                                    dir={AGENTS_TEXT.test(name ?? "") ? "auto" : undefined}
                                >
                                    {cell(row)}
                                </td>
                            ))}
                            {buttons && (
                                <td class="fit number">
                                    <span class="row-buttons">{buttons(row)}</span>
                                </td>
                            )}
                        </tr>
                    ))}
                </tbody>
                {part && (
                    <Gap
                        rows={part.total - part.first - rows.length}
                        rowPx={part.rowPx}
                        columns={width}
                    />
                )}
            </table>
        </div>
    );
}

interface ListProps<Row> extends TableProps<Row> {
    loaded: Loaded<unknown>;
    empty?: ComponentChildren; // instead of a table without rows
    skeleton?: number; // rows of it
}

/** A table of a query's rows, or its loading, failed or empty state. */
export function List<Row>({ loaded, empty, skeleton = 3, ...table }: ListProps<Row>) {
    const none = table.rows.length === 0 && empty !== undefined;
    return (
        <>
            <LoadState of={loaded} rows={skeleton} />
            {loaded.data !== undefined &&
                (none ? empty : <Table {...table} class={`flat ${table.class ?? ""}`} />)}
        </>
    );
}

interface ListCardProps<Row> extends ListProps<Row>, Pick<CardProps, "title" | "aside"> {
    above?: ComponentChildren; // filters, a new token
    children?: ComponentChildren; // below the list: a pager, open dialogs
}

/** A card with a list that is loaded. */
export function ListCard<Row>(props: ListCardProps<Row>) {
    const { title, aside, above, children, ...list } = props;
    return (
        <Card title={title} aside={aside}>
            {above}
            <List {...list} />
            {children}
        </Card>
    );
}
