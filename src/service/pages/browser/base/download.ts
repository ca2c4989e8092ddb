import { element } from './element.ts';
import { failed } from './notice.ts';
import { fileAt } from './service.ts';

const keptMs = 60_000;

/** Saves a file of the service. The request has the key in a header, which a plain link could not send. */
export async function download(url: string, name: string): Promise<void> {
  try {
    const href = URL.createObjectURL(await fileAt(url));
    element('a', { attributes: { href, download: name } }).click();
    setTimeout(() => URL.revokeObjectURL(href), keptMs);
  } catch (error) {
    failed(error, 'The file could not be downloaded: ');
  }
}
