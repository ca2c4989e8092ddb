/**
 * Ids are UUIDs, which are stored and compared in lower case. Clients may send capitals (RFC 9562, section 4) or the
 * URN form. Requests are normalised on arrival, so that all other code sees one form.
 */

const anyForm = /^(?:urn:uuid:)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** Fields that hold our ids. Any other text, even a UUID, is the customer's own and stays unchanged. */
const holdsIds = /^(?:id|token|.+Ids?)$/;
/** Keys in these fields are chosen by the customer. */
const anyNames = new Set(['metadata', 'config', 'heartbeat', 'browserCheckDefaults', 'playwrightConfig']);

/** The normalised form of a UUID; any other text unchanged. */
export function idAsStored(text: string): string {
  // The length rules out nearly every other text.
  if (text.length !== 36 && text.length !== 45) return text;
  return anyForm.exec(text)?.[1]?.toLowerCase() ?? text;
}

const isObject = (value: unknown): value is { [name: string]: unknown } =>
  typeof value === 'object' && value !== null;

/** Normalises ids in the fields of `value`, at every depth. It changes `value`, which a parser has just created. */
export function normaliseIdsIn(value: unknown): void {
  if (!isObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    if (isObject(member)) {
      if (Array.isArray(member) && holdsIds.test(name)) value[name] = member.map(oneOfMany);
      else if (!anyNames.has(name)) normaliseIdsIn(member);
    } else if (typeof member === 'string' && holdsIds.test(name)) {
      value[name] = idAsStored(member);
    }
  }
}

const oneOfMany = (item: unknown): unknown => (typeof item === 'string' ? idAsStored(item) : item);
