/** Quotes a text as one word of a shell. No program argument can contain a NUL, so it is dropped. */
export const quoted = (text: string): string => `'${text.replaceAll('\0', '').replaceAll("'", `'\\''`)}'`;
