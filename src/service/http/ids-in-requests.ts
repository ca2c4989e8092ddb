/**
 * Ids are UUIDs, which are stored and compared in lower case; whoever sends one may write capitals (RFC 9562, section 4), or its
 * form as a URN. Where requests come in they take the one form that everything behind knows.
 */

const anyForm = /^(?:urn:uuid:)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** Fields that hold ids of ours. Any other text, a UUID or not, is the customer's own and stays as it is. */
const holdsIds = /^(?:id|token|.+Ids?)$/;
/** What stands in these has names of the customer's choice. */
const anyNames = new Set(['metadata', 'config', 'heartbeat', 'browserCheckDefaults', 'playwrightConfig']);

/** The one form of a UUID; any other text as it is. */
export function idAsStored(text: string): string {
  // Nearly every text is none by its length alone.
  if (text.length !== 36 && text.length !== 45) return text;
  return anyForm.exec(text)?.[1]?.toLowerCase() ?? text;
}

const isObject = (value: unknown): value is { [name: string]: unknown } =>
  typeof value === 'object' && value !== null;

/** Changes ids in the fields of `value`, which a parser has just made, at every depth. */
export function storeIdsIn(value: unknown): void {
  if (!isObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    if (isObject(member)) {
      if (Array.isArray(member) && holdsIds.test(name)) value[name] = member.map(oneOfMany);
      else if (!anyNames.has(name)) storeIdsIn(member);
    } else if (typeof member === 'string' && holdsIds.test(name)) {
      value[name] = idAsStored(member);
    }
  }
}

const oneOfMany = (item: unknown): unknown => (typeof item === 'string' ? idAsStored(item) : item);
