import { filesBelow, readText } from './sources.js';

/** What operators were promised, of the parts that exist. */
const PROMISED = [
  'im_redis_up',
  'im_redis_command_seconds',
  'im_presence_online_users',
  'im_presence_refresh_failures_total',
  'im_presence_expired_total',
  'im_topic_online_members',
  'im_fanout_frames_total',
  'im_history_requests_total',
  'im_config_refresh_total',
  'im_config_age_seconds',
  'im_sends_total',
  'im_send_seconds',
  'im_rebases_total',
  'im_tombstones_total',
  'im_sends_in_flight',
  'im_append_batch_rows',
  'im_append_queue_rows',
];

const registered = filesBelow('src', '.ts').flatMap(({ text }) =>
  [...text.matchAll(/\.(?:counter|gauge|histogram|observed)(?:<[^>]*>)?\(\s*'(im_\w+)'/g)].map(([, name]) => name),
);

describe('metrics', () => {
  it('are registered as promised', () => {
    expect(PROMISED.filter((name) => !registered.includes(name))).toEqual([]);
  });

  it('are registered once each', () => {
    expect(registered.filter((name, index) => registered.indexOf(name) !== index)).toEqual([]);
  });

  it('are explained on the page for operators, each of them and no others', () => {
    const explained = [...readText('docs/operations.md').matchAll(/^\| `(im_\w+)/gm)].map(([, name]) => name);
    expect(explained.sort()).toEqual([...registered].sort());
  });

  it('say their unit: seconds, never milliseconds', () => {
    expect(registered.filter((name) => /_(ms|millis)/.test(name))).toEqual([]);
  });
});
