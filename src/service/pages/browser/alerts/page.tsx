import { usePlace } from '../base/router.ts';
import { currentTab, Tabs } from '../parts/tabs.tsx';
import { AlertList } from './alert-list.tsx';
import { Channels } from './channels.tsx';
import { NotificationLog } from './notification-log.tsx';

const tabs = [
  { id: 'alerts', title: 'Alerts' },
  { id: 'notifications', title: 'Notifications' },
  { id: 'channels', title: 'Channels' },
];

/** Alerts, the notifications about them, and the channels that get these. */
export function Page() {
  const { query } = usePlace();
  const tab = currentTab(tabs, query);
  return (
    <>
      <div class="page-head">
        <h1>Alerts</h1>
      </div>
      <Tabs label="Alerts" tabs={tabs} />
      {tab === 'alerts' && <AlertList />}
      {tab === 'notifications' && <NotificationLog />}
      {tab === 'channels' && <Channels />}
    </>
  );
}
