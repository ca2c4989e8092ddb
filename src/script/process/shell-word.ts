/** A text as one word of a shell. No program's arguments can hold a NUL: it is left out. */
export const quoted = (text: string): string => `'${text.replaceAll('\0', '').replaceAll("'", `'\\''`)}'`;
