import { tools } from './check-runs.ts';
import { byId, element } from './base/element.ts';
import { failed } from './base/notice.ts';
import type { ListedResult } from './base/page-state.ts';
import { resultDetail } from './result/detail.ts';
import { get, RefusedKey } from './base/service.ts';
import { ago, colourOf, milliseconds } from './base/words.ts';

const linkForm = /^#result=([0-9a-f-]{36})\/([0-9a-f-]{36})$/;

/** Shows the result that a notification links to: #result=<check>/<result>. */
export async function showLinked(): Promise<void> {
  const [, checkId, resultId] = linkForm.exec(location.hash) ?? [];
  byId('linked').hidden = resultId === undefined;
  if (checkId === undefined || resultId === undefined) return;
  const place = byId('linked-result');
  place.replaceChildren('Loading …');
  try {
    const run = await get<ListedResult>(`/v1/check-results/${checkId}/${resultId}`);
    byId('linked-title').textContent = `Result of ${await nameOf(checkId)}`;
    place.replaceChildren(
      element(
        'p',
        {},
        element('span', { class: `status ${colourOf(run.status)}` }, run.status),
        ` ${run.runLocation}, ${milliseconds(run.responseTime)}, `,
        element('time', { title: run.startedAt }, ago(run.startedAt)),
      ),
      ...(run.reason === null ? [] : [element('p', { class: 'reason' }, run.reason.message)]),
      ...resultDetail(tools, run),
    );
  } catch (error) {
    if (error instanceof RefusedKey) failed(error);
    else place.replaceChildren(`The result could not be read: ${(error as Error).message}`);
  }
}

const nameOf = (checkId: string) =>
  get<{ name: string }>(`/v1/checks/${checkId}`).then(
    ({ name }) => name,
    () => 'a deleted check',
  );
