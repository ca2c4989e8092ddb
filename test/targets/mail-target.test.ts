import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { afterAll, expect, test } from 'vitest';
import { startMailTarget, type SavedMail } from '../../src/targets/mail-target.ts';

const folder = mkdtempSync(join(tmpdir(), 'mailbox-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function sent(text: string): Promise<SavedMail> {
  const mails: SavedMail[] = [];
  const target = await startMailTarget({ folder, onMail: (mail) => mails.push(mail) });
  const transport = createTransport({ host: '127.0.0.1', port: target.port, secure: false });
  await transport.sendMail({
    from: 'a@example.com',
    to: ['b@example.com', 'c@example.com'],
    subject: 'Hello',
    text,
  });
  transport.close();
  await target.close();
  expect(mails).toHaveLength(1);
  return mails[0] as SavedMail; // counted in the line before
}

test('saves each mail as it was sent, and numbers them across starts', async () => {
  const first = await sent('one\n.two\n..three');
  expect(first).toEqual({
    to: ['b@example.com', 'c@example.com'],
    file: join(folder, '0001.eml'),
  });
  expect(readFileSync(first.file, 'utf8')).toContain('\r\none\r\n.two\r\n..three');
  expect((await sent('again')).file).toBe(join(folder, '0002.eml'));
});
