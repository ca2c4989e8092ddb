import type { ArtifactType } from '../../protocol/result.ts';
import type { NamedSecret } from '../../secrets/scrubber/scrubber.ts';

const maxNameLength = 200;
/** Shorter than any secret that is searched for, so that an extension reveals none. */
const maxExtensionLength = 6;
/** Shorter secrets occur in too many names by chance. */
const minSecretLength = 6;

/**
 * Creates unique file names for one attempt, in the form that the service accepts: `[A-Za-z0-9._-]{1,200}`. Names
 * contain no secret, not even in the form that tools use for file names.
 */
export function artifactNames(
  secrets: readonly NamedSecret[],
  scrub: (text: string) => string,
): (file: { name: string; type: ArtifactType }) => string {
  const hidden = secrets.map(({ value }) => plain(value)).filter((value) => value.length >= minSecretLength);
  const usedNames = new Set<string>();
  return ({ name, type }) => {
    const base = name.split(/[/\\]/).pop() ?? '';
    const clean = lettersOf(scrub(base)).replaceAll(/_{4,}/g, '___');
    const hasSecret = hidden.some((secret) => plain(base).includes(secret));
    const safeName = hasSecret || !/[A-Za-z0-9]/.test(clean) ? `${type}${extensionOf(clean)}` : clean;
    const unique = uniqueName(shortened(safeName), usedNames);
    usedNames.add(unique);
    return unique;
  };
}

/** A content type that is safe in an upload header. Scripts may set any text: secrets, line ends, very long values. */
export function plainContentType(contentType: string, scrub: (text: string) => string): string {
  const isPlain = /^[\w.+-]{1,80}\/[\w.+-]{1,80}(?:; ?charset=[\w-]{1,30})?$/.test(contentType);
  return isPlain && scrub(contentType) === contentType ? contentType : 'application/octet-stream';
}

/** A text without the characters that tools drop from file names. */
function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '');
}

function lettersOf(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, '_').replace(/^\.+/, '_');
}

function extensionOf(name: string): string {
  const ending = /\.[A-Za-z0-9]+$/.exec(name)?.[0] ?? '';
  return ending.length <= maxExtensionLength ? ending : '';
}

function shortened(name: string, room = maxNameLength): string {
  if (name.length <= room) return name;
  const ending = extensionOf(name);
  return name.slice(0, room - ending.length) + ending;
}

function uniqueName(name: string, usedNames: ReadonlySet<string>): string {
  const ending = extensionOf(name);
  const stem = name.slice(0, name.length - ending.length);
  for (let count = 1; ; count += 1) {
    const candidate =
      count === 1 ? name : `${shortened(stem, maxNameLength - 4 - ending.length)}-${count}${ending}`;
    // Names that differ only in case are one file on some disks.
    if (![...usedNames].some((other) => other.toLowerCase() === candidate.toLowerCase())) return candidate;
  }
}
