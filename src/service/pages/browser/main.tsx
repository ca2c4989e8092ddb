import { render } from 'preact';
import { followLinks } from './base/router.ts';
import { readUser } from './base/user.ts';
import { App } from './app.tsx';
import { isPage, pageAt } from './page-table.ts';
import { followTheme } from './base/theme.ts';

/** The entry of the pages: everything else is loaded when its page is opened. */

const [, checkId, resultId] = /^#result=([0-9a-f-]{36})\/([0-9a-f-]{36})$/.exec(location.hash) ?? [];
// Alerts that were sent by older versions link to #result=….
if (checkId !== undefined && resultId !== undefined)
  history.replaceState(null, '', `/checks/${checkId}/runs/${resultId}`);
followTheme();
followLinks(isPage);
void readUser();
// While the user is read. A failure is shown by the page, which loads it again.
const first = pageAt(location.pathname);
first?.row
  .load()
  .then(({ early }) => early?.(first.params, new URLSearchParams(location.search)))
  .catch(() => undefined);
const root = document.getElementById('page');
if (root) render(<App />, root);
