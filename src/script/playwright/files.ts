import { constants } from 'node:fs';
import { lstat, open, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, sep } from 'node:path';
import type { ArtifactType } from '../../protocol/result.ts';
import type { PlaywrightRun } from '../interface/playwright-run.ts';

/** Files that a script's processes left: none is trusted, and no link is followed. */

export type KeptFile = PlaywrightRun['files'][number];

/** The text of a regular file, at most `maxBytes` bytes of it; null = no such file. Never throws. */
export async function readOwnFile(path: string, maxBytes: number): Promise<string | null> {
  try {
    // NONBLOCK: a pipe in the file's place must not block us.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile()) return null;
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of file.createReadStream({ autoClose: false, end: maxBytes - 1 })) {
        chunks.push(chunk as Buffer); // no encoding is set
        length += (chunk as Buffer).length;
      }
      return Buffer.concat(chunks, length).toString('utf8');
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}

/** Whether `path` is a regular file below `folder`, without links on the path and without a second hard link. */
async function isOwnFile(path: string, folder: string): Promise<boolean> {
  try {
    const [root, real, state] = await Promise.all([realpath(folder), realpath(path), lstat(path)]);
    const within = relative(folder, path);
    if (within.startsWith('..') || within === '') return false;
    return state.isFile() && state.nlink === 1 && real === join(root, within);
  } catch {
    return false;
  }
}

const imageType: { readonly [extension: string]: string } = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
};

/** Name and type of a file that a test attached. */
export async function attachedFile(
  attachment: { path: string; name: string; contentType: string },
  folders: { folder: string; outputFolder: string },
): Promise<KeptFile | null> {
  const { path, contentType } = attachment;
  if (!(await isOwnFile(path, folders.folder))) return null;
  const type: ArtifactType =
    attachment.name === 'trace' && contentType === 'application/zip'
      ? 'trace'
      : contentType.startsWith('video/')
        ? 'video'
        : contentType.startsWith('image/')
          ? 'screenshot'
          : 'file';
  // Playwright creates a folder for each test, named after it.
  const ofTest = dirname(dirname(path)) === folders.outputFolder;
  const name = ofTest ? `${basename(dirname(path))}-${basename(path)}` : basename(path);
  return { path, name, type, contentType };
}

/** Images that a script has written next to itself (`page.screenshot({ path })`). Its own files are texts. */
export async function picturesBelow(
  scriptFolder: string,
  folder: string,
  limits = { files: 50, depth: 3 },
): Promise<KeptFile[]> {
  const found: KeptFile[] = [];
  const search = async (where: string, depth: number): Promise<void> => {
    const entries = await readdir(where, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.slice(0, 1000)) {
      if (found.length >= limits.files) return;
      const path = join(where, entry.name);
      if (entry.isDirectory() && depth < limits.depth && entry.name !== 'node_modules') {
        await search(path, depth + 1);
      }
      const contentType = imageType[extname(entry.name).toLowerCase()];
      if (contentType === undefined || !entry.isFile() || !(await isOwnFile(path, folder))) continue;
      const name = relative(scriptFolder, path).split(sep).join('-');
      found.push({ path, name, type: 'screenshot', contentType });
    }
  };
  await search(scriptFolder, 1);
  return found;
}
