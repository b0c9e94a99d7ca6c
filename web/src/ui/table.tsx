// Tables, and the card around a list that is loaded.

import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

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
    by?: (row: Row) => number | string; // its heading sorts the rows by this
}

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

export interface Sorting {
    title: string; // of the column
    descending: boolean;
}

const TIMES = ["Started", "Last seen"]; // columns that the server sorts, the latest first

/** Numbers fall and texts rise at the first click; the third returns to the list's own order. */
function nextSorting(was: Sorting | null, title: string, fallsFirst: boolean): Sorting | null {
    if (was?.title !== title) return { title, descending: fallsFirst };
    return was.descending === fallsFirst ? { title, descending: !fallsFirst } : null;
}

function sortedRows<Row>(
    rows: readonly Row[],
    columns: readonly Column<Row>[],
    sorting: Sorting | null,
): readonly Row[] {
    const by = columns.find((one) => one.title === sorting?.title)?.by;
    if (by === undefined || sorting === null) return rows;
    const sign = sorting.descending ? -1 : 1;
    const compare = (a: number | string, b: number | string) =>
        typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return [...rows].sort((a, b) => sign * compare(by(a), by(b)));
}

interface HeadProps {
    title: string;
    class: string | undefined;
    sorting: Sorting | null;
    onSort: (() => void) | null; // null: the column cannot be sorted
}

function Head({ title, class: name, sorting, onSort }: HeadProps) {
    const own = sorting?.title === title ? sorting : null;
    if (onSort === null) return <th class={name}>{title}</th>;
    return (
        <th
            class={name}
            aria-sort={own === null ? "none" : own.descending ? "descending" : "ascending"}
        >
            <button type="button" class="sort" onClick={onSort}>
                {title}
                <span aria-hidden="true">{own === null ? "" : own.descending ? "↓" : "↑"}</span>
            </button>
        </th>
    );
}

/** A row with a link is its link, but for text that was selected and for what is in it to press. */
function openRow(event: MouseEvent & { currentTarget: HTMLElement }) {
    const target = event.target as Element;
    if (target.closest("a, button, input, select, summary, time")) return;
    if (String(getSelection()) !== "") return;
    event.currentTarget.querySelector<HTMLElement>("a.row-link")?.click();
}

interface TableProps<Row> {
    columns: readonly Column<Row>[];
    buttons?: ((row: Row) => ComponentChildren) | false; // a last column; false: for other people
    rows: readonly Row[];
    keyOf: (row: Row) => string | number;
    rowClass?: ((row: Row) => string) | undefined;
    class?: string | undefined; // flat: without a frame, inside a card
    part?: Part | undefined; // the rows are only a part of a longer list
    /** The server sorts: by which column, and what a click on another heading does. */
    order?: { sorting: Sorting | null; columns: readonly string[]; onSort: (to: Sorting | null) => void };
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
    const { columns, buttons, keyOf, rowClass, part, order } = props;
    const [own, setOwn] = useState<Sorting | null>(null);
    const sorting = order ? order.sorting : own;
    const rows = order ? props.rows : sortedRows(props.rows, columns, own);
    const sortBy = (column: Column<Row>) => {
        const [first] = props.rows;
        const falls = order
            ? (column.class ?? "").includes("number") || TIMES.includes(column.title)
            : first !== undefined && typeof column.by?.(first) === "number";
        const next = nextSorting(sorting, column.title, falls);
        if (order) order.onSort(next);
        else setOwn(next);
    };
    const isSortable = ({ title, by }: Column<Row>) =>
        order ? order.columns.includes(title) : by !== undefined && part === undefined;
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
                        {columns.map((column) => (
                            <Head
                                key={column.title}
                                title={column.title}
                                class={column.class}
                                sorting={sorting}
                                onSort={isSortable(column) ? () => sortBy(column) : null}
                            />
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
                            onClick={openRow}
                            aria-rowindex={part && part.first + i + 2}
                        >
                            {columns.map(({ title, cell, label, class: name }) => (
                                <td
                                    key={title}
                                    class={name}
                                    data-label={label}
                                    dir="auto" // what agents send may be in any script
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
