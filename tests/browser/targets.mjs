// Targets of the pointer that are hard to hit: WCAG 2.2, success criterion 2.5.8.

/** Every target in the page that is smaller than 24 by 24 pixels and too close to another one, as
 * text. A link within a sentence may be small, and so may what has enough room around it. What is hit
 * counts, not what is drawn: a label of a field, or a row that is a link. */
export function smallTargets(page) {
    return page.evaluate(() => {
        const SIZE = 24;
        const TARGETS =
            "a[href], button, input:not([type=hidden]), select, textarea, summary," +
            " [role=button], [role=option], [role=treeitem], [role=tab], [tabindex]:not([tabindex='-1'])";
        const scrolls = (one) => one.matches(".scroll, main, [role=region]"); // to be read, not hit
        const isInSentence = (one) =>
            getComputedStyle(one).display === "inline" &&
            [...one.parentElement.childNodes].some(
                (node) => node.nodeType === Node.TEXT_NODE && /\w/.test(node.data),
            );
        const boxOf = (one) => {
            const boxes = [one, ...(one.labels ?? [])].map((part) => part.getBoundingClientRect());
            return {
                left: Math.min(...boxes.map((box) => box.left)) + scrollX,
                right: Math.max(...boxes.map((box) => box.right)) + scrollX,
                top: Math.min(...boxes.map((box) => box.top)) + scrollY,
                bottom: Math.max(...boxes.map((box) => box.bottom)) + scrollY,
            };
        };
        const all = [...document.querySelectorAll(TARGETS)]
            .filter((one) => one.checkVisibility({ visibilityProperty: true }))
            .filter((one) => !one.disabled && !scrolls(one))
            .map((one) => ({ one, ...boxOf(one) }))
            .filter((box) => box.right > box.left && box.bottom > box.top)
            .map((box) => ({
                ...box,
                x: (box.left + box.right) / 2,
                y: (box.top + box.bottom) / 2,
                small: box.right - box.left < SIZE - 0.5 || box.bottom - box.top < SIZE - 0.5,
            }));
        /** Is the target hit all around its centre, although its box is small? */
        const isHit = ({ one, x, y }) => {
            one.scrollIntoView({ block: "center" });
            const reach = SIZE / 2 - 1;
            return [-reach, 0, reach].every((dx) =>
                [-reach, 0, reach].every((dy) => {
                    const hit = document.elementFromPoint(x + dx - scrollX, y + dy - scrollY);
                    return hit !== null && (one.contains(hit) || hit.closest("label")?.control === one);
                }),
            );
        };
        const small = all.filter((box) => box.small && !isInSentence(box.one) && !isHit(box));
        const isNear = (box, other) => {
            if (other === box || other.one.contains(box.one) || box.one.contains(other.one)) return false;
            if (small.includes(other)) return Math.hypot(other.x - box.x, other.y - box.y) < SIZE - 0.5;
            const dx = Math.max(other.left - box.x, 0, box.x - other.right);
            const dy = Math.max(other.top - box.y, 0, box.y - other.bottom);
            return Math.hypot(dx, dy) < SIZE / 2 - 0.5;
        };
        return small
            .filter((box) => all.some((other) => isNear(box, other)))
            .map(({ one, left, right, top, bottom }) => {
                const size = `${Math.round(right - left)} × ${Math.round(bottom - top)}`;
                return `${size}: ${one.outerHTML.slice(0, 160)}`;
            });
    });
}
