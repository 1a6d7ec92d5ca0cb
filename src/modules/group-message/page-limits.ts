/** A page ends when its messages reach this size, with at least one. */
export const MAX_PAGE_BYTES = 128 * 1024;
