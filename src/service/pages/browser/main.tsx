import { render } from 'preact';
import { followLinks } from './base/router.ts';
import { readUser } from './base/user.ts';
import { App } from './app.tsx';
import { isPage } from './page-table.ts';
import { followTheme } from './base/theme.ts';

/** The entry of the pages: everything else is loaded when its page is opened. */

followTheme();
followLinks(isPage);
void readUser();
const root = document.getElementById('page');
if (root) render(<App />, root);
