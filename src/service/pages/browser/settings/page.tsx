import { usePlace } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import { currentTab, Tabs } from '../parts/tabs.tsx';
import { AccountSettings } from './account.tsx';
import { ApiKeys } from './api-keys.tsx';
import { Certificates } from './certificates.tsx';
import { Snippets } from './snippets.tsx';
import { Variables } from './variables.tsx';

/** What belongs to the account: keys, variables, snippets, certificates. */
export function Page() {
  const { query } = usePlace();
  const isAdmin = useMay('ADMIN');
  const tabs = [
    ...(isAdmin ? [{ id: 'keys', title: 'API keys' }] : []),
    { id: 'variables', title: 'Variables and secrets' },
    { id: 'snippets', title: 'Snippets' },
    { id: 'certificates', title: 'Client certificates' },
    { id: 'account', title: 'Account' },
  ];
  const tab = currentTab(tabs, query);
  return (
    <>
      <div class="page-head">
        <h1>Settings</h1>
      </div>
      <Tabs label="Settings" tabs={tabs} />
      {tab === 'keys' && <ApiKeys />}
      {tab === 'variables' && <Variables />}
      {tab === 'snippets' && <Snippets />}
      {tab === 'certificates' && <Certificates />}
      {tab === 'account' && <AccountSettings />}
    </>
  );
}
